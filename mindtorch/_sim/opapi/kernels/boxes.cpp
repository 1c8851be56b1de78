/* Overlaps of boxes, which are corners (x0, y0, x1, y1). */
#include <cstring>

#include "opapi/loops.h"

namespace sim {
namespace {

enum Attribute { kOfSecond, kAligned, kEpsilon /* a double's bits */ };

struct Box {
  float x0, y0, x1, y1;

  /* eps keeps the area of an empty box from being 0. */
  float area(float eps) const { return (x1 - x0 + eps) * (y1 - y0 + eps); }
};

float overlapOf(const Box &a, const Box &b) {
  const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0), height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  return std::max(width, 0.0f) * std::max(height, 0.0f);
}

/* bBoxes, gtBoxes, overlap: of all pairs, or line by line. */
aclError runIou(const aclOpExecutor &executor) {
  Operand out = executor.operands[2];
  if (out.count == 0) return ACL_SUCCESS;
  double epsilon;
  std::memcpy(&epsilon, &executor.attributes[kEpsilon], sizeof epsilon);
  const float eps = static_cast<float>(epsilon);
  const int64_t rows = executor.operands[0].dims[0], others = executor.operands[1].dims[0];
  Box *boxes = reinterpret_cast<Box *>(executor.workspace), *truths = boxes + rows;
  readElements(executor.operands[0], reinterpret_cast<float *>(boxes));
  readElements(executor.operands[1], reinterpret_cast<float *>(truths));
  out.compute = kF32;
  Cursor results(out);
  const bool aligned = executor.attributes[kAligned] != 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = aligned ? i : 0; j < (aligned ? i + 1 : others); ++j) {
      const float overlap = overlapOf(boxes[i], truths[j]), area = truths[j].area(eps);
      const float whole = executor.attributes[kOfSecond] != 0 ? area : boxes[i].area(eps) + area - overlap;
      const float result = overlap / whole;
      results.write(&result, 1);
    }
  }
  return ACL_SUCCESS;
}

/* bBoxes, gtBoxes, mode, eps, aligned, overlap */
aclnnStatus prepareIou(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &boxes = executor.operands[0], &truths = executor.operands[1], &out = executor.operands[2];
  const char *mode = static_cast<const char *>(arguments[2].pointer);
  const bool of_second = mode != nullptr && std::strcmp(mode, "iof") == 0, aligned = arguments[4].integer != 0;
  if (!of_second && (mode == nullptr || std::strcmp(mode, "iou") != 0)) {
    return refuse(executor, "mode is {}, expected iou or iof", mode != nullptr ? mode : "NULL");
  }
  for (const Operand *each : {&boxes, &truths}) {
    if (each->rank != 2) return refuse(executor, "{} has {} dimensions, expected 2", *each, each->rank);
    SIM_TRY(requireShape(executor, *each, {2, {each->dims[0], 4}}));
    if (each->type != out.type) return refuse(executor, "{} and overlap have different data types", *each);
  }
  if (aligned) SIM_TRY(requireShape(executor, truths, shapeOf(boxes)));
  SIM_TRY(requireShape(executor, out, {2, {boxes.dims[0], aligned ? 1 : truths.dims[0]}}));
  executor.attributes[kOfSecond] = of_second;
  executor.attributes[kAligned] = aligned;
  std::memcpy(&executor.attributes[kEpsilon], &arguments[3].real, sizeof(double));
  executor.workspace_size = roundUp(static_cast<uint64_t>(boxes.dims[0] + truths.dims[0]) * sizeof(Box));
  executor.run = runIou;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnIou, prepareIou, nullptr, 0)

}  // namespace sim
