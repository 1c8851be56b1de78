/* Elementwise kernels: one line each, instantiated for the compute types they name.
 *
 *   SIM_ELEMENT(Exp, 1, kFloats | kComplexes, 0, vec::exp(x))
 *
 * reads: Exp takes 1 input, computes in the floating and complex types, takes 0 scalars, and yields the expression in
 * x, y, z (the inputs) and p[0], p[1], p[2] (the scalars). A loop of kBooleans takes every type, as its truth values.
 */
#ifndef MINDTORCH_SIM_OPAPI_LOOPS_H_
#define MINDTORCH_SIM_OPAPI_LOOPS_H_
#include <cmath>
#include <limits>

#include "opapi/op.h"
#include "opapi/vector.h"

namespace sim {

enum ComputeMask : unsigned {
  kFloats = 1u << kF32 | 1u << kF64,
  kIntegers = 1u << kI64,
  kComplexes = 1u << kC128,
  kBooleans = 1u << kBoolean8,
  kReals = kFloats | kIntegers,
  kAll = kReals | kComplexes,
  kLibm = 1u << 31, /* the expression calls libm: its loops cannot be vectorised, one version of them is enough */
};

/* Flags: how the types of inputs and result are related. */
enum ElementwiseVariant : int64_t {
  kSameType = 0,
  kFloatResult = 1,    /* integers compute in float32 */
  kBoolResult = 2,     /* the result is a bool, whatever the inputs are */
  kRealResult = 4,     /* complex inputs give a real result */
  kPromoteFirst = 8,   /* the first scalar takes part in type promotion */
  kPromoteSecond = 16, /* and the second one */
  kOrdered = 32,       /* compares by size, which uint64 cannot in the signed compute type */
};

struct Loops {
  Loop loop[kComputeCount];      /* by compute type; NULL: not for this type */
  uint8_t result[kComputeCount]; /* compute type of what the loop writes */
  int scalars;                   /* scalars the loop reads, converted to the compute type */
};

aclnnStatus prepareElementwise(aclOpExecutor &executor, const Argument *arguments, const OpBody &body);
aclnnStatus prepareLoops(aclOpExecutor &executor, const Loops &loops, int64_t variant);
/* Copies `in`, broadcast and converted, to `out`. */
aclnnStatus prepareCopy(aclOpExecutor &executor, Operand &in, Operand &out);
aclError runElementwise(const aclOpExecutor &executor);
/* The loop over one set of operands; `out` has the compute type of the results. */
void runLoop(const Operand *const *inputs, uint32_t count, const Operand &out, Loop loop, const Scalar *scalars);

/* Operators on lists of tensors: apply the loop to each tensor, with one scalar or with a list of scalars. */
aclnnStatus prepareForeach(aclOpExecutor &executor, const Argument *arguments, const OpBody &body);
/* The same with the scalar in a tensor of one element. */
aclnnStatus prepareForeachByTensor(aclOpExecutor &executor, const Argument *arguments, const OpBody &body);
aclnnStatus prepareForeachLoops(aclOpExecutor &executor, const Loops &loops);
/* Whether the lists are equally long and hold equal shapes and types; `tensors`: how many tensors each. */
aclnnStatus checkLists(const aclOpExecutor &executor, uint32_t *lists, uint32_t *tensors);
void convertView(const Operand &in, const Operand &out); /* equal shapes, equal compute types */
uint8_t copyCompute(aclDataType from, aclDataType to);

/* An operand of the same shape over a contiguous array. */
Operand contiguousOperand(const Operand &like, aclDataType type, const void *array);
constexpr aclDataType kComputeTypes[] = {ACL_FLOAT, ACL_DOUBLE, ACL_INT64, ACL_COMPLEX128, ACL_BOOL};
template <class C>
constexpr aclDataType kTypeOf = kComputeTypes[computeOfType<C>()];

/* Elements at one distance from each other, which a call of LoadStrided or StoreStrided copies. */
struct StridedRun {
  int64_t count, stride; /* bytes from one element to the next */
};
/* False: the distance changes on the way. */
bool asStridedRun(const Operand &operand, StridedRun *run);

/* All elements of an operand, from and to an array of a compute type. */
template <class C>
void readElements(const Operand &operand, C *to) {
  StridedRun run;
  if (asStridedRun(operand, &run)) {
    loadStrided(operand.type, computeOfType<C>())(operand.host, run.stride, to, run.count);
    return;
  }
  Operand from = operand;
  from.compute = computeOfType<C>();
  convertView(from, contiguousOperand(from, kTypeOf<C>, to));
}
template <class C>
void writeElements(const Operand &operand, const C *from) {
  StridedRun run;
  if (asStridedRun(operand, &run)) {
    storeStrided(operand.type, computeOfType<C>())(from, operand.host, run.stride, run.count);
    return;
  }
  Operand to = operand;
  to.compute = computeOfType<C>();
  convertView(contiguousOperand(to, kTypeOf<C>, from), to);
}

template <class C>
C scalarAs(const Scalar &number) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return number.integer;
  } else if constexpr (std::is_same<C, Complex>::value) {
    return Complex(number.real, number.imaginary);
  } else {
    return static_cast<C>(number.real);
  }
}

/* Integers wrap around, without the undefined behaviour of signed overflow. */
template <class C>
C add(C a, C b) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

template <class C>
C multiply(C a, C b) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

/* A complex quotient is NumPy's, by the ratio of the divisor's parts: C++'s looks for infinity among NaN, torch's does
 * not. */
template <class C>
C divide(C a, C b) {
  if constexpr (std::is_same<C, Complex>::value) {
    const double real = b.real(), imaginary = b.imag();
    if (real == 0 && imaginary == 0) return C(a.real() / std::fabs(real), a.imag() / std::fabs(real));
    if (std::fabs(real) >= std::fabs(imaginary)) {
      const double ratio = imaginary / real, scale = 1 / (real + imaginary * ratio);
      return C((a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale);
    }
    const double ratio = real / imaginary, scale = 1 / (imaginary + real * ratio);
    return C((a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale);
  } else {
    return a / b;
  }
}

template <class C>
C negate(C a) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  } else {
    return -a;
  }
}

template <class C>
C subtract(C a, C b) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return add(a, negate(b));
  } else {
    return a - b;
  }
}

template <class C>
bool isNan(C x) {
  return x != x;
}

template <class C>
C larger(C a, C b) {
  const C most = a > b ? a : b;
  return isNan(a) ? a : most; /* two selections without a branch: the compiler vectorises them */
}

template <class C>
C smaller(C a, C b) {
  const C least = a < b ? a : b;
  return isNan(a) ? a : least;
}

/* The type that the loop writes: Boolean for bool. */
template <class T>
using Written = std::conditional_t<std::is_same<T, bool>::value, Boolean, T>;
template <class F, class C>
using ResultOf = Written<decltype(F::apply(C(), C(), C(), static_cast<const C *>(nullptr)))>;

template <class F, class C>
SIM_INLINE void elementLoop(const LoopArguments &arguments) {
  C p[3] = {};
  for (int i = 0; i < F::kScalars; ++i) p[i] = scalarAs<C>(arguments.scalars[i]);
  const C *x = static_cast<const C *>(arguments.in[0]);
  const C *y = F::kInputs > 1 ? static_cast<const C *>(arguments.in[1]) : x;
  const C *z = F::kInputs > 2 ? static_cast<const C *>(arguments.in[2]) : x;
  ResultOf<F, C> *out = static_cast<ResultOf<F, C> *>(arguments.out);
  const int64_t count = arguments.count;
  SIM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) out[i] = F::apply(x[i], y[i], z[i], p);
}

/* plainLoop is compiled once. vectorLoop is compiled for AVX2 as well, and the loader chooses: for the types that
 * programs on NPUs compute in most. */
template <class F, class C>
void plainLoop(const LoopArguments &arguments) {
  elementLoop<F, C>(arguments);
}
template <class F, class C>
SIM_CLONES void vectorLoop(const LoopArguments &arguments) {
  elementLoop<F, C>(arguments);
}

template <class F, class C>
constexpr void addLoop(Loops *loops) {
  constexpr Compute compute = computeOfType<C>();
  if constexpr ((F::kTypes >> compute & 1u) != 0) {
    if constexpr ((F::kTypes & kLibm) != 0 || compute == kF64 || compute == kC128) {
      loops->loop[compute] = plainLoop<F, C>;
    } else {
      loops->loop[compute] = vectorLoop<F, C>;
    }
    loops->result[compute] = computeOfType<ResultOf<F, C>>();
  }
}

template <class F>
constexpr Loops makeLoops() {
  Loops loops{{}, {}, F::kScalars};
  addLoop<F, float>(&loops);
  addLoop<F, double>(&loops);
  addLoop<F, int64_t>(&loops);
  addLoop<F, Complex>(&loops);
  addLoop<F, Boolean>(&loops);
  return loops;
}

template <class F>
constexpr Loops kLoopsOf = makeLoops<F>();

#define SIM_ELEMENT(Name, inputs, types, scalars, expression)                                      \
  struct Name {                                                                                    \
    static constexpr int kInputs = inputs;                                                         \
    static constexpr unsigned kTypes = types;                                                      \
    static constexpr int kScalars = scalars;                                                       \
    template <class C>                                                                             \
    static SIM_INLINE auto apply([[maybe_unused]] C x, [[maybe_unused]] C y, [[maybe_unused]] C z, \
                                 [[maybe_unused]] const C *p) {                                    \
      return expression;                                                                           \
    }                                                                                              \
  };

#define SIM_ELEMENTWISE(op, Name, variant) SIM_OP(op, prepareElementwise, &kLoopsOf<Name>, variant)
/* Defines an element and the one operator that uses it. */
#define SIM_POINTWISE(op, inputs, types, scalars, variant, expression) \
  SIM_ELEMENT(Element_##op, inputs, types, scalars, expression)        \
  SIM_ELEMENTWISE(op, Element_##op, variant)
#define SIM_FOREACH(op, Name) SIM_OP(op, prepareForeach, &kLoopsOf<Name>, 0)

}  // namespace sim
#endif
