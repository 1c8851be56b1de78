/* Macros for loops that the compiler vectorises, and vectorisable versions of libm functions. A function of float is
 * a polynomial without branches, for every input, including infinities, NaN, subnormals and results out of range. Its
 * error is at most 2 ulp where its comment names no other. Other types use libm. Results are equal on all processors,
 * as the library is compiled without fused multiply-add. */
#ifndef MINDTORCH_SIM_OPAPI_VECTOR_H_
#define MINDTORCH_SIM_OPAPI_VECTOR_H_
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

/* Compiles a function for AVX2 and AVX-512 as well; the loader selects the version. Callees must be inlined. Sanitizers
 * do not support the selection. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SIM_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define SIM_CLONES
#endif
#define SIM_INLINE inline __attribute__((always_inline))

/* For loops whose arrays are either identical (in place) or disjoint. */
#if defined(__clang__)
#define SIM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define SIM_NOT_UNROLLED _Pragma("clang loop unroll(disable)")
#else
#define SIM_INDEPENDENT _Pragma("GCC ivdep")
#define SIM_NOT_UNROLLED _Pragma("GCC unroll 1")
#endif

namespace sim {

SIM_INLINE float bitsToFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

SIM_INLINE uint32_t floatToBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

namespace vec {

/* x = n ln2 + r with |r| <= ln2 / 2, and exp(r) - 1. */
struct Reduced {
  float n;
  int32_t exponent; /* n, or anything for NaN */
  float power;
};

constexpr float kRoundToInteger = 0x1.8p23f; /* added and taken away again */
constexpr float kLog2High = 0x1.62e4p-1f, kLog2Low = 0x1.7f7d1cp-20f;

/* Not for |x| above 2^20. */
SIM_INLINE Reduced reduce(float x) {
  const float shifted = x * 0x1.715476p0f + kRoundToInteger;
  const float n = shifted - kRoundToInteger;
  const float high = x - n * kLog2High, low = n * kLog2Low; /* the first is exact */
  const float r = high - low, rest = (high - r) - low;
  const float tail = (((((1.0f / 5040) * r + 1.0f / 720) * r + 1.0f / 120) * r + 1.0f / 24) * r + 1.0f / 6) * r + 0.5f;
  return {n, static_cast<int32_t>(floatToBits(shifted) - floatToBits(kRoundToInteger)), r + (rest + r * r * tail)};
}

/* 2^n, for n from -126 to 127. */
SIM_INLINE float powerOfTwo(int32_t n) { return bitsToFloat(static_cast<uint32_t>(n + 127) << 23); }

SIM_INLINE float exp(float x) {
  const float clamped = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
  const Reduced reduced = reduce(clamped);
  const int32_t half = reduced.exponent >> 1; /* in two steps, for the subnormal and the infinite results */
  return (1.0f + reduced.power) * powerOfTwo(half) * powerOfTwo(reduced.exponent - half);
}

/* exp(x) - 1 for x from 0 to 80. */
SIM_INLINE float expMinusOne(float x) {
  const Reduced reduced = reduce(x);
  const float scale = powerOfTwo(reduced.exponent);
  return scale * reduced.power + (scale - 1.0f);
}

/* exp(x) - 1 for every x. A power of two that overflows is halved, and the result doubled. */
SIM_INLINE float expm1(float x) {
  const float clamped = x < -30.0f ? -30.0f : x > 89.0f ? 89.0f : x;
  const Reduced reduced = reduce(clamped);
  const float half = powerOfTwo(reduced.exponent - 1);
  const float result = 2.0f * (half * reduced.power + (half - 0.5f));
  return std::fabs(x) < 1e-20f ? x : result; /* zeros keep their sign, and halves of the smallest numbers are lost */
}

/* Of a normal number, times 2^scale. The logarithm of m in [1/sqrt 2, sqrt 2) is 2 atanh(s), s = f / (2 + f),
 * f = m - 1. */
SIM_INLINE float logOfNormal(float x, float scale) {
  const uint32_t shifted = floatToBits(x) - 0x3F3504F3u; /* 1 / sqrt 2 begins a new exponent */
  const int32_t exponent = static_cast<int32_t>(shifted) >> 23;
  const float f = bitsToFloat((shifted & 0x7FFFFFu) + 0x3F3504F3u) - 1.0f;
  const float s = f / (2.0f + f), z = s * s;
  const float series = z * (2.0f / 3 + z * (2.0f / 5 + z * (2.0f / 7 + z * (2.0f / 9 + z * (2.0f / 11)))));
  const float n = static_cast<float>(exponent) + scale;
  return n * kLog2High + (n * kLog2Low + (f - s * (f - series)));
}

SIM_INLINE float log(float x) {
  const float infinity = std::numeric_limits<float>::infinity();
  const bool tiny = x < std::numeric_limits<float>::min();
  const float result = logOfNormal(tiny ? x * 0x1p23f : x, tiny ? -23.0f : 0.0f);
  const float special = x == 0.0f ? -infinity : x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : x;
  return x > 0.0f && x < infinity ? result : special;
}

/* 2^x. */
SIM_INLINE float exp2(float x) {
  const float clamped = x < -151.0f ? -151.0f : x > 129.0f ? 129.0f : x;
  const float shifted = clamped + kRoundToInteger;
  const float r = (clamped - (shifted - kRoundToInteger)) * 0x1.62e43p-1f;
  const float tail = (((((1.0f / 5040) * r + 1.0f / 720) * r + 1.0f / 120) * r + 1.0f / 24) * r + 1.0f / 6) * r + 0.5f;
  const int32_t n = static_cast<int32_t>(floatToBits(shifted) - floatToBits(kRoundToInteger)), half = n >> 1;
  return (1.0f + (r + r * r * tail)) * powerOfTwo(half) * powerOfTwo(n - half);
}

/* By e^x - 1 near 0, which loses nothing there; by the square of e^(x/2) where e^x overflows. */
SIM_INLINE float sinh(float x) {
  const float size = std::fabs(x), power = expm1(size), root = exp(0.5f * size);
  const float near = 0.5f * (power + power / (power + 1.0f));
  return std::copysign(size > 20.0f ? 0.5f * root * root : near, x);
}

SIM_INLINE float cosh(float x) {
  const float size = std::fabs(x), power = exp(size), root = exp(0.5f * size);
  return size > 20.0f ? 0.5f * root * root : 0.5f * power + 0.5f / power;
}

/* The logarithm of 1 + x as it is rounded, and what the rounding has lost. */
SIM_INLINE float log1p(float x) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float sum = 1.0f + x, lost = x - (sum - 1.0f);
  const float result = log(sum);
  const bool corrected = sum > 0.0f && sum < infinity;
  const float whole = result + (corrected ? lost / sum : 0.0f);
  return x == 0.0f ? x : whole;
}

/* log(1 + exp(x)) for x up to 0. */
SIM_INLINE float log1pOfExp(float x) {
  const float power = exp(x), sum = 1.0f + power, lost = power - (sum - 1.0f);
  return logOfNormal(sum, 0.0f) + lost / sum;
}

/* Near 0 a polynomial of x^2, which is a fit of our own by reweighted least squares. */
SIM_INLINE float tanh(float x) {
  const float magnitude = std::fabs(x), z = x * x;
  const float power = expMinusOne(2.0f * (magnitude > 10.0f ? 10.0f : magnitude));
  const float near =
      (((-6.282466761e-3f * z + 2.107775342e-2f) * z - 5.385385665e-2f) * z + 1.333260167e-1f) * z - 3.333331805e-1f;
  const float result = magnitude < 0.55f ? magnitude + magnitude * (z * near) : power / (power + 2.0f);
  return std::copysign(result, x);
}

/* 0 below -88.7, where the exponential overflows, as torch's. */
SIM_INLINE float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }

/* exp(x^2) erfc(x) for x from 0 on; beyond 30, its value at 30. With t = 1 / (1 + x / 2), it is t times a polynomial of
 * 1 - t. A fit as above, with an error below 5e-8. */
SIM_INLINE float scaledErfc(float x) {
  const float half = x > 30.0f ? 15.0f : 0.5f * x, t = 1.0f / (1.0f + half), s = half * t;
  const float high = ((-5.847259700e-2f * s + 1.858327083e-1f) * s - 1.459248623e-1f) * s - 2.559175528e-2f;
  const float series = (((high * s - 1.178587702e-1f) * s + 2.145891229e-1f) * s + 4.862666478e-1f) * s - 1.256752694f;
  return t * (1.0f + s * series);
}

/* Near 0 a polynomial of x^2. */
SIM_INLINE float erf(float x) {
  const float magnitude = std::fabs(x), z = x * x;
  const float near = ((((((7.853857694e-5f * z - 8.010192517e-4f) * z + 5.188327560e-3f) * z - 2.685381187e-2f) * z +
                        1.128358515e-1f) *
                           z -
                       3.761262582e-1f) *
                          z +
                      1.283791657e-1f);
  return magnitude < 1.0f ? x + x * near : std::copysign(1.0f - scaledErfc(magnitude) * exp(-z), x);
}

constexpr double kHalfRoot = 0.70710678118654752440; /* sqrt(1/2) */

/* The distribution function of the normal distribution: within 4.5 ulp from -1 on. Below, the rounding of x^2 is seen
 * x^2 / 2 times: 13 ulp at -5. torch's is further away everywhere. */
SIM_INLINE float normalCdf(float x) {
  const float tail = 0.5f * scaledErfc(std::fabs(x) * static_cast<float>(kHalfRoot)) * exp(-0.5f * x * x);
  return x < 0.0f ? tail : 1.0f - tail;
}

template <class C>
C exp(C x) {
  return std::exp(x);
}
template <class C>
C log(C x) {
  return std::log(x);
}
template <class C>
C expm1(C x) {
  return std::expm1(x);
}
template <class C>
C log1pOfExp(C x) {
  return std::log1p(std::exp(x));
}
template <class C>
C exp2(C x) {
  return std::exp2(x);
}
template <class C>
C sinh(C x) {
  return std::sinh(x);
}
template <class C>
C cosh(C x) {
  return std::cosh(x);
}
template <class C>
C log1p(C x) {
  return std::log1p(x);
}
template <class C>
C tanh(C x) {
  return std::tanh(x);
}
template <class C>
C erf(C x) {
  return std::erf(x);
}
template <class C>
C normalCdf(C x) {
  return C(0.5) * std::erfc(-x * C(kHalfRoot));
}
template <class C>
C sigmoid(C x) {
  return C(1) / (C(1) + std::exp(-x));
}

}  // namespace vec
}  // namespace sim
#endif
