/* Softmax along the last dimension of scaled scores, of which a mask takes some away, and its gradient. */
#include "opapi/lines.h"

namespace sim {
namespace {

constexpr float kHidden = -10000.0f; /* what stands for a score that the mask takes away: a line has always a sum */

LineCursor linesOf(const Operand &operand, uint8_t compute) { return LineCursor(operand, operand.rank - 1, compute); }

void softmax(float *line, int64_t length) {
  const float largest = *std::max_element(line, line + length);
  double sum = 0.0;
  for (int64_t i = 0; i < length; ++i) {
    line[i] = vec::exp(line[i] - largest);
    sum += static_cast<double>(line[i]);
  }
  for (int64_t i = 0; i < length; ++i) line[i] = static_cast<float>(static_cast<double>(line[i]) / sum);
}

/* x, mask, y */
aclError runMasked(const aclOpExecutor &executor) {
  const Operand &x = executor.operands[0];
  if (x.count == 0) return ACL_SUCCESS;
  LineCursor from = linesOf(x, kF32), hidden = linesOf(executor.operands[1], kTruth);
  LineCursor to = linesOf(executor.operands[2], kF32);
  const int64_t length = from.length();
  const float scale = bitsToFloat(static_cast<uint32_t>(executor.attributes[0]));
  float *line = reinterpret_cast<float *>(executor.workspace);
  Truth *mask = reinterpret_cast<Truth *>(line + length);
  for (int64_t first = 0; first < x.count; first += length) {
    from.read(line);
    hidden.read(mask);
    for (int64_t i = 0; i < length; ++i) line[i] = mask[i] != 0 ? kHidden : line[i] * scale;
    softmax(line, length);
    to.write(line);
    for (LineCursor *each : {&from, &hidden, &to}) each->next();
  }
  return ACL_SUCCESS;
}

/* gradOutput, y, mask, out */
aclError runMaskedBackward(const aclOpExecutor &executor) {
  const Operand &grad = executor.operands[0];
  if (grad.count == 0) return ACL_SUCCESS;
  LineCursor grads = linesOf(grad, kF32), from = linesOf(executor.operands[1], kF32);
  LineCursor hidden = linesOf(executor.operands[2], kTruth), to = linesOf(executor.operands[3], kF32);
  const int64_t length = from.length();
  const float scale = bitsToFloat(static_cast<uint32_t>(executor.attributes[0]));
  float *g = reinterpret_cast<float *>(executor.workspace), *y = g + length;
  Truth *mask = reinterpret_cast<Truth *>(y + length);
  for (int64_t first = 0; first < grad.count; first += length) {
    grads.read(g);
    from.read(y);
    hidden.read(mask);
    double sum = 0.0;
    for (int64_t i = 0; i < length; ++i) sum += static_cast<double>(g[i]) * static_cast<double>(y[i]);
    const float common = static_cast<float>(sum);
    for (int64_t i = 0; i < length; ++i) g[i] = mask[i] != 0 ? 0.0f : y[i] * (g[i] - common) * scale;
    to.write(g);
    for (LineCursor *each : {&grads, &from, &hidden, &to}) each->next();
  }
  return ACL_SUCCESS;
}

/* `scores`: how many of the first operands hold scores; the mask comes after them. */
aclnnStatus prepare(aclOpExecutor &executor, const Argument *options, uint32_t scores,
                    aclError (*run)(const aclOpExecutor &)) {
  const Operand &x = executor.operands[0];
  if (x.rank != 4) return refuse(executor, "an operand has {} dimensions, expected 4", x.rank);
  for (uint32_t index = 0; index < executor.operands.size(); ++index) {
    const Operand &operand = executor.operands[index];
    if (index == scores) continue;
    if (operand.type != x.type) return refuse(executor, "the operands have different data types");
    SIM_TRY(requireShape(executor, operand, shapeOf(x)));
  }
  Operand &mask = executor.operands[scores];
  Shape shape = shapeOf(x);
  if (mask.rank != 4 || !broadcastInto(&shape, mask) || !std::equal(x.dims, x.dims + 4, shape.dims)) {
    return refuse(executor, "mask does not fit the shape of the scores");
  }
  if (options[1].integer != 0) return refuse(executor, "a fixed triangular mask is asked for, which CANN has not yet");
  expandTo(&mask, shape);
  executor.attributes[0] = floatToBits(static_cast<float>(options[0].real));
  executor.run = run;
  executor.workspace_size = roundUp(static_cast<uint64_t>(x.dims[3]) * (scores * sizeof(float) + sizeof(Truth)));
  return ACLNN_SUCCESS;
}

/* x, mask, scale, fixedTriuMask, y */
aclnnStatus prepareMasked(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  return prepare(executor, arguments + 2, 1, runMasked);
}

/* gradOutput, y, mask, scale, fixTriuMask, out */
aclnnStatus prepareMaskedBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  return prepare(executor, arguments + 3, 2, runMaskedBackward);
}

}  // namespace

SIM_OP(aclnnScaledMaskedSoftmax, prepareMasked, nullptr, 0)
SIM_OP(aclnnScaledMaskedSoftmaxBackward, prepareMaskedBackward, nullptr, 0)

}  // namespace sim
