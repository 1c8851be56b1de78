/* Elementwise operators against scalar formulas, over data types and layouts. */
#include "aclnnop/aclnn_abs.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_addcdiv.h"
#include "aclnnop/aclnn_addcmul.h"
#include "aclnnop/aclnn_bitwise_not.h"
#include "aclnnop/aclnn_clamp.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_eq_tensor.h"
#include "aclnnop/aclnn_exp.h"
#include "aclnnop/aclnn_ge_scalar.h"
#include "aclnnop/aclnn_is_finite.h"
#include "aclnnop/aclnn_le_tensor.h"
#include "aclnnop/aclnn_lerp.h"
#include "aclnnop/aclnn_log.h"
#include "aclnnop/aclnn_logical_and.h"
#include "aclnnop/aclnn_logical_not.h"
#include "aclnnop/aclnn_lt_tensor.h"
#include "aclnnop/aclnn_maximum.h"
#include "aclnnop/aclnn_minimum.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_neg.h"
#include "aclnnop/aclnn_pow.h"
#include "aclnnop/aclnn_pow_tensor_tensor.h"
#include "aclnnop/aclnn_reciprocal.h"
#include "aclnnop/aclnn_relu.h"
#include "aclnnop/aclnn_rsqrt.h"
#include "aclnnop/aclnn_rsub.h"
#include "aclnnop/aclnn_s_where.h"
#include "aclnnop/aclnn_sigmoid.h"
#include "aclnnop/aclnn_sqrt.h"
#include "aclnnop/aclnn_sub.h"
#include "aclnnop/aclnn_tanh.h"
#include "aclnnop/aclnn_threshold_backward.h"
#include "op_test.h"

namespace {

const aclDataType kFloatTypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
const Dims kShapes[] = {{3, 5}, {}, {0, 4}, {2, 1, 7}, {1000}};

Values sequence(const Dims &dims, double start, double step, aclDataType type) {
  Values values(static_cast<size_t>(product(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = rounded(start + step * static_cast<double>(i % 64), type);
  return values;
}

using Unary1 = aclnnStatus (*)(const aclTensor *, aclTensor *, uint64_t *, aclOpExecutor **);

struct UnaryCase {
  const char *name;
  Unary1 begin;
  Phase2 launch;
  double (*formula)(double);
  double start, step;
};

/* aclnnRelu declares its output const; the calling convention is the same. */
aclnnStatus beginRelu(const aclTensor *self, aclTensor *out, uint64_t *size, aclOpExecutor **executor) {
  return aclnnReluGetWorkspaceSize(self, out, size, executor);
}

const UnaryCase kUnary[] = {
    {"exp", aclnnExpGetWorkspaceSize, aclnnExp, [](double x) { return std::exp(x); }, -2, 0.0625},
    {"log", aclnnLogGetWorkspaceSize, aclnnLog, [](double x) { return std::log(x); }, 0.5, 0.125},
    {"sqrt", aclnnSqrtGetWorkspaceSize, aclnnSqrt, [](double x) { return std::sqrt(x); }, 0, 0.25},
    {"rsqrt", aclnnRsqrtGetWorkspaceSize, aclnnRsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.5, 0.25},
    {"reciprocal", aclnnReciprocalGetWorkspaceSize, aclnnReciprocal, [](double x) { return 1 / x; }, 0.5, 0.25},
    {"sigmoid", aclnnSigmoidGetWorkspaceSize, aclnnSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, -4, .125},
    {"tanh", aclnnTanhGetWorkspaceSize, aclnnTanh, [](double x) { return std::tanh(x); }, -4, 0.125},
    {"neg", aclnnNegGetWorkspaceSize, aclnnNeg, [](double x) { return -x; }, -4, 0.125},
    {"abs", aclnnAbsGetWorkspaceSize, aclnnAbs, [](double x) { return std::fabs(x); }, -4, 0.125},
    {"relu", beginRelu, aclnnRelu, [](double x) { return x > 0 ? x : 0; }, -4, 0.125},
};

void testUnary() {
  for (const UnaryCase &test : kUnary) {
    currentCase() = test.name;
    for (aclDataType type : kFloatTypes) {
      for (const Dims &dims : kShapes) {
        for (int layout = 0; layout < kLayouts * kLayouts; ++layout) {
          Values values = sequence(dims, test.start, test.step, type), expected(values.size());
          for (size_t i = 0; i < values.size(); ++i) expected[i] = test.formula(values[i]);
          Tensor self(type, dims, values, static_cast<Layout>(layout % kLayouts));
          Tensor out(type, dims, {}, static_cast<Layout>(layout / kLayouts));
          EXPECT(
              runBoth([&](uint64_t *size, aclOpExecutor **executor) { return test.begin(self, out, size, executor); },
                      test.launch) == ACLNN_SUCCESS);
          EXPECT_VALUES(out.read(), expected, toleranceOf(type));
        }
      }
    }
  }
}

using Binary1 = aclnnStatus (*)(const aclTensor *, const aclTensor *, aclTensor *, uint64_t *, aclOpExecutor **);

struct BinaryCase {
  const char *name;
  Binary1 begin;
  Phase2 launch;
  double (*formula)(double, double);
  bool comparison;
};

const BinaryCase kBinary[] = {
    {"mul", aclnnMulGetWorkspaceSize, aclnnMul, [](double x, double y) { return x * y; }, false},
    {"maximum", aclnnMaximumGetWorkspaceSize, aclnnMaximum, [](double x, double y) { return x > y ? x : y; }, false},
    {"minimum", aclnnMinimumGetWorkspaceSize, aclnnMinimum, [](double x, double y) { return x < y ? x : y; }, false},
    {"eq", aclnnEqTensorGetWorkspaceSize, aclnnEqTensor, [](double x, double y) { return double(x == y); }, true},
    {"lt", aclnnLtTensorGetWorkspaceSize, aclnnLtTensor, [](double x, double y) { return double(x < y); }, true},
    {"le", aclnnLeTensorGetWorkspaceSize, aclnnLeTensor, [](double x, double y) { return double(x <= y); }, true},
    {"and", aclnnLogicalAndGetWorkspaceSize, aclnnLogicalAnd, [](double x, double y) { return double(x && y); }, true},
};

const aclDataType kTypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,  ACL_DOUBLE, ACL_INT8,
                              ACL_INT16, ACL_INT32,   ACL_INT64, ACL_UINT8,  ACL_BOOL};

void testBinary() {
  const Dims dims = {4, 6};
  for (const BinaryCase &test : kBinary) {
    currentCase() = test.name;
    for (aclDataType type : kTypes) {
      for (int layout = 0; layout < kLayouts * kLayouts; ++layout) {
        Values x = sequence(dims, 0, 1, type), y = sequence({6}, 6, -1, type), expected(x.size());
        if (type != ACL_BOOL) {
          for (double &value : x) value = std::fmod(value, 10);
        }
        for (size_t i = 0; i < x.size(); ++i) expected[i] = test.formula(x[i], y[i % 6]);
        aclDataType result = test.comparison ? ACL_BOOL : type;
        Tensor self(type, dims, x, static_cast<Layout>(layout % kLayouts));
        Tensor other(type, {6}, y, kStepped);
        Tensor out(result, dims, {}, static_cast<Layout>(layout / kLayouts));
        EXPECT(runBoth([&](uint64_t *size,
                           aclOpExecutor **executor) { return test.begin(self, other, out, size, executor); },
                       test.launch) == ACLNN_SUCCESS);
        EXPECT_VALUES(out.read(), expected, toleranceOf(result));
      }
    }
  }
}

/* Mixed types promote as torch promotes them; the output may be wider than that. */
void testPromotion() {
  struct {
    const char *name;
    aclDataType self, other, out;
    aclnnStatus status;
  } cases[] = {
      {"int32+float", ACL_INT32, ACL_FLOAT, ACL_FLOAT, ACLNN_SUCCESS},
      {"half+bfloat", ACL_FLOAT16, ACL_BF16, ACL_FLOAT, ACLNN_SUCCESS},
      {"int8+uint8", ACL_INT8, ACL_UINT8, ACL_INT16, ACLNN_SUCCESS},
      {"bool+int64", ACL_BOOL, ACL_INT64, ACL_INT64, ACLNN_SUCCESS},
      {"int32+int32 to double", ACL_INT32, ACL_INT32, ACL_DOUBLE, ACLNN_SUCCESS},
      {"float to int", ACL_FLOAT, ACL_FLOAT, ACL_INT32, ACLNN_ERR_PARAM_INVALID},
      {"int to bool", ACL_INT32, ACL_INT32, ACL_BOOL, ACLNN_ERR_PARAM_INVALID},
  };
  for (const auto &test : cases) {
    currentCase() = test.name;
    Tensor self(test.self, {2}, {1, 0}), other(test.other, {2}, {1, 1}), out(test.out, {2}, {});
    Scalar one(1);
    EXPECT(RUN(aclnnAdd, self, other, one, out) == test.status);
    if (test.status == ACLNN_SUCCESS) EXPECT_VALUES(out.read(), {2, 1}, 0);
  }
  currentCase() = "scalars";
  Tensor integers(ACL_INT32, {3}, {-7, 7, 8}), floats(ACL_FLOAT, {3}, {}), ints(ACL_INT32, {3}, {});
  Scalar half(0.5), two(2), one(1);
  EXPECT(RUN(aclnnMuls, integers, half, floats) == ACLNN_SUCCESS);
  EXPECT_VALUES(floats.read(), {-3.5, 3.5, 4}, 0);
  EXPECT(RUN(aclnnMuls, integers, half, ints) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnAdds, integers, two, half, ints) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnAdds, integers, two, two, ints) == ACLNN_SUCCESS);
  EXPECT_VALUES(ints.read(), {-3, 11, 12}, 0);
  EXPECT(RUN(aclnnRsubs, integers, two, one, ints) == ACLNN_SUCCESS);
  EXPECT_VALUES(ints.read(), {9, -5, -6}, 0);
  EXPECT(RUN(aclnnInplaceSub, ints, integers, two) == ACLNN_SUCCESS);
  EXPECT_VALUES(ints.read(), {23, -19, -22}, 0);
}

void testDivision() {
  currentCase() = "division";
  Tensor x(ACL_INT32, {4}, {7, -7, 7, -7}), y(ACL_INT32, {4}, {2, 2, -2, -2});
  Tensor floats(ACL_FLOAT, {4}, {}), ints(ACL_INT32, {4}, {});
  EXPECT(RUN(aclnnDiv, x, y, floats) == ACLNN_SUCCESS);
  EXPECT_VALUES(floats.read(), {3.5, -3.5, -3.5, 3.5}, 0);
  EXPECT(RUN(aclnnDivMod, x, y, 1, ints) == ACLNN_SUCCESS);
  EXPECT_VALUES(ints.read(), {3, -3, -3, 3}, 0);
  EXPECT(RUN(aclnnDivMod, x, y, 2, ints) == ACLNN_SUCCESS);
  EXPECT_VALUES(ints.read(), {3, -4, -4, 3}, 0);
  EXPECT(RUN(aclnnDivMod, x, y, 3, ints) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnDivMod, x, y, 0, ints) == ACLNN_ERR_PARAM_INVALID);
  Tensor a(ACL_FLOAT, {3}, {7.5, -7.5, 1}), out(ACL_FLOAT, {3}, {});
  Scalar two(2);
  EXPECT(RUN(aclnnDivMods, a, two, 2, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {3, -4, 0}, 0);
  Tensor tenth(ACL_FLOAT, {1}, {0.1}), unit(ACL_FLOAT, {1}, {1}), quotient(ACL_FLOAT, {1}, {});
  EXPECT(RUN(aclnnDivMod, unit, tenth, 2, quotient) == ACLNN_SUCCESS);
  EXPECT_VALUES(quotient.read(), {9}, 0); /* the float 0.1 is a little more than a tenth */
}

void testIntegers() {
  currentCase() = "integers wrap";
  Tensor x(ACL_INT8, {3}, {127, -128, 100}), y(ACL_INT8, {3}, {1, 1, 3}), out(ACL_INT8, {3}, {});
  Scalar one(1);
  EXPECT(RUN(aclnnAdd, x, y, one, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {-128, -127, 103}, 0);
  EXPECT(RUN(aclnnMul, x, y, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {127, -128, 44}, 0);
  EXPECT(RUN(aclnnAbs, x, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {127, -128, 100}, 0);
  currentCase() = "integer powers";
  Tensor base(ACL_INT32, {5}, {2, -3, 1, -1, 5}), power(ACL_INT32, {5}, {10, 3, -4, -3, -1}),
      result(ACL_INT32, {5}, {});
  EXPECT(RUN(aclnnPowTensorTensor, base, power, result) == ACLNN_SUCCESS);
  EXPECT_VALUES(result.read(), {1024, -27, 1, -1, 0}, 0);
  Scalar two(2);
  EXPECT(RUN(aclnnInplacePowTensorScalar, base, two) == ACLNN_SUCCESS);
  EXPECT_VALUES(base.read(), {4, 9, 1, 1, 25}, 0);
  EXPECT(RUN(aclnnPowScalarTensor, two, power, result) == ACLNN_SUCCESS);
  EXPECT_VALUES(result.read(), {1024, 8, 0, 0, 0}, 0);
  currentCase() = "not";
  Tensor flags(ACL_BOOL, {2}, {1, 0}), flipped(ACL_BOOL, {2}, {});
  EXPECT(RUN(aclnnBitwiseNot, flags, flipped) == ACLNN_SUCCESS);
  EXPECT_VALUES(flipped.read(), {0, 1}, 0);
  EXPECT(RUN(aclnnBitwiseNot, base, result) == ACLNN_SUCCESS);
  EXPECT_VALUES(result.read(), {-5, -10, -2, -2, -26}, 0);
}

void testNan() {
  currentCase() = "nan";
  Tensor x(ACL_FLOAT, {4}, {kNan, 1, kInf, -0.0}), y(ACL_FLOAT, {4}, {1, kNan, 1, 1}), out(ACL_FLOAT, {4}, {});
  EXPECT(RUN(aclnnMaximum, x, y, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {kNan, kNan, kInf, 1}, 0);
  EXPECT(RUN(aclnnMinimum, x, y, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {kNan, kNan, 1, 0}, 0);
  Scalar zero(0), one(1);
  EXPECT(RUN(aclnnClamp, x, zero, one, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {kNan, 1, 1, 0}, 0);
  EXPECT(RUN(aclnnClamp, x, nullptr, zero, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {kNan, 0, 0, 0}, 0);
  EXPECT(RUN(aclnnClamp, x, nullptr, nullptr, out) == ACLNN_ERR_PARAM_NULLPTR);
  EXPECT(RUN(aclnnNeg, x, out) == ACLNN_SUCCESS);
  EXPECT(!std::signbit(out.read()[3]));
  EXPECT(RUN(aclnnRelu, x, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {kNan, 1, kInf, 0}, 0);
  Tensor finite(ACL_BOOL, {4}, {});
  EXPECT(RUN(aclnnIsFinite, x, finite) == ACLNN_SUCCESS);
  EXPECT_VALUES(finite.read(), {0, 1, 0, 1}, 0);
  EXPECT(RUN(aclnnGeScalar, x, one, finite) == ACLNN_SUCCESS);
  EXPECT_VALUES(finite.read(), {0, 1, 1, 0}, 0);
  EXPECT(RUN(aclnnLogicalNot, x, finite) == ACLNN_SUCCESS);
  EXPECT_VALUES(finite.read(), {0, 0, 0, 1}, 0);
}

void testTernary() {
  currentCase() = "ternary";
  Tensor x(ACL_FLOAT, {2, 2}, {1, 2, 3, 4}, kTransposed), y(ACL_FLOAT, {2}, {10, 20}), z(ACL_FLOAT, {}, {4});
  Tensor out(ACL_FLOAT, {2, 2}, {});
  Scalar half(0.5), zero(0);
  EXPECT(RUN(aclnnAddcmul, x, y, z, half, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {21, 42, 23, 44}, 0);
  EXPECT(RUN(aclnnAddcdiv, x, y, z, half, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {2.25, 4.5, 4.25, 6.5}, 0);
  EXPECT(RUN(aclnnLerps, x, y, half, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {5.5, 11, 6.5, 12}, 0);
  Tensor quarter = Tensor::expanded(ACL_FLOAT, {2, 2}, 0.25);
  EXPECT(RUN(aclnnInplaceLerp, x, y, quarter) == ACLNN_SUCCESS);
  EXPECT_VALUES(x.read(), {3.25, 6.5, 4.75, 8}, 0);
  Tensor gradient(ACL_FLOAT, {4}, {1, 2, 3, 4}), input(ACL_FLOAT, {4}, {-1, 0, 1, kNan}), back(ACL_FLOAT, {4}, {});
  EXPECT(RUN(aclnnThresholdBackward, gradient, input, zero, back) == ACLNN_SUCCESS);
  EXPECT_VALUES(back.read(), {0, 0, 3, 4}, 0);
  Tensor condition(ACL_BOOL, {2, 1}, {1, 0}), ints(ACL_INT64, {}, {7}), chosen(ACL_FLOAT, {2, 2}, {}, kStepped);
  EXPECT(RUN(aclnnSWhere, condition, y, ints, chosen) == ACLNN_SUCCESS);
  EXPECT_VALUES(chosen.read(), {10, 20, 7, 7}, 0);
}

}  // namespace

int main() {
  Session session;
  testUnary();
  testBinary();
  testPromotion();
  testDivision();
  testIntegers();
  testNan();
  testTernary();
}
