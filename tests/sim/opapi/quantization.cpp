/* Fake quantization along each dimension, dynamic quantization to int8, both in every layout and by the formula; what
 * phase 1 refuses. */
#include "aclnnop/aclnn_add_rms_norm_quant.h"
#include "aclnnop/aclnn_dynamic_quant.h"
#include "aclnnop/aclnn_fake_quant_per_channel_affine_cachemask.h"
#include "op_test.h"

namespace {

constexpr int64_t kLeast = -2, kMost = 5;

void test(aclDataType type, int64_t axis, Layout layout) {
  const Dims dims = {2, 3, 4};
  const size_t channels = static_cast<size_t>(dims[static_cast<size_t>(axis < 0 ? axis + 3 : axis)]);
  const size_t inner = axis == 0 ? 12 : axis == 1 ? 4 : 1;
  const Values scales = {0.5, 0.25, 1, 2}, zero_points = {0, 3, -1, 2};
  Values x(24), out(24), mask(24);
  for (size_t i = 0; i < 24; ++i) {
    x[i] = static_cast<double>(i * 7 % 24) / 4 - 2.375; /* in the middle of no two steps */
    const size_t c = i / inner % channels;
    const double quantized = std::nearbyint(x[i] / scales[c]) + zero_points[c];
    mask[i] = quantized >= kLeast && quantized <= kMost;
    out[i] = (std::min<double>(std::max<double>(quantized, kLeast), kMost) - zero_points[c]) * scales[c];
  }
  const auto first = [channels](const Values &all) { return Values(all.begin(), all.begin() + channels); };
  const Dims per_channel = {static_cast<int64_t>(channels)};
  Tensor self(type, dims, x, layout), result(type, dims, {}, layout), in_range(ACL_BOOL, dims, {}, layout);
  Tensor scale(type, per_channel, first(scales)), zero_point(ACL_INT32, per_channel, first(zero_points));
  const auto run = [&](aclTensor *scale_given, aclTensor *zero_given, int64_t along, int64_t least, aclTensor *to) {
    return RUN(aclnnFakeQuantPerChannelAffineCachemask, self, scale_given, zero_given, along, least, kMost, to,
               in_range);
  };
  EXPECT(run(scale, zero_point, axis, kLeast, result) == ACLNN_SUCCESS);
  EXPECT_VALUES(result.read(), out, 0);
  EXPECT_VALUES(in_range.read(), mask, 0);
  Tensor short_scale(type, {1}, {1}), short_zero(ACL_INT32, {1}, {0}), small(type, {2, 3}, {});
  EXPECT(run(short_scale, zero_point, axis, kLeast, result) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(scale, short_zero, axis, kLeast, result) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(scale, zero_point, 3, kLeast, result) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(scale, zero_point, axis, kMost + 1, result) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(scale, zero_point, axis, kLeast, small) == ACLNN_ERR_PARAM_INVALID);
}

void testEmpty() {
  Tensor self(ACL_FLOAT, {0, 2}, {}), scale(ACL_FLOAT, {2}, {1, 1}), zero_point(ACL_INT32, {2}, {0, 0});
  Tensor out(ACL_FLOAT, {0, 2}, {}), mask(ACL_BOOL, {0, 2}, {});
  EXPECT(RUN(aclnnFakeQuantPerChannelAffineCachemask, self, scale, zero_point, 1, kLeast, kMost, out, mask) ==
         ACLNN_SUCCESS);
}

void testDynamic(aclDataType type, bool smoothed, Layout layout) {
  currentCase() = "dynamic_quant";
  const Dims dims = {2, 3, 4};
  const Values factors = {0.75, 1.25, 1.75, 0.25}; /* odd numbers of quarters, as x has odd ones of 16ths: no ties */
  Values x(24), y(24), scale(6);
  for (size_t line = 0; line < 6; ++line) {
    double largest = 0;
    for (size_t i = 0; i < 4; ++i) {
      double &each = x[line * 4 + i];
      each = line == 4 ? 0 : (static_cast<double>((line * 4 + i) * 7 % 24) - 11.5) / 8; /* one line is zero */
      y[line * 4 + i] = smoothed ? each * factors[i] : each;
      largest = std::max(largest, std::fabs(y[line * 4 + i]));
    }
    scale[line] = largest / 127;
    for (size_t i = 0; i < 4 && largest > 0; ++i) y[line * 4 + i] = std::nearbyint(y[line * 4 + i] / scale[line]);
  }
  const Layout other = static_cast<Layout>(kLayouts - 1 - layout);
  Tensor in(type, dims, x, layout), smooth(type, {4}, factors, layout);
  Tensor out(ACL_INT8, dims, {}, other), scales(ACL_FLOAT, {2, 3}, {}, other);
  aclTensor *const given = smoothed ? static_cast<aclTensor *>(smooth) : nullptr;
  EXPECT(RUN(aclnnDynamicQuant, in, given, out, scales) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), y, 0);
  EXPECT_VALUES(scales.read(), scale, 1e-6);
}

void testNormQuant(Layout layout) {
  currentCase() = "add_rms_norm_quant";
  const Values x = {1, -3, 2, 5, 4, 0, -1, 2}, gamma = {1, 2, 1, 0.5}, scales = {0.5, 0.25, 1, 0.125},
               zeros = {1, 0, -2, 3};
  Values sums(8), first(8), second(8);
  for (size_t i = 0; i < 8; ++i) sums[i] = 2 * x[i];
  for (size_t i = 0; i < 8; ++i) {
    double squares = 0;
    for (size_t j = 0; j < 4; ++j) squares += sums[i / 4 * 4 + j] * sums[i / 4 * 4 + j];
    const double norm = sums[i] / std::sqrt(squares / 4 + 1e-6) * gamma[i % 4];
    first[i] = std::nearbyint(norm / scales[i % 4] + zeros[i % 4]);
    second[i] = std::nearbyint(norm * scales[i % 4]);
  }
  Tensor a(ACL_FLOAT, {2, 4}, x, layout), b(ACL_FLOAT, {2, 4}, x, layout), g(ACL_FLOAT, {4}, gamma, layout);
  Tensor s(ACL_FLOAT, {4}, scales), z(ACL_INT32, {4}, zeros), y1(ACL_INT8, {2, 4}, {}, layout),
      y2(ACL_INT8, {2, 4}, {});
  Tensor sum(ACL_FLOAT, {2, 4}, {}, layout), three(ACL_FLOAT, {3}, {1, 1, 1}), half(ACL_FLOAT16, {2, 4}, {});
  EXPECT(RUN(aclnnAddRmsNormQuant, a, b, g, s, nullptr, z, nullptr, -1, 1e-6, true, y1, y2, sum) == ACLNN_SUCCESS);
  EXPECT_VALUES(y1.read(), first, 0);
  EXPECT_VALUES(sum.read(), sums, 0);
  EXPECT(RUN(aclnnAddRmsNormQuant, a, b, g, s, s, nullptr, nullptr, -1, 1e-6, false, y1, y2, sum) == ACLNN_SUCCESS);
  EXPECT_VALUES(y1.read(), second, 0);
  EXPECT_VALUES(y2.read(), second, 0);
  EXPECT(RUN(aclnnAddRmsNormQuant, a, b, g, three, nullptr, z, nullptr, -1, 1e-6, true, y1, y2, sum) ==
         ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnAddRmsNormQuant, a, b, g, s, nullptr, z, nullptr, -1, 1e-6, true, y1, y2, half) ==
         ACLNN_ERR_PARAM_INVALID);
}

void testDynamicLimits() {
  currentCase() = "limits of dynamic_quant";
  Tensor special(ACL_FLOAT16, {2, 3}, {1, kNan, 2, -4, 1, 0}), y(ACL_INT8, {2, 3}, {5, 5, 5, 5, 5, 5});
  Tensor scale(ACL_FLOAT, {2}, {});
  EXPECT(RUN(aclnnDynamicQuant, special, nullptr, y, scale) == ACLNN_SUCCESS);
  EXPECT_VALUES(y.read(), {0, 0, 0, -127, 32, 0}, 0);
  EXPECT_VALUES(scale.read(), {kNan, 4.0 / 127}, 1e-6);
  Tensor none(ACL_BF16, {0, 3}, {}), no_y(ACL_INT8, {0, 3}, {}), no_scale(ACL_FLOAT, {0}, {});
  EXPECT(RUN(aclnnDynamicQuant, none, nullptr, no_y, no_scale) == ACLNN_SUCCESS);

  Tensor line(ACL_FLOAT16, {3}, {}), line_y(ACL_INT8, {3}, {}), one(ACL_FLOAT, {}, {}), real(ACL_FLOAT, {2, 3}, {});
  Tensor short_smooth(ACL_FLOAT16, {2}, {}), other_smooth(ACL_BF16, {3}, {}), wide_y(ACL_INT32, {2, 3}, {});
  Tensor empty(ACL_FLOAT16, {2, 0}, {}), empty_y(ACL_INT8, {2, 0}, {});
  EXPECT(RUN(aclnnDynamicQuant, line, nullptr, line_y, one) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnDynamicQuant, real, nullptr, y, scale) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnDynamicQuant, special, short_smooth, y, scale) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnDynamicQuant, special, other_smooth, y, scale) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnDynamicQuant, special, nullptr, wide_y, scale) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnDynamicQuant, special, nullptr, line_y, scale) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnDynamicQuant, special, nullptr, y, one) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnDynamicQuant, empty, nullptr, empty_y, scale) == ACLNN_ERR_PARAM_INVALID);
}

}  // namespace

int main() {
  Session session;
  for (int layout = 0; layout < kLayouts; ++layout) {
    for (aclDataType type : {ACL_FLOAT, ACL_FLOAT16}) {
      for (int64_t axis : {0, 1, 2, -1}) test(type, axis, static_cast<Layout>(layout));
    }
    testNormQuant(static_cast<Layout>(layout));
    for (aclDataType type : {ACL_FLOAT16, ACL_BF16}) {
      for (bool smoothed : {false, true}) testDynamic(type, smoothed, static_cast<Layout>(layout));
    }
  }
  testEmpty();
  testDynamicLimits();
  return 0;
}
