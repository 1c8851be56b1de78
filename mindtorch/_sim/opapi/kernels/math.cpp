/* Trigonometry, exponentials and logarithms, rounding and signs of one tensor. */
#include "opapi/loops.h"

namespace sim {
namespace {

constexpr double kPi = 3.14159265358979323846, kLog2 = 0.69314718055994530942;

template <class C>
C exp2(C x) {
  if constexpr (std::is_same<C, Complex>::value) {
    return std::exp(x * kLog2);
  } else {
    return std::exp2(x);
  }
}

template <class C>
C log2(C x) {
  if constexpr (std::is_same<C, Complex>::value) {
    return std::log(x) / kLog2;
  } else {
    return std::log2(x);
  }
}

template <class C>
C sinc(C x) {
  const C scaled = x * C(kPi);
  return x == C(0) ? C(1) : std::sin(scaled) / scaled;
}

/* The nearest integer, ties to even, which is the default rounding mode of a process. */
template <class C>
C nearest(C x) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return x;
  } else {
    return std::nearbyint(x);
  }
}

template <class C>
C floor(C x) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return x;
  } else {
    return std::floor(x);
  }
}

template <class C>
C fraction(C x) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return 0;
  } else {
    return x - std::trunc(x);
  }
}

template <class C>
C sign(C x) {
  if constexpr (std::is_same<C, Complex>::value) {
    const double size = std::abs(x);
    return size == 0 ? C(0) : x / size;
  } else {
    return C((x > C(0)) - (x < C(0)));
  }
}

template <class C>
bool negative(C x) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return x < 0;
  } else {
    return std::signbit(x);
  }
}

template <class C>
bool infinite(C x) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return false;
  } else {
    return std::fabs(x) > std::numeric_limits<C>::max();
  }
}

template <class C>
C finite(C x, const C *p) {
  if (isNan(x)) return p[0];
  return infinite(x) ? p[x > C(0) ? 1 : 2] : x;
}

template <class C>
auto angle(C x) {
  if constexpr (std::is_same<C, Complex>::value) {
    return std::arg(x);
  } else {
    return isNan(x) ? x : x < C(0) ? C(kPi) : C(0);
  }
}

/* x * p[0] / p[1], one of which is 1, rounded and taken back. */
template <class C>
C roundScaled(C x, const C *p) {
  return nearest(x * p[0] / p[1]) * p[1] / p[0];
}

SIM_ELEMENT(Acos, 1, kFloats | kComplexes, 0, std::acos(x))
SIM_ELEMENT(Acosh, 1, kFloats | kComplexes, 0, std::acosh(x))
SIM_ELEMENT(Asin, 1, kFloats | kComplexes, 0, std::asin(x))
SIM_ELEMENT(Asinh, 1, kFloats | kComplexes, 0, std::asinh(x))
SIM_ELEMENT(Atan, 1, kFloats | kComplexes, 0, std::atan(x))
SIM_ELEMENT(Atanh, 1, kFloats | kComplexes, 0, std::atanh(x))
SIM_ELEMENT(Cos, 1, kFloats | kComplexes, 0, std::cos(x))
SIM_ELEMENT(Cosh, 1, kFloats | kComplexes, 0, std::cosh(x))
SIM_ELEMENT(Sin, 1, kFloats | kComplexes, 0, std::sin(x))
SIM_ELEMENT(Sinh, 1, kFloats | kComplexes, 0, std::sinh(x))
SIM_ELEMENT(Tan, 1, kFloats | kComplexes, 0, std::tan(x))
SIM_ELEMENT(Sinc, 1, kFloats | kComplexes, 0, sinc(x))
SIM_ELEMENT(Exp2, 1, kFloats | kComplexes, 0, exp2(x))
SIM_ELEMENT(Expm1, 1, kFloats, 0, std::expm1(x))
SIM_ELEMENT(Log1p, 1, kFloats, 0, std::log1p(x))
SIM_ELEMENT(Log10, 1, kFloats | kComplexes, 0, std::log10(x))
SIM_ELEMENT(Log2, 1, kFloats | kComplexes, 0, log2(x))
SIM_ELEMENT(Ceil, 1, kFloats, 0, std::ceil(x))
SIM_ELEMENT(Floor, 1, kReals, 0, floor(x))
SIM_ELEMENT(Trunc, 1, kFloats, 0, std::trunc(x))
SIM_ELEMENT(Frac, 1, kReals, 0, fraction(x))
SIM_ELEMENT(Round, 1, kReals, 0, nearest(x))
SIM_ELEMENT(RoundScaled, 1, kFloats, 2, roundScaled(x, p))
SIM_ELEMENT(Sign, 1, kAll, 0, sign(x))
SIM_ELEMENT(Signbit, 1, kReals, 0, negative(x))
SIM_ELEMENT(IsInf, 1, kReals, 0, infinite(x))
SIM_ELEMENT(IsPosInf, 1, kFloats, 0, infinite(x) && x > C(0))
SIM_ELEMENT(IsNegInf, 1, kFloats, 0, infinite(x) && x < C(0))
SIM_ELEMENT(NanToNum, 1, kReals, 3, finite(x, p))
SIM_ELEMENT(Angle, 1, kFloats | kComplexes, 0, angle(x))

/* An attribute as a scalar of the operand's own type. */
void setNumber(aclOpExecutor &executor, int index, double value) {
  executor.numbers[index] = {true, executor.operands[0].type, 0, value, 0};
}

aclnnStatus prepareNanToNum(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  for (int i = 0; i < 3; ++i) setNumber(executor, i, arguments[1 + i].real);
  return prepareLoops(executor, kLoopsOf<NanToNum>, kSameType);
}

aclnnStatus prepareRoundDecimals(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  if (categoryOf(executor.operands[0].type) < kFloating) return prepareLoops(executor, kLoopsOf<Round>, kSameType);
  const int64_t decimals = arguments[1].integer;
  const double power = std::pow(10.0, static_cast<double>(decimals < 0 ? -decimals : decimals));
  setNumber(executor, 0, decimals < 0 ? 1 : power);
  setNumber(executor, 1, decimals < 0 ? power : 1);
  return prepareLoops(executor, kLoopsOf<RoundScaled>, kSameType);
}

/* x, roundMode, out. The modes as torch_npu gives them. */
aclnnStatus prepareForeachRound(aclOpExecutor &executor, const Argument *, const OpBody &) {
  switch (executor.numbers[0].integer) {
    case 1:
      return prepareForeachLoops(executor, kLoopsOf<Round>);
    case 2:
      return prepareForeachLoops(executor, kLoopsOf<Floor>);
    case 3:
      return prepareForeachLoops(executor, kLoopsOf<Ceil>);
    case 5:
      return prepareForeachLoops(executor, kLoopsOf<Trunc>);
    case 7:
      return prepareForeachLoops(executor, kLoopsOf<Frac>);
    default:
      return refuse(executor, "roundMode is %lld, expected 1, 2, 3, 5 or 7",
                    static_cast<long long>(executor.numbers[0].integer));
  }
}

}  // namespace

SIM_ELEMENTWISE(aclnnAcos, Acos, kFloatResult)
SIM_ELEMENTWISE(aclnnAcosh, Acosh, kFloatResult)
SIM_ELEMENTWISE(aclnnAsin, Asin, kFloatResult)
SIM_ELEMENTWISE(aclnnAsinh, Asinh, kFloatResult)
SIM_ELEMENTWISE(aclnnAtan, Atan, kFloatResult)
SIM_ELEMENTWISE(aclnnAtanh, Atanh, kFloatResult)
SIM_ELEMENTWISE(aclnnCos, Cos, kFloatResult)
SIM_ELEMENTWISE(aclnnCosh, Cosh, kFloatResult)
SIM_ELEMENTWISE(aclnnSin, Sin, kFloatResult)
SIM_ELEMENTWISE(aclnnSinh, Sinh, kFloatResult)
SIM_ELEMENTWISE(aclnnTan, Tan, kFloatResult)
SIM_ELEMENTWISE(aclnnSinc, Sinc, kFloatResult)
SIM_ELEMENTWISE(aclnnExp2, Exp2, kFloatResult)
SIM_ELEMENTWISE(aclnnExpm1, Expm1, kFloatResult)
SIM_ELEMENTWISE(aclnnLog1p, Log1p, kFloatResult)
SIM_ELEMENTWISE(aclnnLog10, Log10, kFloatResult)
SIM_ELEMENTWISE(aclnnLog2, Log2, kFloatResult)
SIM_ELEMENTWISE(aclnnCeil, Ceil, kSameType)
SIM_ELEMENTWISE(aclnnInplaceCeil, Ceil, kSameType)
SIM_ELEMENTWISE(aclnnFloor, Floor, kSameType)
SIM_ELEMENTWISE(aclnnTrunc, Trunc, kSameType)
SIM_ELEMENTWISE(aclnnFrac, Frac, kSameType)
SIM_ELEMENTWISE(aclnnRound, Round, kSameType)
SIM_ELEMENTWISE(aclnnSign, Sign, kSameType)
SIM_ELEMENTWISE(aclnnSignbit, Signbit, kBoolResult)
SIM_ELEMENTWISE(aclnnIsInf, IsInf, kBoolResult)
SIM_ELEMENTWISE(aclnnIsPosInf, IsPosInf, kBoolResult)
SIM_ELEMENTWISE(aclnnIsNegInf, IsNegInf, kBoolResult)
SIM_ELEMENTWISE(aclnnAngleV2, Angle, kFloatResult | kRealResult)
SIM_OP(aclnnNanToNum, prepareNanToNum, nullptr, 0)
SIM_OP(aclnnRoundDecimals, prepareRoundDecimals, nullptr, 0)
SIM_FOREACH(aclnnForeachAcos, Acos)
SIM_FOREACH(aclnnForeachAsin, Asin)
SIM_FOREACH(aclnnForeachAtan, Atan)
SIM_FOREACH(aclnnForeachCos, Cos)
SIM_FOREACH(aclnnForeachCosh, Cosh)
SIM_FOREACH(aclnnForeachSin, Sin)
SIM_FOREACH(aclnnForeachSinh, Sinh)
SIM_FOREACH(aclnnForeachTan, Tan)
SIM_FOREACH(aclnnForeachExpm1, Expm1)
SIM_FOREACH(aclnnForeachLog1p, Log1p)
SIM_FOREACH(aclnnForeachLog10, Log10)
SIM_FOREACH(aclnnForeachLog2, Log2)
SIM_FOREACH(aclnnForeachSign, Sign)
SIM_OP(aclnnForeachRoundOffNumberV2, prepareForeachRound, nullptr, 0)

}  // namespace sim
