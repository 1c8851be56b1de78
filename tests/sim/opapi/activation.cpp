/* Activation functions against their formulas: prelu with one weight or one for each channel, celu and threshold. */
#include "aclnnop/aclnn_celu.h"
#include "aclnnop/aclnn_prelu.h"
#include "aclnnop/aclnn_prelu_backward.h"
#include "aclnnop/aclnn_threshold.h"
#include "op_test.h"

namespace {

const Dims kDims = {2, 3, 4};
constexpr size_t kCount = 24;

Values ramp(double first, double step) {
  Values values(kCount);
  for (size_t i = 0; i < kCount; ++i) values[i] = first + step * static_cast<double>(i * 7 % kCount);
  return values;
}

/* `channels`: how many weights; elements that share one are four in a row. */
void testPrelu(size_t channels, Layout layout) {
  currentCase() = "prelu";
  const Values x = ramp(-3, 0.25), grads = ramp(2, -0.125), weights = channels == 1 ? Values{0.5} : Values{0.5, -1, 2};
  Values out(kCount), slopes(kCount), sums(channels);
  for (size_t i = 0; i < kCount; ++i) {
    const size_t c = i / 4 % channels;
    out[i] = x[i] > 0 ? x[i] : weights[c] * x[i];
    slopes[i] = x[i] > 0 ? grads[i] : weights[c] * grads[i];
    if (x[i] <= 0) sums[c] += grads[i] * x[i];
  }
  const Dims dims = {static_cast<int64_t>(channels)};
  Tensor tx(ACL_FLOAT, kDims, x, layout), weight(ACL_FLOAT, dims, weights), grad(ACL_FLOAT, kDims, grads, layout);
  Tensor result(ACL_FLOAT, kDims, {}, layout), of_weight(ACL_FLOAT, dims, {}), two(ACL_FLOAT, {2}, {1, 1});
  EXPECT(RUN(aclnnPrelu, tx, weight, result) == ACLNN_SUCCESS);
  EXPECT_VALUES(result.read(), out, 1e-6);
  EXPECT(RUN(aclnnPreluBackward, grad, tx, weight, result, of_weight) == ACLNN_SUCCESS);
  EXPECT_VALUES(result.read(), slopes, 1e-6);
  EXPECT_VALUES(of_weight.read(), sums, 1e-5);
  EXPECT(RUN(aclnnPreluBackward, grad, tx, two, result, two) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnPreluBackward, grad, tx, weight, result, two) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnPreluBackward, weight, tx, weight, result, of_weight) == ACLNN_ERR_PARAM_INVALID);
}

void testEmptyPrelu() {
  currentCase() = "prelu of nothing";
  Tensor x(ACL_FLOAT16, {0, 3}, {}), weight(ACL_FLOAT16, {3}, {1, 2, 3}), result(ACL_FLOAT16, {0, 3}, {}),
      of_weight(ACL_FLOAT16, {3}, {});
  EXPECT(RUN(aclnnPreluBackward, x, x, weight, result, of_weight) == ACLNN_SUCCESS);
  EXPECT_VALUES(of_weight.read(), {0, 0, 0}, 0);
}

void testInPlace(Layout layout) {
  currentCase() = "in place";
  const Values x = ramp(-3, 0.25);
  Values bent(kCount), cut(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    bent[i] = x[i] > 0 ? x[i] : 2 * (std::exp(x[i] / 2) - 1);
    cut[i] = x[i] > 0.5 ? x[i] : 7;
  }
  Scalar two(2.0), bound(0.5), seven(7.0);
  Tensor first(ACL_FLOAT, kDims, x, layout), second(ACL_FLOAT, kDims, x, layout);
  EXPECT(RUN(aclnnInplaceCelu, first, two) == ACLNN_SUCCESS);
  EXPECT_VALUES(first.read(), bent, 1e-6);
  EXPECT(RUN(aclnnInplaceThreshold, second, bound, seven) == ACLNN_SUCCESS);
  EXPECT_VALUES(second.read(), cut, 0);
}

}  // namespace

int main() {
  Session session;
  for (int layout = 0; layout < kLayouts; ++layout) {
    testPrelu(1, static_cast<Layout>(layout));
    testPrelu(3, static_cast<Layout>(layout));
    testInPlace(static_cast<Layout>(layout));
  }
  testEmptyPrelu();
}
