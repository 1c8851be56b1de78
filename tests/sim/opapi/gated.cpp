/* Gated units by their formulas, gradients by finite differences, along each dimension and in every layout; one_hot,
 * trace and normal numbers in a new tensor. */
#include "aclnnop/aclnn_ge_glu_v3.h"
#include "aclnnop/aclnn_ge_glu_v3_backward.h"
#include "aclnnop/aclnn_gelu_mul.h"
#include "aclnnop/aclnn_glu.h"
#include "aclnnop/aclnn_glu_backward.h"
#include "aclnnop/aclnn_normal_float_float.h"
#include "aclnnop/aclnn_one_hot.h"
#include "aclnnop/aclnn_swi_glu.h"
#include "aclnnop/aclnn_swi_glu_grad.h"
#include "aclnnop/aclnn_trace.h"
#include "op_test.h"

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double glu(double x, double y) { return x * sigmoid(y); }
double swiGlu(double x, double y) { return x * sigmoid(x) * y; }

using Forward = std::function<aclnnStatus(aclTensor *x, int64_t dim, aclTensor *out)>;
using Backward = std::function<aclnnStatus(aclTensor *grad, aclTensor *x, int64_t dim, aclTensor *out)>;

/* The halves of {4, 6} along dim; `other` is how far the second one is. */
void test(double (*formula)(double, double), const Forward &forward, const Backward &backward, int64_t dim,
          Layout layout) {
  const Dims dims = {4, 6}, halved = dim == 0 ? Dims{2, 6} : Dims{4, 3};
  const size_t other = dim == 0 ? 12 : 3;
  Values x(24), out(12), grads(12), slopes(24);
  for (size_t i = 0; i < 24; ++i) x[i] = static_cast<double>(i * 7 % 24) / 8 - 1.5;
  for (size_t i = 0; i < 12; ++i) {
    const size_t first = dim == 0 ? i : i / 3 * 6 + i % 3;
    const double a = x[first], b = x[first + other], step = 1e-5;
    grads[i] = static_cast<double>(i) / 4 - 1;
    out[i] = formula(a, b);
    slopes[first] = grads[i] * (formula(a + step, b) - formula(a - step, b)) / (2 * step);
    slopes[first + other] = grads[i] * (formula(a, b + step) - formula(a, b - step)) / (2 * step);
  }
  Tensor tx(ACL_FLOAT, dims, x, layout), result(ACL_FLOAT, halved, {}), grad(ACL_FLOAT, halved, grads);
  Tensor gradient(ACL_FLOAT, dims, {}), wrong(ACL_FLOAT, dims, {}), odd(ACL_FLOAT, {3, 3}, {});
  EXPECT(forward(tx, dim, result) == ACLNN_SUCCESS);
  EXPECT_VALUES(result.read(), out, 1e-6);
  EXPECT(backward(grad, tx, dim, gradient) == ACLNN_SUCCESS);
  EXPECT_VALUES(gradient.read(), slopes, 1e-5);
  EXPECT(forward(tx, dim, wrong) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(forward(odd, dim, odd) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(forward(tx, 2, result) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(backward(wrong, tx, dim, gradient) == ACLNN_ERR_PARAM_INVALID);
}

double gelu(double x) { return x * 0.5 * (1 + std::erf(x * std::sqrt(0.5))); }
double geluByTanh(double x) { return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); }

/* One half times gelu of the other, along dimension 1 of {2, 4}, and gelu itself. */
void testGeGlu(bool left, int64_t approximate, Layout layout) {
  currentCase() = "geglu";
  const Values x = {-1.5, -0.5, 0.5, 1.25, 0.75, -0.25, 1, -2}, grads = {1, -0.5, 0.25, 2};
  const auto f = approximate == 1 ? geluByTanh : gelu;
  Values out(4), active(4), slopes(8);
  for (size_t i = 0; i < 4; ++i) {
    const size_t first = i / 2 * 4 + i % 2, a = left ? first : first + 2, plain = left ? first + 2 : first;
    const double step = 1e-5;
    active[i] = f(x[a]);
    out[i] = x[plain] * active[i];
    slopes[plain] = grads[i] * active[i];
    slopes[a] = grads[i] * x[plain] * (f(x[a] + step) - f(x[a] - step)) / (2 * step);
  }
  Tensor tx(ACL_FLOAT, {2, 4}, x, layout), result(ACL_FLOAT, {2, 2}, {}), activated(ACL_FLOAT, {2, 2}, {}, layout);
  Tensor grad(ACL_FLOAT, {2, 2}, grads, layout), gradient(ACL_FLOAT, {2, 4}, {}, layout), wrong(ACL_FLOAT, {2, 4}, {});
  EXPECT(RUN(aclnnGeGluV3, tx, -1, approximate, left, result, activated) == ACLNN_SUCCESS);
  EXPECT_VALUES(result.read(), out, 1e-5);
  EXPECT_VALUES(activated.read(), active, 1e-5);
  EXPECT(RUN(aclnnGeGluV3Backward, grad, tx, activated, 1, approximate, left, gradient) == ACLNN_SUCCESS);
  EXPECT_VALUES(gradient.read(), slopes, 1e-5);
  EXPECT(RUN(aclnnGeGluV3, tx, -1, 2, left, result, activated) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnGeGluV3, tx, 2, approximate, left, result, activated) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnGeGluV3, tx, -1, approximate, left, wrong, activated) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnGeGluV3Backward, grad, tx, wrong, 1, approximate, left, gradient) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnGeGluV3Backward, grad, tx, activated, 1, approximate, left, grad) == ACLNN_ERR_PARAM_INVALID);
  if (!left) return;
  char mode[] = "tanh", unknown[] = "fast";
  EXPECT(RUN(aclnnGeluMul, tx, approximate == 1 ? mode : nullptr, result) == ACLNN_SUCCESS);
  EXPECT_VALUES(result.read(), out, 1e-5);
  EXPECT(RUN(aclnnGeluMul, tx, unknown, result) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnGeluMul, tx, mode, wrong) == ACLNN_ERR_PARAM_INVALID);
}

void testOneHot() {
  currentCase() = "one_hot";
  Tensor self(ACL_INT64, {2, 2}, {1, 0, 2, 5}), on(ACL_INT64, {1}, {7}), off(ACL_INT64, {1}, {1});
  Tensor out(ACL_INT64, {2, 2, 3}, {}, kTransposed), middle(ACL_INT64, {2, 3, 2}, {}), small(ACL_INT64, {2, 2, 2}, {});
  EXPECT(RUN(aclnnOneHot, self, 3, on, off, -1, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {1, 7, 1, 7, 1, 1, 1, 1, 7, 1, 1, 1}, 0);
  EXPECT(RUN(aclnnOneHot, self, 3, on, off, 1, middle) == ACLNN_SUCCESS);
  EXPECT_VALUES(middle.read(), {1, 7, 7, 1, 1, 1, 1, 1, 1, 1, 7, 1}, 0);
  EXPECT(RUN(aclnnOneHot, self, 3, on, off, -1, small) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnOneHot, self, 3, self, off, -1, out) == ACLNN_ERR_PARAM_INVALID);
}

void testTrace(Layout layout) {
  currentCase() = "trace";
  Tensor self(ACL_INT32, {2, 3}, {1, 2, 3, 4, 5, 6}, layout), real(ACL_FLOAT, {3, 2}, {1, 2, 3, 4, 5, 6}, layout);
  Tensor sum(ACL_INT64, {}, {}), real_sum(ACL_FLOAT, {}, {});
  EXPECT(RUN(aclnnTrace, self, sum) == ACLNN_SUCCESS);
  EXPECT_VALUES(sum.read(), {6}, 0);
  EXPECT(RUN(aclnnTrace, real, real_sum) == ACLNN_SUCCESS);
  EXPECT_VALUES(real_sum.read(), {5}, 0);
  EXPECT(RUN(aclnnTrace, real, sum) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnTrace, sum, sum) == ACLNN_ERR_PARAM_INVALID);
}

void testNormal() {
  currentCase() = "normal";
  Tensor out(ACL_FLOAT, {10000}, {}), again(ACL_FLOAT, {10000}, {});
  EXPECT(RUN(aclnnNormalFloatFloat, 3.0f, 2.0f, 5, 0, out) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnNormalFloatFloat, 3.0f, 2.0f, 5, 0, again) == ACLNN_SUCCESS);
  const Values values = out.read();
  EXPECT_VALUES(again.read(), values, 0);
  double mean = 0, squares = 0;
  for (double value : values) mean += value / 10000;
  for (double value : values) squares += (value - mean) * (value - mean) / 10000;
  EXPECT(std::fabs(mean - 3) < 0.1 && std::fabs(squares - 4) < 0.3);
  EXPECT(RUN(aclnnNormalFloatFloat, 3.0f, -2.0f, 5, 0, out) == ACLNN_ERR_PARAM_INVALID);
}

}  // namespace

int main() {
  Session session;
  for (int layout = 0; layout < kLayouts; ++layout) {
    for (int64_t dim : {0, 1}) {
      currentCase() = "glu";
      test(
          glu, [](aclTensor *x, int64_t d, aclTensor *out) { return RUN(aclnnGlu, x, d, out); },
          [](aclTensor *grad, aclTensor *x, int64_t d, aclTensor *out) {
            return RUN(aclnnGluBackward, grad, x, d, out);
          },
          dim, static_cast<Layout>(layout));
    }
  }
  currentCase() = "swiglu"; /* contiguous tensors only */
  for (int64_t dim : {0, 1}) {
    test(
        swiGlu, [](aclTensor *x, int64_t d, aclTensor *out) { return RUN(aclnnSwiGlu, x, d, out); },
        [](aclTensor *grad, aclTensor *x, int64_t d, aclTensor *out) { return RUN(aclnnSwiGluGrad, grad, x, d, out); },
        dim, kContiguous);
  }
  for (int layout = 0; layout < kLayouts; ++layout) {
    for (int64_t approximate : {0, 1}) {
      for (bool left : {false, true}) testGeGlu(left, approximate, static_cast<Layout>(layout));
    }
  }
  testOneHot();
  testNormal();
  for (int layout = 0; layout < kLayouts; ++layout) testTrace(static_cast<Layout>(layout));
}
