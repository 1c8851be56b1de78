/* Functions of several tensors, or of tensors and scalars, element by element. */
#include <algorithm>
#include <numeric>

#include "opapi/loops.h"

/* Arithmetic of two tensors, or of a tensor and a scalar. */

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

/* The remainder of a division towards zero. */
template <class C>
C fmodOf(C a, C b) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return b == 0 || b == -1 ? 0 : a % b;
  } else {
    return std::fmod(a, b);
  }
}

/* What is made of numbers and the remainder of their division. */
struct Remainder {
  template <class C>
  static SIM_INLINE C of(C, C, C rest) {
    return rest;
  }
};

/* With the sign of the divisor. */
struct SignedRemainder {
  template <class C>
  static SIM_INLINE C of(C, C b, C rest) {
    const C sum = add(rest, b), turned = (rest < C(0)) != (b < C(0)) ? sum : rest;
    return rest == C(0) ? rest : turned;
  }
};

/* The quotient of the exact remainder, so that rounding of a / b cannot pass an integer. */
struct FloorQuotient {
  template <class C>
  static SIM_INLINE C of(C a, C b, C rest) {
    if constexpr (std::is_same<C, int64_t>::value) {
      const C quotient = truncDivide(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? quotient - 1 : quotient;
    } else {
      const C exact = (a - rest) / b, lower = exact - C(1), ratio = a / b;
      const C turned = (b < C(0)) != (rest < C(0)) ? lower : exact, quotient = rest == C(0) ? exact : turned;
      const C floored = std::floor(quotient), next = floored + C(1);
      const C whole = quotient - floored > C(0.5) ? next : floored, none = std::copysign(C(0), ratio);
      const C found = quotient == C(0) ? none : whole;
      return b == C(0) ? ratio : found;
    }
  }
};

/* Whether the quotient has 28 bits at most: then a - n b is exact in double, which takes much less time than libm. */
SIM_INLINE bool isShort(double quotient) { return std::fabs(quotient) < 0x1p28; }

/* Results may take the place of the numbers, so they wait until all remainders of a part are known. */
template <class F>
SIM_CLONES void divideFloats(const float *a, const float *b, float *out, int64_t count) {
  double quotients[kBlock], rests[kBlock];
  int64_t others = 0;
  for (int64_t i = 0; i < count; ++i) quotients[i] = static_cast<double>(a[i]) / static_cast<double>(b[i]);
  for (int64_t i = 0; i < count; ++i) { /* all in double, or the compiler would not vectorise it */
    const double x = static_cast<double>(a[i]), rest = x - std::trunc(quotients[i]) * static_cast<double>(b[i]);
    rests[i] = std::fabs(quotients[i]) < 1.0 ? x : rest; /* b may be infinite */
    others |= isShort(quotients[i]) ? 0 : 1;
  }
  for (int64_t i = 0; i < count && others != 0; ++i) {
    if (!isShort(quotients[i])) rests[i] = static_cast<double>(std::fmod(a[i], b[i]));
  }
  SIM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = F::of(a[i], b[i], std::copysign(static_cast<float>(rests[i]), a[i]));
}

enum class Number { kNone, kFirst, kSecond }; /* which of both is a number instead of a tensor */

template <class F, Number Place>
void divideLoop(const LoopArguments &arguments) {
  const float *x = static_cast<const float *>(arguments.in[0]);
  const float *y = Place == Number::kNone ? static_cast<const float *>(arguments.in[1]) : nullptr;
  float *out = static_cast<float *>(arguments.out), number[kBlock];
  const int64_t count = arguments.count;
  if (Place != Number::kNone) std::fill_n(number, std::min(kBlock, count), scalarAs<float>(arguments.scalars[0]));
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t length = std::min(kBlock, count - first);
    const float *a = Place == Number::kFirst ? number : x + first;
    const float *b = Place == Number::kFirst ? x + first : Place == Number::kSecond ? number : y + first;
    divideFloats<F>(a, b, out + first, length);
  }
}

/* The loops of an element, with this one for float. */
template <class Element, class F, Number Place>
constexpr Loops withDivideLoop() {
  Loops loops = makeLoops<Element>();
  loops.loop[kF32] = divideLoop<F, Place>;
  return loops;
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

/* A complex product is that of the formula: C++'s looks for infinity among NaN, torch's does not. */
template <class C>
C product(C a, C b) {
  if constexpr (std::is_same<C, Complex>::value) {
    return C(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else {
    return multiply(a, b);
  }
}

/* Of complex numbers torch computes these as products, roots and quotients, which differ at infinity. */
template <class C>
C powerByNumber(C base, C exponent) {
  if constexpr (std::is_same<C, Complex>::value) {
    if (exponent == 2.0) return product(base, base);
    if (exponent == 3.0) return product(product(base, base), base);
    if (exponent == -2.0) return divide(C(1), product(base, base));
    if (exponent == -1.0) return divide(C(1), base);
    if (exponent == 0.5) return std::sqrt(base);
    if (exponent == -0.5) return divide(C(1), std::sqrt(base));
  }
  return power(base, exponent);
}

SIM_ELEMENT(PlusScalar, 1, kAll, 1, add(x, p[0]))
SIM_ELEMENT(MinusScalar, 1, kAll, 1, subtract(x, p[0]))
SIM_ELEMENT(Mul, 2, kAll, 0, product(x, y))
SIM_ELEMENT(MulScalar, 1, kAll, 1, product(x, p[0]))
SIM_ELEMENT(Div, 2, kFloats | kComplexes, 0, divide(x, y))
SIM_ELEMENT(DivScalar, 1, kFloats | kComplexes, 1, divide(x, p[0]))
SIM_ELEMENT(TruncDiv, 2, kLibm | kReals, 0, truncDivide(x, y))
SIM_ELEMENT(TruncDivScalar, 1, kLibm | kReals, 1, truncDivide(x, p[0]))
SIM_ELEMENT(FloorDiv, 2, kLibm | kReals, 0, FloorQuotient::of(x, y, fmodOf(x, y)))
SIM_ELEMENT(FloorDivScalar, 1, kLibm | kReals, 1, FloorQuotient::of(x, p[0], fmodOf(x, p[0])))
constexpr Loops kFloorDiv = withDivideLoop<FloorDiv, FloorQuotient, Number::kNone>();
constexpr Loops kFloorDivScalar = withDivideLoop<FloorDivScalar, FloorQuotient, Number::kSecond>();
SIM_ELEMENT(Pow, 2, kLibm | kAll, 0, power(x, y))
SIM_ELEMENT(PowScalar, 1, kLibm | kAll, 1, powerByNumber(x, p[0]))
SIM_ELEMENT(ScalarPow, 1, kLibm | kAll, 1, power(p[0], x))

/* Rounding modes of aclnnDivMod: 0 none, 1 towards zero, 2 down. The attribute follows the second operand. */
aclnnStatus prepareDivMod(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  static constexpr const Loops *kTensors[] = {&kLoopsOf<Div>, &kLoopsOf<TruncDiv>, &kFloorDiv};
  static constexpr const Loops *kScalars[] = {&kLoopsOf<DivScalar>, &kLoopsOf<TruncDivScalar>, &kFloorDivScalar};
  int mode = static_cast<int>(arguments[2].integer);
  if (mode < 0 || mode > 2) return refuse(executor, "mode is {}, expected 0, 1 or 2", mode);
  bool scalar = body.variant != 0;
  int64_t variant = (mode == 0 ? kFloatResult : kSameType) | (scalar ? kPromoteFirst : kSameType);
  return prepareLoops(executor, *(scalar ? kScalars : kTensors)[mode], variant);
}

}  // namespace

SIM_POINTWISE(aclnnAdd, 2, kAll, 1, kSameType, add(x, product(p[0], y)))
SIM_POINTWISE(aclnnAdds, 1, kAll, 2, kPromoteFirst, add(x, product(p[1], p[0])))
SIM_POINTWISE(aclnnSub, 2, kAll, 1, kSameType, subtract(x, product(p[0], y)))
SIM_POINTWISE(aclnnSubs, 1, kAll, 2, kPromoteFirst, subtract(x, product(p[1], p[0])))
SIM_POINTWISE(aclnnRsub, 2, kAll, 1, kSameType, subtract(y, product(p[0], x)))
SIM_POINTWISE(aclnnRsubs, 1, kAll, 2, kPromoteFirst, subtract(p[0], product(p[1], x)))
SIM_ELEMENTWISE(aclnnMul, Mul, kSameType)
SIM_ELEMENTWISE(aclnnMuls, MulScalar, kPromoteFirst)
SIM_ELEMENTWISE(aclnnDiv, Div, kFloatResult)
SIM_ELEMENTWISE(aclnnDivs, DivScalar, kFloatResult | kPromoteFirst)
SIM_OP(aclnnDivMod, prepareDivMod, nullptr, 0)
SIM_OP(aclnnDivMods, prepareDivMod, nullptr, 1)
SIM_OP(aclnnFloorDivide, prepareElementwise, &kFloorDiv, kSameType)
SIM_OP(aclnnFloorDivides, prepareElementwise, &kFloorDivScalar, kPromoteFirst)
SIM_ELEMENTWISE(aclnnPowTensorTensor, Pow, kSameType)
SIM_ELEMENTWISE(aclnnPowTensorScalar, PowScalar, kPromoteFirst)
SIM_ELEMENTWISE(aclnnPowScalarTensor, ScalarPow, kPromoteFirst)
SIM_POINTWISE(aclnnMaximum, 2, kReals, 0, kSameType, larger(x, y))
SIM_POINTWISE(aclnnMinimum, 2, kReals, 0, kSameType, smaller(x, y))
SIM_POINTWISE(aclnnBitwiseAndTensor, 2, kIntegers, 0, kSameType, x &y)
SIM_POINTWISE(aclnnBitwiseAndScalar, 1, kIntegers, 1, kPromoteFirst, x &p[0])
SIM_POINTWISE(aclnnBitwiseOrTensor, 2, kIntegers, 0, kSameType, x | y)
SIM_FOREACH(aclnnForeachAddScalarV2, PlusScalar)
SIM_FOREACH(aclnnForeachAddScalarList, PlusScalar)
SIM_FOREACH(aclnnForeachSubScalarV2, MinusScalar)
SIM_FOREACH(aclnnForeachSubScalarList, MinusScalar)
SIM_FOREACH(aclnnForeachMulScalarV2, MulScalar)
SIM_FOREACH(aclnnForeachMulScalarList, MulScalar)
SIM_OP(aclnnForeachMulScalar, prepareForeachByTensor, &kLoopsOf<Mul>, 0)
SIM_OP(aclnnForeachDivScalar, prepareForeachByTensor, &kLoopsOf<Div>, 0)
SIM_FOREACH(aclnnForeachDivScalarV2, DivScalar)
SIM_FOREACH(aclnnForeachDivScalarList, DivScalar)
SIM_FOREACH(aclnnForeachPowList, Pow)
SIM_FOREACH(aclnnForeachPowScalarV2, PowScalar)
SIM_FOREACH(aclnnForeachPowScalarList, PowScalar)
SIM_FOREACH(aclnnForeachPowScalarAndTensor, ScalarPow)

/* Remainders, shifts, and functions of two tensors. */

namespace {

SIM_ELEMENT(Fmod, 2, kLibm | kReals, 0, fmodOf(x, y))
SIM_ELEMENT(FmodScalar, 1, kLibm | kReals, 1, fmodOf(x, p[0]))
SIM_ELEMENT(RemainderOf, 2, kLibm | kReals, 0, SignedRemainder::of(x, y, fmodOf(x, y)))
SIM_ELEMENT(RemainderScalar, 1, kLibm | kReals, 1, SignedRemainder::of(x, p[0], fmodOf(x, p[0])))
SIM_ELEMENT(ScalarRemainder, 1, kLibm | kReals, 1, SignedRemainder::of(p[0], x, fmodOf(p[0], x)))
constexpr Loops kFmod = withDivideLoop<Fmod, Remainder, Number::kNone>();
constexpr Loops kFmodScalar = withDivideLoop<FmodScalar, Remainder, Number::kSecond>();
constexpr Loops kRemainder = withDivideLoop<RemainderOf, SignedRemainder, Number::kNone>();
constexpr Loops kRemainderScalar = withDivideLoop<RemainderScalar, SignedRemainder, Number::kSecond>();
constexpr Loops kScalarRemainder = withDivideLoop<ScalarRemainder, SignedRemainder, Number::kFirst>();

/* log(exp(a) + exp(b)); the difference of equal infinities is NaN, and their sum is what they are. */
template <class C>
SIM_INLINE C logAddExp(C a, C b) {
  const C high = a > b ? a : b, low = a > b ? b : a;
  const C sum = high + vec::log1pOfExp(low - high), equal = a == b ? a : sum;
  const C found = std::fabs(a) > std::numeric_limits<C>::max() ? equal : sum;
  return isNan(a) || isNan(b) ? a + b : found;
}

template <class C>
SIM_INLINE C logAddExp2(C a, C b) {
  const C high = a > b ? a : b, low = a > b ? b : a;
  const C sum = high + vec::log1p(vec::exp2(low - high)) * C(1.44269504088896340736), equal = a == b ? a : sum;
  const C found = std::fabs(a) > std::numeric_limits<C>::max() ? equal : sum;
  return isNan(a) || isNan(b) ? a + b : found;
}

/* 0 where x is 0, whatever y is, NaN apart. */
template <class C>
C xLogY(C x, C y) {
  return isNan(y) ? y : x == C(0) ? C(0) : x * std::log(y);
}

template <class C>
C heaviside(C x, C value) {
  return x == C(0) ? value : C(x > C(0));  // 0 for NaN
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

SIM_OP(aclnnFmodTensor, prepareElementwise, &kFmod, kSameType)
SIM_OP(aclnnFmodScalar, prepareElementwise, &kFmodScalar, kPromoteFirst)
SIM_OP(aclnnRemainderTensorTensor, prepareElementwise, &kRemainder, kSameType)
SIM_OP(aclnnRemainderTensorScalar, prepareElementwise, &kRemainderScalar, kPromoteFirst)
SIM_OP(aclnnRemainderScalarTensor, prepareElementwise, &kScalarRemainder, kPromoteFirst)
SIM_POINTWISE(aclnnAtan2, 2, kLibm | kFloats, 0, kFloatResult, std::atan2(x, y))
SIM_POINTWISE(aclnnLogAddExp, 2, kFloats, 0, kFloatResult, logAddExp(x, y))
SIM_POINTWISE(aclnnLogAddExp2, 2, kFloats, 0, kFloatResult, logAddExp2(x, y))
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
SIM_POINTWISE(aclnnLogicalXor, 2, kBooleans, 0, kBoolResult, (x != 0) != (y != 0))
SIM_OP(aclnnComplex, prepareComplex, &kLoopsOf<ComplexOf>, 0)
SIM_OP(aclnnPolar, prepareComplex, &kLoopsOf<Polar>, 0)

/* Comparisons and logic: the result is a truth value, written in the output's type. */

namespace {

/* p: relative and absolute tolerance, and whether NaN equals NaN. */
template <class C>
bool isClose(C x, C y, const C *p) {
  if (isNan(x) || isNan(y)) return p[2] != C(0) && isNan(x) && isNan(y);
  return x == y || (std::isfinite(y) && std::fabs(x - y) <= p[1] + std::fabs(p[0] * y));
}

SIM_ELEMENT(IsClose, 2, kLibm | kFloats, 3, isClose(x, y, p))

/* self, other, rtol, atol, equalNan, out */
aclnnStatus prepareIsClose(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const double scalars[] = {arguments[2].real, arguments[3].real, arguments[4].integer != 0 ? 1.0 : 0.0};
  if (!(scalars[0] >= 0.0 && scalars[1] >= 0.0)) return refuse(executor, "rtol or atol is below 0");
  for (int i = 0; i < 3; ++i) executor.scalars[i] = {true, ACL_BOOL, 0, scalars[i], 0.0};
  return prepareLoops(executor, kLoopsOf<IsClose>, kFloatResult | kBoolResult);
}

/* self, other, out: one truth value, whether shapes and all elements are equal */
aclError runEqual(const aclOpExecutor &executor) {
  alignas(64) char buffers[2][kBlockBytes];
  const Operand &self = executor.operands[0], &other = executor.operands[1];
  Cursor a(self), b(other);
  Boolean equal = executor.attributes[0] != 0;
  for (int64_t first = 0; equal != 0 && first < self.count; first += kBlock) {
    const int64_t count = std::min(kBlock, self.count - first);
    const void *x = a.read(buffers[0], count), *y = b.read(buffers[1], count);
    equal = (self.compute == kI64 ? std::equal(static_cast<const int64_t *>(x), static_cast<const int64_t *>(x) + count,
                                               static_cast<const int64_t *>(y))
                                  : std::equal(static_cast<const double *>(x), static_cast<const double *>(x) + count,
                                               static_cast<const double *>(y)));
  }
  Operand out = executor.operands[2];
  out.compute = kBoolean8;
  Cursor(out).write(&equal, 1);
  return ACL_SUCCESS;
}

aclnnStatus prepareEqual(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &self = executor.operands[0], &other = executor.operands[1];
  const Operand &out = executor.operands[2];
  if (out.count != 1 || out.type != ACL_BOOL) return refuse(executor, "out is no single BOOL");
  if (self.type != other.type) return refuse(executor, "self and other have different data types");
  bool fits = self.rank == other.rank;
  for (int32_t i = 0; fits && i < self.rank; ++i) fits = self.dims[i] == other.dims[i];
  self.compute = other.compute = computeOf(self.type) == kF32 ? kF64 : computeOf(self.type);
  executor.attributes[0] = fits;
  executor.run = runEqual;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_POINTWISE(aclnnEqTensor, 2, kAll, 0, kBoolResult, x == y)
SIM_POINTWISE(aclnnNeTensor, 2, kAll, 0, kBoolResult, x != y)
SIM_POINTWISE(aclnnLtTensor, 2, kReals, 0, kBoolResult | kOrdered, x < y)
SIM_POINTWISE(aclnnLeTensor, 2, kReals, 0, kBoolResult | kOrdered, x <= y)
SIM_POINTWISE(aclnnGtTensor, 2, kReals, 0, kBoolResult | kOrdered, x > y)
SIM_POINTWISE(aclnnGeTensor, 2, kReals, 0, kBoolResult | kOrdered, x >= y)
SIM_POINTWISE(aclnnEqScalar, 1, kAll, 1, kBoolResult | kPromoteFirst, x == p[0])
SIM_POINTWISE(aclnnNeScalar, 1, kAll, 1, kBoolResult | kPromoteFirst, x != p[0])
SIM_POINTWISE(aclnnLtScalar, 1, kReals, 1, kBoolResult | kPromoteFirst | kOrdered, x < p[0])
SIM_POINTWISE(aclnnLeScalar, 1, kReals, 1, kBoolResult | kPromoteFirst | kOrdered, x <= p[0])
SIM_POINTWISE(aclnnGtScalar, 1, kReals, 1, kBoolResult | kPromoteFirst | kOrdered, x > p[0])
SIM_POINTWISE(aclnnGeScalar, 1, kReals, 1, kBoolResult | kPromoteFirst | kOrdered, x >= p[0])
SIM_POINTWISE(aclnnLogicalAnd, 2, kBooleans, 0, kBoolResult, x != 0 && y != 0)
SIM_POINTWISE(aclnnLogicalOr, 2, kBooleans, 0, kBoolResult, (x | y) != 0)
SIM_OP(aclnnIsClose, prepareIsClose, nullptr, 0)
SIM_OP(aclnnEqual, prepareEqual, nullptr, 0)

/* Functions of three tensors, clamping and selection. */

namespace {

/* From the nearer end, so that both ends are met exactly. */
template <class C>
C lerp(C start, C end, C weight) {
  return std::fabs(weight) < C(0.5) ? start + weight * (end - start) : end - (end - start) * (C(1) - weight);
}

/* NaN stays. Two selections without a branch, as in larger. */
template <class C>
SIM_INLINE C atLeast(C x, C low) {
  const C most = x > low ? x : low;
  return isNan(x) ? x : most;
}

template <class C>
SIM_INLINE C atMost(C x, C high) {
  const C least = x < high ? x : high;
  return isNan(x) ? x : least;
}

SIM_ELEMENT(Addcmul, 3, kAll, 1, add(x, product(product(p[0], y), z)))
SIM_ELEMENT(Addcdiv, 3, kFloats | kComplexes, 1, x + product(p[0], divide(y, z)))
SIM_ELEMENT(LerpScalar, 2, kFloats, 1, lerp(x, y, p[0]))
SIM_ELEMENT(ClampMinScalar, 1, kReals, 1, atLeast(x, p[0]))
SIM_ELEMENT(ClampMaxScalar, 1, kReals, 1, atMost(x, p[0]))
SIM_ELEMENT(ClampScalars, 1, kReals, 2, atMost(atLeast(x, p[0]), p[1]))
SIM_ELEMENT(ClampMinTensor, 2, kReals, 0, atLeast(x, y))
SIM_ELEMENT(ClampMaxTensor, 2, kReals, 0, atMost(x, y))
SIM_ELEMENT(ClampTensors, 3, kReals, 0, atMost(atLeast(x, y), z))

aclnnStatus prepareClamp(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Scalar *scalars = executor.scalars;
  if (!scalars[0].present && !scalars[1].present) {
    return fail(ACLNN_ERR_PARAM_NULLPTR, "EZ1001", "aclnnClamp: clipValueMin and clipValueMax are both NULL");
  }
  if (!scalars[1].present) return prepareLoops(executor, kLoopsOf<ClampMinScalar>, kPromoteFirst);
  if (scalars[0].present) return prepareLoops(executor, kLoopsOf<ClampScalars>, kPromoteFirst | kPromoteSecond);
  scalars[0] = scalars[1];
  return prepareLoops(executor, kLoopsOf<ClampMaxScalar>, kPromoteFirst);
}

/* self, clipValueMin, clipValueMax, out: one of the limits may be left out, as the loops then have one input fewer */
aclnnStatus prepareClampTensor(aclOpExecutor &executor, const Argument *, const OpBody &) {
  auto &operands = executor.operands;
  const bool has_least = operands[1].tensor != nullptr, has_most = operands[2].tensor != nullptr;
  if (!has_least && !has_most) return refuse(executor, "both limits are NULL");
  if (has_least && has_most) return prepareLoops(executor, kLoopsOf<ClampTensors>, kSameType);
  if (has_most) operands[1] = operands[2];
  operands[2] = operands[3];
  operands.pop();
  return prepareLoops(executor, has_least ? kLoopsOf<ClampMinTensor> : kLoopsOf<ClampMaxTensor>, kSameType);
}

template <class C>
SIM_CLONES void whereLoop(const LoopArguments &arguments) {
  const Boolean *condition = static_cast<const Boolean *>(arguments.in[0]);
  const C *x = static_cast<const C *>(arguments.in[1]);
  const C *y = static_cast<const C *>(arguments.in[2]);
  C *out = static_cast<C *>(arguments.out);
  const int64_t count = arguments.count;
  SIM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const C a = x[i], b = y[i];
    out[i] = condition[i] != 0 ? a : b;
  }
}

constexpr Loops kWhere = {
    {whereLoop<float>, whereLoop<double>, whereLoop<int64_t>, whereLoop<Complex>}, {kF32, kF64, kI64, kC128}, 0};

aclnnStatus prepareWhere(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &condition = executor.operands[0];
  if (categoryOf(condition.type) > kInteger) {
    return refuse(executor, "condition has data type {}, expected BOOL or an integer", condition.type);
  }
  aclDataType type = condition.type;
  condition.type = ACL_BOOL; /* takes no part in promotion */
  SIM_TRY(prepareLoops(executor, kWhere, kSameType));
  condition.type = type;
  condition.compute = kBoolean8;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_ELEMENTWISE(aclnnAddcmul, Addcmul, kSameType)
SIM_ELEMENTWISE(aclnnAddcdiv, Addcdiv, kSameType)
SIM_POINTWISE(aclnnLerp, 3, kFloats, 0, kSameType, lerp(x, y, z))
SIM_ELEMENTWISE(aclnnLerps, LerpScalar, kSameType)
SIM_POINTWISE(aclnnThresholdBackward, 2, kReals, 1, kSameType, y <= p[0] ? C(0) : x)
SIM_OP(aclnnClamp, prepareClamp, nullptr, 0)
SIM_ELEMENTWISE(aclnnClampMin, ClampMinScalar, kPromoteFirst)
SIM_ELEMENTWISE(aclnnClampMax, ClampMaxScalar, kPromoteFirst)
SIM_ELEMENTWISE(aclnnClampMinTensor, ClampMinTensor, kSameType)
SIM_ELEMENTWISE(aclnnClampMaxTensor, ClampMaxTensor, kSameType)
SIM_OP(aclnnClampTensor, prepareClampTensor, nullptr, 0)
SIM_OP(aclnnSWhere, prepareWhere, nullptr, 0)
SIM_FOREACH(aclnnForeachAddcmulScalarV2, Addcmul)
SIM_FOREACH(aclnnForeachAddcdivScalarV2, Addcdiv)
SIM_FOREACH(aclnnForeachLerpScalar, LerpScalar)
SIM_FOREACH(aclnnForeachMaximumScalarV2, ClampMinScalar)
SIM_FOREACH(aclnnForeachMaximumScalarList, ClampMinScalar)
SIM_FOREACH(aclnnForeachMinimumScalarV2, ClampMaxScalar)
SIM_FOREACH(aclnnForeachMinimumScalarList, ClampMaxScalar)

}  // namespace sim
