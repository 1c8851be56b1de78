/* Rotary embedding by its formula in each mode and layout, its gradients by the formula's coefficients; and softmax of
 * masked scores. */
#include "aclnnop/aclnn_rotary_position_embedding.h"
#include "aclnnop/aclnn_rotary_position_embedding_grad.h"
#include "aclnnop/aclnn_rotary_position_embedding_v2.h"
#include "aclnnop/aclnn_scaled_masked_softmax.h"
#include "aclnnop/aclnn_scaled_masked_softmax_backward.h"
#include "op_test.h"

namespace {

Values wave(size_t count, double pace) {
  Values values(count);
  for (size_t i = 0; i < count; ++i) values[i] = rounded(std::sin(pace * static_cast<double>(i) + pace), ACL_FLOAT);
  return values;
}

/* Lines of 4: which element stays at each place, which comes from the other of the pair, and its sign. */
struct Mode {
  size_t straight[4], crossed[4];
  double sign[4];
};
const Mode kModes[] = {
    {{0, 1, 2, 3}, {2, 3, 0, 1}, {-1, -1, 1, 1}},
    {{0, 1, 2, 3}, {1, 0, 3, 2}, {-1, 1, -1, 1}},
    {{0, 1, 2, 3}, {1, 0, 3, 2}, {-1, 1, -1, 1}},
    {{0, 2, 1, 3}, {1, 3, 0, 2}, {-1, -1, 1, 1}},
};

/* x is {2, 3, 2, 4}; the angles are those of the second dimension alone. */
void testRotary(int64_t mode, Layout layout) {
  currentCase() = "rotary";
  const Dims dims = {2, 3, 2, 4}, angles = {1, 3, 1, 4};
  const Mode &m = kModes[mode];
  const Values x = wave(48, 0.7), cosine = wave(12, 1.1), sine = wave(12, 0.3), grads = wave(48, 0.9);
  Values y(48), of_x(48), of_cosine(12), of_sine(12);
  for (size_t i = 0; i < 48; ++i) {
    const size_t line = i / 4 * 4, k = i % 4, angle = i / 8 % 3 * 4 + k;
    const double straight = x[line + m.straight[k]], crossed = m.sign[k] * x[line + m.crossed[k]];
    y[i] = straight * cosine[angle] + crossed * sine[angle];
    of_cosine[angle] += grads[i] * straight;
    of_sine[angle] += grads[i] * crossed;
    of_x[line + m.straight[k]] += grads[i] * cosine[angle];
    of_x[line + m.crossed[k]] += m.sign[k] * grads[i] * sine[angle];
  }
  Tensor tx(ACL_FLOAT, dims, x, layout), cos(ACL_FLOAT, angles, cosine, layout), sin(ACL_FLOAT, angles, sine, layout);
  Tensor out(ACL_FLOAT, dims, {}), g(ACL_FLOAT, dims, grads, layout), dx(ACL_FLOAT, dims, {});
  Tensor dcos(ACL_FLOAT, angles, {}), dsin(ACL_FLOAT, angles, {}), half(ACL_FLOAT16, angles, {});
  EXPECT(RUN(aclnnRotaryPositionEmbedding, tx, cos, sin, mode, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), y, 1e-5);
  out.write(Values(48));
  EXPECT(RUN(aclnnRotaryPositionEmbeddingV2, tx, cos, sin, mode, nullptr, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), y, 1e-5);
  EXPECT(RUN(aclnnRotaryPositionEmbeddingV2, tx, cos, sin, mode, tx, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnRotaryPositionEmbeddingGrad, g, cos, sin, tx, mode, dx, dcos, dsin) == ACLNN_SUCCESS);
  EXPECT_VALUES(dx.read(), of_x, 1e-5);
  EXPECT_VALUES(dcos.read(), of_cosine, 1e-5);
  EXPECT_VALUES(dsin.read(), of_sine, 1e-5);
  dcos.write(Values(12, 7));
  EXPECT(RUN(aclnnRotaryPositionEmbeddingGrad, g, cos, sin, nullptr, mode, dx, dcos, dsin) == ACLNN_SUCCESS);
  EXPECT_VALUES(dx.read(), of_x, 1e-5);
  EXPECT_VALUES(dcos.read(), Values(12, 7), 0);
  EXPECT(RUN(aclnnRotaryPositionEmbedding, tx, cos, sin, 4, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnRotaryPositionEmbedding, tx, half, half, mode, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnRotaryPositionEmbedding, tx, cos, tx, mode, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnRotaryPositionEmbedding, cos, tx, tx, mode, dcos) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnRotaryPositionEmbedding, tx, cos, sin, mode, dcos) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnRotaryPositionEmbeddingGrad, g, cos, sin, cos, mode, dx, dcos, dsin) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnRotaryPositionEmbeddingGrad, g, cos, sin, tx, mode, dx, dx, dsin) == ACLNN_ERR_PARAM_INVALID);
}

void testOddRotary() {
  currentCase() = "odd rotary";
  Tensor odd(ACL_FLOAT, {1, 1, 3}, {}), flat(ACL_FLOAT, {2, 4}, {}), six(ACL_FLOAT, {1, 1, 6}, {});
  EXPECT(RUN(aclnnRotaryPositionEmbedding, odd, odd, odd, 0, odd) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnRotaryPositionEmbedding, flat, flat, flat, 0, flat) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnRotaryPositionEmbedding, six, six, six, 2, six) == ACLNN_ERR_PARAM_INVALID);
}

/* Scores {2, 1, 2, 3}; the mask is one for both batches. */
void testMaskedSoftmax(Layout layout) {
  currentCase() = "masked softmax";
  const Dims dims = {2, 1, 2, 3}, shared = {1, 1, 2, 3};
  const Values x = wave(12, 0.7), grads = wave(12, 0.9), hidden = {0, 1, 0, 1, 1, 1}; /* the second line: everything */
  const double scale = 0.5;
  Values y(12), slopes(12);
  for (size_t line = 0; line < 12; line += 3) {
    double sum = 0, common = 0;
    for (size_t k = line; k < line + 3; ++k) {
      const bool taken = hidden[k % 6] != 0, all = line % 6 == 3;
      y[k] = all ? 1 : taken ? 0 : std::exp(scale * x[k]);
      sum += y[k];
    }
    for (size_t k = line; k < line + 3; ++k) common += grads[k] * (y[k] /= sum);
    for (size_t k = line; k < line + 3; ++k) {
      slopes[k] = hidden[k % 6] != 0 ? 0 : scale * y[k] * (grads[k] - common);
    }
  }
  Tensor tx(ACL_FLOAT, dims, x, layout), mask(ACL_BOOL, shared, hidden, layout), out(ACL_FLOAT, dims, {});
  Tensor g(ACL_FLOAT, dims, grads, layout), dx(ACL_FLOAT, dims, {}), half(ACL_FLOAT16, dims, {});
  Tensor wide(ACL_BOOL, {1, 1, 2, 4}, {}), flat(ACL_FLOAT, {2, 3}, {});
  EXPECT(RUN(aclnnScaledMaskedSoftmax, tx, mask, scale, false, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), y, 1e-5);
  EXPECT(RUN(aclnnScaledMaskedSoftmaxBackward, g, out, mask, scale, false, dx) == ACLNN_SUCCESS);
  EXPECT_VALUES(dx.read(), slopes, 1e-5);
  EXPECT(RUN(aclnnScaledMaskedSoftmax, tx, wide, scale, false, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnScaledMaskedSoftmax, tx, mask, scale, true, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnScaledMaskedSoftmax, tx, mask, scale, false, half) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnScaledMaskedSoftmax, flat, mask, scale, false, flat) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnScaledMaskedSoftmaxBackward, half, out, mask, scale, false, dx) == ACLNN_ERR_PARAM_INVALID);
}

}  // namespace

int main() {
  Session session;
  for (int layout = 0; layout < kLayouts; ++layout) {
    for (int64_t mode = 0; mode < 4; ++mode) testRotary(mode, static_cast<Layout>(layout));
    testMaskedSoftmax(static_cast<Layout>(layout));
  }
  testOddRotary();
}
