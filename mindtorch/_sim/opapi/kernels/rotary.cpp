/* Rotary position embedding: rotates pairs of elements by the given cosines and sines. out[i] = x[cosine_index(i)] *
 * cos[i] + sign(i) * x[sine_index(i)] * sin[i]; the mode selects the pairs. */
#include "opapi/scan_sort.h"

namespace sim {
namespace {

enum Mode : int64_t { kHalf, kInterleave, kQuarter, kInterleaveHalf };

struct Pair {
  int64_t cosine_index, sine_index;
  float sign;
};

/* The pair of element i of a row of `width`. */
Pair pairOf(int64_t mode, int64_t width, int64_t i) {
  if (mode == kInterleave) return {i, i ^ 1, i % 2 == 0 ? -1.0f : 1.0f};
  if (mode == kInterleaveHalf) {
    const bool first = i < width / 2;
    const int64_t pair = first ? i : i - width / 2;
    return first ? Pair{2 * pair, 2 * pair + 1, -1.0f} : Pair{2 * pair + 1, 2 * pair, 1.0f};
  }
  const int64_t step = mode == kQuarter ? width / 4 : width / 2;
  const bool first = i % (2 * step) < step;
  return first ? Pair{i, i + step, -1.0f} : Pair{i, i - step, 1.0f};
}

int64_t widthOf(const Operand &operand) { return operand.dims[operand.rank - 1]; }

SliceCursor slicesOf(const Operand &operand) { return SliceCursor(operand, operand.rank - 1, kF32); }

/* Cosines or sines, expanded to the shape of x. */
Operand expanded(const Operand &angles, const Operand &x) {
  Operand result = angles;
  expandTo(&result, shapeOf(x));
  return result;
}

/* x, cos, sin, out */
aclError runRotary(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  const Operand &x = operands[0];
  if (x.count == 0) return ACL_SUCCESS;
  const int64_t width = widthOf(x), mode = executor.attributes[0];
  SliceCursor from = slicesOf(x), cosines = slicesOf(expanded(operands[1], x)),
              sines = slicesOf(expanded(operands[2], x));
  SliceCursor to = slicesOf(operands[3]);
  float *line = reinterpret_cast<float *>(executor.workspace), *cosine = line + width, *sine = cosine + width;
  float *out = sine + width;
  for (int64_t i = 0; i < x.count; i += width) {
    from.read(line);
    cosines.read(cosine);
    sines.read(sine);
    for (int64_t k = 0; k < width; ++k) {
      const Pair pair = pairOf(mode, width, k);
      out[k] = line[pair.cosine_index] * cosine[k] + pair.sign * line[pair.sine_index] * sine[k];
    }
    to.write(out);
    for (SliceCursor *each : {&from, &cosines, &sines, &to}) each->next();
  }
  return ACL_SUCCESS;
}

/* dy, cos, sin, x, dx, dcos, dsin */
enum Backward { kGrad, kCosine, kSine, kInput, kOfInput, kOfCosine, kOfSine };

void addTo(const SliceCursor &slices, const float *values, double *line) {
  slices.read(line);
  for (int64_t k = 0; k < slices.length(); ++k) line[k] += static_cast<double>(values[k]);
  slices.write(line);
}

aclError runRotaryBackward(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  const Operand &grad = operands[kGrad], &x = operands[kInput];
  const bool of_angles = x.tensor != nullptr;
  const int64_t width = widthOf(grad), mode = executor.attributes[0], angles = operands[kCosine].count;
  double *of_cosines = reinterpret_cast<double *>(executor.workspace), *of_sines = of_cosines + angles;
  double *sums = of_sines + angles;
  float *g = reinterpret_cast<float *>(sums + width), *line = g + width, *cosine = line + width, *sine = cosine + width;
  float *turned = sine + width, *sine_grads = turned + width;
  std::fill_n(of_cosines, 2 * angles, 0.0);
  const Operand cosine_sums = contiguousOperand(operands[kOfCosine], ACL_DOUBLE, of_cosines),
                sine_sums = contiguousOperand(operands[kOfSine], ACL_DOUBLE, of_sines);
  if (grad.count > 0) {
    SliceCursor grads = slicesOf(grad), from = slicesOf(of_angles ? x : grad), to = slicesOf(operands[kOfInput]);
    SliceCursor cosines = slicesOf(expanded(operands[kCosine], grad)),
                sines = slicesOf(expanded(operands[kSine], grad));
    SliceCursor at_cosine(expanded(cosine_sums, grad), grad.rank - 1, kF64);
    SliceCursor at_sine(expanded(sine_sums, grad), grad.rank - 1, kF64);
    for (int64_t i = 0; i < grad.count; i += width) {
      grads.read(g);
      from.read(line);
      cosines.read(cosine);
      sines.read(sine);
      std::fill_n(turned, width, 0.0f);
      for (int64_t k = 0; k < width; ++k) {
        const Pair pair = pairOf(mode, width, k);
        turned[pair.cosine_index] += g[k] * cosine[k];
        turned[pair.sine_index] += pair.sign * g[k] * sine[k];
      }
      to.write(turned);
      for (int64_t k = 0; k < width; ++k) {
        const Pair pair = pairOf(mode, width, k);
        turned[k] = g[k] * line[pair.cosine_index];
        sine_grads[k] = pair.sign * g[k] * line[pair.sine_index];
      }
      addTo(at_cosine, turned, sums);
      addTo(at_sine, sine_grads, sums);
      for (SliceCursor *each : {&grads, &from, &to, &cosines, &sines, &at_cosine, &at_sine}) each->next();
    }
  }
  if (!of_angles) return ACL_SUCCESS;
  convertView(cosine_sums, operands[kOfCosine]);
  convertView(sine_sums, operands[kOfSine]);
  return ACL_SUCCESS;
}

aclnnStatus checkMode(aclOpExecutor &executor, int64_t mode, const Operand &x) {
  if (mode < kHalf || mode > kInterleaveHalf) return refuse(executor, "mode is {}, expected 0 to 3", mode);
  if (x.rank < 3 || x.rank > 4) return refuse(executor, "x has {} dimensions, expected 3 or 4", x.rank);
  const int64_t whole = mode == kQuarter ? 4 : 2;
  if (widthOf(x) % whole == 0) {
    executor.attributes[0] = mode;
    return ACLNN_SUCCESS;
  }
  return refuse(executor, "the last dimension is {}, expected a multiple of {}", widthOf(x), whole);
}

/* Angles are as wide as x; each other dimension is that of x, or 1. */
aclnnStatus checkAngles(const aclOpExecutor &executor, const Operand &x, const Operand &cosine, const Operand &sine) {
  Shape shape = shapeOf(x);
  bool fits = cosine.rank == x.rank && widthOf(cosine) == widthOf(x) && broadcastInto(&shape, cosine);
  fits = fits && std::equal(x.dims, x.dims + x.rank, shape.dims);
  if (!fits) return refuse(executor, "cos does not fit the shape of x");
  for (const Operand *operand : {&cosine, &sine}) {
    if (operand->type != x.type) return refuse(executor, "x, cos and sin have different data types");
  }
  return requireShape(executor, sine, shapeOf(cosine));
}

/* x, cos, sin, mode, out */
aclnnStatus prepareRotary(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const auto &operands = executor.operands;
  SIM_TRY(checkMode(executor, arguments[3].integer, operands[0]));
  SIM_TRY(checkAngles(executor, operands[0], operands[1], operands[2]));
  SIM_TRY(requireShape(executor, operands[3], shapeOf(operands[0])));
  if (operands[3].type != operands[0].type) return refuse(executor, "x and out have different data types");
  executor.run = runRotary;
  executor.workspace_size = roundUp(static_cast<uint64_t>(4 * widthOf(operands[0])) * sizeof(float));
  return ACLNN_SUCCESS;
}

/* x, cos, sin, mode, rotate, out. Refuses `rotate`, a matrix that replaces the rotation which `mode` names. */
aclnnStatus prepareRotaryV2(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  if (executor.operands[3].tensor != nullptr) return refuse(executor, "rotate is given, this kernel has it left out");
  executor.operands[3] = executor.operands[4];
  executor.operands.pop();
  return prepareRotary(executor, arguments, body);
}

/* dy, cos, sin, xOptional, mode, dx, dcos, dsin; without x the angles get no gradients. */
aclnnStatus prepareRotaryBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const auto &operands = executor.operands;
  const Operand &grad = operands[kGrad];
  SIM_TRY(checkMode(executor, arguments[4].integer, grad));
  SIM_TRY(checkAngles(executor, grad, operands[kCosine], operands[kSine]));
  if (operands[kInput].tensor != nullptr) SIM_TRY(requireShape(executor, operands[kInput], shapeOf(grad)));
  SIM_TRY(requireShape(executor, operands[kOfInput], shapeOf(grad)));
  for (int index : {kOfCosine, kOfSine}) {
    SIM_TRY(requireShape(executor, operands[static_cast<uint32_t>(index)], shapeOf(operands[kCosine])));
  }
  const uint64_t width = static_cast<uint64_t>(widthOf(grad));
  for (uint32_t index : {0u, 1u}) executor.operands[kOfCosine + index].compute = kF64; /* where the sums come from */
  executor.run = runRotaryBackward;
  executor.workspace_size = roundUp((2 * static_cast<uint64_t>(operands[kCosine].count) + width) * sizeof(double) +
                                    6 * width * sizeof(float));
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnRotaryPositionEmbedding, prepareRotary, nullptr, 0)
SIM_OP(aclnnRotaryPositionEmbeddingV2, prepareRotaryV2, nullptr, 0)
SIM_OP(aclnnRotaryPositionEmbeddingGrad, prepareRotaryBackward, nullptr, 0)

}  // namespace sim
