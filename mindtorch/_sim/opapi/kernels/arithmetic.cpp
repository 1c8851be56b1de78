/* Remainders, shifts, and functions of two tensors. */
#include <numeric>

#include "opapi/loops.h"

namespace sim {
namespace {

/* A zero divisor gives what the hardware division cannot: 0 for integers, where torch raises. */
template <class C>
C fmodOf(C a, C b) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return b == 0 || b == -1 ? 0 : a % b;
  } else {
    return std::fmod(a, b);
  }
}

/* With the sign of the divisor. */
template <class C>
C remainderOf(C a, C b) {
  const C rest = fmodOf(a, b);
  return rest != C(0) && (rest < C(0)) != (b < C(0)) ? add(rest, b) : rest;
}

/* log(exp(a) + exp(b)); the difference of equal infinities is NaN, and their sum is what they are. */
template <class C>
C logAddExp(C a, C b) {
  if (a == b && std::fabs(a) > std::numeric_limits<C>::max()) return a;
  const C high = a > b ? a : b, low = a > b ? b : a;
  return isNan(a) || isNan(b) ? a + b : high + std::log1p(std::exp(low - high));
}

template <class C>
C logAddExp2(C a, C b) {
  if (a == b && std::fabs(a) > std::numeric_limits<C>::max()) return a;
  const C high = a > b ? a : b, low = a > b ? b : a;
  return isNan(a) || isNan(b) ? a + b : high + std::log1p(std::exp2(low - high)) * C(1.44269504088896340736);
}

/* 0 where x is 0, whatever y is, NaN apart. */
template <class C>
C xLogY(C x, C y) {
  return isNan(y) ? y : x == C(0) ? C(0) : x * std::log(y);
}

template <class C>
C heaviside(C x, C value) {
  return isNan(x) ? x : x == C(0) ? value : C(x > C(0));
}

int64_t gcdOf(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = b == -1 ? 0 : a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? negate(a) : a;
}

/* Counts that leave nothing of a number, negative ones among them, give 0; to the right they leave the sign. */
int64_t leftShift(int64_t x, int64_t count) {
  return count < 0 || count > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << count);
}

int64_t rightShift(int64_t x, int64_t count) { return x >> (count < 0 || count > 63 ? 63 : count); }

SIM_ELEMENT(ComplexOf, 2, kFloats, 0, Complex(x, y))
SIM_ELEMENT(Polar, 2, kLibm | kFloats, 0, Complex(x *std::cos(y), x *std::sin(y)))

/* Parts of one type make a complex number of twice the size, which prepareLoops does not infer. */
aclnnStatus prepareComplex(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  Operand &out = firstOut(executor);
  const aclDataType type = out.type;
  if (categoryOf(type) != kComplex) return refuse(executor, "out has data type {}, expected a complex one", type);
  out.type = type == ACL_COMPLEX64 ? ACL_FLOAT : ACL_DOUBLE;
  SIM_TRY(prepareLoops(executor, *static_cast<const Loops *>(body.kernel), kSameType));
  out.type = type;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_POINTWISE(aclnnFmodTensor, 2, kLibm | kReals, 0, kSameType, fmodOf(x, y))
SIM_POINTWISE(aclnnFmodScalar, 1, kLibm | kReals, 1, kPromoteFirst, fmodOf(x, p[0]))
SIM_POINTWISE(aclnnRemainderTensorTensor, 2, kLibm | kReals, 0, kSameType, remainderOf(x, y))
SIM_POINTWISE(aclnnRemainderTensorScalar, 1, kLibm | kReals, 1, kPromoteFirst, remainderOf(x, p[0]))
SIM_POINTWISE(aclnnRemainderScalarTensor, 1, kLibm | kReals, 1, kPromoteFirst, remainderOf(p[0], x))
SIM_POINTWISE(aclnnAtan2, 2, kLibm | kFloats, 0, kFloatResult, std::atan2(x, y))
SIM_POINTWISE(aclnnLogAddExp, 2, kLibm | kFloats, 0, kFloatResult, logAddExp(x, y))
SIM_POINTWISE(aclnnLogAddExp2, 2, kLibm | kFloats, 0, kFloatResult, logAddExp2(x, y))
SIM_POINTWISE(aclnnXLogYTensor, 2, kLibm | kFloats, 0, kFloatResult, xLogY(x, y))
SIM_POINTWISE(aclnnXLogYScalarOther, 1, kLibm | kFloats, 1, kFloatResult | kPromoteFirst, xLogY(x, p[0]))
SIM_POINTWISE(aclnnXLogYScalarSelf, 1, kLibm | kFloats, 1, kFloatResult | kPromoteFirst, xLogY(p[0], x))
SIM_POINTWISE(aclnnHeaviside, 2, kLibm | kFloats, 0, kSameType, heaviside(x, y))
SIM_POINTWISE(aclnnGcd, 2, kLibm | kIntegers, 0, kSameType, gcdOf(x, y))
SIM_POINTWISE(aclnnLeftShift, 2, kIntegers, 0, kSameType, leftShift(x, y))
SIM_POINTWISE(aclnnRightShift, 2, kIntegers, 0, kSameType, rightShift(x, y))
SIM_POINTWISE(aclnnLeftShifts, 1, kIntegers, 1, kSameType, leftShift(x, p[0]))
SIM_POINTWISE(aclnnBitwiseOrScalar, 1, kIntegers, 1, kPromoteFirst, x | p[0])
SIM_POINTWISE(aclnnBitwiseXorTensor, 2, kIntegers, 0, kSameType, x ^ y)
SIM_POINTWISE(aclnnBitwiseXorScalar, 1, kIntegers, 1, kPromoteFirst, x ^ p[0])
SIM_POINTWISE(aclnnLogicalXor, 2, kTruths, 0, kBoolResult, (x != 0) != (y != 0))
SIM_OP(aclnnComplex, prepareComplex, &kLoopsOf<ComplexOf>, 0)
SIM_OP(aclnnPolar, prepareComplex, &kLoopsOf<Polar>, 0)

}  // namespace sim
