/* Arithmetic of two tensors, or of a tensor and a scalar. */
#include "opapi/loops.h"

namespace sim {
namespace {

/* A zero divisor gives what the hardware division cannot: 0 for integers, where torch raises. */
template <class C>
C truncDivide(C a, C b) {
  if constexpr (std::is_same<C, int64_t>::value) {
    if (b == 0) return 0;
    return b == -1 ? negate(a) : a / b;
  } else {
    return std::trunc(a / b);
  }
}

/* The quotient of the exact remainder, so that rounding of a / b cannot pass an integer. */
template <class C>
C floorDivide(C a, C b) {
  if constexpr (std::is_same<C, int64_t>::value) {
    C quotient = truncDivide(a, b);
    bool lower = b != 0 && b != -1 && a % b != 0 && (a < 0) != (b < 0);
    return lower ? quotient - 1 : quotient;
  } else {
    if (b == C(0)) return a / b;
    C remainder = std::fmod(a, b);
    C quotient = (a - remainder) / b;
    if (remainder != C(0) && (b < C(0)) != (remainder < C(0))) quotient -= C(1);
    if (quotient == C(0)) return std::copysign(C(0), a / b);
    C floored = std::floor(quotient);
    return quotient - floored > C(0.5) ? floored + C(1) : floored;
  }
}

template <class C>
C power(C base, C exponent) {
  if constexpr (std::is_same<C, int64_t>::value) {
    if (exponent < 0) return base == 1 ? 1 : base != -1 ? 0 : exponent % 2 == 0 ? 1 : -1;
    C result = 1;
    for (; exponent > 0; exponent /= 2, base = multiply(base, base)) {
      if (exponent % 2 == 1) result = multiply(result, base);
    }
    return result;
  } else {
    return std::pow(base, exponent);
  }
}

SIM_ELEMENT(PlusNumber, 1, kAll, 1, add(x, p[0]))
SIM_ELEMENT(MinusNumber, 1, kAll, 1, subtract(x, p[0]))
SIM_ELEMENT(Mul, 2, kAll, 0, multiply(x, y))
SIM_ELEMENT(MulNumber, 1, kAll, 1, multiply(x, p[0]))
SIM_ELEMENT(Div, 2, kFloats | kComplexes, 0, x / y)
SIM_ELEMENT(DivNumber, 1, kFloats | kComplexes, 1, x / p[0])
SIM_ELEMENT(TruncDiv, 2, kLibm | kReals, 0, truncDivide(x, y))
SIM_ELEMENT(TruncDivNumber, 1, kLibm | kReals, 1, truncDivide(x, p[0]))
SIM_ELEMENT(FloorDiv, 2, kLibm | kReals, 0, floorDivide(x, y))
SIM_ELEMENT(FloorDivNumber, 1, kLibm | kReals, 1, floorDivide(x, p[0]))
SIM_ELEMENT(Pow, 2, kLibm | kAll, 0, power(x, y))
SIM_ELEMENT(PowNumber, 1, kLibm | kAll, 1, power(x, p[0]))
SIM_ELEMENT(NumberPow, 1, kLibm | kAll, 1, power(p[0], x))

/* Rounding modes of aclnnDivMod: 0 none, 1 towards zero, 2 down. The attribute follows the second operand. */
aclnnStatus prepareDivMod(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  static constexpr const Loops *kTensors[] = {&kLoopsOf<Div>, &kLoopsOf<TruncDiv>, &kLoopsOf<FloorDiv>};
  static constexpr const Loops *kNumbers[] = {&kLoopsOf<DivNumber>, &kLoopsOf<TruncDivNumber>,
                                              &kLoopsOf<FloorDivNumber>};
  int mode = static_cast<int>(arguments[2].integer);
  if (mode < 0 || mode > 2) return refuse(executor, "mode is {}, expected 0, 1 or 2", mode);
  bool scalar = body.variant != 0;
  int64_t variant = (mode == 0 ? kFloatResult : kSameType) | (scalar ? kPromoteFirst : kSameType);
  return prepareLoops(executor, *(scalar ? kNumbers : kTensors)[mode], variant);
}

}  // namespace

SIM_POINTWISE(aclnnAdd, 2, kAll, 1, kSameType, add(x, multiply(p[0], y)))
SIM_POINTWISE(aclnnAdds, 1, kAll, 2, kPromoteFirst, add(x, multiply(p[1], p[0])))
SIM_POINTWISE(aclnnSub, 2, kAll, 1, kSameType, subtract(x, multiply(p[0], y)))
SIM_POINTWISE(aclnnSubs, 1, kAll, 2, kPromoteFirst, subtract(x, multiply(p[1], p[0])))
SIM_POINTWISE(aclnnRsub, 2, kAll, 1, kSameType, subtract(y, multiply(p[0], x)))
SIM_POINTWISE(aclnnRsubs, 1, kAll, 2, kPromoteFirst, subtract(p[0], multiply(p[1], x)))
SIM_ELEMENTWISE(aclnnMul, Mul, kSameType)
SIM_ELEMENTWISE(aclnnMuls, MulNumber, kPromoteFirst)
SIM_ELEMENTWISE(aclnnDiv, Div, kFloatResult)
SIM_ELEMENTWISE(aclnnDivs, DivNumber, kFloatResult | kPromoteFirst)
SIM_OP(aclnnDivMod, prepareDivMod, nullptr, 0)
SIM_OP(aclnnDivMods, prepareDivMod, nullptr, 1)
SIM_ELEMENTWISE(aclnnFloorDivide, FloorDiv, kSameType)
SIM_ELEMENTWISE(aclnnFloorDivides, FloorDivNumber, kPromoteFirst)
SIM_ELEMENTWISE(aclnnPowTensorTensor, Pow, kSameType)
SIM_ELEMENTWISE(aclnnPowTensorScalar, PowNumber, kPromoteFirst)
SIM_ELEMENTWISE(aclnnPowScalarTensor, NumberPow, kPromoteFirst)
SIM_POINTWISE(aclnnMaximum, 2, kReals, 0, kSameType, larger(x, y))
SIM_POINTWISE(aclnnMinimum, 2, kReals, 0, kSameType, smaller(x, y))
SIM_POINTWISE(aclnnBitwiseAndTensor, 2, kIntegers, 0, kSameType, x &y)
SIM_POINTWISE(aclnnBitwiseAndScalar, 1, kIntegers, 1, kPromoteFirst, x &p[0])
SIM_POINTWISE(aclnnBitwiseOrTensor, 2, kIntegers, 0, kSameType, x | y)
SIM_FOREACH(aclnnForeachAddScalarV2, PlusNumber)
SIM_FOREACH(aclnnForeachAddScalarList, PlusNumber)
SIM_FOREACH(aclnnForeachSubScalarV2, MinusNumber)
SIM_FOREACH(aclnnForeachSubScalarList, MinusNumber)
SIM_FOREACH(aclnnForeachMulScalarV2, MulNumber)
SIM_FOREACH(aclnnForeachMulScalarList, MulNumber)
SIM_OP(aclnnForeachMulScalar, prepareForeachByTensor, &kLoopsOf<Mul>, 0)
SIM_OP(aclnnForeachDivScalar, prepareForeachByTensor, &kLoopsOf<Div>, 0)
SIM_FOREACH(aclnnForeachDivScalarV2, DivNumber)
SIM_FOREACH(aclnnForeachDivScalarList, DivNumber)
SIM_FOREACH(aclnnForeachPowList, Pow)
SIM_FOREACH(aclnnForeachPowScalarV2, PowNumber)
SIM_FOREACH(aclnnForeachPowScalarList, PowNumber)
SIM_FOREACH(aclnnForeachPowScalarAndTensor, NumberPow)

}  // namespace sim
