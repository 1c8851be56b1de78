/* Random integers, permutations and samples of weighted choices. */
#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "opapi/lines.h"
#include "opapi/random.h"

namespace sim {
namespace {

enum Attribute { kFrom, kTo, kCompute, kReplacement };

/* The 64 bits of an element. */
uint64_t wordOf(const Philox &philox, uint64_t element) {
  uint32_t words[4];
  philox.block(element / 2, words);
  return uint64_t{words[element % 2 * 2]} << 32 | words[element % 2 * 2 + 1];
}

double unitOf(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

/* Integers on their way to memory of a floating type become doubles, which take the same room. */
void toCompute(int64_t *values, int64_t count, uint8_t compute) {
  double *reals = reinterpret_cast<double *>(values);
  for (int64_t i = 0; compute == kF64 && i < count; ++i) {
    const double real = static_cast<double>(values[i]);
    new (&reals[i]) double(real);
  }
}

uint8_t integerCompute(aclDataType type) { return categoryOf(type) == kFloating ? kF64 : kI64; }

aclError runRandom(const aclOpExecutor &executor) {
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
  executor.run = runRandom;
  return takeSeed(executor, arguments, 3, body.variant);
}

/* Fisher and Yates: every place gets one of those not yet given away. */
aclError runPermutation(const aclOpExecutor &executor) {
  const Philox philox = philoxOf(executor);
  const uint8_t compute = static_cast<uint8_t>(executor.attributes[kCompute]);
  LineCursor out(executor.operands[0], 0, compute);
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

/* A choice by weights, which stay as they are. */
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
  LineCursor weights(in, in.rank - 1, kF64), chosen(out, out.rank - 1, kI64);
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

/* Of as many leading bits as the type has digits, as aclnnInplaceUniform draws. */
int digitsOf(aclDataType type) { return type == ACL_BF16 ? 8 : type == ACL_FLOAT16 ? 11 : type == ACL_FLOAT ? 24 : 53; }

/* noise is the slope: drawn where self is not positive, else 1; as its type holds it, it is what self is multiplied by.
 */
aclError runRRelu(const aclOpExecutor &executor) {
  const Philox philox = philoxOf(executor);
  const double lower = executor.numbers[0].real, range = executor.numbers[1].real - lower;
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
  const double lower = executor.numbers[0].real, upper = executor.numbers[1].real;
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

SIM_OP(aclnnInplaceRandom, prepareRandomInteger, nullptr, kNumbers)
SIM_OP(aclnnInplaceRandomTensor, prepareRandomInteger, nullptr, kTensors)
SIM_OP(aclnnRandperm, prepareRandperm, nullptr, kNumbers)
SIM_OP(aclnnMultinomial, prepareMultinomial, nullptr, kNumbers)
SIM_OP(aclnnMultinomialTensor, prepareMultinomial, nullptr, kTensors)
SIM_OP(aclnnSimThreadExponential, prepareExponential, nullptr, kNumbers)
SIM_OP(aclnnRReluWithNoise, prepareRRelu, nullptr, kNumbers)

}  // namespace sim
