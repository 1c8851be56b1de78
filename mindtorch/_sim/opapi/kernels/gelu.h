/* The Gaussian error linear unit and its derivative, exact and by tanh. */
#ifndef MINDTORCH_SIM_OPAPI_KERNELS_GELU_H_
#define MINDTORCH_SIM_OPAPI_KERNELS_GELU_H_
#include "opapi/loops.h"

namespace sim {

constexpr double kTwoOverPi = 0.79788456080286535588; /* sqrt(2/pi) */
constexpr double kDensity = 0.39894228040143267794;   /* 1/sqrt(2 pi) */
constexpr double kCubic = 0.044715;

template <class C>
SIM_INLINE C geluGrad(C x) {
  return vec::normalCdf(x) + x * C(kDensity) * vec::exp(C(-0.5) * x * x);
}

template <class C>
SIM_INLINE C geluTanh(C x) {
  return vec::tanh(C(kTwoOverPi) * (x + C(kCubic) * x * x * x));
}

template <class C>
SIM_INLINE C geluTanhGrad(C x) {
  const C t = geluTanh(x);
  const C rise = C(kTwoOverPi) * (C(1) + C(3 * kCubic) * x * x);
  return C(0.5) * (C(1) + t) + C(0.5) * x * (C(1) - t * t) * rise;
}

template <class C>
SIM_INLINE C gelu(C x) {
  return x * vec::normalCdf(x);
}

template <class C>
SIM_INLINE C geluByTanh(C x) {
  return C(0.5) * x * (C(1) + geluTanh(x));
}

}  // namespace sim
#endif
