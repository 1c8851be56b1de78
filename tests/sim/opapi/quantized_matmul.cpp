/* Products of int8 matrices with scales, and of groups of rows and of columns, by plain loops in double. */
#include "aclnnop/aclnn_grouped_matmul_v4.h"
#include "aclnnop/aclnn_quant_matmul_v4.h"
#include "aclnnop/aclnn_trans_quant_param_v2.h"
#include "aclnnop/aclnn_weight_quant_batch_matmul_v2.h"
#include "op_test.h"

namespace {

Values integers(size_t count, size_t seed) {
  Values values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<double>((i * 7 + seed * 5) % 19) - 9;
  return values;
}

/* (m, k) @ (k, n), of which the rows of the first factor begin at `first`. */
Values product(const Values &x, const Values &weight, size_t m, size_t k, size_t n, size_t first = 0) {
  Values result(m * n);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j)
      for (size_t l = 0; l < k; ++l) result[i * n + j] += x[(first + i) * k + l] * weight[l * n + j];
  return result;
}

void testQuantMatmul() {
  currentCase() = "int8 product";
  const Values x = integers(6, 1), weight = integers(12, 2), scales = {0.5, 0.25, 2, 1}, tokens = {2, 0.5};
  const Values sums = product(x, weight, 2, 3, 4), bias = {1, -2, 3, 4};
  Values plain(8), shifted(8), integer(8);
  for (size_t i = 0; i < 8; ++i) {
    plain[i] = sums[i] * scales[i % 4] * tokens[i / 4] + bias[i % 4];
    shifted[i] = (sums[i] + bias[i % 4]) * scales[i % 4];
    integer[i] = std::min(127.0, std::max(-128.0, std::nearbyint(sums[i] * scales[i % 4] + 3)));
  }
  Tensor a(ACL_INT8, {2, 3}, x), b(ACL_INT8, {3, 4}, weight), c(ACL_INT8, {4, 3}, {}), s(ACL_FLOAT, {4}, scales);
  Tensor t(ACL_FLOAT, {2}, tokens), f(ACL_FLOAT, {4}, bias), w(ACL_INT32, {4}, bias), three(ACL_FLOAT, {1}, {3});
  Tensor half(ACL_FLOAT16, {2, 4}, {}), bytes(ACL_INT8, {2, 4}, {}), packed(ACL_INT64, {4}, {});
  EXPECT(RUN(aclnnQuantMatmulV4, a, b, s, nullptr, t, f, false, false, half) == ACLNN_SUCCESS);
  EXPECT_VALUES(half.read(), plain, 1e-3);
  EXPECT(RUN(aclnnQuantMatmulV4, a, b, s, nullptr, nullptr, w, false, false, half) == ACLNN_SUCCESS);
  EXPECT_VALUES(half.read(), shifted, 1e-3);
  EXPECT(RUN(aclnnTransQuantParamV2, s, nullptr, packed) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnQuantMatmulV4, a, b, packed, three, nullptr, nullptr, false, false, bytes) == ACLNN_SUCCESS);
  EXPECT_VALUES(bytes.read(), integer, 0);
  Values turned(12);
  for (size_t i = 0; i < 12; ++i) turned[i % 4 * 3 + i / 4] = weight[i];
  c.write(turned);
  EXPECT(RUN(aclnnQuantMatmulV4, a, c, s, nullptr, t, f, false, true, half) == ACLNN_SUCCESS);
  EXPECT_VALUES(half.read(), plain, 1e-3);
  Tensor batch(ACL_INT8, {2, 2, 3}, integers(12, 3)), both(ACL_FLOAT16, {2, 2, 4}, {}), one(ACL_FLOAT, {1}, {0.5});
  EXPECT(RUN(aclnnQuantMatmulV4, batch, b, one, nullptr, nullptr, nullptr, false, false, both) == ACLNN_SUCCESS);
  Values halves = product(integers(12, 3), weight, 4, 3, 4);
  for (double &each : halves) each /= 2;
  EXPECT_VALUES(both.read(), halves, 1e-3);
  for (aclTensor *scale : {static_cast<aclTensor *>(t), static_cast<aclTensor *>(half)})
    EXPECT(RUN(aclnnQuantMatmulV4, a, b, scale, nullptr, nullptr, nullptr, false, false, half) != ACLNN_SUCCESS);
  EXPECT(RUN(aclnnQuantMatmulV4, a, c, s, nullptr, t, f, false, false, half) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnQuantMatmulV4, a, b, s, nullptr, s, f, false, false, half) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnQuantMatmulV4, a, b, s, nullptr, t, nullptr, false, false, bytes) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnQuantMatmulV4, a, b, s, three, nullptr, f, false, false, half) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnQuantMatmulV4, batch, b, s, nullptr, t, f, false, false, half) == ACLNN_ERR_PARAM_INVALID);
}

/* 1.5 is 0x3FC00000; of 1 + 2^-23 the last bits go. */
void testTransQuantParam() {
  currentCase() = "packed scales";
  Tensor scale(ACL_FLOAT, {2}, {1.5, 1 + std::ldexp(1, -23)}), offset(ACL_FLOAT, {2}, {-1, 300}),
      out(ACL_INT64, {2}, {});
  const double flag = std::ldexp(1, 46), shift = std::ldexp(1, 37);
  EXPECT(RUN(aclnnTransQuantParamV2, scale, nullptr, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), (Values{0x3FC00000 + flag, 0x3F800000 + flag}), 0);
  EXPECT(RUN(aclnnTransQuantParamV2, scale, offset, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), (Values{0x3FC00000 + flag + 0x1FF * shift, 0x3F800000 + flag + 255 * shift}), 0);
  Tensor three(ACL_INT64, {3}, {});
  EXPECT(RUN(aclnnTransQuantParamV2, scale, nullptr, three) == ACLNN_ERR_PARAM_INVALID);
}

void testWeightQuant() {
  currentCase() = "int8 weight";
  const Values x = integers(6, 4), weight = integers(12, 5), scales = {0.5, 0.25, 2, 1}, offsets = {1, 0, -1, 2};
  Values real(12), expected;
  for (size_t i = 0; i < 12; ++i) real[i] = (weight[i] + offsets[i % 4]) * scales[i % 4];
  expected = product(x, real, 2, 3, 4);
  Tensor a(ACL_FLOAT16, {2, 3}, x), b(ACL_INT8, {3, 4}, weight), s(ACL_FLOAT16, {4}, scales),
      y(ACL_FLOAT16, {2, 4}, {});
  Tensor o(ACL_FLOAT16, {4}, offsets), bias(ACL_FLOAT16, {4}, {1, 2, 3, 4}), f(ACL_FLOAT, {4}, scales);
  EXPECT(RUN(aclnnWeightQuantBatchMatmulV2, a, b, s, o, nullptr, nullptr, nullptr, 0, y) == ACLNN_SUCCESS);
  EXPECT_VALUES(y.read(), expected, 1e-3);
  for (size_t i = 0; i < 8; ++i) expected[i] += static_cast<double>(i % 4 + 1);
  EXPECT(RUN(aclnnWeightQuantBatchMatmulV2, a, b, s, o, nullptr, nullptr, bias, 0, y) == ACLNN_SUCCESS);
  EXPECT_VALUES(y.read(), expected, 1e-3);
  EXPECT(RUN(aclnnWeightQuantBatchMatmulV2, a, b, s, o, nullptr, nullptr, nullptr, 32, y) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnWeightQuantBatchMatmulV2, a, b, f, o, nullptr, nullptr, nullptr, 0, y) != ACLNN_SUCCESS);
  EXPECT(RUN(aclnnWeightQuantBatchMatmulV2, a, b, s, o, nullptr, nullptr, nullptr, 0, a) == ACLNN_ERR_PARAM_INVALID);
}

/* With a list for each tensor, which destroys its handle. */
aclnnStatus grouped(Tensor &x, Tensor &weight, Tensor *bias, Tensor *scale, Tensor *tokens, aclTensor *groups,
                    int64_t type, int64_t list_type, Tensor &out) {
  const auto listOf = [](Tensor *tensor) {
    const aclTensor *handle = tensor != nullptr ? static_cast<aclTensor *>(*tensor) : nullptr;
    return handle != nullptr ? aclCreateTensorList(&handle, 1) : nullptr;
  };
  aclTensorList *lists[] = {listOf(&x), listOf(&weight), listOf(bias), listOf(scale), listOf(tokens), listOf(&out)};
  const aclnnStatus status =
      RUN(aclnnGroupedMatmulV4, lists[0], lists[1], lists[2], lists[3], nullptr, nullptr, nullptr, lists[4], groups,
          nullptr, nullptr, nullptr, 3, type, list_type, 0, lists[5], nullptr, nullptr);
  for (Tensor *tensor : {&x, &weight, bias, scale, tokens, &out})
    if (tensor != nullptr) tensor->release(); /* its list destroys it */
  for (aclTensorList *list : lists)
    if (list != nullptr) aclDestroyTensorList(list);
  return status;
}

void testGrouped(Layout layout) {
  currentCase() = "groups of rows";
  const Values x = integers(10, 6), weight = integers(12, 7);
  Values expected(10);
  for (size_t i = 0; i < 4; ++i) {
    const size_t group = i < 1 ? 0 : 1;
    for (size_t j = 0; j < 2; ++j)
      for (size_t k = 0; k < 2; ++k) expected[i * 2 + j] += x[i * 2 + k] * weight[group * 4 + k * 2 + j];
  }
  for (int64_t list_type : {0, 1}) {
    Tensor a(ACL_FLOAT, {5, 2}, x, layout), b(ACL_FLOAT, {2, 2, 2}, Values(weight.begin(), weight.begin() + 8), layout);
    Tensor groups(ACL_INT64, {2}, list_type == 0 ? Values{1, 4} : Values{1, 3}), out(ACL_FLOAT, {5, 2}, Values(10, 7));
    EXPECT(grouped(a, b, nullptr, nullptr, nullptr, groups, 0, list_type, out) == ACLNN_SUCCESS);
    EXPECT_VALUES(out.read(), expected, 1e-5); /* the last row is of no group: zeros */
  }
  currentCase() = "groups of columns";
  Values parts(8);
  for (size_t k = 0; k < 5; ++k)
    for (size_t i = 0; i < 4; ++i) parts[(k < 2 ? 0 : 4) + i] += x[i / 2 * 5 + k] * weight[k * 2 + i % 2];
  Tensor a(ACL_FLOAT, {2, 5}, x, layout), b(ACL_FLOAT, {5, 2}, Values(weight.begin(), weight.begin() + 10), layout);
  Tensor groups(ACL_INT64, {2}, {2, 5}), out(ACL_FLOAT, {2, 2, 2}, {});
  EXPECT(grouped(a, b, nullptr, nullptr, nullptr, groups, 2, 0, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), parts, 1e-5);
  currentCase() = "groups of int8";
  Values real(8);
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 2; ++j) real[i * 2 + j] = expected[i * 2 + j] * 0.5 * static_cast<double>(i + 1) + 1;
  Tensor c(ACL_INT8, {4, 2}, Values(x.begin(), x.begin() + 8)),
      d(ACL_INT8, {2, 2, 2}, Values(weight.begin(), weight.begin() + 8));
  Tensor scale(ACL_FLOAT, {2, 2}, {0.5, 0.5, 0.5, 0.5}), tokens(ACL_FLOAT, {4}, {1, 2, 3, 4}),
      half(ACL_FLOAT16, {4, 2}, {});
  Tensor bias(ACL_FLOAT, {2, 2}, {1, 1, 1, 1}), ends(ACL_INT64, {2}, {1, 4});
  EXPECT(grouped(c, d, &bias, &scale, &tokens, ends, 0, 0, half) == ACLNN_SUCCESS);
  EXPECT_VALUES(half.read(), real, 1e-3);
}

/* What the call refuses, by its type, its list type, and the second dimension of x. */
void testGroupedRefusals() {
  currentCase() = "groups refused";
  const auto refused = [](int64_t type, int64_t list_type, int64_t width, int64_t groups, aclDataType result) {
    Tensor x(ACL_FLOAT, {4, width}, Values(static_cast<size_t>(4 * width))), weight(ACL_FLOAT, {2, 2, 2}, Values(8));
    Tensor ends(ACL_INT64, {groups}, Values(static_cast<size_t>(groups))), out(result, {4, 2}, {});
    return grouped(x, weight, nullptr, nullptr, nullptr, ends, type, list_type, out);
  };
  EXPECT(refused(0, 0, 2, 2, ACL_FLOAT) == ACLNN_SUCCESS);
  EXPECT(refused(1, 0, 2, 2, ACL_FLOAT) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(refused(0, 2, 2, 2, ACL_FLOAT) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(refused(0, 0, 3, 2, ACL_FLOAT) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(refused(0, 0, 2, 3, ACL_FLOAT) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(refused(0, 0, 2, 2, ACL_FLOAT16) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(refused(2, 0, 2, 2, ACL_FLOAT) == ACLNN_ERR_PARAM_INVALID);
}

void testFault() {
  currentCase() = "a group behind the rows";
  Tensor x(ACL_FLOAT, {2, 2}, Values(4)), weight(ACL_FLOAT, {1, 2, 2}, Values(4)), ends(ACL_INT64, {1}, {3});
  Tensor out(ACL_FLOAT, {2, 2}, {});
  EXPECT(grouped(x, weight, nullptr, nullptr, nullptr, ends, 0, 0, out) == ACL_ERROR_RT_AICORE_EXCEPTION);
}

}  // namespace

int main() {
  Session session;
  for (int layout = 0; layout < kLayouts; ++layout) {
    testGrouped(static_cast<Layout>(layout));
  }
  testQuantMatmul();
  testWeightQuant();
  testTransQuantParam();
  testGroupedRefusals();
  testFault();
}
