/* Error and gamma functions and their relatives. */
#include "opapi/loops.h"

namespace sim {
namespace {

constexpr double kPi = 3.14159265358979323846, kRootHalf = 0.70710678118654752440;

/* The x with P(X < x) = p for a normal X: bisection of the distribution function. */
double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (p == 0 || p == 1) return p == 0 ? -HUGE_VAL : HUGE_VAL;
  const double target = p < 0.5 ? p : 1 - p;
  double low = -40, high = 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle * kRootHalf) / 2 < target ? low : high) = middle;
  }
  const double x = (low + high) / 2;
  return p < 0.5 ? x : -x;
}

double erfinv(double y) {
  const double size = std::fabs(y);
  if (!(size < 0.5)) return std::copysign(ndtri((1 - size) / 2) * kRootHalf, y);
  double t = y;
  for (int i = 0; i < 20; ++i) t -= (std::erf(t) - y) / (2 / std::sqrt(kPi) * std::exp(-t * t));
  return t;
}

/* Recurrence to 15, then the asymptotic series; on the left by reflection. */
double digamma(double x) {
  if (x == 0) return std::copysign(HUGE_VAL, -x);
  if (x < 0) return x == std::floor(x) ? NAN : digamma(1 - x) - kPi / std::tan(kPi * std::fmod(x, 1.0));
  double shift = 0;
  for (; x < 15; x += 1) shift -= 1 / x;
  const double z = 1 / (x * x);
  return shift + std::log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z / 132))));
}

/* Without an eps (it is negative) x is taken as it is. */
template <class C>
C logit(C x, C eps) {
  if (eps >= C(0)) x = x < eps ? eps : x > C(1) - eps ? C(1) - eps : x;
  return std::log(x / (C(1) - x));
}

/* Outside of [eps, 1 - eps] it is flat; without an eps there is no derivative outside of [0, 1]. */
template <class C>
C logitSlope(C x, C eps) {
  const C least = eps >= C(0) ? eps : C(0);
  if (x >= least && x <= C(1) - least) return C(1) / (std::fabs(x) * (C(1) - x)); /* a zero may be negative */
  return eps >= C(0) ? C(0) : std::numeric_limits<C>::quiet_NaN();
}

template <class C>
C xLog1pY(C x, C y) {
  return isNan(y) ? y : x == C(0) ? C(0) : x * std::log1p(y);
}

SIM_ELEMENT(Logit, 1, kLibm | kFloats, 1, logit(x, p[0]))
SIM_ELEMENT(LogitBackward, 2, kLibm | kFloats, 1, logitSlope(x, p[0]) * y)

/* x, dy, eps, out */
aclnnStatus prepareLogitBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  executor.numbers[0] = {true, executor.operands[0].type, 0, arguments[2].real, 0};
  return prepareLoops(executor, kLoopsOf<LogitBackward>, kSameType);
}

aclnnStatus prepareLogit(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  executor.numbers[0] = {true, executor.operands[0].type, 0, arguments[1].real, 0};
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
