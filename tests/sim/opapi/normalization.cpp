/* Layer, RMS (of a sum, too), batch and group norm, and renorm, against the formulas of their definitions, gradients
 * by finite differences. */
#include "aclnnop/aclnn_add_layer_norm.h"
#include "aclnnop/aclnn_add_layer_norm_grad.h"
#include "aclnnop/aclnn_add_rms_norm.h"
#include "aclnnop/aclnn_batch_norm.h"
#include "aclnnop/aclnn_batch_norm_backward.h"
#include "aclnnop/aclnn_deep_norm.h"
#include "aclnnop/aclnn_deep_norm_grad.h"
#include "aclnnop/aclnn_gemma_rms_norm.h"
#include "aclnnop/aclnn_group_norm.h"
#include "aclnnop/aclnn_group_norm_backward.h"
#include "aclnnop/aclnn_group_norm_silu.h"
#include "aclnnop/aclnn_layer_norm.h"
#include "aclnnop/aclnn_layer_norm_backward.h"
#include "aclnnop/aclnn_renorm.h"
#include "aclnnop/aclnn_rms_norm.h"
#include "aclnnop/aclnn_rms_norm_grad.h"
#include "op_test.h"

namespace {

constexpr double kEpsilon = 1e-3;

struct BoolArray {
  explicit BoolArray(std::initializer_list<bool> values) : handle(aclCreateBoolArray(values.begin(), values.size())) {}
  BoolArray(const BoolArray &) = delete;
  ~BoolArray() { aclDestroyBoolArray(handle); }
  operator aclBoolArray *() const { return handle; }
  aclBoolArray *handle;
};

/* Which part an element belongs to, and which weight it has. */
struct Rule {
  size_t parts, weights;
  std::function<size_t(size_t)> part, weight;
  bool centred = true;
};

Values normalized(const Rule &rule, const Values &x, const Values &weight, const Values &bias,
                  Values *means = nullptr) {
  Values sums(rule.parts), squares(rule.parts), y(x.size());
  const double count = static_cast<double>(x.size() / rule.parts);
  for (size_t i = 0; i < x.size(); ++i) sums[rule.part(i)] += rule.centred ? x[i] / count : 0;
  for (size_t i = 0; i < x.size(); ++i) squares[rule.part(i)] += std::pow(x[i] - sums[rule.part(i)], 2) / count;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t p = rule.part(i), w = rule.weight(i);
    y[i] = (x[i] - sums[p]) / std::sqrt(squares[p] + kEpsilon) * weight[w] + bias[w];
  }
  if (means != nullptr) *means = sums;
  return y;
}

/* d/dv of the sum of grad * normalized(...). */
Values slopes(const std::function<Values()> &run, Values *v, const Values &grad) {
  Values result(v->size());
  for (size_t i = 0; i < v->size(); ++i) {
    const double old = (*v)[i], step = 1e-4;
    (*v)[i] = old + step;
    const Values up = run();
    (*v)[i] = old - step;
    const Values down = run();
    (*v)[i] = old;
    for (size_t k = 0; k < grad.size(); ++k) result[i] += grad[k] * (up[k] - down[k]) / (2 * step);
  }
  return result;
}

Values wave(size_t count, double pace) {
  Values values(count);
  for (size_t i = 0; i < count; ++i) values[i] = rounded(std::sin(pace * static_cast<double>(i) + pace), ACL_FLOAT);
  return values;
}

const Dims kDims = {3, 4, 5};

struct Sample {
  Rule rule;
  Values x = wave(60, 1.3), grad = wave(60, 0.7), weight, bias, y, of_x, of_weight, of_bias;
  explicit Sample(const Rule &given, bool has_bias = true) : rule(given) {
    weight = wave(rule.weights, 0.9);
    bias = has_bias ? wave(rule.weights, 0.4) : Values(rule.weights);
    const auto run = [this] { return normalized(rule, x, weight, bias); };
    y = run();
    of_x = slopes(run, &x, grad);
    of_weight = slopes(run, &weight, grad);
    of_bias = slopes(run, &bias, grad);
  }
};

void testLayerNorm(Layout layout) {
  currentCase() = "layer_norm";
  const Sample s({12, 5, [](size_t i) { return i / 5; }, [](size_t i) { return i % 5; }});
  const IntArray shape = {5};
  const BoolArray all{true, true, true}, first{true, false, false};
  Tensor x(ACL_FLOAT, kDims, s.x, layout), w(ACL_FLOAT, {5}, s.weight), b(ACL_FLOAT, {5}, s.bias);
  Tensor y(ACL_FLOAT, kDims, {}, layout), mean(ACL_FLOAT, {3, 4, 1}, {}), rstd(ACL_FLOAT, {3, 4, 1}, {});
  EXPECT(RUN(aclnnLayerNorm, x, shape, w, b, kEpsilon, y, mean, rstd) == ACLNN_SUCCESS);
  EXPECT_VALUES(y.read(), s.y, 1e-5);
  Tensor g(ACL_FLOAT, kDims, s.grad, layout), dx(ACL_FLOAT, kDims, {}), dw(ACL_FLOAT, {5}, {}), db(ACL_FLOAT, {5}, {});
  EXPECT(RUN(aclnnLayerNormBackward, g, x, shape, mean, rstd, w, b, all, dx, dw, db) == ACLNN_SUCCESS);
  EXPECT_VALUES(dx.read(), s.of_x, 1e-5);
  EXPECT_VALUES(dw.read(), s.of_weight, 1e-5);
  EXPECT_VALUES(db.read(), s.of_bias, 1e-5);
  dx.write(Values(60));
  EXPECT(RUN(aclnnLayerNormBackward, g, x, shape, mean, rstd, w, b, first, dx, nullptr, nullptr) == ACLNN_SUCCESS);
  EXPECT_VALUES(dx.read(), s.of_x, 1e-5);
  currentCase() = "layer_norm refusals";
  const IntArray wrong = {4};
  EXPECT(RUN(aclnnLayerNorm, x, wrong, w, b, kEpsilon, y, mean, rstd) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnLayerNorm, x, shape, mean, b, kEpsilon, y, mean, rstd) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnLayerNorm, x, shape, w, b, kEpsilon, mean, mean, rstd) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnLayerNorm, x, nullptr, w, b, kEpsilon, y, mean, rstd) == ACLNN_ERR_PARAM_NULLPTR);
  EXPECT(RUN(aclnnLayerNormBackward, g, x, shape, mean, rstd, w, b, all, dx, nullptr, db) == ACLNN_ERR_PARAM_INVALID);
}

void testRmsNorm(Layout layout) {
  currentCase() = "rms_norm";
  const Sample s({12, 5, [](size_t i) { return i / 5; }, [](size_t i) { return i % 5; }, false}, false);
  Tensor x(ACL_FLOAT, kDims, s.x, layout), w(ACL_FLOAT, {5}, s.weight), y(ACL_FLOAT, kDims, {});
  Tensor rstd(ACL_FLOAT, {3, 4, 1}, {}), g(ACL_FLOAT, kDims, s.grad), dx(ACL_FLOAT, kDims, {}), dw(ACL_FLOAT, {5}, {});
  EXPECT(RUN(aclnnRmsNorm, x, w, kEpsilon, y, rstd) == ACLNN_SUCCESS);
  EXPECT_VALUES(y.read(), s.y, 1e-5);
  EXPECT(RUN(aclnnRmsNormGrad, g, x, rstd, w, dx, dw) == ACLNN_SUCCESS);
  EXPECT_VALUES(dx.read(), s.of_x, 1e-5);
  EXPECT_VALUES(dw.read(), s.of_weight, 1e-5);
  EXPECT(RUN(aclnnRmsNorm, x, rstd, kEpsilon, y, rstd) == ACLNN_ERR_PARAM_INVALID);
  currentCase() = "gemma_rms_norm";
  Values lower = s.weight;
  for (double &each : lower) each -= 1;
  Tensor less(ACL_FLOAT, {5}, lower), same(ACL_FLOAT, {3, 4, 1}, {});
  EXPECT(RUN(aclnnGemmaRmsNorm, x, less, kEpsilon, y, same) == ACLNN_SUCCESS);
  EXPECT_VALUES(y.read(), s.y, 1e-5);
  EXPECT_VALUES(same.read(), rstd.read(), 1e-6);
  currentCase() = "add_rms_norm";
  Values rest = s.x;
  for (size_t i = 0; i < rest.size(); ++i) rest[i] -= static_cast<double>(i % 3); /* of whole numbers: sums are exact */
  Values whole(rest.size());
  for (size_t i = 0; i < rest.size(); ++i) whole[i] = static_cast<double>(i % 3);
  Tensor x1(ACL_FLOAT, kDims, rest, layout), x2(ACL_FLOAT, kDims, whole, layout), added(ACL_FLOAT, kDims, {}, layout);
  Tensor half(ACL_FLOAT16, kDims, {}), again(ACL_FLOAT, {3, 4, 1}, {});
  EXPECT(RUN(aclnnAddRmsNorm, x1, x2, w, kEpsilon, y, again, added) == ACLNN_SUCCESS);
  EXPECT_VALUES(added.read(), s.x, 1e-6);
  EXPECT_VALUES(y.read(), s.y, 1e-5);
  EXPECT_VALUES(again.read(), rstd.read(), 1e-5);
  EXPECT(RUN(aclnnAddRmsNorm, x1, rstd, w, kEpsilon, y, again, added) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnAddRmsNorm, x1, half, w, kEpsilon, y, again, added) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnAddRmsNorm, x1, x2, again, kEpsilon, y, again, added) == ACLNN_ERR_PARAM_INVALID);
}

/* Norms of alpha * first + second, which is x. */
void testAddedNorms(Layout layout) {
  currentCase() = "added norms";
  const Sample s({12, 5, [](size_t i) { return i / 5; }, [](size_t i) { return i % 5; }});
  Values first(60), rest(60), halves(60), wholes(60), twice(60);
  for (size_t i = 0; i < 60; ++i) {
    first[i] = static_cast<double>(i % 3);
    rest[i] = s.x[i] - first[i];
    halves[i] = s.x[i] - 0.5 * first[i];
    wholes[i] = 0.5 * s.of_x[i];
    twice[i] = s.of_x[i] + first[i];
  }
  Tensor a(ACL_FLOAT, kDims, first, layout), b(ACL_FLOAT, kDims, rest, layout), c(ACL_FLOAT, kDims, halves, layout);
  Tensor w(ACL_FLOAT, {5}, s.weight), bias(ACL_FLOAT, {5}, s.bias), g(ACL_FLOAT, kDims, s.grad, layout);
  Tensor y(ACL_FLOAT, kDims, {}), mean(ACL_FLOAT, {3, 4, 1}, {}), rstd(ACL_FLOAT, {3, 4, 1}, {});
  Tensor added(ACL_FLOAT, kDims, Values(60, 7)), dx(ACL_FLOAT, kDims, {}), dgx(ACL_FLOAT, kDims, {});
  Tensor dw(ACL_FLOAT, {5}, {}), db(ACL_FLOAT, {5}, {}), half(ACL_FLOAT16, kDims, {});
  EXPECT(RUN(aclnnAddLayerNorm, a, b, w, bias, nullptr, kEpsilon, false, y, mean, rstd, added) == ACLNN_SUCCESS);
  EXPECT_VALUES(y.read(), s.y, 1e-5);
  EXPECT_VALUES(added.read(), Values(60, 7), 0);
  EXPECT(RUN(aclnnAddLayerNorm, a, b, w, bias, nullptr, kEpsilon, true, y, mean, rstd, added) == ACLNN_SUCCESS);
  EXPECT_VALUES(added.read(), s.x, 1e-6);
  EXPECT(RUN(aclnnAddLayerNormGrad, g, a, b, rstd, mean, w, nullptr, dx, dw, db) == ACLNN_SUCCESS);
  EXPECT_VALUES(dx.read(), s.of_x, 1e-5);
  EXPECT_VALUES(dw.read(), s.of_weight, 1e-5);
  EXPECT_VALUES(db.read(), s.of_bias, 1e-5);
  EXPECT(RUN(aclnnAddLayerNormGrad, g, a, b, rstd, mean, w, a, dx, dw, db) == ACLNN_SUCCESS);
  EXPECT_VALUES(dx.read(), twice, 1e-5);
  EXPECT(RUN(aclnnDeepNorm, a, c, bias, w, 0.5, kEpsilon, mean, rstd, y) == ACLNN_SUCCESS);
  EXPECT_VALUES(y.read(), s.y, 1e-5);
  EXPECT(RUN(aclnnDeepNormGrad, g, a, c, w, mean, rstd, 0.5, dx, dgx, db, dw) == ACLNN_SUCCESS);
  EXPECT_VALUES(dgx.read(), s.of_x, 1e-5);
  EXPECT_VALUES(dx.read(), wholes, 1e-5);
  EXPECT_VALUES(dw.read(), s.of_weight, 1e-5);
  EXPECT_VALUES(db.read(), s.of_bias, 1e-5);
  EXPECT(RUN(aclnnAddLayerNorm, a, b, w, bias, w, kEpsilon, true, y, mean, rstd, added) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnAddLayerNorm, a, half, w, bias, nullptr, kEpsilon, true, y, mean, rstd, added) ==
         ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnAddLayerNormGrad, g, a, rstd, rstd, mean, w, a, dx, dw, db) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnDeepNorm, a, c, bias, rstd, 0.5, kEpsilon, mean, rstd, y) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnDeepNormGrad, g, a, c, w, mean, rstd, 0.5, dx, rstd, db, dw) == ACLNN_ERR_PARAM_INVALID);
}

void testBatchNorm(Layout layout) {
  currentCase() = "batch_norm";
  const auto channel = [](size_t i) { return i / 5 % 4; };
  const Sample s({4, 4, channel, channel});
  const BoolArray all{true, true, true};
  Tensor x(ACL_FLOAT, kDims, s.x, layout), w(ACL_FLOAT, {4}, s.weight), b(ACL_FLOAT, {4}, s.bias);
  Tensor mean(ACL_FLOAT, {4}, Values(4)), var(ACL_FLOAT, {4}, Values(4, 1.0)), y(ACL_FLOAT, kDims, {}, layout);
  Tensor saved_mean(ACL_FLOAT, {4}, {}), saved(ACL_FLOAT, {4}, {});
  EXPECT(RUN(aclnnBatchNorm, x, w, b, mean, var, true, 0.25, kEpsilon, y, saved_mean, saved) == ACLNN_SUCCESS);
  EXPECT_VALUES(y.read(), s.y, 1e-5);
  Values means, moved(4), spread(4);
  normalized(s.rule, s.x, s.weight, s.bias, &means);
  for (size_t c = 0; c < 4; ++c) {
    moved[c] = 0.25 * means[c];
    for (size_t i = 0; i < 60; ++i) spread[c] += channel(i) == c ? std::pow(s.x[i] - means[c], 2) / 14 : 0;
    spread[c] = 0.75 + 0.25 * spread[c];
  }
  EXPECT_VALUES(mean.read(), moved, 1e-5);
  EXPECT_VALUES(var.read(), spread, 1e-5);
  Tensor g(ACL_FLOAT, kDims, s.grad, layout), dx(ACL_FLOAT, kDims, {}), dw(ACL_FLOAT, {4}, {}), db(ACL_FLOAT, {4}, {});
  EXPECT(RUN(aclnnBatchNormBackward, g, x, w, mean, var, saved_mean, saved, true, kEpsilon, all, dx, dw, db) ==
         ACLNN_SUCCESS);
  EXPECT_VALUES(dx.read(), s.of_x, 1e-5);
  EXPECT_VALUES(dw.read(), s.of_weight, 1e-5);
  EXPECT_VALUES(db.read(), s.of_bias, 1e-5);

  currentCase() = "batch_norm of running statistics";
  Values expected(60), slope(60);
  for (size_t i = 0; i < 60; ++i) {
    const size_t c = channel(i);
    const double reciprocal = 1 / std::sqrt(spread[c] + kEpsilon);
    expected[i] = (s.x[i] - moved[c]) * reciprocal * s.weight[c] + s.bias[c];
    slope[i] = s.grad[i] * s.weight[c] * reciprocal;
  }
  EXPECT(RUN(aclnnBatchNorm, x, w, b, mean, var, false, 0.25, kEpsilon, y, saved_mean, saved) == ACLNN_SUCCESS);
  EXPECT_VALUES(y.read(), expected, 1e-5);
  EXPECT_VALUES(mean.read(), moved, 1e-5);
  EXPECT(RUN(aclnnBatchNormBackward, g, x, w, mean, var, nullptr, nullptr, false, kEpsilon, all, dx, dw, db) ==
         ACLNN_SUCCESS);
  EXPECT_VALUES(dx.read(), slope, 1e-5);
  EXPECT(RUN(aclnnBatchNorm, x, w, b, nullptr, nullptr, false, 0.25, kEpsilon, y, saved_mean, saved) ==
         ACLNN_ERR_PARAM_INVALID);
}

void testGroupNorm(Layout layout) {
  currentCase() = "group_norm";
  const Sample s({6, 4, [](size_t i) { return i / 10; }, [](size_t i) { return i / 5 % 4; }});
  const BoolArray all{true, true, true};
  Tensor x(ACL_FLOAT, kDims, s.x, layout), w(ACL_FLOAT, {4}, s.weight), b(ACL_FLOAT, {4}, s.bias);
  Tensor y(ACL_FLOAT, kDims, {}), mean(ACL_FLOAT, {3, 2}, {}), rstd(ACL_FLOAT, {3, 2}, {});
  EXPECT(RUN(aclnnGroupNorm, x, w, b, 3, 4, 5, 2, kEpsilon, y, mean, rstd) == ACLNN_SUCCESS);
  EXPECT_VALUES(y.read(), s.y, 1e-5);
  Tensor g(ACL_FLOAT, kDims, s.grad, layout), dx(ACL_FLOAT, kDims, {}), dw(ACL_FLOAT, {4}, {}), db(ACL_FLOAT, {4}, {});
  EXPECT(RUN(aclnnGroupNormBackward, g, x, mean, rstd, w, 3, 4, 5, 2, all, dx, dw, db) == ACLNN_SUCCESS);
  EXPECT_VALUES(dx.read(), s.of_x, 1e-5);
  EXPECT_VALUES(dw.read(), s.of_weight, 1e-5);
  EXPECT_VALUES(db.read(), s.of_bias, 1e-5);
  EXPECT(RUN(aclnnGroupNorm, x, w, b, 3, 4, 5, 3, kEpsilon, y, mean, rstd) == ACLNN_ERR_PARAM_INVALID);
  Values activated = s.y;
  for (double &value : activated) value /= 1 + std::exp(-value);
  EXPECT(RUN(aclnnGroupNormSilu, x, w, b, 2, kEpsilon, y, mean, rstd) == ACLNN_SUCCESS);
  EXPECT_VALUES(y.read(), activated, 1e-5);
  EXPECT(RUN(aclnnGroupNormSilu, x, nullptr, nullptr, 2, kEpsilon, y, mean, rstd) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnGroupNormSilu, x, w, b, 3, kEpsilon, y, mean, rstd) == ACLNN_ERR_PARAM_INVALID);
}

void testNothing() {
  currentCase() = "lines without elements";
  const IntArray shape = {0};
  Tensor x(ACL_FLOAT, {2, 0}, {}), y(ACL_FLOAT, {2, 0}, {}), mean(ACL_FLOAT, {2, 1}, {}), rstd(ACL_FLOAT, {2, 1}, {});
  EXPECT(RUN(aclnnLayerNorm, x, shape, nullptr, nullptr, kEpsilon, y, mean, rstd) == ACLNN_SUCCESS);
  EXPECT_VALUES(mean.read(), (Values{0, 0}), 0);
  EXPECT_VALUES(rstd.read(), (Values{kNan, kNan}), 0);
}

void testRenorm(Layout layout) {
  currentCase() = "renorm";
  const Values values = wave(60, 1.1);
  for (double order : {1.0, 2.0, 3.0, kInf}) {
    Values expected = values;
    for (size_t slice = 0; slice < 4; ++slice) { /* of dimension 1 of kDims */
      const auto inside = [=](size_t i) { return i / 5 % 4 == slice; };
      double norm = 0;
      for (size_t i = 0; i < 60; ++i) {
        if (!inside(i)) continue;
        const double size = std::fabs(values[i]);
        norm = order == kInf ? std::max(norm, size) : norm + std::pow(size, order);
      }
      norm = order == kInf ? norm : std::pow(norm, 1 / order);
      for (size_t i = 0; i < 60; ++i) {
        if (inside(i) && norm > 0.9) expected[i] *= 0.9 / norm;
      }
    }
    const Scalar p(order), most(0.9);
    Tensor self(ACL_FLOAT, kDims, values, layout), out(ACL_FLOAT, kDims, {}, layout);
    EXPECT(RUN(aclnnRenorm, self, p, -2, most, out) == ACLNN_SUCCESS);
    EXPECT_VALUES(out.read(), expected, 1e-5);
    EXPECT(RUN(aclnnInplaceRenorm, self, p, 1, most) == ACLNN_SUCCESS);
    EXPECT_VALUES(self.read(), expected, 1e-5);
    currentCase() = "renorm refusals";
    const Scalar zero(0.0), negative(-1.0);
    EXPECT(RUN(aclnnRenorm, self, zero, 1, most, out) == ACLNN_ERR_PARAM_INVALID);
    EXPECT(RUN(aclnnRenorm, self, p, 1, negative, out) == ACLNN_ERR_PARAM_INVALID);
    EXPECT(RUN(aclnnRenorm, self, p, 3, most, out) == ACLNN_ERR_PARAM_INVALID);
  }
}

}  // namespace

int main() {
  Session session;
  testNothing();
  for (int layout = 0; layout < kLayouts; ++layout) {
    const Layout each = static_cast<Layout>(layout);
    testLayerNorm(each);
    testRmsNorm(each);
    testAddedNorms(each);
    testBatchNorm(each);
    testGroupNorm(each);
    testRenorm(each);
  }
}
