/* Functions of one tensor, element by element. */
#include "opapi/loops.h"

/* Functions of one tensor. */

namespace sim {
namespace {

template <class C>
auto magnitude(C x) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return x < 0 ? negate(x) : x;
  } else {
    return std::abs(x);
  }
}

SIM_ELEMENT(BitwiseNot, 1, kIntegers, 0, ~x)
SIM_ELEMENT(LogicalNot, 1, kBooleans, 0, x == 0)

aclnnStatus prepareBitwiseNot(aclOpExecutor &executor, const Argument *, const OpBody &) {
  bool logical = executor.operands[0].type == ACL_BOOL;
  return prepareLoops(executor, logical ? kLoopsOf<LogicalNot> : kLoopsOf<BitwiseNot>, kSameType);
}

}  // namespace

SIM_POINTWISE(aclnnAbs, 1, kAll, 0, kRealResult, magnitude(x))
SIM_POINTWISE(aclnnExp, 1, kFloats | kComplexes, 0, kFloatResult, vec::exp(x))
SIM_POINTWISE(aclnnLog, 1, kFloats | kComplexes, 0, kFloatResult, vec::log(x))
SIM_POINTWISE(aclnnSqrt, 1, kFloats | kComplexes, 0, kFloatResult, std::sqrt(x))
SIM_POINTWISE(aclnnRsqrt, 1, kFloats | kComplexes, 0, kFloatResult, divide(C(1), std::sqrt(x)))
SIM_POINTWISE(aclnnReciprocal, 1, kFloats | kComplexes, 0, kFloatResult, divide(C(1), x))
SIM_POINTWISE(aclnnSigmoid, 1, kFloats | kComplexes, 0, kFloatResult, vec::sigmoid(x))
SIM_POINTWISE(aclnnTanh, 1, kFloats | kComplexes, 0, kFloatResult, vec::tanh(x))
SIM_POINTWISE(aclnnErf, 1, kFloats, 0, kFloatResult, vec::erf(x))
SIM_POINTWISE(aclnnNeg, 1, kAll, 0, kSameType, negate(x))
SIM_POINTWISE(aclnnRelu, 1, kReals, 0, kSameType, x > C(0) || isNan(x) ? x : C(0))
SIM_ELEMENTWISE(aclnnLogicalNot, LogicalNot, kBoolResult)
SIM_POINTWISE(aclnnIsFinite, 1, kLibm | kFloats, 0, kBoolResult, std::fabs(x) <= std::numeric_limits<C>::max())
SIM_OP(aclnnBitwiseNot, prepareBitwiseNot, nullptr, 0)

/* Trigonometry, exponentials and logarithms, rounding and signs of one tensor. */

namespace {

constexpr double kPi = 3.14159265358979323846, kLog2 = 0.69314718055994530942;

template <class C>
SIM_INLINE C exp2(C x) {
  if constexpr (std::is_same<C, Complex>::value) {
    return std::exp(x * kLog2);
  } else {
    return vec::exp2(x);
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
SIM_INLINE bool infinite(C x) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return false;
  } else {
    return std::fabs(x) > std::numeric_limits<C>::max();
  }
}

template <class C>
SIM_INLINE C finite(C x, const C *p) {
  const C bounded = infinite(x) ? (x > C(0) ? p[1] : p[2]) : x;
  return isNan(x) ? p[0] : bounded;
}

template <class C>
auto angle(C x) {
  if constexpr (std::is_same<C, Complex>::value) {
    return std::arg(x);
  } else {
    return isNan(x) ? x : x < C(0) ? C(kPi) : C(0);
  }
}

/* Rounds x * p[0] / p[1] and scales back; one of the factors is 1. */
template <class C>
C roundScaled(C x, const C *p) {
  return nearest(x * p[0] / p[1]) * p[1] / p[0];
}

SIM_ELEMENT(Ceil, 1, kFloats, 0, std::ceil(x))
SIM_ELEMENT(Floor, 1, kReals, 0, floor(x))
SIM_ELEMENT(Trunc, 1, kFloats, 0, std::trunc(x))
SIM_ELEMENT(Frac, 1, kLibm | kReals, 0, fraction(x))
SIM_ELEMENT(Round, 1, kReals, 0, nearest(x))
SIM_ELEMENT(RoundScaled, 1, kLibm | kFloats, 2, roundScaled(x, p))
SIM_ELEMENT(NanToNum, 1, kReals, 3, finite(x, p))

/* An attribute as a scalar of the operand's own type. */
void setScalar(aclOpExecutor &executor, int index, double value) {
  executor.scalars[index] = {true, executor.operands[0].type, 0, value, 0};
}

aclnnStatus prepareNanToNum(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  for (int i = 0; i < 3; ++i) setScalar(executor, i, arguments[1 + i].real);
  return prepareLoops(executor, kLoopsOf<NanToNum>, kSameType);
}

aclnnStatus prepareRoundDecimals(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  if (categoryOf(executor.operands[0].type) < kFloating) return prepareLoops(executor, kLoopsOf<Round>, kSameType);
  const int64_t decimals = arguments[1].integer;
  const double power = std::pow(10.0, static_cast<double>(decimals < 0 ? -decimals : decimals));
  setScalar(executor, 0, decimals < 0 ? 1 : power);
  setScalar(executor, 1, decimals < 0 ? power : 1);
  return prepareLoops(executor, kLoopsOf<RoundScaled>, kSameType);
}

/* x, roundMode, out. The modes as torch_npu gives them. */
aclnnStatus prepareForeachRound(aclOpExecutor &executor, const Argument *, const OpBody &) {
  switch (executor.scalars[0].integer) {
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
      return refuse(executor, "roundMode is {}, expected 1, 2, 3, 5 or 7", executor.scalars[0].integer);
  }
}

}  // namespace

SIM_POINTWISE(aclnnAcos, 1, kLibm | kFloats | kComplexes, 0, kFloatResult, std::acos(x))
SIM_POINTWISE(aclnnAcosh, 1, kLibm | kFloats | kComplexes, 0, kFloatResult, std::acosh(x))
SIM_POINTWISE(aclnnAsin, 1, kLibm | kFloats | kComplexes, 0, kFloatResult, std::asin(x))
SIM_POINTWISE(aclnnAsinh, 1, kLibm | kFloats | kComplexes, 0, kFloatResult, std::asinh(x))
SIM_POINTWISE(aclnnAtan, 1, kLibm | kFloats | kComplexes, 0, kFloatResult, std::atan(x))
SIM_POINTWISE(aclnnAtanh, 1, kLibm | kFloats | kComplexes, 0, kFloatResult, std::atanh(x))
SIM_POINTWISE(aclnnCos, 1, kLibm | kFloats | kComplexes, 0, kFloatResult, std::cos(x))
SIM_POINTWISE(aclnnCosh, 1, kFloats | kComplexes, 0, kFloatResult, vec::cosh(x))
SIM_POINTWISE(aclnnSin, 1, kLibm | kFloats | kComplexes, 0, kFloatResult, std::sin(x))
SIM_POINTWISE(aclnnSinh, 1, kFloats | kComplexes, 0, kFloatResult, vec::sinh(x))
SIM_POINTWISE(aclnnTan, 1, kLibm | kFloats | kComplexes, 0, kFloatResult, std::tan(x))
SIM_POINTWISE(aclnnSinc, 1, kLibm | kFloats | kComplexes, 0, kFloatResult, sinc(x))
SIM_POINTWISE(aclnnExp2, 1, kFloats | kComplexes, 0, kFloatResult, exp2(x))
SIM_POINTWISE(aclnnExpm1, 1, kFloats, 0, kFloatResult, vec::expm1(x))
SIM_POINTWISE(aclnnLog1p, 1, kFloats, 0, kFloatResult, vec::log1p(x))
SIM_POINTWISE(aclnnLog10, 1, kLibm | kFloats | kComplexes, 0, kFloatResult, std::log10(x))
SIM_POINTWISE(aclnnLog2, 1, kLibm | kFloats | kComplexes, 0, kFloatResult, log2(x))
SIM_ELEMENTWISE(aclnnCeil, Ceil, kSameType)
SIM_ELEMENTWISE(aclnnFloor, Floor, kSameType)
SIM_ELEMENTWISE(aclnnTrunc, Trunc, kSameType)
SIM_ELEMENTWISE(aclnnFrac, Frac, kSameType)
SIM_ELEMENTWISE(aclnnRound, Round, kSameType)
SIM_POINTWISE(aclnnSign, 1, kAll, 0, kSameType, sign(x))
SIM_POINTWISE(aclnnSignbit, 1, kReals, 0, kBoolResult, negative(x))
SIM_POINTWISE(aclnnIsInf, 1, kReals, 0, kBoolResult, infinite(x))
SIM_POINTWISE(aclnnIsPosInf, 1, kFloats, 0, kBoolResult, infinite(x) && x > C(0))
SIM_POINTWISE(aclnnIsNegInf, 1, kFloats, 0, kBoolResult, infinite(x) && x < C(0))
SIM_POINTWISE(aclnnAngleV2, 1, kLibm | kFloats | kComplexes, 0, kFloatResult | kRealResult, angle(x))
SIM_OP(aclnnNanToNum, prepareNanToNum, nullptr, 0)
SIM_OP(aclnnRoundDecimals, prepareRoundDecimals, nullptr, 0)
SIM_OP(aclnnForeachRoundOffNumberV2, prepareForeachRound, nullptr, 0)

/* Error and gamma functions and their relatives. */

namespace {

constexpr double kRootHalf = 0.70710678118654752440;

template <int N>
double polynomial(const double (&coefficients)[N], double x) {
  double sum = coefficients[N - 1];
  for (int i = N - 2; i >= 0; --i) sum = sum * x + coefficients[i];
  return sum;
}

/* Quantiles of the normal distribution by rational functions, good to 1e-16: M. J. Wichura, Algorithm AS 241, Applied
 * Statistics 37, 1988. */
constexpr double kCenter[] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                              1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                              3.3430575583588128105e4, 2.5090809287301226727e3};
constexpr double kCenterBelow[] = {1.0,
                                   4.2313330701600911252e1,
                                   6.8718700749205790830e2,
                                   5.3941960214247511077e3,
                                   2.1213794301586595867e4,
                                   3.9307895800092710610e4,
                                   2.8729085735721942674e4,
                                   5.2264952788528545610e3};
constexpr double kTail[] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                            3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                            2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr double kTailBelow[] = {1.0,
                                 2.05319162663775882187e0,
                                 1.67638483018380384940e0,
                                 6.89767334985100004550e-1,
                                 1.48103976427480074590e-1,
                                 1.51986665636164571966e-2,
                                 5.47593808499534494600e-4,
                                 1.05075007164441684324e-9};
constexpr double kFar[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                           2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                           2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr double kFarBelow[] = {1.0,
                                5.99832206555887937690e-1,
                                1.36929880922735805310e-1,
                                1.48753612908506148525e-2,
                                7.86869131145613259100e-4,
                                1.84631831751005468180e-5,
                                1.42151175831644588870e-7,
                                2.04426310338993978564e-15};

/* The quantile of p = 1/2 + q for |q| <= 0.425. */
double centralQuantile(double q) {
  const double r = 0.180625 - q * q;
  return q * polynomial(kCenter, r) / polynomial(kCenterBelow, r);
}

/* Minus the quantile of a p from 0 to 0.075. */
double tailQuantile(double p) {
  if (p == 0) return HUGE_VAL;
  const double r = std::sqrt(-std::log(p));
  return r <= 5 ? polynomial(kTail, r - 1.6) / polynomial(kTailBelow, r - 1.6)
                : polynomial(kFar, r - 5) / polynomial(kFarBelow, r - 5);
}

/* The x with P(X < x) = p for a normal X. */
double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return std::numeric_limits<double>::quiet_NaN();
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) return centralQuantile(q);
  return q < 0 ? -tailQuantile(p) : tailQuantile(1 - p);
}

double erfinv(double y) {
  const double size = std::fabs(y);
  if (!(size <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (size <= 0.85) return centralQuantile(y / 2) * kRootHalf;
  return std::copysign(tailQuantile((1 - size) / 2) * kRootHalf, y);
}

/* Recurrence to 10, then the asymptotic series, as torch's CPU, which rounds so beside the root; on the left by
 * reflection. */
double digamma(double x) {
  if (x == 0) return std::copysign(HUGE_VAL, -x);
  if (x < 0) return x == std::floor(x) ? NAN : digamma(1 - x) - kPi / std::tan(kPi * std::fmod(x, 1.0));
  double shift = 0;
  for (; x < 10; x += 1) shift -= 1 / x;
  const double z = 1 / (x * x);
  const double tail = z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12)));
  return shift + std::log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - tail)));
}

/* Without an eps (it is negative) x is taken as it is. */
template <class C>
C logit(C x, C eps) {
  if (eps >= C(0)) x = x < eps ? eps : x > C(1) - eps ? C(1) - eps : x;
  return std::log(x / (C(1) - x));
}

/* Outside of [eps, 1 - eps] it is flat; without an eps there is no derivative outside of [0, 1]. */
template <class C>
C logitGrad(C x, C eps) {
  const C least = eps >= C(0) ? eps : C(0);
  if (x >= least && x <= C(1) - least) return C(1) / (std::fabs(x) * (C(1) - x)); /* a zero may be negative */
  return eps >= C(0) ? C(0) : std::numeric_limits<C>::quiet_NaN();
}

template <class C>
C xLog1pY(C x, C y) {
  return isNan(y) ? y : x == C(0) ? C(0) : x * std::log1p(y);
}

SIM_ELEMENT(Logit, 1, kLibm | kFloats, 1, logit(x, p[0]))
SIM_ELEMENT(LogitBackward, 2, kLibm | kFloats, 1, logitGrad(x, p[0]) * y)

/* x, dy, eps, out */
aclnnStatus prepareLogitBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  executor.scalars[0] = {true, executor.operands[0].type, 0, arguments[2].real, 0};
  return prepareLoops(executor, kLoopsOf<LogitBackward>, kSameType);
}

aclnnStatus prepareLogit(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  executor.scalars[0] = {true, executor.operands[0].type, 0, arguments[1].real, 0};
  return prepareLoops(executor, kLoopsOf<Logit>, kFloatResult);
}

}  // namespace

SIM_POINTWISE(aclnnErfc, 1, kLibm | kFloats, 0, kFloatResult, std::erfc(x))
SIM_POINTWISE(aclnnErfinv, 1, kLibm | kFloats, 0, kFloatResult, static_cast<C>(erfinv(x)))
SIM_POINTWISE(aclnnLgamma, 1, kLibm | kFloats, 0, kFloatResult, std::lgamma(x))
SIM_POINTWISE(aclnnDigamma, 1, kLibm | kFloats, 0, kFloatResult, static_cast<C>(digamma(x)))
SIM_POINTWISE(aclnnNdtri, 1, kLibm | kFloats, 0, kFloatResult, static_cast<C>(ndtri(x)))
SIM_POINTWISE(aclnnXlog1py, 2, kLibm | kFloats, 0, kFloatResult, xLog1pY(x, y))
SIM_OP(aclnnLogit, prepareLogit, nullptr, 0)
SIM_OP(aclnnLogitGrad, prepareLogitBackward, nullptr, 0)

}  // namespace sim
