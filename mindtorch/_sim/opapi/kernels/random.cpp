/* Filling with random numbers. */
#include "opapi/random.h"

#include <cmath>

#include "opapi/loops.h"

namespace sim {
namespace {

/* Of as many leading bits as the type has digits: u alone never rounds up to 1. */
template <int Digits>
struct Uniform {
  static double apply(const uint32_t *words, double from, double to) {
    constexpr double kUnit = 1.0 / static_cast<double>(1ull << Digits);
    const uint64_t word = uint64_t{words[0]} << 32 | words[1];
    return from + static_cast<double>(word >> (64 - Digits)) * kUnit * (to - from);
  }
};

/* Box and Muller: the logarithm is taken of (0, 1]. */
struct Normal {
  static double apply(const uint32_t *words, double mean, double deviation) {
    constexpr double kTurn = 6.283185307179586;
    const double radius = std::sqrt(-2.0 * std::log((words[0] + 1.0) * 0x1p-32));
    return mean + deviation * radius * std::cos(kTurn * (words[1] * 0x1p-32));
  }
};

struct Bernoulli {
  static double apply(const uint32_t *words, double probability, double) {
    return Uniform<53>::apply(words, 0.0, 1.0) < probability ? 1.0 : 0.0;
  }
};

/* The same with a probability for each element. */
void bernoulliLoop(const LoopArguments &arguments) {
  const Number *numbers = arguments.numbers;
  const Philox philox{static_cast<uint64_t>(numbers[0].integer), static_cast<uint64_t>(numbers[1].integer)};
  const double *probability = static_cast<const double *>(arguments.in[0]);
  double *out = static_cast<double *>(arguments.out);
  uint32_t words[4];
  for (int64_t i = 0; i < arguments.count; ++i) {
    const uint64_t element = static_cast<uint64_t>(arguments.first + i);
    if (i == 0 || element % 2 == 0) philox.block(element / 2, words);
    out[i] = Bernoulli::apply(words + element % 2 * 2, probability[i], 0.0);
  }
}
constexpr Loop kBernoulliTensor[] = {bernoulliLoop, bernoulliLoop};

/* selfRef, from, to, seed, offset */
aclnnStatus prepareUniform(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const double from = arguments[1].real, to = arguments[2].real;
  if (!(from <= to)) return refuse(executor, "from is %g and to is %g, expected from <= to", from, to);
  const aclDataType type = executor.operands[0].type;
  const Loop *loops = type == ACL_BF16      ? kRandomOf<Uniform<8>>
                      : type == ACL_FLOAT16 ? kRandomOf<Uniform<11>>
                      : type == ACL_FLOAT   ? kRandomOf<Uniform<24>>
                                            : kRandomOf<Uniform<53>>;
  return prepareRandom(executor, loops, from, to, static_cast<uint64_t>(arguments[3].integer),
                       static_cast<uint64_t>(arguments[4].integer));
}

/* selfRef, mean, std, seed, offset */
aclnnStatus prepareNormal(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const double deviation = arguments[2].real;
  if (!(deviation >= 0.0)) return refuse(executor, "std is %g, expected 0 or more", deviation);
  return prepareRandom(executor, kRandomOf<Normal>, arguments[1].real, deviation,
                       static_cast<uint64_t>(arguments[3].integer), static_cast<uint64_t>(arguments[4].integer));
}

/* mean, std, seed, offset, out */
aclnnStatus prepareNormalOut(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const double deviation = arguments[1].real;
  if (!(deviation >= 0.0)) return refuse(executor, "std is %g, expected 0 or more", deviation);
  return prepareRandom(executor, kRandomOf<Normal>, arguments[0].real, deviation,
                       static_cast<uint64_t>(arguments[2].integer), static_cast<uint64_t>(arguments[3].integer));
}

/* selfRef, prob, seed, offset */
aclnnStatus prepareBernoulli(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const double probability = executor.numbers[0].real;
  if (!(probability >= 0.0 && probability <= 1.0)) {
    return refuse(executor, "prob is %g, expected a value from 0 to 1", probability);
  }
  return prepareRandom(executor, kRandomOf<Bernoulli>, probability, 0.0, static_cast<uint64_t>(arguments[2].integer),
                       static_cast<uint64_t>(arguments[3].integer));
}

/* selfRef, prob, seed, offset */
aclnnStatus prepareBernoulliTensor(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Operand &out = executor.operands[0], &probability = executor.operands[1];
  Shape shape = shapeOf(out);
  if (!broadcastInto(&shape, probability) || requireShape(executor, out, shape) != ACLNN_SUCCESS) {
    return refuse(executor, "the shape of prob cannot be broadcast to that of selfRef");
  }
  const aclnnStatus status =
      prepareRandom(executor, kBernoulliTensor, 0.0, 0.0, static_cast<uint64_t>(arguments[2].integer),
                    static_cast<uint64_t>(arguments[3].integer));
  expandTo(&probability, shape);
  out.compute = probability.compute = kF64;
  executor.attributes[0] = kF64;
  executor.kernel = &kBernoulliTensor[kF64];
  return status;
}

}  // namespace

aclnnStatus prepareRandom(aclOpExecutor &executor, const Loop *loops, double first, double second, uint64_t seed,
                          uint64_t offset) {
  Operand &out = executor.operands[0];
  if (categoryOf(out.type) == kComplex) return refuseType(executor, out.type);
  const Compute compute = computeOf(out.type) == kF32 ? kF32 : kF64;
  executor.numbers[0] = {true, ACL_DOUBLE, static_cast<int64_t>(seed), first, 0.0};
  executor.numbers[1] = {true, ACL_DOUBLE, static_cast<int64_t>(offset), second, 0.0};
  executor.number_count = 2;
  out.role = kOut;
  executor.attributes[0] = compute;
  executor.kernel = &loops[compute];
  executor.run = runElementwise;
  return ACLNN_SUCCESS;
}

SIM_OP(aclnnInplaceUniform, prepareUniform, nullptr, 0)
SIM_OP(aclnnInplaceNormal, prepareNormal, nullptr, 0)
SIM_OP(aclnnNormalFloatFloat, prepareNormalOut, nullptr, 0)
SIM_OP(aclnnInplaceBernoulli, prepareBernoulli, nullptr, 0)
SIM_OP(aclnnInplaceBernoulliTensor, prepareBernoulliTensor, nullptr, 0)

}  // namespace sim
