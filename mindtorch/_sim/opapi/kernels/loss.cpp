/* Losses over classes: negative log likelihood over (N, C), (C) or (N, C, H, W), forward and backward, and margins
 * between the labels of a sample and its other classes. */
#include <algorithm>

#include "opapi/loops.h"

namespace sim {
namespace {

enum Reduction : int64_t { kNone, kMean, kSum };
enum Attribute { kReduction, kIgnored, kClasses, kSamples };

double readAt(const Operand &operand, int64_t element) {
  double value;
  loadRow(operand.type, kF64)(operand.host + element * operand.item, 0, &value, 1);
  return value;
}

void writeAt(const Operand &operand, int64_t element, double value) {
  storeRow(operand.type, kF64)(&value, operand.host + element * operand.item, 0, 1);
}

/* Offset of sample `i` in a tensor that has, the dimension `classes` aside, a place for each. */
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
  loadRow(targets.type, kI64)(targets.host + offsetOf(targets, i) * targets.item, 0, &sample->target, 1);
  if (sample->target == executor.attributes[kIgnored]) {
    *sample = {-1, 0.0};
    return true;
  }
  if (sample->target < 0 || sample->target >= executor.attributes[kClasses]) return false;
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
    const int64_t place = offsetOf(out, i, classDim(out));
    for (int64_t c = 0; c < executor.attributes[kClasses]; ++c) writeAt(out, place + c * step, 0.0);
    if (sample.target < 0) continue;
    double value = -sample.weight * readAt(gradient, reduction == kNone ? offsetOf(gradient, i) : 0);
    if (reduction == kMean) value /= readAt(total, 0);
    writeAt(out, place + sample.target * step, value);
  }
  return ACL_SUCCESS;
}

aclnnStatus requireCount(const aclOpExecutor &executor, const Operand &operand, int64_t count) {
  if (operand.count == count && operand.rank <= 1) return ACLNN_SUCCESS;
  return refuse(executor, "{} has {} elements in {} dimensions, expected {} in one at most", operand, operand.count,
                operand.rank, count);
}

/* Something for each sample: one dimension, or those of images. */
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
  if (reduction < kNone || reduction > kSum) {
    return refuse(executor, "reduction is {}, expected 0, 1 or 2", reduction);
  }
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

/* Marks a row's labels, the classes before the first -1, and counts them; -1 where one is no class. */
int64_t markLabels(const Operand &targets, const Operand &marks, int64_t row, int64_t classes) {
  for (int64_t c = 0; c < classes; ++c) writeAt(marks, placeOf(marks, row, c), 0.0);
  for (int64_t k = 0; k < classes; ++k) {
    int64_t label;
    loadRow(targets.type, kI64)(targets.host + placeOf(targets, row, k) * targets.item, 0, &label, 1);
    if (label < 0) return k;
    if (label >= classes) return -1;
    writeAt(marks, placeOf(marks, row, label), 1.0);
  }
  return classes;
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
      loadRow(targets.type, kI64)(targets.host + placeOf(targets, row, k) * targets.item, 0, &label, 1);
      const double bound = 1.0 - readAt(scores, placeOf(scores, row, label));
      for (int64_t c = 0; c < classes; ++c) {
        if (readAt(marks, placeOf(marks, row, c)) == 0.0) {
          loss += std::max(bound + readAt(scores, placeOf(scores, row, c)), 0.0);
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
  if (reduction < kNone || reduction > kSum) {
    return refuse(executor, "reduction is {}, expected 0, 1 or 2", reduction);
  }
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

}  // namespace sim
