/* Losses by their definitions, reduced and not, and their gradients by finite differences. */
#include "aclnnop/aclnn_binary_cross_entropy.h"
#include "aclnnop/aclnn_binary_cross_entropy_backward.h"
#include "aclnnop/aclnn_binary_cross_entropy_with_logits.h"
#include "aclnnop/aclnn_binary_cross_entropy_with_logits_backward.h"
#include "aclnnop/aclnn_kl_div.h"
#include "aclnnop/aclnn_kl_div_backward.h"
#include "aclnnop/aclnn_l1_loss.h"
#include "aclnnop/aclnn_l1_loss_backward.h"
#include "aclnnop/aclnn_mse_loss.h"
#include "aclnnop/aclnn_mse_loss_backward.h"
#include "aclnnop/aclnn_smooth_l1_loss.h"
#include "aclnnop/aclnn_smooth_l1_loss_backward.h"
#include "aclnnop/aclnn_soft_margin_loss.h"
#include "aclnnop/aclnn_soft_margin_loss_backward.h"
#include "op_test.h"

namespace {

const Dims kDims = {3, 4};
const Dims kOne = {};
constexpr size_t kCount = 12;

using Formula = std::function<double(double x, double t, double w, double p)>;
/* Phase 1 and 2 of an operator and of its gradient, for these tensors. */
struct Tensors {
  aclTensor *grad, *x, *t, *w, *p;
  int64_t reduction;
  aclTensor *out;
};
using Call = std::function<aclnnStatus(const Tensors &)>;

void test(const char *name, const Formula &formula, const Call &forward, const Call &backward, Layout layout) {
  currentCase() = name;
  Values x(kCount), t(kCount), w(kCount), p(kCount), grads(kCount), values(kCount), slopes(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    const double k = static_cast<double>(i);
    x[i] = 0.06 + k * 0.07;
    t[i] = 0.95 - k * 0.06;
    w[i] = 0.5 + k * 0.125;
    p[i] = 2 - k * 0.125;
    grads[i] = k - 5;
  }
  double sum = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const double step = 1e-6;
    sum += values[i] = formula(x[i], t[i], w[i], p[i]);
    slopes[i] = (formula(x[i] + step, t[i], w[i], p[i]) - formula(x[i] - step, t[i], w[i], p[i])) / (2 * step);
  }
  Tensor tx(ACL_FLOAT, kDims, x, layout), tt(ACL_FLOAT, kDims, t, layout), tw(ACL_FLOAT, kDims, w),
      tp(ACL_FLOAT, kDims, p);
  Tensor grad(ACL_FLOAT, kDims, grads, layout), one(ACL_FLOAT, kOne, {2}), out(ACL_FLOAT, kDims, {}, layout),
      total(ACL_FLOAT, kOne, {});
  EXPECT(forward({nullptr, tx, tt, tw, tp, 0, out}) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), values, 1e-5);
  for (int64_t reduction : {1, 2}) {
    EXPECT(forward({nullptr, tx, tt, tw, tp, reduction, total}) == ACLNN_SUCCESS);
    EXPECT_VALUES(total.read(), {reduction == 1 ? sum / kCount : sum}, 1e-5);
    EXPECT(backward({one, tx, tt, tw, tp, reduction, out}) == ACLNN_SUCCESS);
    Values expected = slopes;
    for (double &value : expected) value *= reduction == 1 ? 2.0 / kCount : 2.0;
    EXPECT_VALUES(out.read(), expected, 1e-4);
  }
  EXPECT(backward({grad, tx, tt, tw, tp, 0, out}) == ACLNN_SUCCESS);
  for (size_t i = 0; i < kCount; ++i) slopes[i] *= grads[i];
  EXPECT_VALUES(out.read(), slopes, 1e-4);
  EXPECT(forward({nullptr, tx, tt, tw, tp, 3, total}) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(forward({nullptr, tx, tt, tw, tp, 0, total}) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(forward({nullptr, tx, tt, tw, tp, 1, out}) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(forward({nullptr, tx, nullptr, tw, tp, 0, out}) == ACLNN_ERR_PARAM_NULLPTR);
  EXPECT(backward({grad, tx, tt, tw, tp, 0, total}) == ACLNN_ERR_PARAM_INVALID);
}

double entropy(double x, double t, double w, double) { return -w * (t * std::log(x) + (1 - t) * std::log(1 - x)); }
double logitEntropy(double x, double t, double w, double p) {
  const double likely = 1 / (1 + std::exp(-x));
  return -w * (p * t * std::log(likely) + (1 - t) * std::log(1 - likely));
}

#define CALLS(op, ...)                                                          \
  [](const Tensors &a) { return RUN(op, a.x, a.t, a.reduction, __VA_ARGS__); }, \
      [](const Tensors &a) { return RUN(op##Backward, a.grad, a.x, a.t, a.reduction, __VA_ARGS__); }

void testAll(Layout layout) {
  test("mse", [](double x, double t, double, double) { return (x - t) * (x - t); }, CALLS(aclnnMseLoss, a.out), layout);
  test("l1", [](double x, double t, double, double) { return std::fabs(x - t); }, CALLS(aclnnL1Loss, a.out), layout);
  const auto smooth = [](double x, double t, double, double) {
    const double size = std::fabs(x - t);
    return size < 0.5 ? size * size : size - 0.25;
  };
  test("smooth_l1", smooth, CALLS(aclnnSmoothL1Loss, 0.5f, a.out), layout);
  test(
      "soft_margin", [](double x, double t, double, double) { return std::log1p(std::exp(-x * t)); },
      CALLS(aclnnSoftMarginLoss, a.out), layout);
  test(
      "kl_div", [](double x, double t, double, double) { return t * (std::log(t) - x); },
      CALLS(aclnnKlDiv, false, a.out), layout);
  test(
      "kl_div of logarithms", [](double x, double t, double, double) { return std::exp(t) * (t - x); },
      CALLS(aclnnKlDiv, true, a.out), layout);
  test(
      "bce", entropy, [](const Tensors &a) { return RUN(aclnnBinaryCrossEntropy, a.x, a.t, a.w, a.reduction, a.out); },
      [](const Tensors &a) { return RUN(aclnnBinaryCrossEntropyBackward, a.grad, a.x, a.t, a.w, a.reduction, a.out); },
      layout);
  test(
      "bce with logits", logitEntropy,
      [](const Tensors &a) { return RUN(aclnnBinaryCrossEntropyWithLogits, a.x, a.t, a.w, a.p, a.reduction, a.out); },
      [](const Tensors &a) {
        return RUN(aclnnBinaryCrossEntropyWithLogitsBackward, a.grad, a.x, a.t, a.w, a.p, a.reduction, a.out);
      },
      layout);
}

void testCertain() {
  currentCase() = "a wrong certainty costs 100";
  Tensor x(ACL_FLOAT, {2}, {0, 1}), t(ACL_FLOAT, {2}, {1, 1}), out(ACL_FLOAT, {2}, {});
  EXPECT(RUN(aclnnBinaryCrossEntropy, x, t, nullptr, 0, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {100, 0}, 0);
}

}  // namespace

int main() {
  Session session;
  for (int layout = 0; layout < kLayouts; ++layout) testAll(static_cast<Layout>(layout));
  testCertain();
}
