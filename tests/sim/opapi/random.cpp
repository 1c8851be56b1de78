/* Random operators: the published test vectors of the generator, equal values in every layout, moments of the
 * distributions. */
#include "opapi/random.h"

#include "aclnnop/aclnn_multinomial.h"
#include "aclnnop/aclnn_multinomial_tensor.h"
#include "aclnnop/aclnn_normal.h"
#include "aclnnop/aclnn_normal_tensor.h"
#include "aclnnop/aclnn_random.h"
#include "aclnnop/aclnn_random_tensor.h"
#include "aclnnop/aclnn_uniform.h"
#include "aclnnop/aclnn_uniform_tensor.h"
#include "op_test.h"

namespace {

void expectBlock(uint64_t index, uint64_t offset, uint64_t seed, const uint32_t (&expected)[4]) {
  uint32_t words[4];
  sim::Philox{seed, offset}.block(index, words);
  for (int i = 0; i < 4; ++i) EXPECT(words[i] == expected[i]);
}

/* Known answers of the Random123 distribution. */
void testGenerator() {
  currentCase() = "philox";
  const uint64_t ones = ~uint64_t{0};
  expectBlock(0, 0, 0, {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
  expectBlock(ones, ones, ones, {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
  expectBlock(0x85a308d3243f6a88u, 0x0370734413198a2eu, 0x299f31d0a4093822u,
              {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});
}

void expectMoments(const Values &values, double mean, double deviation) {
  double sum = 0, squares = 0;
  for (double value : values) sum += value;
  for (double value : values) squares += (value - mean) * (value - mean);
  const double count = static_cast<double>(values.size());
  EXPECT(std::fabs(sum / count - mean) < 5 * deviation / std::sqrt(count));
  EXPECT(std::fabs(std::sqrt(squares / count) / deviation - 1) < 0.02);
}

template <class Fill>
void testFill(Fill fill, double mean, double deviation) {
  const Dims dims = {100, 301};
  for (aclDataType type : {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16, ACL_BF16}) {
    Tensor first(type, dims, {}), other(type, dims, {});
    EXPECT(fill(first, 7, 3) == ACLNN_SUCCESS);
    const Values values = first.read();
    expectMoments(values, mean, deviation);
    for (int layout = 0; layout < kLayouts; ++layout) {
      Tensor same(type, dims, {}, static_cast<Layout>(layout));
      EXPECT(fill(same, 7, 3) == ACLNN_SUCCESS);
      EXPECT_VALUES(same.read(), values, 0);
    }
    EXPECT(fill(other, 8, 3) == ACLNN_SUCCESS);
    EXPECT(other.read() != values);
    EXPECT(fill(other, 7, 4) == ACLNN_SUCCESS);
    EXPECT(other.read() != values);
  }
  Tensor empty(ACL_FLOAT, {0, 3}, {});
  EXPECT(fill(empty, 7, 3) == ACLNN_SUCCESS);
}

/* The forms whose seed and offset are tensors give what the others give for the same numbers. */
void testSeedsInTensors() {
  currentCase() = "seeds in tensors";
  const Dims dims = {50};
  Tensor seed(ACL_INT64, {1}, {7}), offset(ACL_INT64, {1}, {3}), pair(ACL_INT64, {2}, {7, 7});
  Tensor one(ACL_FLOAT, dims, {}), other(ACL_FLOAT, dims, {});
  EXPECT(RUN(aclnnInplaceUniform, one, 0.0, 1.0, uint64_t{7}, uint64_t{11}) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnInplaceUniformTensor, other, 0.0, 1.0, seed, offset, uint64_t{8}) == ACLNN_SUCCESS);
  EXPECT_VALUES(other.read(), one.read(), 0);
  EXPECT(RUN(aclnnInplaceNormal, one, 1.0f, 2.0f, 7, 3) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnInplaceNormalTensor, other, 1.0f, 2.0f, seed, offset, 0) == ACLNN_SUCCESS);
  EXPECT_VALUES(other.read(), one.read(), 0);
  EXPECT(RUN(aclnnInplaceRandom, one, 0, 100, 7, 7) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnInplaceRandomTensor, other, 0, 100, seed, offset, 4) == ACLNN_SUCCESS);
  EXPECT_VALUES(other.read(), one.read(), 0);
  Tensor chosen(ACL_INT64, {3}, {}), again(ACL_INT64, {3}, {}), weights(ACL_FLOAT, {4}, {1, 2, 3, 4});
  EXPECT(RUN(aclnnMultinomial, weights, 3, false, 7, 5, chosen) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnMultinomialTensor, weights, 3, false, seed, offset, 2, again) == ACLNN_SUCCESS);
  EXPECT_VALUES(again.read(), chosen.read(), 0);
  EXPECT(RUN(aclnnInplaceNormalTensor, other, 1.0f, 2.0f, pair, offset, 0) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnInplaceNormalTensor, other, 1.0f, 2.0f, seed, pair, 0) == ACLNN_ERR_PARAM_INVALID);
}

}  // namespace

int main() {
  Session session;
  testGenerator();
  currentCase() = "uniform";
  const auto uniform = [](const Tensor &out, int seed, int offset) {
    return RUN(aclnnInplaceUniform, out, 2.0, 4.0, static_cast<uint64_t>(seed), static_cast<uint64_t>(offset));
  };
  testFill(uniform, 3.0, 2 / std::sqrt(12.0));
  for (aclDataType type : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_INT32}) {
    Tensor out(type, {50000}, {});
    const double top = type == ACL_INT32 ? 10 : 1;
    EXPECT(RUN(aclnnInplaceUniform, out, 0.0, top, 1, 0) == ACLNN_SUCCESS);
    for (double value : out.read()) EXPECT(value >= 0 && value < top);
  }
  Tensor out(ACL_FLOAT, {3}, {});
  EXPECT(RUN(aclnnInplaceUniform, out, 1.0, 0.0, 1, 0) == ACLNN_ERR_PARAM_INVALID);
  currentCase() = "normal";
  const auto normal = [](const Tensor &out, int seed, int offset) {
    return RUN(aclnnInplaceNormal, out, -1.0f, 0.5f, seed, offset);
  };
  testFill(normal, -1.0, 0.5);
  EXPECT(RUN(aclnnInplaceNormal, out, 0.0f, -1.0f, 1, 0) == ACLNN_ERR_PARAM_INVALID);
  testSeedsInTensors();
}
