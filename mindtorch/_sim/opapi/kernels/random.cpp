/* Filling with random numbers. */
#include "opapi/random.h"

#include <cmath>
#include <cstring>

#include "opapi/loops.h"

namespace sim {
namespace {

enum Attribute { kCompute, kInputs };

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
aclnnStatus prepareUniform(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const double from = arguments[1].real, to = arguments[2].real;
  if (!(from <= to)) return refuse(executor, "from is {} and to is {}, expected from <= to", from, to);
  const aclDataType type = executor.operands[0].type;
  const Loop *loops = type == ACL_BF16      ? kRandomOf<Uniform<8>>
                      : type == ACL_FLOAT16 ? kRandomOf<Uniform<11>>
                      : type == ACL_FLOAT   ? kRandomOf<Uniform<24>>
                                            : kRandomOf<Uniform<53>>;
  SIM_TRY(takeSeed(executor, arguments, 3, body.variant));
  return prepareRandom(executor, loops, from, to);
}

aclnnStatus prepareNormalNumbers(aclOpExecutor &executor, const Argument *arguments, int position, int64_t form) {
  const double mean = arguments[position].real, deviation = arguments[position + 1].real;
  if (!(deviation >= 0.0)) return refuse(executor, "std is {}, expected 0 or more", deviation);
  SIM_TRY(takeSeed(executor, arguments, position + 2, form));
  return prepareRandom(executor, kRandomOf<Normal>, mean, deviation);
}

/* selfRef, mean, std, seed, offset */
aclnnStatus prepareNormal(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  return prepareNormalNumbers(executor, arguments, 1, body.variant);
}

/* mean, std, seed, offset, out */
aclnnStatus prepareNormalOut(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  return prepareNormalNumbers(executor, arguments, 0, body.variant);
}

/* selfRef, prob, seed, offset */
aclnnStatus prepareBernoulli(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const double probability = executor.numbers[0].real;
  if (!(probability >= 0.0 && probability <= 1.0)) {
    return refuse(executor, "prob is {}, expected a value from 0 to 1", probability);
  }
  SIM_TRY(takeSeed(executor, arguments, 2, body.variant));
  return prepareRandom(executor, kRandomOf<Bernoulli>, probability, 0.0);
}

/* selfRef, prob, seed, offset */
aclnnStatus prepareBernoulliTensor(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  Operand &out = executor.operands[0], &probability = executor.operands[1];
  Shape shape = shapeOf(out);
  if (!broadcastInto(&shape, probability) || requireShape(executor, out, shape) != ACLNN_SUCCESS) {
    return refuse(executor, "the shape of prob cannot be broadcast to that of selfRef");
  }
  SIM_TRY(takeSeed(executor, arguments, 2, body.variant));
  SIM_TRY(prepareRandom(executor, kBernoulliTensor, 0.0, 0.0));
  expandTo(&probability, shape);
  out.compute = probability.compute = kF64;
  executor.attributes[kCompute] = kF64;
  executor.attributes[kInputs] = 1;
  executor.kernel = &kBernoulliTensor[kF64];
  return ACLNN_SUCCESS;
}

aclError runRandom(const aclOpExecutor &executor) {
  const Philox philox = philoxOf(executor);
  Number numbers[] = {executor.numbers[0], executor.numbers[1]};
  numbers[0].integer = static_cast<int64_t>(philox.seed);
  numbers[1].integer = static_cast<int64_t>(philox.offset);
  Operand out = executor.operands[0];
  out.compute = static_cast<uint8_t>(executor.attributes[kCompute]);
  const uint32_t inputs = static_cast<uint32_t>(executor.attributes[kInputs]);
  const Operand *input = inputs > 0 ? &executor.operands[1] : nullptr;
  runLoop(&input, inputs, out, *static_cast<const Loop *>(executor.kernel), numbers);
  return ACL_SUCCESS;
}

int64_t readNumber(const Operand &operand) {
  int64_t number;
  std::memcpy(&number, operand.host, sizeof number);
  return number;
}

}  // namespace

aclnnStatus takeSeed(aclOpExecutor &executor, const Argument *arguments, int position, int64_t form) {
  int64_t *kept = executor.attributes + kSeed;
  kept[2] = -1; /* the operand that is the tensor of the seed; the next is that of the offset */
  if (form == kNumbers) {
    kept[0] = arguments[position].integer;
    kept[1] = arguments[position + 1].integer;
    return ACLNN_SUCCESS;
  }
  kept[1] = arguments[position + 2].integer;
  for (uint32_t i = 0; i < executor.operands.size(); ++i) {
    const Operand &operand = executor.operands[i];
    if (operand.parameter != position && operand.parameter != position + 1) continue;
    if (operand.parameter == position) kept[2] = i;
    if (operand.count == 1) continue;
    return refuse(executor, "{} has {} elements, expected 1", operand, operand.count);
  }
  return ACLNN_SUCCESS;
}

Philox philoxOf(const aclOpExecutor &executor) {
  const int64_t *kept = executor.attributes + kSeed;
  Philox philox{static_cast<uint64_t>(kept[0]), static_cast<uint64_t>(kept[1])};
  if (kept[2] < 0) return philox;
  const uint32_t seed = static_cast<uint32_t>(kept[2]);
  philox.seed = static_cast<uint64_t>(readNumber(executor.operands[seed]));
  philox.offset += static_cast<uint64_t>(readNumber(executor.operands[seed + 1]));
  return philox;
}

aclnnStatus prepareRandom(aclOpExecutor &executor, const Loop *loops, double first, double second) {
  Operand &out = executor.operands[0];
  if (categoryOf(out.type) == kComplex) return refuseType(executor, out.type);
  const Compute compute = computeOf(out.type) == kF32 ? kF32 : kF64;
  executor.numbers[0] = {true, ACL_DOUBLE, 0, first, 0.0};
  executor.numbers[1] = {true, ACL_DOUBLE, 0, second, 0.0};
  executor.number_count = 2;
  out.role = kOut;
  executor.attributes[kCompute] = compute;
  executor.attributes[kInputs] = 0;
  executor.kernel = &loops[compute];
  executor.run = runRandom;
  return ACLNN_SUCCESS;
}

SIM_OP(aclnnInplaceUniform, prepareUniform, nullptr, kNumbers)
SIM_OP(aclnnInplaceUniformTensor, prepareUniform, nullptr, kTensors)
SIM_OP(aclnnInplaceNormal, prepareNormal, nullptr, kNumbers)
SIM_OP(aclnnInplaceNormalTensor, prepareNormal, nullptr, kTensors)
SIM_OP(aclnnNormalFloatFloat, prepareNormalOut, nullptr, kNumbers)
SIM_OP(aclnnInplaceBernoulli, prepareBernoulli, nullptr, kNumbers)
SIM_OP(aclnnInplaceBernoulliTensor, prepareBernoulliTensor, nullptr, kNumbers)

}  // namespace sim
