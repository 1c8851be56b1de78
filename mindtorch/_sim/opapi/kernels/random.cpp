/* Filling with random numbers. */
#include "opapi/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "opapi/loops.h"
#include "opapi/scan_sort.h"

namespace sim {
namespace {

enum Attribute { kCompute, kInputs, kFrom, kTo, kReplacement };

/* Uses as many random bits as the type has mantissa digits, so that the result is never rounded up to 1. */
template <int Digits>
struct Uniform {
  static double apply(const uint32_t *words, double from, double to) {
    constexpr double kUnit = 1.0 / static_cast<double>(1ull << Digits);
    const uint64_t word = uint64_t{words[0]} << 32 | words[1];
    return from + static_cast<double>(word >> (64 - Digits)) * kUnit * (to - from);
  }
};

/* Box-Muller transform; the logarithm is taken of (0, 1]. */
struct Normal {
  static double apply(const uint32_t *words, double mean, double deviation) {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2.0 * std::log((words[0] + 1.0) * 0x1p-32));
    return mean + deviation * radius * std::cos(kTwoPi * (words[1] * 0x1p-32));
  }
};

struct Bernoulli {
  static double apply(const uint32_t *words, double probability, double) {
    return Uniform<53>::apply(words, 0.0, 1.0) < probability ? 1.0 : 0.0;
  }
};

/* The same with a probability for each element. */
void bernoulliLoop(const LoopArguments &arguments) {
  const Scalar *scalars = arguments.scalars;
  const Philox philox{static_cast<uint64_t>(scalars[0].integer), static_cast<uint64_t>(scalars[1].integer)};
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
  const double probability = executor.scalars[0].real;
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
  Scalar scalars[] = {executor.scalars[0], executor.scalars[1]};
  scalars[0].integer = static_cast<int64_t>(philox.seed);
  scalars[1].integer = static_cast<int64_t>(philox.offset);
  Operand out = executor.operands[0];
  out.compute = static_cast<uint8_t>(executor.attributes[kCompute]);
  const uint32_t inputs = static_cast<uint32_t>(executor.attributes[kInputs]);
  const Operand *input = inputs > 0 ? &executor.operands[1] : nullptr;
  runLoop(&input, inputs, out, *static_cast<const Loop *>(executor.kernel), scalars);
  return ACL_SUCCESS;
}

int64_t readScalar(const Operand &operand) {
  int64_t number;
  std::memcpy(&number, operand.host, sizeof number);
  return number;
}

}  // namespace

aclnnStatus takeSeed(aclOpExecutor &executor, const Argument *arguments, int position, int64_t form) {
  int64_t *kept = executor.attributes + kSeed;
  kept[2] = -1; /* the operand that is the tensor of the seed; the next is that of the offset */
  if (form == kScalars) {
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
  philox.seed = static_cast<uint64_t>(readScalar(executor.operands[seed]));
  philox.offset += static_cast<uint64_t>(readScalar(executor.operands[seed + 1]));
  return philox;
}

aclnnStatus prepareRandom(aclOpExecutor &executor, const Loop *loops, double first, double second) {
  Operand &out = executor.operands[0];
  if (categoryOf(out.type) == kComplex) return refuseType(executor, out.type);
  const Compute compute = computeOf(out.type) == kF32 ? kF32 : kF64;
  executor.scalars[0] = {true, ACL_DOUBLE, 0, first, 0.0};
  executor.scalars[1] = {true, ACL_DOUBLE, 0, second, 0.0};
  executor.scalar_count = 2;
  out.role = kOut;
  executor.attributes[kCompute] = compute;
  executor.attributes[kInputs] = 0;
  executor.kernel = &loops[compute];
  executor.run = runRandom;
  return ACLNN_SUCCESS;
}

SIM_OP(aclnnInplaceUniform, prepareUniform, nullptr, kScalars)
SIM_OP(aclnnInplaceUniformTensor, prepareUniform, nullptr, kTensors)
SIM_OP(aclnnInplaceNormal, prepareNormal, nullptr, kScalars)
SIM_OP(aclnnInplaceNormalTensor, prepareNormal, nullptr, kTensors)
SIM_OP(aclnnNormalFloatFloat, prepareNormalOut, nullptr, kScalars)
SIM_OP(aclnnInplaceBernoulli, prepareBernoulli, nullptr, kScalars)
SIM_OP(aclnnInplaceBernoulliTensor, prepareBernoulliTensor, nullptr, kScalars)

/* Random integers, permutations and samples of weighted choices. */

namespace {

/* The 64 bits of an element. */
uint64_t wordOf(const Philox &philox, uint64_t element) {
  uint32_t words[4];
  philox.block(element / 2, words);
  return uint64_t{words[element % 2 * 2]} << 32 | words[element % 2 * 2 + 1];
}

double unitOf(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/* Converts integers in place to double if the output is floating. */
void toCompute(int64_t *values, int64_t count, uint8_t compute) {
  double *reals = reinterpret_cast<double *>(values);
  for (int64_t i = 0; compute == kF64 && i < count; ++i) {
    const double real = static_cast<double>(values[i]);
    new (&reals[i]) double(real);
  }
}

uint8_t integerCompute(aclDataType type) { return categoryOf(type) == kFloating ? kF64 : kI64; }

aclError runRandomInteger(const aclOpExecutor &executor) {
  const Philox philox = philoxOf(executor);
  const int64_t from = executor.attributes[kFrom];
  const uint64_t range = static_cast<uint64_t>(executor.attributes[kTo]) - static_cast<uint64_t>(from);
  Operand out = executor.operands[0];
  out.compute = static_cast<uint8_t>(executor.attributes[kCompute]);
  Cursor output(out);
  alignas(64) int64_t values[kBlock];
  for (int64_t first = 0; first < out.count; first += kBlock) {
    const int64_t count = std::min(kBlock, out.count - first);
    for (int64_t i = 0; i < count; ++i) {
      values[i] = add(from, static_cast<int64_t>(wordOf(philox, static_cast<uint64_t>(first + i)) % range));
    }
    toCompute(values, count, out.compute);
    output.write(values, count);
  }
  return ACL_SUCCESS;
}

/* selfRef, from, to, seed, offset */
aclnnStatus prepareRandomInteger(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  Operand &out = executor.operands[0];
  if (categoryOf(out.type) == kComplex) return refuseType(executor, out.type);
  if (arguments[1].integer >= arguments[2].integer) {
    return refuse(executor, "from is {} and to is {}, expected from < to", arguments[1].integer, arguments[2].integer);
  }
  executor.attributes[kFrom] = arguments[1].integer;
  executor.attributes[kTo] = arguments[2].integer;
  executor.attributes[kCompute] = integerCompute(out.type);
  out.role = kOut;
  executor.run = runRandomInteger;
  return takeSeed(executor, arguments, 3, body.variant);
}

/* Fisher-Yates shuffle. */
aclError runPermutation(const aclOpExecutor &executor) {
  const Philox philox = philoxOf(executor);
  const uint8_t compute = static_cast<uint8_t>(executor.attributes[kCompute]);
  SliceCursor out(executor.operands[0], 0, compute);
  int64_t *values = reinterpret_cast<int64_t *>(executor.workspace);
  const int64_t count = out.length();
  for (int64_t i = 0; i < count; ++i) values[i] = i;
  for (int64_t i = 0; i + 1 < count; ++i) {
    const uint64_t word = wordOf(philox, static_cast<uint64_t>(i));
    std::swap(values[i], values[i + static_cast<int64_t>(word % static_cast<uint64_t>(count - i))]);
  }
  toCompute(values, count, compute);
  out.write(values);
  return ACL_SUCCESS;
}

/* n, seed, offset, out */
aclnnStatus prepareRandperm(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &out = executor.operands[0];
  if (out.rank != 1 || out.dims[0] != arguments[0].integer) {
    return refuse(executor, "out has {} elements in {} dimensions, expected n, which is {}, in one", out.count,
                  out.rank, arguments[0].integer);
  }
  executor.attributes[kCompute] = integerCompute(out.type);
  executor.run = runPermutation;
  executor.workspace_size = roundUp(static_cast<uint64_t>(out.count) * sizeof(int64_t));
  return takeSeed(executor, arguments, 1, body.variant);
}

/* Samples an index with probabilities proportional to the weights. */
int64_t chooseOne(const double *weights, int64_t length, double unit) {
  double total = 0.0;
  for (int64_t i = 0; i < length; ++i) total += weights[i];
  double left = unit * total;
  int64_t last = 0;
  for (int64_t i = 0; i < length; ++i) {
    if (weights[i] <= 0.0) continue;
    last = i;
    left -= weights[i];
    if (left < 0.0) break;
  }
  return last;
}

aclError runMultinomial(const aclOpExecutor &executor) {
  const Philox philox = philoxOf(executor);
  const Operand &in = executor.operands[0], &out = firstOut(executor);
  SliceCursor weights(in, in.rank - 1, kF64), chosen(out, out.rank - 1, kI64);
  double *line = reinterpret_cast<double *>(executor.workspace);
  int64_t *samples = reinterpret_cast<int64_t *>(line + weights.length());
  uint64_t element = 0;
  for (int64_t row = out.count / chosen.length(); row > 0; --row, weights.next(), chosen.next()) {
    weights.read(line);
    for (int64_t i = 0; i < chosen.length(); ++i) {
      samples[i] = chooseOne(line, weights.length(), unitOf(wordOf(philox, element++)));
      if (executor.attributes[kReplacement] == 0) line[samples[i]] = 0.0;
    }
    chosen.write(samples);
  }
  return ACL_SUCCESS;
}

/* self, numsamples, replacement, seed, offset, out */
aclnnStatus prepareMultinomial(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &in = executor.operands[0], &out = firstOut(executor);
  const int64_t samples = arguments[1].integer;
  if (in.rank < 1 || in.rank > 2) return refuse(executor, "self has {} dimensions, expected 1 or 2", in.rank);
  const int64_t length = in.dims[in.rank - 1];
  if (samples < 1 || (arguments[2].integer == 0 && samples > length)) {
    return refuse(executor, "numsamples is {}, expected 1 to {}", samples, length);
  }
  Shape shape = shapeOf(in);
  shape.dims[in.rank - 1] = samples;
  SIM_TRY(requireShape(executor, out, shape));
  executor.attributes[kReplacement] = arguments[2].integer;
  executor.run = runMultinomial;
  executor.workspace_size = roundUp(static_cast<uint64_t>(length + samples) * sizeof(double));
  return takeSeed(executor, arguments, 3, body.variant);
}

struct Exponential {
  static double apply(const uint32_t *words, double rate, double) {
    return -std::log1p(-unitOf(uint64_t{words[0]} << 32 | words[1])) / rate;
  }
};

/* selfRef, count, lambda, seed, offset */
aclnnStatus prepareExponential(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  if (arguments[1].integer != executor.operands[0].count) {
    return refuse(executor, "count is {}, expected the elements of selfRef, which are {}", arguments[1].integer,
                  executor.operands[0].count);
  }
  if (!(arguments[2].real > 0.0)) return refuse(executor, "lambda is {}, expected more than 0", arguments[2].real);
  SIM_TRY(takeSeed(executor, arguments, 3, body.variant));
  return prepareRandom(executor, kRandomOf<Exponential>, arguments[2].real, 0.0);
}

/* The random bits of a uniform number, as in aclnnInplaceUniform. */
int digitsOf(aclDataType type) { return type == ACL_BF16 ? 8 : type == ACL_FLOAT16 ? 11 : type == ACL_FLOAT ? 24 : 53; }

/* noise is the slope: random where self <= 0, else 1, and rounded to its data type. */
aclError runRRelu(const aclOpExecutor &executor) {
  const Philox philox = philoxOf(executor);
  const double lower = executor.scalars[0].real, range = executor.scalars[1].real - lower;
  Operand self = executor.operands[0], noise = executor.operands[1];
  Operand out = executor.operands[2];
  const int digits = digitsOf(noise.type);
  self.compute = noise.compute = out.compute = kF64;
  Cursor values(self), slopes(noise), rounded(noise), target(out);
  alignas(64) double block[kBlock], drawn[kBlock];
  for (int64_t first = 0; first < self.count; first += kBlock) {
    const int64_t count = std::min(kBlock, self.count - first);
    const double *x = static_cast<const double *>(values.read(block, count));
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t bits = wordOf(philox, static_cast<uint64_t>(first + i)) >> (64 - digits);
      drawn[i] = x[i] <= 0.0 ? lower + std::ldexp(static_cast<double>(bits), -digits) * range : 1.0;
    }
    slopes.write(drawn, count);
    const double *slope = static_cast<const double *>(rounded.read(drawn, count));
    double results[kBlock];
    for (int64_t i = 0; i < count; ++i) results[i] = x[i] * slope[i];
    target.write(results, count);
  }
  return ACL_SUCCESS;
}

/* self, noise, lower, upper, training, seed, offset, out; only in training are the slopes random */
aclnnStatus prepareRRelu(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &self = executor.operands[0], &noise = executor.operands[1], &out = executor.operands[2];
  const double lower = executor.scalars[0].real, upper = executor.scalars[1].real;
  if (!(lower <= upper)) return refuse(executor, "lower is {} and upper is {}, expected lower <= upper", lower, upper);
  if (arguments[4].integer == 0) return refuse(executor, "training is false, this kernel has it true only");
  SIM_TRY(requireShape(executor, noise, shapeOf(self)));
  SIM_TRY(requireShape(executor, out, shapeOf(self)));
  SIM_TRY(requireCast(executor, self.type, out));
  if (noise.type != self.type) return refuseType(executor, noise.type);
  executor.run = runRRelu;
  return takeSeed(executor, arguments, 5, body.variant);
}

}  // namespace

SIM_OP(aclnnInplaceRandom, prepareRandomInteger, nullptr, kScalars)
SIM_OP(aclnnInplaceRandomTensor, prepareRandomInteger, nullptr, kTensors)
SIM_OP(aclnnRandperm, prepareRandperm, nullptr, kScalars)
SIM_OP(aclnnMultinomial, prepareMultinomial, nullptr, kScalars)
SIM_OP(aclnnMultinomialTensor, prepareMultinomial, nullptr, kTensors)
SIM_OP(aclnnSimThreadExponential, prepareExponential, nullptr, kScalars)
SIM_OP(aclnnRReluWithNoise, prepareRRelu, nullptr, kScalars)

/* Dropout in two operators: a mask of one bit for each element, lowest bit first, and its application. */

namespace {

constexpr int64_t kMaskBits = 128; /* the mask has a multiple of as many */

int64_t maskBytes(int64_t elements) { return (elements + kMaskBits - 1) / kMaskBits * (kMaskBits / 8); }

/* out: a bit is 1 with the probability 1 - prob. */
aclError runGenerate(const aclOpExecutor &executor) {
  const Philox philox = philoxOf(executor);
  const double drop = executor.scalars[0].real;
  Operand out = firstOut(executor);
  out.compute = kI64;
  Cursor target(out);
  for (int64_t byte = 0; byte < out.count; ++byte) {
    uint32_t words[8];
    int64_t bits = 0;
    philox.blocks<2>(2 * static_cast<uint64_t>(byte), words);
    for (int bit = 0; bit < 8; ++bit) bits |= static_cast<int64_t>(words[bit] * 0x1p-32 >= drop) << bit;
    target.write(&bits, 1);
  }
  return ACL_SUCCESS;
}

aclnnStatus checkProbability(const aclOpExecutor &executor, double drop) {
  if (drop >= 0.0 && drop <= 1.0) return ACLNN_SUCCESS;
  return refuse(executor, "prob is {}, expected a value from 0 to 1", drop);
}

/* shape, prob, seed, offset, probDataType, out */
aclnnStatus prepareGenerate(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const aclIntArray *shape = static_cast<const aclIntArray *>(arguments[0].pointer);
  int64_t elements = 1;
  for (uint64_t i = 0; i < shape->size; ++i) {
    if (shape->items[i] < 0) return refuse(executor, "a dimension below 0 in shape");
    elements *= shape->items[i];
  }
  Shape bytes = {1, {maskBytes(elements)}};
  SIM_TRY(checkProbability(executor, arguments[1].real));
  SIM_TRY(requireShape(executor, firstOut(executor), bytes));
  SIM_TRY(takeSeed(executor, arguments, 2, body.variant));
  executor.scalars[0] = {true, ACL_DOUBLE, 0, arguments[1].real, 0.0};
  executor.run = runGenerate;
  return ACLNN_SUCCESS;
}

/* self, mask, out: kept elements are divided by the probability to be kept. */
aclError runApply(const aclOpExecutor &executor) {
  Operand self = executor.operands[0], mask = executor.operands[1], out = executor.operands[2];
  self.compute = out.compute = kF64;
  mask.compute = kI64;
  const double keep = 1.0 - executor.scalars[0].real;
  Cursor values(self), bytes(mask), target(out);
  double block[8];
  for (int64_t first = 0; first < self.count; first += 8) {
    const int64_t count = std::min<int64_t>(8, self.count - first);
    int64_t buffer;
    const int64_t bits = *static_cast<const int64_t *>(bytes.read(&buffer, 1));
    const double *x = static_cast<const double *>(values.read(block, count));
    double kept[8];
    for (int64_t i = 0; i < count; ++i) kept[i] = (bits >> i & 1) != 0 ? x[i] / keep : 0.0;
    target.write(kept, count);
  }
  return ACL_SUCCESS;
}

/* self, mask, prob, out */
aclnnStatus prepareApply(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[0], &mask = executor.operands[1], &out = executor.operands[2];
  SIM_TRY(checkProbability(executor, arguments[2].real));
  SIM_TRY(requireShape(executor, out, shapeOf(self)));
  SIM_TRY(requireCast(executor, self.type, out));
  if (mask.count < maskBytes(self.count)) {
    SIM_TRY(refuse(executor, "mask has {} bytes, expected {}", mask.count, maskBytes(self.count)));
  }
  executor.scalars[0] = {true, ACL_DOUBLE, 0, arguments[2].real, 0.0};
  executor.run = runApply;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnDropoutGenMaskV2, prepareGenerate, nullptr, kScalars)
SIM_OP(aclnnDropoutGenMaskV2Tensor, prepareGenerate, nullptr, kTensors)
SIM_OP(aclnnDropoutDoMask, prepareApply, nullptr, 0)

}  // namespace sim
