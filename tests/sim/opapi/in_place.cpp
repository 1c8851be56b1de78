/* In-place operators that run the kernel of their plain form: equal values in every layout, equal errors. */
#include "aclnnop/aclnn_acos.h"
#include "aclnnop/aclnn_acosh.h"
#include "aclnnop/aclnn_add_rms_norm.h"
#include "aclnnop/aclnn_addbmm.h"
#include "aclnnop/aclnn_asin.h"
#include "aclnnop/aclnn_asinh.h"
#include "aclnnop/aclnn_atan.h"
#include "aclnnop/aclnn_atan2.h"
#include "aclnnop/aclnn_atanh.h"
#include "aclnnop/aclnn_baddbmm.h"
#include "aclnnop/aclnn_bitwise_and_scalar.h"
#include "aclnnop/aclnn_bitwise_and_tensor.h"
#include "aclnnop/aclnn_bitwise_or_scalar.h"
#include "aclnnop/aclnn_bitwise_or_tensor.h"
#include "aclnnop/aclnn_bitwise_xor_scalar.h"
#include "aclnnop/aclnn_bitwise_xor_tensor.h"
#include "aclnnop/aclnn_clamp_max.h"
#include "aclnnop/aclnn_clamp_max_tensor.h"
#include "aclnnop/aclnn_cos.h"
#include "aclnnop/aclnn_cosh.h"
#include "aclnnop/aclnn_cumprod.h"
#include "aclnnop/aclnn_eq_scalar.h"
#include "aclnnop/aclnn_eq_tensor.h"
#include "aclnnop/aclnn_erfc.h"
#include "aclnnop/aclnn_erfinv.h"
#include "aclnnop/aclnn_exp2.h"
#include "aclnnop/aclnn_expm1.h"
#include "aclnnop/aclnn_floor.h"
#include "aclnnop/aclnn_fmod_scalar.h"
#include "aclnnop/aclnn_fmod_tensor.h"
#include "aclnnop/aclnn_frac.h"
#include "aclnnop/aclnn_ge_scalar.h"
#include "aclnnop/aclnn_ge_tensor.h"
#include "aclnnop/aclnn_gt_scalar.h"
#include "aclnnop/aclnn_gt_tensor.h"
#include "aclnnop/aclnn_le_scalar.h"
#include "aclnnop/aclnn_le_tensor.h"
#include "aclnnop/aclnn_log10.h"
#include "aclnnop/aclnn_log1p.h"
#include "aclnnop/aclnn_log2.h"
#include "aclnnop/aclnn_lt_scalar.h"
#include "aclnnop/aclnn_lt_tensor.h"
#include "aclnnop/aclnn_nan_to_num.h"
#include "aclnnop/aclnn_ne_scalar.h"
#include "aclnnop/aclnn_ne_tensor.h"
#include "aclnnop/aclnn_remainder_tensor_scalar.h"
#include "aclnnop/aclnn_remainder_tensor_tensor.h"
#include "aclnnop/aclnn_round.h"
#include "aclnnop/aclnn_round_decimals.h"
#include "aclnnop/aclnn_sin.h"
#include "aclnnop/aclnn_sinc.h"
#include "aclnnop/aclnn_sinh.h"
#include "aclnnop/aclnn_tan.h"
#include "aclnnop/aclnn_trunc.h"
#include "aclnnop/aclnn_x_log_y_scalar_other.h"
#include "aclnnop/aclnn_x_log_y_tensor.h"
#include "op_test.h"

namespace {

const Values kNumbers = {-2.5, -0.75, -0.25, 0.0, 0.5, 1.25};
const Dims kDims = {2, 3};

/* Runs `plain(self, out)` and `in_place(self)` on the values in every layout and compares what they leave. */
template <class Plain, class InPlace>
void check(const char *name, aclDataType type, const Values &values, Plain plain, InPlace in_place) {
  currentCase() = name;
  for (int layout = 0; layout < kLayouts; ++layout) {
    Tensor self(type, kDims, values), out(type, kDims, {}), changed(type, kDims, values, static_cast<Layout>(layout));
    EXPECT(plain(self, out) == ACLNN_SUCCESS);
    EXPECT(in_place(changed) == ACLNN_SUCCESS);
    EXPECT_VALUES(changed.read(), out.read(), 0);
  }
}

#define CHECK(name, type, values, plain, ...)                                      \
  check(                                                                           \
      #name, type, values, [&](aclTensor *self, aclTensor *out) { return plain; }, \
      [&](aclTensor *self) { return RUN(aclnnInplace##name, __VA_ARGS__); })
#define UNARY(name) CHECK(name, ACL_FLOAT, kNumbers, RUN(aclnn##name, self, out), self)
#define BINARY(name, type) CHECK(name, type, kNumbers, RUN(aclnn##name, self, other, out), self, other)

void testElementwise() {
  UNARY(Acos);
  UNARY(Acosh);
  UNARY(Asin);
  UNARY(Asinh);
  UNARY(Atan);
  UNARY(Atanh);
  UNARY(Cos);
  UNARY(Cosh);
  UNARY(Erfc);
  UNARY(Erfinv);
  UNARY(Exp2);
  UNARY(Expm1);
  UNARY(Floor);
  UNARY(Frac);
  UNARY(Log10);
  UNARY(Log1p);
  UNARY(Log2);
  UNARY(Round);
  UNARY(Sin);
  UNARY(Sinc);
  UNARY(Sinh);
  UNARY(Tan);
  UNARY(Trunc);
  CHECK(RoundDecimals, ACL_FLOAT, kNumbers, RUN(aclnnRoundDecimals, self, 1, out), self, 1);
  CHECK(NanToNum, ACL_FLOAT, Values({kNan, kInf, -kInf, 0, 1, 2}), RUN(aclnnNanToNum, self, 3.0f, 4.0f, 5.0f, out),
        self, 3.0f, 4.0f, 5.0f);
}

void testTwoOperands() {
  {
    const Tensor other(ACL_FLOAT, {3}, {0.5, -0.75, 1.25});
    BINARY(Atan2, ACL_FLOAT);
    BINARY(ClampMaxTensor, ACL_FLOAT);
    BINARY(EqTensor, ACL_FLOAT);
    BINARY(FmodTensor, ACL_FLOAT);
    BINARY(GeTensor, ACL_FLOAT);
    BINARY(GtTensor, ACL_FLOAT);
    BINARY(LeTensor, ACL_FLOAT);
    BINARY(LtTensor, ACL_FLOAT);
    BINARY(NeTensor, ACL_FLOAT);
    BINARY(RemainderTensorTensor, ACL_FLOAT);
    BINARY(XLogYTensor, ACL_FLOAT);
  }
  {
    const Tensor other(ACL_INT32, {3}, {5, 3, 6});
    BINARY(BitwiseAndTensor, ACL_INT32);
    BINARY(BitwiseOrTensor, ACL_INT32);
    BINARY(BitwiseXorTensor, ACL_INT32);
  }
  {
    const Scalar other(0.5);
    BINARY(ClampMax, ACL_FLOAT);
    BINARY(EqScalar, ACL_FLOAT);
    BINARY(FmodScalar, ACL_FLOAT);
    BINARY(GeScalar, ACL_FLOAT);
    BINARY(GtScalar, ACL_FLOAT);
    BINARY(LeScalar, ACL_FLOAT);
    BINARY(LtScalar, ACL_FLOAT);
    BINARY(NeScalar, ACL_FLOAT);
    BINARY(RemainderTensorScalar, ACL_FLOAT);
    BINARY(XLogYScalarOther, ACL_FLOAT);
  }
  const Scalar other(3);
  BINARY(BitwiseAndScalar, ACL_INT32);
  BINARY(BitwiseOrScalar, ACL_INT32);
  BINARY(BitwiseXorScalar, ACL_INT32);
  const Scalar dim(1);
  CHECK(Cumprod, ACL_FLOAT, kNumbers, RUN(aclnnCumprod, self, dim, ACL_FLOAT, out), self, dim);
}

void testProducts() {
  const Values x = {1, 2, 3, 4, 5, 6, 7, 8}, y = {8, 7, 6, 5, 4, 3, 2, 1};
  const Scalar beta(2.0), alpha(0.5);
  const Tensor left(ACL_FLOAT, {2, 2, 2}, x), right(ACL_FLOAT, {2, 2, 2}, y);
  currentCase() = "Baddbmm";
  Tensor batch(ACL_FLOAT, {2, 2, 2}, x), batches(ACL_FLOAT, {2, 2, 2}, {});
  EXPECT(RUN(aclnnBaddbmm, batch, left, right, beta, alpha, batches, 0) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnInplaceBaddbmm, batch, left, right, beta, alpha, 0) == ACLNN_SUCCESS);
  EXPECT_VALUES(batch.read(), batches.read(), 0);
  currentCase() = "Addbmm";
  Tensor matrix(ACL_FLOAT, {2, 2}, {1, 2, 3, 4}, kTransposed), sum(ACL_FLOAT, {2, 2}, {});
  EXPECT(RUN(aclnnAddbmm, matrix, left, right, beta, alpha, sum, 0) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnInplaceAddbmm, matrix, left, right, beta, alpha, 0) == ACLNN_SUCCESS);
  EXPECT_VALUES(matrix.read(), sum.read(), 0);
}

/* Two operands are written: the first becomes the norm, the second the sum. */
void testAddRmsNorm() {
  currentCase() = "AddRmsNorm";
  const Tensor gamma(ACL_FLOAT, {3}, {1, 2, 3});
  Tensor x1(ACL_FLOAT, kDims, kNumbers), x2(ACL_FLOAT, kDims, {1, 2, 3, 4, 5, 6});
  Tensor y(ACL_FLOAT, kDims, {}), rstd(ACL_FLOAT, {2, 1}, {}), x(ACL_FLOAT, kDims, {}), own(ACL_FLOAT, {2, 1}, {});
  EXPECT(RUN(aclnnAddRmsNorm, x1, x2, gamma, 1e-6, y, rstd, x) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnInplaceAddRmsNorm, x1, x2, gamma, 1e-6, own) == ACLNN_SUCCESS);
  EXPECT_VALUES(x1.read(), y.read(), 0);
  EXPECT_VALUES(own.read(), rstd.read(), 0);
  EXPECT_VALUES(x2.read(), x.read(), 0);
}

void testRefusals() {
  currentCase() = "refusals";
  const Tensor wide(ACL_FLOAT, {4, 3}, {}), ints(ACL_INT32, {2}, {});
  Tensor self(ACL_FLOAT, {3}, {}), overlapping = Tensor::expanded(ACL_FLOAT, {2, 2}, 1);
  const Scalar half(0.5), dim(0);
  EXPECT(RUN(aclnnInplaceEqTensor, self, wide) == ACLNN_ERR_PARAM_INVALID); /* it would have to grow */
  EXPECT(RUN(aclnnInplaceCos, ints) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnInplaceCos, overlapping) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnInplaceCos, nullptr) == ACLNN_ERR_PARAM_NULLPTR);
  EXPECT(RUN(aclnnInplaceCumprod, nullptr, dim) == ACLNN_ERR_PARAM_NULLPTR);
}

}  // namespace

int main() {
  Session session;
  testElementwise();
  testTwoOperands();
  testProducts();
  testAddRmsNorm();
  testRefusals();
}
