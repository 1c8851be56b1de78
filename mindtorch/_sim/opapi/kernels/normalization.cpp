/* Normalization over lines (layer and RMS norm), over groups of channels, and over one channel of all samples (batch
 * norm), forward and backward: the same formulas on other parts of the tensor. */
#include "opapi/kernels/normalization.h"

#include <algorithm>

#include "opapi/vector.h"

namespace sim {
namespace {

enum Attribute { kLeading, kChunk, kRun, kParts, kElements, kWeights, kCentred, kTraining, kMomentum, kEpsilon };

double realOf(const aclOpExecutor &executor, Attribute which) {
  double value;
  std::memcpy(&value, &executor.attributes[which], sizeof value);
  return value;
}

void keepReal(aclOpExecutor &executor, Attribute which, double value) {
  std::memcpy(&executor.attributes[which], &value, sizeof value);
}

/* The elements that are normalized together. */
Operand partOf(const aclOpExecutor &executor, const Operand &operand, int64_t index) {
  const int64_t chunk = executor.attributes[kChunk];
  Operand part = operand;
  int64_t offset = 0;
  if (chunk > 0) {
    const int64_t groups = operand.dims[1] / chunk;
    offset += index % groups * chunk * operand.strides[1];
    part.dims[1] = chunk;
    index /= groups;
  }
  for (int64_t dim = executor.attributes[kLeading]; dim-- > 0; index /= operand.dims[dim]) {
    offset += index % operand.dims[dim] * operand.strides[dim];
    part.dims[dim] = 1;
  }
  part.host += offset * operand.item;
  part.compute = kF64;
  return part;
}

/* Which weight goes with the first element of the part; the next one follows after `kRun` elements. */
int64_t firstWeight(const aclOpExecutor &executor, const Operand &operand, int64_t index) {
  const int64_t chunk = executor.attributes[kChunk];
  return chunk == 0 ? 0 : index % (operand.dims[1] / chunk) * chunk;
}

void readAll(const Operand &operand, double *values) {
  Cursor cursor(operand);
  for (int64_t first = 0, count; first < operand.count; first += count) {
    count = std::min(kBlock, operand.count - first);
    const void *block = cursor.read(values + first, count);
    if (block != values + first) std::memcpy(values + first, block, static_cast<size_t>(count) * sizeof(double));
  }
}

void writeAll(const Operand &operand, const double *values) {
  Cursor cursor(operand);
  for (int64_t first = 0, count; first < operand.count; first += count) {
    count = std::min(kBlock, operand.count - first);
    cursor.write(values + first, count);
  }
}

/* A vector of the call in double; `missing` everywhere where it is left out. */
void readVector(Operand operand, int64_t count, double missing, double *values) {
  if (operand.tensor == nullptr) {
    std::fill_n(values, count, missing);
    return;
  }
  operand.compute = kF64;
  readAll(operand, values);
}

void writeVector(Operand operand, const double *values) {
  if (operand.tensor == nullptr || operand.count == 0) return;
  operand.compute = kF64;
  writeAll(operand, values);
}

/* In parts side by side: one sum would wait for its own last step. */
template <class F>
SIM_INLINE double sumOf(int64_t count, F term) {
  constexpr int64_t kSums = 16;
  double sums[kSums] = {}, total = 0.0;
  int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int64_t k = 0; k < kSums; ++k) sums[k] += term(i + k);
  }
  for (double sum : sums) total += sum;
  for (; i < count; ++i) total += term(i);
  return total;
}

/* Without a mean (RMS norm) the variance is the mean of the squares; of nothing it is NaN, and the mean 0. */
struct Statistics {
  double mean, variance;
};

SIM_CLONES Statistics measure(const double *values, int64_t count, bool centred) {
  const double n = static_cast<double>(count);
  const double mean = centred && count > 0 ? sumOf(count, [=](int64_t i) { return values[i]; }) / n : 0.0;
  const double squares = sumOf(count, [=](int64_t i) { return (values[i] - mean) * (values[i] - mean); });
  return {mean, squares / n};
}

/* Weights and biases change after every `run` elements. */
SIM_CLONES void normalize(double *values, int64_t count, int64_t run, Statistics found, double reciprocal,
                          const double *weights, const double *biases) {
  const double mean = found.mean;
  if (run == 1) {
    SIM_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) values[i] = (values[i] - mean) * reciprocal * weights[i] + biases[i];
    return;
  }
  for (int64_t first = 0, at = 0; first < count; first += run, ++at) {
    double *part = values + first;
    const double weight = weights[at], bias = biases[at];
    for (int64_t i = 0; i < run; ++i) part[i] = (part[i] - mean) * reciprocal * weight + bias;
  }
}

/* input, weight, bias, running mean, running variance, output, mean, reciprocal deviation */
enum Forward { kInput, kWeight, kBias, kRunningMean, kRunningVariance, kOutput, kMean, kReciprocal };

struct Rooms {
  double *part, *weight, *bias, *mean, *reciprocal, *running_mean, *running_variance;
};

Rooms forwardRooms(const aclOpExecutor &executor) {
  Rooms rooms;
  const int64_t weights = executor.attributes[kWeights], parts = executor.attributes[kParts];
  rooms.part = reinterpret_cast<double *>(executor.workspace);
  rooms.weight = rooms.part + executor.attributes[kElements];
  rooms.bias = rooms.weight + weights;
  rooms.mean = rooms.bias + weights;
  rooms.reciprocal = rooms.mean + parts;
  rooms.running_mean = rooms.reciprocal + parts;
  rooms.running_variance = rooms.running_mean + parts;
  return rooms;
}

/* The statistics of the part, which move the running ones; or the running ones themselves. */
Statistics statisticsOf(const aclOpExecutor &executor, const Rooms &rooms, int64_t i, bool has_running) {
  if (executor.attributes[kTraining] == 0) return {rooms.running_mean[i], rooms.running_variance[i]};
  const int64_t count = executor.attributes[kElements];
  const Statistics found = measure(rooms.part, count, executor.attributes[kCentred] != 0);
  if (has_running) {
    const double momentum = realOf(executor, kMomentum), n = static_cast<double>(count);
    rooms.running_mean[i] += momentum * (found.mean - rooms.running_mean[i]);
    rooms.running_variance[i] += momentum * (found.variance * n / (n - 1) - rooms.running_variance[i]);
  }
  return found;
}

}  // namespace

aclError runNormalization(const aclOpExecutor &executor, const Operand &input) {
  const auto &operands = executor.operands;
  const int64_t *attributes = executor.attributes;
  const Rooms rooms = forwardRooms(executor);
  const bool has_running = operands[kRunningMean].tensor != nullptr;
  readVector(operands[kWeight], attributes[kWeights], 1.0, rooms.weight);
  readVector(operands[kBias], attributes[kWeights], 0.0, rooms.bias);
  if (has_running) readVector(operands[kRunningMean], attributes[kParts], 0.0, rooms.running_mean);
  if (has_running) readVector(operands[kRunningVariance], attributes[kParts], 1.0, rooms.running_variance);
  for (int64_t i = 0; i < attributes[kParts]; ++i) {
    Operand in = partOf(executor, input, i), out = partOf(executor, operands[kOutput], i);
    in.count = out.count = attributes[kElements];
    readAll(in, rooms.part);
    const Statistics found = statisticsOf(executor, rooms, i, has_running);
    rooms.mean[i] = found.mean;
    rooms.reciprocal[i] = 1.0 / std::sqrt(found.variance + realOf(executor, kEpsilon));
    const int64_t first = firstWeight(executor, input, i);
    normalize(rooms.part, in.count, attributes[kRun], found, rooms.reciprocal[i], rooms.weight + first,
              rooms.bias + first);
    writeAll(out, rooms.part);
  }
  if (attributes[kTraining] != 0 && has_running) {
    writeVector(operands[kRunningMean], rooms.running_mean);
    writeVector(operands[kRunningVariance], rooms.running_variance);
  }
  writeVector(operands[kMean], rooms.mean);
  writeVector(operands[kReciprocal], rooms.reciprocal);
  return ACL_SUCCESS;
}

namespace {

/* gradient, input, mean, reciprocal deviation, weight, and the gradients of input, weight and bias */
enum Backward { kGrad, kGradInput, kGradMean, kGradReciprocal, kGradWeight, kOfInput, kOfWeight, kOfBias };

/* What a part knows of itself, and where its weights begin. */
struct Part {
  int64_t count, run;
  double mean, reciprocal;
  const double *weights;
  double *of_weight, *of_bias;
};

/* Adds to the gradients of weight and bias, and weighs those in `grads`. */
SIM_CLONES void weighGradients(const Part &part, const double *values, double *grads) {
  const double mean = part.mean, reciprocal = part.reciprocal;
  if (part.run == 1) {
    const double *weights = part.weights;
    double *of_weight = part.of_weight, *of_bias = part.of_bias;
    SIM_INDEPENDENT
    for (int64_t i = 0; i < part.count; ++i) {
      of_weight[i] += grads[i] * ((values[i] - mean) * reciprocal);
      of_bias[i] += grads[i];
      grads[i] *= weights[i];
    }
    return;
  }
  for (int64_t first = 0, at = 0; first < part.count; first += part.run, ++at) {
    const double *x = values + first;
    double *g = grads + first;
    part.of_weight[at] += sumOf(part.run, [=](int64_t i) { return g[i] * ((x[i] - mean) * reciprocal); });
    part.of_bias[at] += sumOf(part.run, [=](int64_t i) { return g[i]; });
    for (int64_t i = 0; i < part.run; ++i) g[i] *= part.weights[at];
  }
}

/* The gradient of the part's elements, of `grads`, which are weighed. */
SIM_CLONES void partBackward(const Part &part, bool centred, const double *values, double *grads) {
  const double mean = part.mean, reciprocal = part.reciprocal, n = static_cast<double>(part.count);
  const double product = sumOf(part.count, [=](int64_t i) { return grads[i] * ((values[i] - mean) * reciprocal); });
  const double taken = centred ? sumOf(part.count, [=](int64_t i) { return grads[i]; }) / n : 0.0;
  const double slope = product / n;
  for (int64_t i = 0; i < part.count; ++i) {
    grads[i] = reciprocal * (grads[i] - taken - (values[i] - mean) * reciprocal * slope);
  }
}

}  // namespace

aclError runNormalizationBackward(const aclOpExecutor &executor, const Operand &input) {
  const auto &operands = executor.operands;
  const int64_t *attributes = executor.attributes;
  const int64_t weights = attributes[kWeights], parts = attributes[kParts], elements = attributes[kElements];
  double *values = reinterpret_cast<double *>(executor.workspace), *grads = values + elements;
  double *weight = grads + elements, *of_weight = weight + weights, *of_bias = of_weight + weights;
  double *mean = of_bias + weights, *reciprocal = mean + parts;
  readVector(operands[kGradWeight], weights, 1.0, weight);
  readVector(operands[kGradMean], parts, 0.0, mean);
  readVector(operands[kGradReciprocal], parts, 1.0, reciprocal);
  if (attributes[kTraining] == 0) { /* a variance is given */
    for (int64_t i = 0; i < parts; ++i) reciprocal[i] = 1.0 / std::sqrt(reciprocal[i] + realOf(executor, kEpsilon));
  }
  std::fill_n(of_weight, 2 * weights, 0.0);
  for (int64_t i = 0; i < parts; ++i) {
    Operand grad = partOf(executor, operands[kGrad], i), in = partOf(executor, input, i);
    grad.count = in.count = elements;
    readAll(grad, grads);
    readAll(in, values);
    const int64_t first = firstWeight(executor, input, i);
    const Part part = {elements,       attributes[kRun],  mean[i],        reciprocal[i],
                       weight + first, of_weight + first, of_bias + first};
    weighGradients(part, values, grads);
    if (operands[kOfInput].tensor == nullptr) continue;
    if (attributes[kTraining] != 0) {
      partBackward(part, attributes[kCentred] != 0, values, grads);
    } else { /* statistics that do not depend on the input */
      for (int64_t k = 0; k < elements; ++k) grads[k] *= reciprocal[i];
    }
    Operand out = partOf(executor, operands[kOfInput], i);
    out.count = elements;
    writeAll(out, grads);
  }
  writeVector(operands[kOfWeight], of_weight);
  writeVector(operands[kOfBias], of_bias);
  return ACL_SUCCESS;
}

namespace {

aclError runForward(const aclOpExecutor &executor) { return runNormalization(executor, executor.operands[kInput]); }

aclError runBackward(const aclOpExecutor &executor) {
  return runNormalizationBackward(executor, executor.operands[kGradInput]);
}

aclnnStatus requireSize(const aclOpExecutor &executor, const Operand &operand, int64_t count) {
  if (operand.tensor == nullptr || operand.count == count) return ACLNN_SUCCESS;
  return refuse(executor, "{} has {} elements, expected {}", operand, operand.count, count);
}

aclnnStatus requireSizes(const aclOpExecutor &executor, std::initializer_list<int> which, int64_t count) {
  for (int index : which) {
    SIM_TRY(requireSize(executor, executor.operands[static_cast<uint32_t>(index)], count));
  }
  return ACLNN_SUCCESS;
}

}  // namespace

int64_t productOf(const Operand &operand, int32_t from, int32_t to) {
  int64_t count = 1;
  for (int32_t i = from; i < to; ++i) count *= operand.dims[i];
  return count;
}

static const Operand kAbsent = {};

void arrange(aclOpExecutor &executor, std::initializer_list<int> order) {
  SmallArray<Operand, 12> given;
  for (const Operand &operand : executor.operands) given.push() = operand;
  executor.operands.clear();
  for (int index : order) executor.operands.push() = index < 0 ? kAbsent : given[static_cast<uint32_t>(index)];
}

Parts linesOf(const Operand &input, int32_t dims) {
  const int32_t leading = input.rank - dims;
  const int64_t elements = productOf(input, leading, input.rank);
  return {leading, 0, 1, productOf(input, 0, leading), elements, elements};
}

NormOptions rmsOptions(double epsilon) {
  NormOptions options;
  options.epsilon = epsilon;
  options.centred = false;
  return options;
}

aclnnStatus planForward(aclOpExecutor &executor, const Parts &parts, const NormOptions &options) {
  const auto &operands = executor.operands;
  SIM_TRY(requireShape(executor, operands[kOutput], shapeOf(operands[kInput])));
  SIM_TRY(requireSizes(executor, {kWeight, kBias}, parts.weights));
  SIM_TRY(requireSizes(executor, {kRunningMean, kRunningVariance}, parts.count));
  if (options.training) {
    SIM_TRY(requireSizes(executor, {kMean, kReciprocal}, parts.count));
  }
  if (!options.training && (operands[kRunningMean].tensor == nullptr || operands[kRunningVariance].tensor == nullptr)) {
    return refuse(executor, "neither training nor running statistics");
  }
  keepParts(executor, parts, options);
  executor.run = runForward;
  executor.workspace_size =
      roundUp(static_cast<uint64_t>(parts.elements + 2 * parts.weights + 4 * parts.count) * sizeof(double));
  return ACLNN_SUCCESS;
}

aclnnStatus planBackward(aclOpExecutor &executor, const Parts &parts, const NormOptions &options) {
  const auto &operands = executor.operands;
  const Shape shape = shapeOf(operands[kGradInput]);
  SIM_TRY(requireShape(executor, operands[kGrad], shape));
  if (operands[kOfInput].tensor != nullptr) {
    SIM_TRY(requireShape(executor, operands[kOfInput], shape));
  }
  SIM_TRY(requireSizes(executor, {kGradMean, kGradReciprocal}, parts.count));
  SIM_TRY(requireSizes(executor, {kGradWeight, kOfWeight, kOfBias}, parts.weights));
  keepParts(executor, parts, options);
  executor.run = runBackward;
  executor.workspace_size =
      roundUp(static_cast<uint64_t>(2 * parts.elements + 3 * parts.weights + 2 * parts.count) * sizeof(double));
  return ACLNN_SUCCESS;
}

void keepParts(aclOpExecutor &executor, const Parts &parts, const NormOptions &options) {
  int64_t *attributes = executor.attributes;
  attributes[kLeading] = parts.leading;
  attributes[kChunk] = parts.chunk;
  attributes[kRun] = std::max<int64_t>(parts.run, 1);
  attributes[kParts] = parts.count;
  attributes[kElements] = parts.elements;
  attributes[kWeights] = parts.weights;
  attributes[kCentred] = options.centred;
  attributes[kTraining] = options.training;
  keepReal(executor, kMomentum, options.momentum);
  keepReal(executor, kEpsilon, options.epsilon);
}

}  // namespace sim
