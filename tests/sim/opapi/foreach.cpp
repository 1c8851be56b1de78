/* Operators on lists of tensors, and those of optimizers, against formulas of their own. */
#include <cmath>
#include <cstdlib>

#include "aclnnop/aclnn_amp_update_scale.h"
#include "aclnnop/aclnn_apply_adam_wv2.h"
#include "aclnnop/aclnn_foreach_add_list_v2.h"
#include "aclnnop/aclnn_foreach_copy.h"
#include "aclnnop/aclnn_foreach_exp.h"
#include "aclnnop/aclnn_foreach_mul_scalar_list.h"
#include "aclnnop/aclnn_foreach_non_finite_check_and_unscale.h"
#include "aclnnop/aclnn_foreach_norm.h"
#include "aclnnop/aclnn_foreach_round_off_number_v2.h"
#include "aclnnop/aclnn_foreach_zero_inplace.h"
#include "aclnnop/aclnn_fused_sgd.h"
#include "op_test.h"

namespace {

/* Tensors that a list of theirs can be made of again and again: a list owns its descriptors. */
class Group {
 public:
  Group(aclDataType type, const std::vector<Dims> &shapes, double first, double step = 1) {
    for (const Dims &dims : shapes) {
      Values values(static_cast<size_t>(product(dims)));
      for (double &value : values) value = first, first += step;
      tensors_.emplace_back(type, dims, values);
    }
    std::vector<const aclTensor *> handles;
    for (Tensor &tensor : tensors_) handles.push_back(tensor.release());
    list_ = aclCreateTensorList(handles.data(), handles.size());
  }
  Group(const Group &) = delete;
  ~Group() { aclDestroyTensorList(list_); }
  operator aclTensorList *() const { return list_; }
  Values read(size_t i) const { return tensors_[i].read(); }

 private:
  std::vector<Tensor> tensors_;
  aclTensorList *list_;
};

aclScalarList *numbers(const std::vector<double> &values) {
  std::vector<const aclScalar *> scalars;
  for (double value : values) scalars.push_back(aclCreateScalar(&value, ACL_DOUBLE));
  return aclCreateScalarList(scalars.data(), scalars.size());
}

const std::vector<Dims> kShapes = {{2, 2}, {}, {3}};

void testElements() {
  currentCase() = "elements";
  for (aclDataType type : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_INT32}) {
    Group x(type, kShapes, 1), y(type, kShapes, 10), out(type, kShapes, 0);
    Scalar two(2);
    EXPECT(RUN(aclnnForeachAddListV2, x, y, two, out) == ACLNN_SUCCESS);
    EXPECT_VALUES(out.read(0), (Values{21, 24, 27, 30}), 0);
    EXPECT_VALUES(out.read(1), Values{33}, 0);
    EXPECT_VALUES(out.read(2), (Values{36, 39, 42}), 0);
    EXPECT(RUN(aclnnForeachAddListV2, x, y, two, x) == ACLNN_SUCCESS);
    EXPECT_VALUES(x.read(2), (Values{36, 39, 42}), 0);
  }
  Group x(ACL_FLOAT, kShapes, 1), out(ACL_FLOAT, kShapes, 0);
  EXPECT(RUN(aclnnForeachExp, x, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(1), Values{std::exp(5.0)}, 1e-6);
}

void testNumbers() {
  currentCase() = "numbers";
  Group x(ACL_FLOAT, kShapes, 1), out(ACL_FLOAT, kShapes, 0);
  aclScalarList *three = numbers({0.5, 2, -1}), *two = numbers({1, 2});
  EXPECT(RUN(aclnnForeachMulScalarList, x, three, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(0), (Values{0.5, 1, 1.5, 2}), 0);
  EXPECT_VALUES(out.read(1), Values{10}, 0);
  EXPECT_VALUES(out.read(2), (Values{-6, -7, -8}), 0);
  EXPECT(RUN(aclnnForeachMulScalarList, x, two, out) == ACLNN_ERR_PARAM_INVALID);
  aclDestroyScalarList(three);
  aclDestroyScalarList(two);
}

/* The numbers are the executor's: it runs again when their list is gone. */
void testRepeatable() {
  currentCase() = "repeatable";
  Group x(ACL_FLOAT, kShapes, 1), out(ACL_FLOAT, kShapes, 0);
  aclScalarList *three = numbers({0.5, 2, -1});
  uint64_t size = 1;
  aclOpExecutor *executor = nullptr;
  EXPECT(aclnnForeachMulScalarListGetWorkspaceSize(x, three, out, &size, &executor) == ACLNN_SUCCESS && size == 0);
  EXPECT(aclSetAclOpExecutorRepeatable(executor) == ACLNN_SUCCESS);
  aclDestroyScalarList(three);
  for (int i = 0; i < 2; ++i) {
    EXPECT(aclnnForeachMulScalarList(nullptr, 0, executor, nullptr) == ACLNN_SUCCESS);
    EXPECT_VALUES(out.read(0), (Values{0.5, 1, 1.5, 2}), 0);
    EXPECT_VALUES(out.read(2), (Values{-6, -7, -8}), 0);
  }
  EXPECT(aclDestroyAclOpExecutor(executor) == ACLNN_SUCCESS);
}

void testRounding() {
  currentCase() = "rounding";
  const std::pair<int, Values> modes[] = {
      {1, {-2, 0, 2}}, {2, {-3, 0, 1}}, {3, {-2, 1, 2}}, {5, {-2, 0, 1}}, {7, {-0.5, 0.5, 0.5}}};
  for (const auto &[mode, expected] : modes) {
    Group x(ACL_FLOAT, {{3}}, -2.5, 2), out(ACL_FLOAT, {{3}}, 0); /* -2.5, -0.5, 1.5 */
    Scalar number(mode);
    EXPECT(RUN(aclnnForeachRoundOffNumberV2, x, number, out) == ACLNN_SUCCESS);
    Values rounded = out.read(0);
    EXPECT_VALUES((Values{rounded[0], rounded[2]}), (Values{expected[0], expected[2]}), 0);
  }
  Group x(ACL_FLOAT, {{3}}, 0), out(ACL_FLOAT, {{3}}, 0);
  Scalar unknown(4);
  EXPECT(RUN(aclnnForeachRoundOffNumberV2, x, unknown, out) == ACLNN_ERR_PARAM_INVALID);
}

void testNorms() {
  currentCase() = "norms";
  Group x(ACL_FLOAT, kShapes, 1), out(ACL_FLOAT, {{}, {}, {}}, 0);
  Scalar first(1), second(2), third(3);
  EXPECT(RUN(aclnnForeachNorm, x, first, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(0), Values{10}, 0);
  EXPECT(RUN(aclnnForeachNorm, x, second, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(2), Values{std::sqrt(149.0)}, 1e-6);
  EXPECT(RUN(aclnnForeachNorm, x, third, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnForeachNorm, x, second, x) == ACLNN_ERR_PARAM_INVALID);
}

void testCopies() {
  currentCase() = "copies";
  Group x(ACL_INT32, kShapes, 1), out(ACL_INT32, kShapes, 50);
  EXPECT(RUN(aclnnForeachCopy, x, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(2), (Values{6, 7, 8}), 0);
  EXPECT(RUN(aclnnForeachZeroInplace, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(0), (Values{0, 0, 0, 0}), 0);
}

void testRefusals() {
  currentCase() = "refusals";
  Group x(ACL_FLOAT, kShapes, 1), out(ACL_FLOAT, kShapes, 0), shorter(ACL_FLOAT, {{2, 2}, {}}, 0);
  Group other(ACL_FLOAT, {{2, 2}, {1}, {3}}, 0), halves(ACL_FLOAT16, kShapes, 0), wide(ACL_DOUBLE, kShapes, 0);
  Scalar one(1);
  EXPECT(RUN(aclnnForeachAddListV2, x, shorter, one, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnForeachAddListV2, x, other, one, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnForeachAddListV2, x, halves, one, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnForeachAddListV2, wide, wide, one, wide) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnForeachAddListV2, nullptr, x, one, out) == ACLNN_ERR_PARAM_NULLPTR);
}

void testAdam() {
  currentCase() = "adam";
  const double lr = 0.1, beta1 = 0.9, beta2 = 0.99, decay = 0.5, eps = 1e-8;
  for (bool largest : {false, true}) {
    for (bool maximize : {false, true}) {
      Tensor var(ACL_FLOAT, {2}, {1, -2}), m(ACL_FLOAT, {2}, {0.5, 0}), v(ACL_FLOAT, {2}, {0.25, 1});
      Tensor most(ACL_FLOAT, {2}, {9, 0}), grad(ACL_FLOAT, {2}, {3, 4}), step(ACL_FLOAT, {1}, {1});
      aclTensor *state = largest ? static_cast<aclTensor *>(most) : nullptr;
      EXPECT(RUN(aclnnApplyAdamWV2, var, m, v, state, grad, step, static_cast<float>(lr), static_cast<float>(beta1),
                 static_cast<float>(beta2), static_cast<float>(decay), static_cast<float>(eps), largest,
                 maximize) == ACLNN_SUCCESS);
      Values expected;
      for (int i = 0; i < 2; ++i) {
        const double g = (maximize ? -1 : 1) * (i == 0 ? 3 : 4);
        const double mean = beta1 * (i == 0 ? 0.5 : 0) + (1 - beta1) * g;
        double spread = beta2 * (i == 0 ? 0.25 : 1) + (1 - beta2) * g * g;
        if (largest) spread = std::max(spread, i == 0 ? 9.0 : 0.0);
        const double change = mean / (1 - beta1 * beta1) / (std::sqrt(spread / (1 - beta2 * beta2)) + eps);
        expected.push_back((i == 0 ? 1 : -2) * (1 - lr * decay) - lr * change);
      }
      EXPECT_VALUES(var.read(), expected, 1e-5);
    }
  }
  Tensor x(ACL_FLOAT, {2}, {1, 2}), other(ACL_FLOAT, {3}, {1, 2, 3}), step(ACL_FLOAT, {1}, {1});
  EXPECT(RUN(aclnnApplyAdamWV2, x, x, x, nullptr, x, step, 1.f, 1.f, 1.f, 1.f, 1.f, true, false) ==
         ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnApplyAdamWV2, x, x, x, nullptr, other, step, 1.f, 1.f, 1.f, 1.f, 1.f, false, false) ==
         ACLNN_ERR_PARAM_INVALID);
}

void testSgd() {
  currentCase() = "sgd";
  Group var(ACL_FLOAT, kShapes, 1), grad(ACL_FLOAT, kShapes, 1, 0), momentum(ACL_FLOAT, kShapes, 4, 0);
  EXPECT(RUN(aclnnFusedSgd, var, grad, momentum, nullptr, 0.f, 0.5f, 0.25f, 0.f, false, false, false) == ACLNN_SUCCESS);
  EXPECT_VALUES(momentum.read(1), Values{3}, 0);
  EXPECT_VALUES(var.read(0), (Values{0.25, 1.25, 2.25, 3.25}), 0);
  EXPECT(RUN(aclnnFusedSgd, var, grad, nullptr, nullptr, 0.f, 0.f, 1.f, 0.f, false, true, false) == ACLNN_SUCCESS);
  EXPECT_VALUES(var.read(0), (Values{1.25, 2.25, 3.25, 4.25}), 0);
}

void testUnscale() {
  currentCase() = "unscale";
  Tensor half(ACL_FLOAT, {}, {0.5});
  for (aclDataType type : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
    Tensor found(ACL_FLOAT, {1}, {0});
    Group finite(type, kShapes, 2, 2), infinite(type, kShapes, INFINITY, 0);
    EXPECT(RUN(aclnnForeachNonFiniteCheckAndUnscale, finite, found, half) == ACLNN_SUCCESS);
    EXPECT_VALUES(finite.read(0), (Values{1, 2, 3, 4}), 0);
    EXPECT_VALUES(finite.read(2), (Values{6, 7, 8}), 0);
    EXPECT_VALUES(found.read(), Values{0}, 0);
    EXPECT(RUN(aclnnForeachNonFiniteCheckAndUnscale, infinite, found, half) == ACLNN_SUCCESS);
    EXPECT_VALUES(found.read(), Values{1}, 0);
    EXPECT(RUN(aclnnForeachNonFiniteCheckAndUnscale, finite, found, half) == ACLNN_SUCCESS);
    EXPECT_VALUES(found.read(), Values{1}, 0); /* it stays */
  }
  Group x(ACL_FLOAT, kShapes, 1);
  Tensor two(ACL_FLOAT, {2}, {0, 0}), one(ACL_FLOAT, {1}, {0});
  EXPECT(RUN(aclnnForeachNonFiniteCheckAndUnscale, x, two, half) != ACLNN_SUCCESS);
  EXPECT(RUN(aclnnForeachNonFiniteCheckAndUnscale, x, one, two) != ACLNN_SUCCESS);
}

void testUpdateScale() {
  currentCase() = "update scale";
  struct Step {
    double scale, steps, found, new_scale, new_steps;
  };
  for (const Step &step : {Step{4, 0, 0, 4, 1}, Step{4, 2, 0, 8, 0}, Step{4, 2, 1, 2, 0}, Step{3e38, 2, 0, 3e38, 0}}) {
    Tensor scale(ACL_FLOAT, {1}, {step.scale}), steps(ACL_INT32, {1}, {step.steps}),
        found(ACL_FLOAT, {1}, {step.found});
    EXPECT(RUN(aclnnAmpUpdateScale, scale, steps, found, 2.0, 0.5, 3, scale, steps) == ACLNN_SUCCESS);
    EXPECT_VALUES(scale.read(), Values{step.new_scale}, 1e-6);
    EXPECT_VALUES(steps.read(), Values{step.new_steps}, 0);
  }
  Tensor scale(ACL_FLOAT, {1}, {1}), steps(ACL_INT32, {1}, {0}), two(ACL_FLOAT, {2}, {0, 0}), plain(ACL_FLOAT, {}, {4}),
      zero(ACL_FLOAT, {}, {0});
  EXPECT(RUN(aclnnAmpUpdateScale, scale, steps, two, 2.0, 0.5, 3, scale, steps) != ACLNN_SUCCESS);
  EXPECT(RUN(aclnnAmpUpdateScale, plain, steps, zero, 2.0, 0.5, 1, plain, steps) == ACLNN_SUCCESS);
  EXPECT_VALUES(plain.read(), Values{8}, 0);
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_OP_CACHE", "0", 1); /* executors from the cache cannot be made repeatable */
  Session session;
  testElements();
  testNumbers();
  testRepeatable();
  testRounding();
  testNorms();
  testCopies();
  testRefusals();
  testAdam();
  testSgd();
  testUnscale();
  testUpdateScale();
}
