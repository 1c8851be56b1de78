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

SIM_ELEMENT(Fmod, 2, kReals, 0, fmodOf(x, y))
SIM_ELEMENT(FmodNumber, 1, kReals, 1, fmodOf(x, p[0]))
SIM_ELEMENT(Remainder, 2, kReals, 0, remainderOf(x, y))
SIM_ELEMENT(RemainderNumber, 1, kReals, 1, remainderOf(x, p[0]))
SIM_ELEMENT(NumberRemainder, 1, kReals, 1, remainderOf(p[0], x))
SIM_ELEMENT(Atan2, 2, kFloats, 0, std::atan2(x, y))
SIM_ELEMENT(LogAddExp, 2, kFloats, 0, logAddExp(x, y))
SIM_ELEMENT(LogAddExp2, 2, kFloats, 0, logAddExp2(x, y))
SIM_ELEMENT(XLogY, 2, kFloats, 0, xLogY(x, y))
SIM_ELEMENT(XLogYNumber, 1, kFloats, 1, xLogY(x, p[0]))
SIM_ELEMENT(NumberXLogY, 1, kFloats, 1, xLogY(p[0], x))
SIM_ELEMENT(Heaviside, 2, kFloats, 0, heaviside(x, y))
SIM_ELEMENT(Gcd, 2, kIntegers, 0, gcdOf(x, y))
SIM_ELEMENT(LeftShift, 2, kIntegers, 0, leftShift(x, y))
SIM_ELEMENT(RightShift, 2, kIntegers, 0, rightShift(x, y))
SIM_ELEMENT(LeftShiftNumber, 1, kIntegers, 1, leftShift(x, p[0]))
SIM_ELEMENT(BitwiseOrNumber, 1, kIntegers, 1, x | p[0])
SIM_ELEMENT(BitwiseXor, 2, kIntegers, 0, x ^ y)
SIM_ELEMENT(BitwiseXorNumber, 1, kIntegers, 1, x ^ p[0])
SIM_ELEMENT(ComplexOf, 2, kFloats, 0, Complex(x, y))
SIM_ELEMENT(Polar, 2, kFloats, 0, Complex(x *std::cos(y), x *std::sin(y)))
SIM_ELEMENT(LogicalXor, 2, kTruths, 0, (x != 0) != (y != 0))

/* Parts of one type make a complex number of twice the size, which prepareLoops does not infer. */
aclnnStatus prepareComplex(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  Operand &out = firstOut(executor);
  const aclDataType type = out.type;
  if (categoryOf(type) != kComplex)
    return refuse(executor, "out has data type %s, expected a complex one", typeName(type));
  out.type = type == ACL_COMPLEX64 ? ACL_FLOAT : ACL_DOUBLE;
  const aclnnStatus status = prepareLoops(executor, *static_cast<const Loops *>(body.kernel), kSameType);
  out.type = type;
  return status;
}

}  // namespace

SIM_ELEMENTWISE(aclnnFmodTensor, Fmod, kSameType)
SIM_ELEMENTWISE(aclnnFmodScalar, FmodNumber, kPromoteFirst)
SIM_ELEMENTWISE(aclnnRemainderTensorTensor, Remainder, kSameType)
SIM_ELEMENTWISE(aclnnRemainderTensorScalar, RemainderNumber, kPromoteFirst)
SIM_ELEMENTWISE(aclnnRemainderScalarTensor, NumberRemainder, kPromoteFirst)
SIM_ELEMENTWISE(aclnnAtan2, Atan2, kFloatResult)
SIM_ELEMENTWISE(aclnnLogAddExp, LogAddExp, kFloatResult)
SIM_ELEMENTWISE(aclnnLogAddExp2, LogAddExp2, kFloatResult)
SIM_ELEMENTWISE(aclnnXLogYTensor, XLogY, kFloatResult)
SIM_ELEMENTWISE(aclnnXLogYScalarOther, XLogYNumber, kFloatResult | kPromoteFirst)
SIM_ELEMENTWISE(aclnnXLogYScalarSelf, NumberXLogY, kFloatResult | kPromoteFirst)
SIM_ELEMENTWISE(aclnnHeaviside, Heaviside, kSameType)
SIM_ELEMENTWISE(aclnnGcd, Gcd, kSameType)
SIM_ELEMENTWISE(aclnnLeftShift, LeftShift, kSameType)
SIM_ELEMENTWISE(aclnnRightShift, RightShift, kSameType)
SIM_ELEMENTWISE(aclnnLeftShifts, LeftShiftNumber, kSameType)
SIM_ELEMENTWISE(aclnnBitwiseOrScalar, BitwiseOrNumber, kPromoteFirst)
SIM_ELEMENTWISE(aclnnBitwiseXorTensor, BitwiseXor, kSameType)
SIM_ELEMENTWISE(aclnnBitwiseXorScalar, BitwiseXorNumber, kPromoteFirst)
SIM_ELEMENTWISE(aclnnLogicalXor, LogicalXor, kBoolResult)
SIM_OP(aclnnComplex, prepareComplex, &kLoopsOf<ComplexOf>, 0)
SIM_OP(aclnnPolar, prepareComplex, &kLoopsOf<Polar>, 0)

}  // namespace sim
