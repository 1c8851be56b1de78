/* Losses that compare two tensors element by element, with weights for some, reduced or not; and their gradients. */
#include <algorithm>
#include <cmath>

#include "opapi/loops.h"

namespace sim {
namespace {

enum Reduction : int64_t { kNone, kMean, kSum };
enum Attribute { kReduction, kInputs };

/* x: self, target, and where the loss has them weight and weight of the positives (1 where left out); p: a parameter.*/
using Formula = double (*)(const double *x, double p);
struct Loss {
  Formula value;
  Formula slope;        /* by self */
  Formula target_slope; /* NULL: no operator asks for it */
};

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
double sign(double x) { return static_cast<double>((x > 0) - (x < 0)); }

double square(const double *x, double) { return (x[0] - x[1]) * (x[0] - x[1]); }
double squareSlope(const double *x, double) { return 2 * (x[0] - x[1]); }
double distance(const double *x, double) { return std::fabs(x[0] - x[1]); }
double distanceSlope(const double *x, double) { return sign(x[0] - x[1]); }

double smooth(const double *x, double beta) {
  const double size = std::fabs(x[0] - x[1]);
  return size < beta ? size * size / (2 * beta) : size - beta / 2;
}
double smoothSlope(const double *x, double beta) {
  const double step = x[0] - x[1];
  return std::fabs(step) < beta ? step / beta : sign(step);
}

double margin(const double *x, double) { return softplus(-x[0] * x[1]); }
double marginSlope(const double *x, double) { return -x[1] * sigmoid(-x[0] * x[1]); }

/* Logarithms are held above -100, so that a wrong certainty costs much but not everything. */
double entropy(const double *x, double) {
  return -x[2] * (x[1] * std::max(std::log(x[0]), -100.0) + (1 - x[1]) * std::max(std::log1p(-x[0]), -100.0));
}
double entropySlope(const double *x, double) { return x[2] * (x[0] - x[1]) / std::max((1 - x[0]) * x[0], 1e-12); }

double logitEntropy(const double *x, double) {
  return x[2] * ((1 - x[1]) * x[0] + (1 + (x[3] - 1) * x[1]) * softplus(-x[0]));
}
double logitEntropySlope(const double *x, double) {
  return x[2] * ((1 - x[1]) - (1 + (x[3] - 1) * x[1]) * sigmoid(-x[0]));
}
double logitEntropyTargetSlope(const double *x, double) { return x[2] * ((x[3] - 1) * softplus(-x[0]) - x[0]); }

double divergence(const double *x, double) { return x[1] > 0 ? x[1] * (std::log(x[1]) - x[0]) : x[1] == 0 ? 0 : NAN; }
double divergenceSlope(const double *x, double) { return x[1] > 0 ? -x[1] : 0.0; }
double divergenceTargetSlope(const double *x, double) { return x[1] > 0 ? std::log(x[1]) + 1 - x[0] : 0.0; }
double logDivergence(const double *x, double) { return std::exp(x[1]) * (x[1] - x[0]); }
double logDivergenceSlope(const double *x, double) { return -std::exp(x[1]); }
double logDivergenceTargetSlope(const double *x, double) { return std::exp(x[1]) * (x[1] - x[0] + 1); }

constexpr Loss kSquare = {square, squareSlope, nullptr}, kDistance = {distance, distanceSlope, nullptr};
constexpr Loss kSmooth = {smooth, smoothSlope, nullptr}, kMargin = {margin, marginSlope, nullptr};
constexpr Loss kEntropy = {entropy, entropySlope, nullptr};
constexpr Loss kLogitEntropy = {logitEntropy, logitEntropySlope, logitEntropyTargetSlope};
constexpr Loss kDivergence = {divergence, divergenceSlope, divergenceTargetSlope};
constexpr Loss kLogDivergence = {logDivergence, logDivergenceSlope, logDivergenceTargetSlope};

constexpr int kMostInputs = 5;

/* Calls `use` with a block of each input, 1.0 for those left out. */
template <class Use>
void walk(const Operand *inputs, int64_t count, int64_t total, Use use) {
  double rooms[kMostInputs][kBlock];
  const double *blocks[kMostInputs];
  alignas(Cursor) char places[kMostInputs][sizeof(Cursor)];
  Cursor *cursors[kMostInputs];
  for (int64_t i = 0; i < count; ++i) {
    cursors[i] = inputs[i].tensor == nullptr ? nullptr : new (places[i]) Cursor(inputs[i]);
    std::fill_n(rooms[i], kBlock, 1.0);
  }
  for (int64_t first = 0; first < total; first += kBlock) {
    const int64_t length = std::min(kBlock, total - first);
    for (int64_t i = 0; i < count; ++i) {
      blocks[i] = cursors[i] == nullptr ? rooms[i] : static_cast<const double *>(cursors[i]->read(rooms[i], length));
    }
    use(blocks, length);
  }
}

/* self, target, weights, out */
aclError runLoss(const aclOpExecutor &executor) {
  const Formula formula = reinterpret_cast<Formula>(const_cast<void *>(executor.kernel));
  const int64_t inputs = executor.attributes[kInputs], reduction = executor.attributes[kReduction];
  const double parameter = executor.numbers[0].real;
  const int64_t total = executor.operands[0].count;
  Operand out = executor.operands[static_cast<uint32_t>(inputs)];
  out.compute = kF64;
  Cursor target(out);
  double sum = 0.0;
  walk(executor.operands.begin(), inputs, total, [&](const double **blocks, int64_t length) {
    double values[kBlock];
    for (int64_t i = 0; i < length; ++i) {
      double x[kMostInputs];
      for (int64_t k = 0; k < inputs; ++k) x[k] = blocks[k][i];
      sum += values[i] = formula(x, parameter);
    }
    if (reduction == kNone) target.write(values, length);
  });
  if (reduction == kMean) sum /= static_cast<double>(total);
  if (reduction != kNone) target.write(&sum, 1);
  return ACL_SUCCESS;
}

/* gradient, self, target, weights, out */
aclError runBackward(const aclOpExecutor &executor) {
  const Formula formula = reinterpret_cast<Formula>(const_cast<void *>(executor.kernel));
  const int64_t inputs = executor.attributes[kInputs];
  const double parameter = executor.numbers[0].real;
  Operand out = executor.operands[static_cast<uint32_t>(inputs)];
  out.compute = kF64;
  Cursor target(out);
  const double share = executor.attributes[kReduction] == kMean ? 1.0 / static_cast<double>(out.count) : 1.0;
  walk(executor.operands.begin(), inputs, out.count, [&](const double **blocks, int64_t length) {
    double values[kBlock];
    for (int64_t i = 0; i < length; ++i) {
      double x[kMostInputs];
      for (int64_t k = 1; k < inputs; ++k) x[k - 1] = blocks[k][i];
      values[i] = blocks[0][i] * share * formula(x, parameter);
    }
    target.write(values, length);
  });
  return ACL_SUCCESS;
}

/* Operands [0, inputs) are broadcast together; the result is theirs, or one number. */
aclnnStatus plan(aclOpExecutor &executor, uint32_t inputs, int64_t reduction, bool reduces, Formula formula,
                 double parameter) {
  if (reduction < kNone || reduction > kSum) {
    return refuse(executor, "reduction is {}, expected 0, 1 or 2", reduction);
  }
  Shape shape;
  for (uint32_t i = 0; i < inputs; ++i) {
    const Operand &operand = executor.operands[i];
    if (operand.tensor != nullptr && !broadcastInto(&shape, operand)) {
      return refuse(executor, "the shape of {} cannot be broadcast with the others", operand);
    }
  }
  const Operand &out = executor.operands[inputs];
  if (reduces && reduction != kNone && out.count != 1) return refuse(executor, "out has more than one element");
  if (!reduces || reduction == kNone) {
    SIM_TRY(requireShape(executor, out, shape));
  }
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; ++i) count *= shape.dims[i];
  for (uint32_t i = 0; i < inputs; ++i) {
    Operand &operand = executor.operands[i];
    if (operand.tensor == nullptr) continue;
    expandTo(&operand, shape);
    operand.count = count;
    operand.compute = kF64;
  }
  executor.attributes[kReduction] = reduction;
  executor.attributes[kInputs] = inputs;
  executor.numbers[0] = {true, ACL_DOUBLE, 0, parameter, 0.0};
  executor.kernel = reinterpret_cast<const void *>(formula);
  executor.run = reduces ? runLoss : runBackward;
  return ACLNN_SUCCESS;
}

/* self, target[, weights], reduction, out; the variant counts the tensors before reduction */
aclnnStatus prepareLoss(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const uint32_t inputs = static_cast<uint32_t>(body.variant);
  return plan(executor, inputs, arguments[inputs].integer, true, static_cast<const Loss *>(body.kernel)->value, 0.0);
}

/* gradOutput, self, target[, weights], reduction, out */
aclnnStatus prepareLossBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const uint32_t inputs = static_cast<uint32_t>(body.variant);
  return plan(executor, inputs, arguments[inputs].integer, false, static_cast<const Loss *>(body.kernel)->slope, 0.0);
}

aclnnStatus prepareLossTargetBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const uint32_t inputs = static_cast<uint32_t>(body.variant);
  const Loss &loss = *static_cast<const Loss *>(body.kernel);
  return plan(executor, inputs, arguments[inputs].integer, false, loss.target_slope, 0.0);
}

/* ..., reduction, beta, out; without the smooth part it is the distance */
aclnnStatus prepareSmooth(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const uint32_t inputs = static_cast<uint32_t>(body.variant);
  const double beta = arguments[inputs + 1].real;
  if (!(beta >= 0.0)) return refuse(executor, "beta is {}, expected 0 or more", beta);
  const Loss &loss = beta > 0.0 ? kSmooth : kDistance;
  const bool backward = inputs == 3;
  return plan(executor, inputs, arguments[inputs].integer, !backward, backward ? loss.slope : loss.value, beta);
}

/* ..., reduction, logTarget, out */
aclnnStatus prepareDivergence(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Loss &loss = arguments[3].integer != 0 ? kLogDivergence : kDivergence;
  return plan(executor, 2, arguments[2].integer, true, loss.value, 0.0);
}

/* gradOutput, self, target, reduction, logTarget, out; variant 1: the gradient of target */
aclnnStatus prepareDivergenceBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Loss &loss = arguments[4].integer != 0 ? kLogDivergence : kDivergence;
  return plan(executor, 3, arguments[3].integer, false, body.variant != 0 ? loss.target_slope : loss.slope, 0.0);
}

}  // namespace

SIM_OP(aclnnMseLoss, prepareLoss, &kSquare, 2)
SIM_OP(aclnnMseLossOut, prepareLoss, &kSquare, 2)
SIM_OP(aclnnMseLossBackward, prepareLossBackward, &kSquare, 3)
SIM_OP(aclnnL1Loss, prepareLoss, &kDistance, 2)
SIM_OP(aclnnL1LossBackward, prepareLossBackward, &kDistance, 3)
SIM_OP(aclnnSmoothL1Loss, prepareSmooth, nullptr, 2)
SIM_OP(aclnnSmoothL1LossBackward, prepareSmooth, nullptr, 3)
SIM_OP(aclnnSoftMarginLoss, prepareLoss, &kMargin, 2)
SIM_OP(aclnnSoftMarginLossBackward, prepareLossBackward, &kMargin, 3)
SIM_OP(aclnnBinaryCrossEntropy, prepareLoss, &kEntropy, 3)
SIM_OP(aclnnBinaryCrossEntropyBackward, prepareLossBackward, &kEntropy, 4)
SIM_OP(aclnnBinaryCrossEntropyWithLogits, prepareLoss, &kLogitEntropy, 4)
SIM_OP(aclnnBinaryCrossEntropyWithLogitsBackward, prepareLossBackward, &kLogitEntropy, 5)
SIM_OP(aclnnBinaryCrossEntropyWithLogitsTargetBackward, prepareLossTargetBackward, &kLogitEntropy, 5)
SIM_OP(aclnnKlDiv, prepareDivergence, nullptr, 0)
SIM_OP(aclnnKlDivBackward, prepareDivergenceBackward, nullptr, 0)
SIM_OP(aclnnKlDivTargetBackward, prepareDivergenceBackward, nullptr, 1)

}  // namespace sim
