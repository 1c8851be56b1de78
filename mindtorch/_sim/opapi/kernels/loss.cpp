/* Losses and their backward operators. */
#include <algorithm>
#include <cmath>

#include "opapi/kernels/matrices.h"
#include "opapi/loops.h"

/* Losses over classes: negative log likelihood over (N, C), (C) or (N, C, H, W), forward and backward, and margins
 * between the labels of a sample and its other classes. */

namespace sim {
namespace {

enum Reduction : int64_t { kNone, kMean, kSum };
enum Attribute { kReduction, kIgnored, kClasses, kSamples, kInputs };

double readAt(const Operand &operand, int64_t element) {
  double value;
  loadStrided(operand.type, kF64)(operand.host + element * operand.item, 0, &value, 1);
  return value;
}

void writeAt(const Operand &operand, int64_t element, double value) {
  storeStrided(operand.type, kF64)(&value, operand.host + element * operand.item, 0, 1);
}

/* Offset of sample `i` in a tensor with one element for each sample, apart from the dimension `classes`. */
int64_t offsetOf(const Operand &operand, int64_t i, int32_t classes = -1) {
  int64_t offset = 0;
  for (int32_t d = operand.rank; d-- > 0;) {
    if (d == classes) continue;
    offset += i % operand.dims[d] * operand.strides[d];
    i /= operand.dims[d];
  }
  return offset;
}

int32_t classDim(const Operand &scores) { return scores.rank == 1 ? 0 : 1; }

struct Sample {
  int64_t target; /* the class, or -1: ignored */
  double weight;
};

/* False: the target is no class, which faults on the device. */
bool readSample(const aclOpExecutor &executor, const Operand &targets, const Operand &weights, int64_t i,
                Sample *sample) {
  loadStrided(targets.type, kI64)(targets.host + offsetOf(targets, i) * targets.item, 0, &sample->target, 1);
  if (sample->target == executor.attributes[kIgnored]) {
    *sample = {-1, 0.0};
    return true;
  }
  if (!inBounds(sample->target, executor.attributes[kClasses])) return false;
  sample->weight = weights.tensor == nullptr ? 1.0 : readAt(weights, offsetOf(weights, sample->target));
  return true;
}

aclError runLoss(const aclOpExecutor &executor) {
  const Operand &scores = executor.operands[0], &targets = executor.operands[1], &weights = executor.operands[2];
  const Operand &out = executor.operands[3], &total_out = executor.operands[4];
  const int64_t reduction = executor.attributes[kReduction];
  const int32_t dim = classDim(scores);
  double loss = 0.0, total = 0.0;
  for (int64_t i = 0; i < executor.attributes[kSamples]; ++i) {
    Sample sample;
    if (!readSample(executor, targets, weights, i, &sample)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    double value = 0.0;
    if (sample.target >= 0) {
      value = -sample.weight * readAt(scores, offsetOf(scores, i, dim) + sample.target * scores.strides[dim]);
    }
    if (reduction == kNone) writeAt(out, offsetOf(out, i), value);
    loss += value;
    total += sample.weight;
  }
  if (reduction != kNone) writeAt(out, 0, reduction == kMean ? loss / total : loss);
  writeAt(total_out, 0, reduction == kNone ? 0.0 : total);
  return ACL_SUCCESS;
}

aclError runLossBackward(const aclOpExecutor &executor) {
  const Operand &gradient = executor.operands[0], &targets = executor.operands[2], &weights = executor.operands[3];
  const Operand &total = executor.operands[4], &out = executor.operands[5];
  const int64_t reduction = executor.attributes[kReduction], step = out.strides[classDim(out)];
  for (int64_t i = 0; i < executor.attributes[kSamples]; ++i) {
    Sample sample;
    if (!readSample(executor, targets, weights, i, &sample)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    const int64_t offset = offsetOf(out, i, classDim(out));
    for (int64_t c = 0; c < executor.attributes[kClasses]; ++c) writeAt(out, offset + c * step, 0.0);
    if (sample.target < 0) continue;
    double value = -sample.weight * readAt(gradient, reduction == kNone ? offsetOf(gradient, i) : 0);
    if (reduction == kMean) value /= readAt(total, 0);
    writeAt(out, offset + sample.target * step, value);
  }
  return ACL_SUCCESS;
}

aclnnStatus requireCount(const aclOpExecutor &executor, const Operand &operand, int64_t count) {
  if (operand.count == count && operand.rank <= 1) return ACLNN_SUCCESS;
  return refuse(executor, "{} has {} elements in {} dimensions, expected {} in one at most", operand, operand.count,
                operand.rank, count);
}

/* One element for each sample: one dimension, or those of images. */
aclnnStatus requireSamples(const aclOpExecutor &executor, const Operand &operand, const Operand &scores) {
  if (scores.rank < 4) return requireCount(executor, operand, executor.attributes[kSamples]);
  return requireShape(executor, operand, {3, {scores.dims[0], scores.dims[2], scores.dims[3]}});
}

/* `of_images`: (N, C, H, W), which the documented ranks hold them to. */
aclnnStatus prepareShared(aclOpExecutor &executor, const Operand &scores, const Operand &targets,
                          const Operand &weights, int64_t reduction, int64_t ignored, bool of_images) {
  if (!of_images && scores.rank != 1 && scores.rank != 2) {
    return refuse(executor, "self has {} dimensions, expected (N, C) or (C)", scores.rank);
  }
  if (reduction < kNone || reduction > kSum) return refuse(executor, "reduction is {}, expected 0, 1 or 2", reduction);
  executor.attributes[kReduction] = reduction;
  executor.attributes[kIgnored] = ignored;
  const int32_t dim = classDim(scores);
  executor.attributes[kClasses] = scores.dims[dim];
  executor.attributes[kSamples] = 1;
  for (int32_t i = 0; i < scores.rank; ++i) executor.attributes[kSamples] *= i == dim ? 1 : scores.dims[i];
  executor.workspace_size = roundUp(1);
  SIM_TRY(requireSamples(executor, targets, scores));
  if (weights.tensor == nullptr) return ACLNN_SUCCESS;
  return requireCount(executor, weights, executor.attributes[kClasses]);
}

/* self, target, weight, reduction, ignoreIndex, out, totalWeightOut */
aclnnStatus prepareLoss(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const auto &operands = executor.operands;
  int64_t reduction = arguments[3].integer;
  SIM_TRY(prepareShared(executor, operands[0], operands[1], operands[2], reduction, arguments[4].integer,
                        body.variant != 0));
  executor.run = runLoss;
  SIM_TRY(reduction == kNone ? requireSamples(executor, operands[3], operands[0])
                             : requireCount(executor, operands[3], 1));
  return requireCount(executor, operands[4], 1);
}

/* gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight, out */
aclnnStatus prepareLossBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const auto &operands = executor.operands;
  int64_t reduction = arguments[4].integer;
  SIM_TRY(prepareShared(executor, operands[1], operands[2], operands[3], reduction, arguments[5].integer,
                        body.variant != 0));
  SIM_TRY(requireShape(executor, operands[5], shapeOf(operands[1])));
  executor.run = runLossBackward;
  SIM_TRY(reduction == kNone ? requireSamples(executor, operands[0], operands[1])
                             : requireCount(executor, operands[0], 1));
  return requireCount(executor, operands[4], 1);
}

/* Offset of class `c` of a row in (N, C), (C) or a tensor of one class. */
int64_t placeOf(const Operand &operand, int64_t row, int64_t c) {
  if (operand.rank == 2) return row * operand.strides[0] + c * operand.strides[1];
  return operand.rank == 1 ? c * operand.strides[0] : 0;
}

/* Sets the marks of a row's labels (the classes before the first -1) and returns their number; -1 if a label is out
 * of range, also behind the first -1. */
int64_t markLabels(const Operand &targets, const Operand &marks, int64_t row, int64_t classes) {
  for (int64_t c = 0; c < classes; ++c) writeAt(marks, placeOf(marks, row, c), 0.0);
  int64_t labels = classes;
  for (int64_t k = 0; k < classes; ++k) {
    int64_t label;
    loadStrided(targets.type, kI64)(targets.host + placeOf(targets, row, k) * targets.item, 0, &label, 1);
    if (label < -1 || label >= classes) return -1;
    if (label < 0) labels = std::min(labels, k);
    if (k < labels) writeAt(marks, placeOf(marks, row, label), 1.0);
  }
  return labels;
}

aclError runMultilabel(const aclOpExecutor &executor) {
  const Operand &scores = executor.operands[0], &targets = executor.operands[1], &out = executor.operands[2];
  const Operand &marks = executor.operands[3];
  const int64_t reduction = executor.attributes[kReduction], classes = executor.attributes[kClasses];
  const int64_t rows = executor.attributes[kSamples];
  double total = 0.0;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t labels = markLabels(targets, marks, row, classes);
    if (labels < 0) return ACL_ERROR_RT_AICORE_EXCEPTION;
    double loss = 0.0;
    for (int64_t k = 0; k < labels; ++k) {
      int64_t label;
      loadStrided(targets.type, kI64)(targets.host + placeOf(targets, row, k) * targets.item, 0, &label, 1);
      const double bound = 1.0 - readAt(scores, placeOf(scores, row, label));
      for (int64_t c = 0; c < classes; ++c) {
        if (readAt(marks, placeOf(marks, row, c)) == 0.0) {
          loss += std::fmax(bound + readAt(scores, placeOf(scores, row, c)), 0.0); /* of NaN 0 */
        }
      }
    }
    loss /= static_cast<double>(classes);
    if (reduction == kNone) writeAt(out, offsetOf(out, row), loss);
    total += loss;
  }
  if (reduction != kNone) writeAt(out, 0, reduction == kMean ? total / static_cast<double>(rows) : total);
  return ACL_SUCCESS;
}

/* self, target, reduction, out, isTarget */
aclnnStatus prepareMultilabel(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const auto &operands = executor.operands;
  const Operand &scores = operands[0];
  const int64_t reduction = arguments[2].integer;
  if (scores.rank > 2) return refuse(executor, "self has {} dimensions, expected (N, C) or (C)", scores.rank);
  if (reduction < kNone || reduction > kSum) return refuse(executor, "reduction is {}, expected 0, 1 or 2", reduction);
  executor.attributes[kReduction] = reduction;
  executor.attributes[kClasses] = scores.rank == 0 ? 1 : scores.dims[scores.rank - 1];
  executor.attributes[kSamples] = scores.rank == 2 ? scores.dims[0] : 1;
  executor.run = runMultilabel;
  SIM_TRY(requireShape(executor, operands[3], shapeOf(operands[1])));
  SIM_TRY(scores.rank == 2 ? requireShape(executor, operands[1], shapeOf(scores))
                           : requireCount(executor, operands[1], scores.count));
  const bool each = reduction == kNone && scores.rank == 2;
  return requireCount(executor, operands[2], each ? scores.dims[0] : 1);
}

}  // namespace

SIM_OP(aclnnMultilabelMarginLoss, prepareMultilabel, nullptr, 0)
SIM_OP(aclnnNLLLoss, prepareLoss, nullptr, 0)
SIM_OP(aclnnNLLLossBackward, prepareLossBackward, nullptr, 0)
SIM_OP(aclnnNLLLoss2d, prepareLoss, nullptr, 1)
SIM_OP(aclnnNLLLoss2dBackward, prepareLossBackward, nullptr, 1)

/* Losses that compare two tensors element by element, with weights for some, reduced or not; and their gradients. */

namespace {

/* A formula of x and y (self and target), w and v (their weight, and that of the positives; 1 where left out), and the
 * parameter p. */
#define SIM_FORMULA(Name, expression)                                                                                 \
  struct Name {                                                                                                       \
    template <class C>                                                                                                \
    static SIM_INLINE C apply([[maybe_unused]] C x, [[maybe_unused]] C y, [[maybe_unused]] C w, [[maybe_unused]] C v, \
                              [[maybe_unused]] C p) {                                                                 \
      return expression;                                                                                              \
    }                                                                                                                 \
  };

constexpr int kFormulaInputs = 4;

template <class F, class C>
SIM_CLONES void formulaLoop(const void *const *inputs, double parameter, int64_t count, void *results) {
  const C *x = static_cast<const C *>(inputs[0]), *y = static_cast<const C *>(inputs[1]);
  const C *w = static_cast<const C *>(inputs[2]), *v = static_cast<const C *>(inputs[3]);
  C *out = static_cast<C *>(results);
  const C p = static_cast<C>(parameter);
  SIM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = F::apply(x[i], y[i], w[i], v[i], p);
}

/* By compute type, kF32 or kF64. */
struct Formula {
  void (*run[2])(const void *const *inputs, double parameter, int64_t count, void *results);
};
template <class F>
constexpr Formula kFormulaOf = {{formulaLoop<F, float>, formulaLoop<F, double>}};

struct Loss {
  const Formula *value;
  const Formula *grad;        /* by self */
  const Formula *target_grad; /* NULL: no operator asks for it */
};

template <class C>
SIM_INLINE C softplus(C x) {
  return (x > C(0) ? x : C(0)) + vec::log1pOfExp(-std::fabs(x));
}
template <class C>
SIM_INLINE C sign(C x) {
  return C(x > C(0)) - C(x < C(0));
}
template <class C>
SIM_INLINE C smooth(C step, C beta) {
  const C size = std::fabs(step), curve = size * size / (C(2) * beta), line = size - beta / C(2);
  return size < beta ? curve : line;
}
template <class C>
SIM_INLINE C smoothGrad(C step, C beta) {
  const C slope = step / beta, end = sign(step);
  return std::fabs(step) < beta ? slope : end;
}
/* As in torch, logarithms are clamped to -100. */
template <class C>
SIM_INLINE C clampedLog(C logarithm) {
  return logarithm < C(-100) ? C(-100) : logarithm;
}
template <class C>
SIM_INLINE C crossEntropyGrad(C x, C y) {
  const C variance = (C(1) - x) * x, least = C(1e-12);
  return (x - y) / (variance < least ? least : variance);
}
template <class C>
SIM_INLINE C divergence(C x, C y) {
  const C term = y * (vec::log(y) - x), other = y == C(0) ? C(0) : std::numeric_limits<C>::quiet_NaN();
  return y > C(0) ? term : other;
}
template <class C>
SIM_INLINE C divergenceTargetGrad(C x, C y) {
  const C slope = vec::log(y) + C(1) - x;
  return y > C(0) ? slope : std::numeric_limits<C>::quiet_NaN();
}

SIM_FORMULA(Square, (x - y) * (x - y))
SIM_FORMULA(SquareGrad, C(2) * (x - y))
SIM_FORMULA(Distance, std::fabs(x - y))
SIM_FORMULA(DistanceGrad, sign(x - y))
SIM_FORMULA(Smooth, smooth(x - y, p))
SIM_FORMULA(SmoothGrad, smoothGrad(x - y, p))
SIM_FORMULA(Margin, softplus(-x *y))
SIM_FORMULA(MarginGrad, -y *vec::sigmoid(-x *y))
SIM_FORMULA(CrossEntropy, -w *(y *clampedLog(vec::log(x)) + (C(1) - y) * clampedLog(vec::log1p(-x))))
SIM_FORMULA(CrossEntropyGrad, w *crossEntropyGrad(x, y))
SIM_FORMULA(WithLogits, w *((C(1) - y) * x + (C(1) + (v - C(1)) * y) * softplus(-x)))
SIM_FORMULA(WithLogitsGrad, w *((C(1) - y) - (C(1) + (v - C(1)) * y) * vec::sigmoid(-x)))
SIM_FORMULA(WithLogitsTargetGrad, w *((v - C(1)) * softplus(-x) - x))
SIM_FORMULA(Divergence, divergence(x, y))
SIM_FORMULA(DivergenceGrad, -y)
SIM_FORMULA(DivergenceTargetGrad, divergenceTargetGrad(x, y))
SIM_FORMULA(LogDivergence, vec::exp(y) * (y - x))
SIM_FORMULA(LogDivergenceGrad, -vec::exp(y))
SIM_FORMULA(LogDivergenceTargetGrad, vec::exp(y) * (y - x + C(1)))

constexpr Loss kSquare = {&kFormulaOf<Square>, &kFormulaOf<SquareGrad>, nullptr};
constexpr Loss kDistance = {&kFormulaOf<Distance>, &kFormulaOf<DistanceGrad>, nullptr};
constexpr Loss kSmooth = {&kFormulaOf<Smooth>, &kFormulaOf<SmoothGrad>, nullptr};
constexpr Loss kMargin = {&kFormulaOf<Margin>, &kFormulaOf<MarginGrad>, nullptr};
constexpr Loss kBinaryCrossEntropy = {&kFormulaOf<CrossEntropy>, &kFormulaOf<CrossEntropyGrad>, nullptr};
constexpr Loss kBceWithLogits = {&kFormulaOf<WithLogits>, &kFormulaOf<WithLogitsGrad>,
                                 &kFormulaOf<WithLogitsTargetGrad>};
constexpr Loss kKlDiv = {&kFormulaOf<Divergence>, &kFormulaOf<DivergenceGrad>, &kFormulaOf<DivergenceTargetGrad>};
constexpr Loss kKlDivLogTarget = {&kFormulaOf<LogDivergence>, &kFormulaOf<LogDivergenceGrad>,
                                  &kFormulaOf<LogDivergenceTargetGrad>};

constexpr int kMostInputs = kFormulaInputs + 1;

/* Calls use(blocks, length) with a block of each of `count` inputs, 1 for those left out and those behind. */
template <class C, class Use>
void walk(const Operand *inputs, int64_t count, int64_t total, Use use) {
  alignas(64) C buffers[kMostInputs][kBlock], ones[kBlock];
  const void *blocks[kMostInputs];
  alignas(Cursor) char storage[kMostInputs][sizeof(Cursor)];
  Cursor *cursors[kMostInputs];
  std::fill_n(ones, std::min(kBlock, total), C(1));
  std::fill_n(blocks, kMostInputs, ones);
  for (int64_t i = 0; i < count; ++i) {
    cursors[i] = inputs[i].tensor == nullptr ? nullptr : new (storage[i]) Cursor(inputs[i]);
  }
  for (int64_t first = 0; first < total; first += kBlock) {
    const int64_t length = std::min(kBlock, total - first);
    for (int64_t i = 0; i < count; ++i) {
      if (cursors[i] != nullptr) blocks[i] = cursors[i]->read(buffers[i], length);
    }
    use(blocks, length);
  }
}

template <class C>
SIM_CLONES double sumOf(const C *values, int64_t count) {
  constexpr int64_t kParts = 16; /* partial sums, which the processor can overlap */
  double parts[kParts] = {}, sum = 0.0;
  int64_t i = 0;
  for (; i + kParts <= count; i += kParts) {
    for (int64_t k = 0; k < kParts; ++k) parts[k] += static_cast<double>(values[i + k]);
  }
  for (; i < count; ++i) sum += static_cast<double>(values[i]);
  for (double part : parts) sum += part;
  return sum;
}

/* values = gradients * factor * values */
template <class C>
SIM_CLONES void chain(const C *gradients, C factor, C *values, int64_t count) {
  SIM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) values[i] = gradients[i] * factor * values[i];
}

/* self, target, weights, out */
template <class C>
aclError runPointwiseLoss(const aclOpExecutor &executor) {
  const auto formula = static_cast<const Formula *>(executor.kernel)->run[computeOfType<C>()];
  const int64_t inputs = executor.attributes[kInputs], reduction = executor.attributes[kReduction];
  const double parameter = executor.scalars[0].real;
  const int64_t total = executor.operands[0].count;
  Operand out = executor.operands[static_cast<uint32_t>(inputs)];
  out.compute = reduction == kNone ? uint8_t{computeOfType<C>()} : uint8_t{kF64};
  Cursor target(out);
  double sum = 0.0;
  walk<C>(executor.operands.begin(), inputs, total, [&](const void *const *blocks, int64_t length) {
    alignas(64) C values[kBlock];
    formula(blocks, parameter, length, values);
    if (reduction == kNone) {
      target.write(values, length);
    } else {
      sum += sumOf(values, length);
    }
  });
  if (reduction == kMean) sum /= static_cast<double>(total);
  if (reduction != kNone) target.write(&sum, 1);
  return ACL_SUCCESS;
}

/* gradient, self, target, weights, out */
template <class C>
aclError runPointwiseLossBackward(const aclOpExecutor &executor) {
  const auto formula = static_cast<const Formula *>(executor.kernel)->run[computeOfType<C>()];
  const int64_t inputs = executor.attributes[kInputs];
  const double parameter = executor.scalars[0].real;
  Operand out = executor.operands[static_cast<uint32_t>(inputs)];
  out.compute = computeOfType<C>();
  Cursor target(out);
  const double factor = executor.attributes[kReduction] == kMean ? 1.0 / static_cast<double>(out.count) : 1.0;
  walk<C>(executor.operands.begin(), inputs, out.count, [&](const void *const *blocks, int64_t length) {
    alignas(64) C values[kBlock];
    formula(blocks + 1, parameter, length, values);
    chain(static_cast<const C *>(blocks[0]), static_cast<C>(factor), values, length);
    target.write(values, length);
  });
  return ACL_SUCCESS;
}

/* Operands [0, inputs) are broadcast together; the result is theirs, or one number. */
aclnnStatus plan(aclOpExecutor &executor, uint32_t inputs, int64_t reduction, bool reduces, const Formula *formula,
                 double parameter) {
  if (reduction < kNone || reduction > kSum) return refuse(executor, "reduction is {}, expected 0, 1 or 2", reduction);
  Shape shape;
  for (uint32_t i = 0; i < inputs; ++i) {
    const Operand &operand = executor.operands[i];
    if (operand.tensor != nullptr && !broadcastInto(&shape, operand)) {
      return refuse(executor, "the shape of {} cannot be broadcast with the others", operand);
    }
  }
  const Operand &out = executor.operands[inputs];
  if (reduces && reduction != kNone && out.count != 1) return refuse(executor, "out has more than one element");
  if (!reduces || reduction == kNone) SIM_TRY(requireShape(executor, out, shape));
  int64_t count = 1;
  bool wide = false;
  for (int32_t i = 0; i < shape.rank; ++i) count *= shape.dims[i];
  for (uint32_t i = 0; i < inputs; ++i) wide |= executor.operands[i].tensor && executor.operands[i].type == ACL_DOUBLE;
  for (uint32_t i = 0; i < inputs; ++i) {
    Operand &operand = executor.operands[i];
    if (operand.tensor == nullptr) continue;
    expandTo(&operand, shape);
    operand.count = count;
    operand.compute = wide ? kF64 : kF32;
  }
  executor.attributes[kReduction] = reduction;
  executor.attributes[kInputs] = inputs;
  executor.scalars[0] = {true, ACL_DOUBLE, 0, parameter, 0.0};
  executor.kernel = formula;
  static constexpr aclError (*kRuns[2][2])(const aclOpExecutor &) = {
      {runPointwiseLossBackward<float>, runPointwiseLossBackward<double>},
      {runPointwiseLoss<float>, runPointwiseLoss<double>}};
  executor.run = kRuns[reduces ? 1 : 0][wide ? 1 : 0];
  return ACLNN_SUCCESS;
}

/* self, target[, weights], reduction, out; the variant counts the tensors before reduction */
aclnnStatus preparePointwiseLoss(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const uint32_t inputs = static_cast<uint32_t>(body.variant);
  return plan(executor, inputs, arguments[inputs].integer, true, static_cast<const Loss *>(body.kernel)->value, 0.0);
}

/* gradOutput, self, target[, weights], reduction, out */
aclnnStatus preparePointwiseLossBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const uint32_t inputs = static_cast<uint32_t>(body.variant);
  return plan(executor, inputs, arguments[inputs].integer, false, static_cast<const Loss *>(body.kernel)->grad, 0.0);
}

aclnnStatus prepareLossTargetBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const uint32_t inputs = static_cast<uint32_t>(body.variant);
  const Loss &loss = *static_cast<const Loss *>(body.kernel);
  return plan(executor, inputs, arguments[inputs].integer, false, loss.target_grad, 0.0);
}

/* ..., reduction, beta, out; without the smooth part it is the distance */
aclnnStatus prepareSmooth(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const uint32_t inputs = static_cast<uint32_t>(body.variant);
  const double beta = arguments[inputs + 1].real;
  if (!(beta >= 0.0)) return refuse(executor, "beta is {}, expected 0 or more", beta);
  const Loss &loss = beta > 0.0 ? kSmooth : kDistance;
  const bool backward = inputs == 3;
  return plan(executor, inputs, arguments[inputs].integer, !backward, backward ? loss.grad : loss.value, beta);
}

/* ..., reduction, logTarget, out */
aclnnStatus prepareKlDiv(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Loss &loss = arguments[3].integer != 0 ? kKlDivLogTarget : kKlDiv;
  return plan(executor, 2, arguments[2].integer, true, loss.value, 0.0);
}

/* gradOutput, self, target, reduction, logTarget, out; variant 1: the gradient of target */
aclnnStatus prepareKlDivBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Loss &loss = arguments[4].integer != 0 ? kKlDivLogTarget : kKlDiv;
  return plan(executor, 3, arguments[3].integer, false, body.variant != 0 ? loss.target_grad : loss.grad, 0.0);
}

}  // namespace

SIM_OP(aclnnMseLoss, preparePointwiseLoss, &kSquare, 2)
SIM_OP(aclnnMseLossOut, preparePointwiseLoss, &kSquare, 2)
SIM_OP(aclnnMseLossBackward, preparePointwiseLossBackward, &kSquare, 3)
SIM_OP(aclnnL1Loss, preparePointwiseLoss, &kDistance, 2)
SIM_OP(aclnnL1LossBackward, preparePointwiseLossBackward, &kDistance, 3)
SIM_OP(aclnnSmoothL1Loss, prepareSmooth, nullptr, 2)
SIM_OP(aclnnSmoothL1LossBackward, prepareSmooth, nullptr, 3)
SIM_OP(aclnnSoftMarginLoss, preparePointwiseLoss, &kMargin, 2)
SIM_OP(aclnnSoftMarginLossBackward, preparePointwiseLossBackward, &kMargin, 3)
SIM_OP(aclnnBinaryCrossEntropy, preparePointwiseLoss, &kBinaryCrossEntropy, 3)
SIM_OP(aclnnBinaryCrossEntropyBackward, preparePointwiseLossBackward, &kBinaryCrossEntropy, 4)
SIM_OP(aclnnBinaryCrossEntropyWithLogits, preparePointwiseLoss, &kBceWithLogits, 4)
SIM_OP(aclnnBinaryCrossEntropyWithLogitsBackward, preparePointwiseLossBackward, &kBceWithLogits, 5)
SIM_OP(aclnnBinaryCrossEntropyWithLogitsTargetBackward, prepareLossTargetBackward, &kBceWithLogits, 5)
SIM_OP(aclnnKlDiv, prepareKlDiv, nullptr, 0)
SIM_OP(aclnnKlDivBackward, prepareKlDivBackward, nullptr, 0)
SIM_OP(aclnnKlDivTargetBackward, prepareKlDivBackward, nullptr, 1)

/* CTC loss: forward variables (alpha) give the loss; backward variables (beta) the gradient. */

namespace {

enum CtcAttribute { kBlank, kZeroInfinity };

constexpr double kNever = -std::numeric_limits<double>::infinity();

double addLogs(double a, double b) {
  const double most = std::max(a, b);
  return most == kNever ? kNever : most + std::log(std::exp(a - most) + std::exp(b - most));
}

/* A sample's numbers in the workspace. */
struct CtcSample {
  double *logs;  /* (time, classes) */
  double *alpha; /* (time, states) */
  double *beta, *later;
  double *class_sums; /* of a time step: log of the sum over the states of a class */
  int64_t *labels;
  int64_t times, count, classes, states, longest;
  int64_t blank;

  int64_t label(int64_t state) const { return state % 2 == 0 ? blank : labels[state / 2]; }
  /* Whether `state` may be reached from the one two before it. */
  bool skips(int64_t state) const { return state > 1 && label(state) != blank && label(state) != label(state - 2); }
};

/* The (time, classes) of one sample of (time, batch, classes). */
Operand planeOf(const Operand &operand, int64_t sample) {
  Operand plane = partAt(operand, 2, operand.host + sample * operand.strides[1] * operand.item, kF64);
  plane.dims[0] = operand.dims[0];
  plane.strides[0] = operand.strides[0];
  plane.count = plane.dims[0] * plane.dims[1];
  return plane;
}

/* False: a label is no class, which faults on the device. */
bool readLabels(const aclOpExecutor &executor, const Operand &targets, int64_t n, CtcSample *sample) {
  const int64_t batch = static_cast<int64_t>(executor.integers.size() / 2);
  int64_t first = 0;
  for (int64_t i = 0; i < n; ++i) first += executor.integers[static_cast<uint32_t>(batch + i)];
  const int64_t last = targets.rank - 1;
  const int64_t start = targets.rank == 2 ? n * targets.strides[0] : first * targets.strides[0];
  loadStrided(targets.type, kI64)(targets.host + start * targets.item, targets.strides[last] * targets.item,
                                  sample->labels, sample->count);
  return std::all_of(sample->labels, sample->labels + sample->count,
                     [&](int64_t label) { return label >= 0 && label < sample->classes; });
}

/* The workspace: a sample's matrices, and the labels behind them. */
CtcSample sampleBuffers(const aclOpExecutor &executor, const Operand &logs, int64_t longest) {
  CtcSample sample;
  sample.classes = logs.dims[2];
  sample.longest = longest;
  sample.blank = executor.attributes[kBlank];
  sample.logs = reinterpret_cast<double *>(executor.workspace);
  sample.alpha = sample.logs + logs.dims[0] * sample.classes;
  sample.beta = sample.alpha + logs.dims[0] * (2 * longest + 1);
  sample.later = sample.beta + 2 * longest + 1;
  sample.class_sums = sample.later + 2 * longest + 1;
  sample.labels = reinterpret_cast<int64_t *>(sample.class_sums + sample.classes);
  return sample;
}

int64_t longestOf(const aclOpExecutor &executor) {
  int64_t longest = 0;
  for (uint32_t i = executor.integers.size() / 2; i < executor.integers.size(); ++i) {
    longest = std::max(longest, executor.integers[i]);
  }
  return longest;
}

bool readCtcSample(const aclOpExecutor &executor, const Operand &logs, const Operand &targets, int64_t n,
                   CtcSample *sample) {
  sample->times = executor.integers[static_cast<uint32_t>(n)];
  sample->count = executor.integers[static_cast<uint32_t>(n) + executor.integers.size() / 2];
  sample->states = 2 * sample->count + 1;
  readElements(planeOf(logs, n), sample->logs);
  return readLabels(executor, targets, n, sample);
}

void computeAlpha(const CtcSample &s) {
  for (int64_t t = 0; t < s.times; ++t) {
    const double *before = s.alpha + (t - 1) * s.states, *logs = s.logs + t * s.classes;
    for (int64_t i = 0; i < s.states; ++i) {
      double reached = i < 2 ? 0.0 : kNever;
      if (t > 0) {
        reached = before[i];
        if (i > 0) reached = addLogs(reached, before[i - 1]);
        if (s.skips(i)) reached = addLogs(reached, before[i - 2]);
      }
      s.alpha[t * s.states + i] = reached + logs[s.label(i)];
    }
  }
}

double lossOf(const CtcSample &s) {
  if (s.times == 0) return s.count == 0 ? 0.0 : -kNever;
  const double *end = s.alpha + s.times * s.states;
  return -(s.count == 0 ? end[-1] : addLogs(end[-1], end[-2]));
}

/* log_probs, targets, loss, log_alpha */
aclError runCtcLoss(const aclOpExecutor &executor) {
  const Operand &logs = executor.operands[0], &targets = executor.operands[1];
  const Operand &losses = executor.operands[2], &alphas = executor.operands[3];
  CtcSample s = sampleBuffers(executor, logs, longestOf(executor));
  const StoreStrided store = storeStrided(losses.type, kF64), keep = storeStrided(alphas.type, kF64);
  for (int64_t n = 0; n < logs.dims[1]; ++n) {
    if (!readCtcSample(executor, logs, targets, n, &s)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    computeAlpha(s);
    double loss = lossOf(s);
    if (executor.attributes[kZeroInfinity] != 0 && std::isinf(loss)) loss = 0.0;
    store(&loss, losses.host + n * losses.strides[0] * losses.item, 0, 1);
    for (int64_t t = 0; t < logs.dims[0]; ++t) {
      for (int64_t i = 0; i < alphas.dims[2]; ++i) {
        const double score = t < s.times && i < s.states ? s.alpha[t * s.states + i] : kNever;
        keep(&score,
             alphas.host + (n * alphas.strides[0] + t * alphas.strides[1] + i * alphas.strides[2]) * alphas.item, 0, 1);
      }
    }
  }
  return ACL_SUCCESS;
}

/* Computes beta at time t; `later` holds that of time t + 1. */
void computeBeta(const CtcSample &s, int64_t t) {
  for (int64_t i = 0; i < s.states; ++i) {
    double reached = i >= s.states - 2 ? 0.0 : kNever;
    if (t < s.times - 1) {
      reached = s.later[i];
      if (i + 1 < s.states) reached = addLogs(reached, s.later[i + 1]);
      if (i + 2 < s.states && s.skips(i + 2)) reached = addLogs(reached, s.later[i + 2]);
    }
    s.beta[i] = reached + s.logs[t * s.classes + s.label(i)];
  }
}

/* Replaces log_probs by their gradient: exp(log_probs) minus the posterior of each class. */
void replaceByGradient(CtcSample *s, double loss, double grad) {
  for (int64_t t = s->times; t-- > 0;) {
    computeBeta(*s, t);
    std::fill_n(s->class_sums, s->classes, kNever);
    for (int64_t i = 0; i < s->states; ++i) {
      double *class_sum = s->class_sums + s->label(i);
      *class_sum = addLogs(*class_sum, s->alpha[t * s->states + i] + s->beta[i]);
    }
    double *logs = s->logs + t * s->classes;
    for (int64_t c = 0; c < s->classes; ++c) {
      logs[c] = (std::exp(logs[c]) - std::exp(s->class_sums[c] + loss - logs[c])) * grad;
    }
    std::swap(s->beta, s->later);
  }
}

/* grad, log_probs, targets, loss, log_alpha, out */
aclError runCtcLossBackward(const aclOpExecutor &executor) {
  const Operand &grads = executor.operands[0], &logs = executor.operands[1], &out = executor.operands[5];
  CtcSample s = sampleBuffers(executor, logs, longestOf(executor));
  for (int64_t n = 0; n < logs.dims[1]; ++n) {
    if (!readCtcSample(executor, logs, executor.operands[2], n, &s)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    computeAlpha(s);
    double grad;
    loadStrided(grads.type, kF64)(grads.host + n * grads.strides[0] * grads.item, 0, &grad, 1);
    const double loss = lossOf(s);
    int64_t kept = s.times;
    if (executor.attributes[kZeroInfinity] != 0 && std::isinf(loss)) {
      kept = 0;
    } else {
      replaceByGradient(&s, loss, grad);
    }
    std::fill(s.logs + kept * s.classes, s.logs + logs.dims[0] * s.classes, 0.0);
    writeElements(planeOf(out, n), s.logs);
  }
  return ACL_SUCCESS;
}

/* Keeps the lengths of a batch, each from 0 to `most`. */
aclnnStatus keepLengths(aclOpExecutor &executor, const char *name, const void *array, int64_t batch, int64_t most) {
  const aclIntArray *lengths = static_cast<const aclIntArray *>(array);
  if (static_cast<int64_t>(lengths->size) != batch) {
    return refuse(executor, "{} has {} elements, expected {}", name, lengths->size, batch);
  }
  for (uint64_t i = 0; i < lengths->size; ++i) {
    if (lengths->items[i] < 0 || lengths->items[i] > most) {
      return refuse(executor, "{} has the element {}, expected 0 to {}", name, lengths->items[i], most);
    }
    executor.integers.push() = lengths->items[i];
  }
  return ACLNN_SUCCESS;
}

aclnnStatus prepareCtc(aclOpExecutor &executor, const Operand &logs, const Operand &targets, const Argument *arguments,
                       const Argument &blank, const Argument &zero_infinity) {
  if (logs.rank != 3) return refuse(executor, "logProbs has {} dimensions, expected 3", logs.rank);
  if (targets.rank != 1 && targets.rank != 2) {
    return refuse(executor, "targets has {} dimensions, expected 1 or 2", targets.rank);
  }
  if (blank.integer < 0 || blank.integer >= logs.dims[2]) {
    return refuse(executor, "blank is {}, there are {} classes", blank.integer, logs.dims[2]);
  }
  const int64_t batch = logs.dims[1], label_capacity = targets.dims[targets.rank - 1];
  SIM_TRY(keepLengths(executor, "inputLengths", arguments[0].pointer, batch, logs.dims[0]));
  SIM_TRY(keepLengths(executor, "targetLengths", arguments[1].pointer, batch, label_capacity));
  int64_t total = 0;
  for (uint32_t i = static_cast<uint32_t>(batch); i < executor.integers.size(); ++i) total += executor.integers[i];
  if (targets.rank == 1 ? total != label_capacity : targets.dims[0] != batch)
    return refuse(executor, "targets do not fit");
  executor.attributes[kBlank] = blank.integer;
  executor.attributes[kZeroInfinity] = zero_infinity.integer;
  const int64_t longest = longestOf(executor), states = 2 * longest + 1;
  const int64_t words = logs.dims[0] * (logs.dims[2] + states) + 2 * states + logs.dims[2] + longest;
  executor.workspace_size = roundUp(static_cast<uint64_t>(words) * sizeof(double));
  return ACLNN_SUCCESS;
}

aclnnStatus requireLosses(const aclOpExecutor &executor, const Operand &losses, int64_t batch) {
  return requireShape(executor, losses, {1, {batch}});
}

aclnnStatus requireScores(const aclOpExecutor &executor, const Operand &scores, const Operand &logs) {
  return requireShape(executor, scores, {3, {logs.dims[1], logs.dims[0], 2 * longestOf(executor) + 1}});
}

/* logProbs, targets, inputLengths, targetLengths, blank, zeroInfinity, negLogLikelihood, logAlpha */
aclnnStatus prepareCtcLoss(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const auto &operands = executor.operands;
  SIM_TRY(prepareCtc(executor, operands[0], operands[1], arguments + 2, arguments[4], arguments[5]));
  SIM_TRY(requireLosses(executor, operands[2], operands[0].dims[1]));
  SIM_TRY(requireScores(executor, operands[3], operands[0]));
  executor.run = runCtcLoss;
  return ACLNN_SUCCESS;
}

/* gradOut, logProbs, targets, inputLengths, targetLengths, negLogLikelihood, logAlpha, blank, zeroInfinity, out */
aclnnStatus prepareCtcLossBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const auto &operands = executor.operands;
  SIM_TRY(prepareCtc(executor, operands[1], operands[2], arguments + 3, arguments[7], arguments[8]));
  for (uint32_t index : {0u, 3u}) SIM_TRY(requireLosses(executor, operands[index], operands[1].dims[1]));
  SIM_TRY(requireScores(executor, operands[4], operands[1]));
  SIM_TRY(requireShape(executor, operands[5], shapeOf(operands[1])));
  executor.run = runCtcLossBackward;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnCtcLoss, prepareCtcLoss, nullptr, 0)
SIM_OP(aclnnCtcLossBackward, prepareCtcLossBackward, nullptr, 0)

}  // namespace sim
