/* Overlaps of boxes by the formula, in every layout; what phase 1 refuses. */
#include "aclnnop/aclnn_iou.h"
#include "op_test.h"

namespace {

const Values kBoxes = {0, 0, 10, 10, 10, 10, 20, 20, 32, 32, 38, 42};
const Values kTruths = {0, 0, 10, 20, 0, 10, 10, 10, 12, 8, 18, 24};

double area(const double *box, double eps) { return (box[2] - box[0] + eps) * (box[3] - box[1] + eps); }

double overlap(const double *a, const double *b, bool of_second, double eps) {
  double common = 1;
  for (int i = 0; i < 2; ++i) common *= std::max(std::min(a[i + 2], b[i + 2]) - std::max(a[i], b[i]), 0.0);
  return common / (of_second ? area(b, eps) : area(a, eps) + area(b, eps) - common);
}

void test(aclDataType type, bool of_second, Layout layout) {
  const Layout other = static_cast<Layout>(kLayouts - 1 - layout);
  Tensor boxes(type, {3, 4}, kBoxes, layout), truths(type, {2, 4}, {kTruths.begin() + 4, kTruths.end()}, other);
  Tensor all(type, {3, 2}, {}, layout), every_truth(type, {3, 4}, kTruths, other), own(type, {3, 1}, {}, layout);
  Values pairs, lines;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 1; j < 3; ++j) pairs.push_back(overlap(&kBoxes[4 * i], &kTruths[4 * j], of_second, 0.5));
    lines.push_back(overlap(&kBoxes[4 * i], &kTruths[4 * i], of_second, 0.01));
  }
  const char *mode = of_second ? "iof" : "iou";
  currentCase() = "iou of all pairs";
  EXPECT(RUN(aclnnIou, boxes, truths, mode, 0.5f, false, all) == ACLNN_SUCCESS);
  EXPECT_VALUES(all.read(), pairs, toleranceOf(type));
  currentCase() = "iou line by line";
  EXPECT(RUN(aclnnIou, boxes, every_truth, mode, 0.01f, true, own) == ACLNN_SUCCESS);
  EXPECT_VALUES(own.read(), lines, toleranceOf(type));
}

void testRefusals() {
  currentCase() = "iou refuses";
  Tensor two(ACL_FLOAT, {2, 4}, {}), three(ACL_FLOAT, {3, 4}, {}), half(ACL_FLOAT16, {3, 4}, {});
  Tensor narrow(ACL_FLOAT, {3, 3}, {}), line(ACL_FLOAT, {4}, {}), out(ACL_FLOAT, {2, 3}, {}),
      one(ACL_FLOAT, {2, 1}, {});
  EXPECT(RUN(aclnnIou, two, three, "giou", 0.0f, false, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnIou, two, narrow, "iou", 0.0f, false, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnIou, line, three, "iou", 0.0f, false, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnIou, two, half, "iou", 0.0f, false, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnIou, three, two, "iou", 0.0f, false, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnIou, two, three, "iou", 0.0f, true, one) == ACLNN_ERR_PARAM_INVALID);
  Tensor none(ACL_FLOAT, {0, 4}, {}), nothing(ACL_FLOAT, {0, 3}, {});
  EXPECT(RUN(aclnnIou, none, three, "iou", 0.0f, false, nothing) == ACLNN_SUCCESS);
}

}  // namespace

int main() {
  Session session;
  for (int layout = 0; layout < kLayouts; ++layout) {
    for (aclDataType type : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
      for (bool of_second : {false, true}) test(type, of_second, static_cast<Layout>(layout));
    }
  }
  testRefusals();
}
