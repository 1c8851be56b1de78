/* Layer, RMS, group and batch norm, forward and backward: the same formulas over different groups of elements. */
#include <algorithm>
#include <initializer_list>

#include "opapi/loops.h"

namespace sim {
namespace {

struct NormLayout {
  int64_t leading;  /* dimensions from the first on, of which each index makes layout of its own */
  int64_t chunk;    /* channels (dimension 1) of a part; 0: channels are not told apart */
  int64_t run;      /* neighbouring elements of a part with the same weight */
  int64_t count;    /* layout */
  int64_t elements; /* of one part */
  int64_t weights;  /* elements of weight and bias */
};

struct NormOptions {
  double epsilon = 0.0;
  bool training = true; /* false: the running statistics are used */
  double momentum = 0.0;
  bool centred = true;   /* the mean is subtracted */
  bool from_one = false; /* 1 is added to the weights */
};

enum Attribute {
  kLeading,
  kChunk,
  kRun,
  kGroups,
  kElements,
  kWeights,
  kCentred,
  kTraining,
  kMomentum,
  kEpsilon,
  kFromOne
};

double realOf(const aclOpExecutor &executor, Attribute which) {
  double value;
  std::memcpy(&value, &executor.attributes[which], sizeof value);
  return value;
}

void keepReal(aclOpExecutor &executor, Attribute which, double value) {
  std::memcpy(&executor.attributes[which], &value, sizeof value);
}

/* The elements of one group. */
Operand groupOf(const aclOpExecutor &executor, const Operand &operand, int64_t index) {
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

/* A vector of the call in double; `missing` everywhere where it is left out. */
void readVector(Operand operand, int64_t count, double missing, double *values) {
  if (operand.tensor == nullptr) {
    std::fill_n(values, count, missing);
    return;
  }
  readElements(operand, values);
}

void writeVector(Operand operand, const double *values) {
  if (operand.tensor == nullptr || operand.count == 0) return;
  writeElements(operand, values);
}

/* In layout side by side: one sum would wait for its own last step. */
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

/* Without centring (RMS norm) the variance is the mean of the squares. An empty group has the mean 0 and the variance
 * NaN. */
struct Statistics {
  double mean, variance;
};

SIM_CLONES Statistics statisticsOfGroup(const double *values, int64_t count, bool centred) {
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

struct Buffers {
  double *part, *weight, *bias, *mean, *reciprocal, *running_mean, *running_variance;
};

Buffers forwardBuffers(const aclOpExecutor &executor) {
  Buffers buffers;
  const int64_t weights = executor.attributes[kWeights], layout = executor.attributes[kGroups];
  buffers.part = reinterpret_cast<double *>(executor.workspace);
  buffers.weight = buffers.part + executor.attributes[kElements];
  buffers.bias = buffers.weight + weights;
  buffers.mean = buffers.bias + weights;
  buffers.reciprocal = buffers.mean + layout;
  buffers.running_mean = buffers.reciprocal + layout;
  buffers.running_variance = buffers.running_mean + layout;
  return buffers;
}

/* The statistics of the group, which update the running ones in training; otherwise the running statistics. */
Statistics statisticsOf(const aclOpExecutor &executor, const Buffers &buffers, int64_t i, bool has_running) {
  if (executor.attributes[kTraining] == 0) return {buffers.running_mean[i], buffers.running_variance[i]};
  const int64_t count = executor.attributes[kElements];
  const Statistics found = statisticsOfGroup(buffers.part, count, executor.attributes[kCentred] != 0);
  if (has_running) {
    const double momentum = realOf(executor, kMomentum), n = static_cast<double>(count);
    buffers.running_mean[i] += momentum * (found.mean - buffers.running_mean[i]);
    buffers.running_variance[i] += momentum * (found.variance * n / (n - 1) - buffers.running_variance[i]);
  }
  return found;
}

aclError runNormalization(const aclOpExecutor &executor, const Operand &input) {
  const auto &operands = executor.operands;
  const int64_t *attributes = executor.attributes;
  const Buffers buffers = forwardBuffers(executor);
  const bool has_running = operands[kRunningMean].tensor != nullptr;
  readVector(operands[kWeight], attributes[kWeights], 1.0, buffers.weight);
  for (int64_t i = 0; attributes[kFromOne] != 0 && i < attributes[kWeights]; ++i) buffers.weight[i] += 1.0;
  readVector(operands[kBias], attributes[kWeights], 0.0, buffers.bias);
  if (has_running) readVector(operands[kRunningMean], attributes[kGroups], 0.0, buffers.running_mean);
  if (has_running) readVector(operands[kRunningVariance], attributes[kGroups], 1.0, buffers.running_variance);
  for (int64_t i = 0; i < attributes[kGroups]; ++i) {
    Operand in = groupOf(executor, input, i), out = groupOf(executor, operands[kOutput], i);
    in.count = out.count = attributes[kElements];
    readElements(in, buffers.part);
    const Statistics found = statisticsOf(executor, buffers, i, has_running);
    buffers.mean[i] = found.mean;
    buffers.reciprocal[i] = 1.0 / std::sqrt(found.variance + realOf(executor, kEpsilon));
    const int64_t first = firstWeight(executor, input, i);
    normalize(buffers.part, in.count, attributes[kRun], found, buffers.reciprocal[i], buffers.weight + first,
              buffers.bias + first);
    writeElements(out, buffers.part);
  }
  if (attributes[kTraining] != 0 && has_running) {
    writeVector(operands[kRunningMean], buffers.running_mean);
    writeVector(operands[kRunningVariance], buffers.running_variance);
  }
  writeVector(operands[kMean], buffers.mean);
  writeVector(operands[kReciprocal], buffers.reciprocal);
  return ACL_SUCCESS;
}

/* gradient, input, mean, reciprocal deviation, weight, and the gradients of input, weight and bias */
enum Backward { kGrad, kGradInput, kGradMean, kGradReciprocal, kGradWeight, kOfInput, kOfWeight, kOfBias };

/* One group and its slices of weights and gradients. */
struct Part {
  int64_t count, run;
  double mean, reciprocal;
  const double *weights;
  double *of_weight, *of_bias;
};

/* Adds to the gradients of weight and bias, and multiplies `grads` by the weights. */
SIM_CLONES void multiplyByWeights(const Part &part, const double *values, double *grads) {
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

/* The gradient of the group's elements from the weighted `grads`. */
SIM_CLONES void partBackward(const Part &part, bool centred, const double *values, double *grads) {
  const double mean = part.mean, reciprocal = part.reciprocal, n = static_cast<double>(part.count);
  const double product = sumOf(part.count, [=](int64_t i) { return grads[i] * ((values[i] - mean) * reciprocal); });
  const double taken = centred ? sumOf(part.count, [=](int64_t i) { return grads[i]; }) / n : 0.0;
  const double scale = product / n;
  for (int64_t i = 0; i < part.count; ++i) {
    grads[i] = reciprocal * (grads[i] - taken - (values[i] - mean) * reciprocal * scale);
  }
}

aclError runNormalizationBackward(const aclOpExecutor &executor, const Operand &input) {
  const auto &operands = executor.operands;
  const int64_t *attributes = executor.attributes;
  const int64_t weights = attributes[kWeights], layout = attributes[kGroups], elements = attributes[kElements];
  double *values = reinterpret_cast<double *>(executor.workspace), *grads = values + elements;
  double *weight = grads + elements, *of_weight = weight + weights, *of_bias = of_weight + weights;
  double *mean = of_bias + weights, *reciprocal = mean + layout;
  readVector(operands[kGradWeight], weights, 1.0, weight);
  readVector(operands[kGradMean], layout, 0.0, mean);
  readVector(operands[kGradReciprocal], layout, 1.0, reciprocal);
  if (attributes[kTraining] == 0) { /* a variance is given */
    for (int64_t i = 0; i < layout; ++i) reciprocal[i] = 1.0 / std::sqrt(reciprocal[i] + realOf(executor, kEpsilon));
  }
  std::fill_n(of_weight, 2 * weights, 0.0);
  for (int64_t i = 0; i < layout; ++i) {
    Operand grad = groupOf(executor, operands[kGrad], i), in = groupOf(executor, input, i);
    grad.count = in.count = elements;
    readElements(grad, grads);
    readElements(in, values);
    const int64_t first = firstWeight(executor, input, i);
    const Part part = {elements,       attributes[kRun],  mean[i],        reciprocal[i],
                       weight + first, of_weight + first, of_bias + first};
    multiplyByWeights(part, values, grads);
    if (operands[kOfInput].tensor == nullptr) continue;
    if (attributes[kTraining] != 0) {
      partBackward(part, attributes[kCentred] != 0, values, grads);
    } else { /* statistics that do not depend on the input */
      for (int64_t k = 0; k < elements; ++k) grads[k] *= reciprocal[i];
    }
    Operand out = groupOf(executor, operands[kOfInput], i);
    out.count = elements;
    writeElements(out, grads);
  }
  writeVector(operands[kOfWeight], of_weight);
  writeVector(operands[kOfBias], of_bias);
  return ACL_SUCCESS;
}

aclError runForward(const aclOpExecutor &executor) { return runNormalization(executor, executor.operands[kInput]); }

aclError runBackward(const aclOpExecutor &executor) {
  return runNormalizationBackward(executor, executor.operands[kGradInput]);
}

aclnnStatus requireSize(const aclOpExecutor &executor, const Operand &operand, int64_t count) {
  if (operand.tensor == nullptr || operand.count == count) return ACLNN_SUCCESS;
  return refuse(executor, "{} has {} elements, expected {}", operand, operand.count, count);
}

aclnnStatus requireSizes(const aclOpExecutor &executor, std::initializer_list<int> which, int64_t count) {
  for (int index : which) SIM_TRY(requireSize(executor, executor.operands[static_cast<uint32_t>(index)], count));
  return ACLNN_SUCCESS;
}

int64_t productOf(const Operand &operand, int32_t from, int32_t to) {
  int64_t count = 1;
  for (int32_t i = from; i < to; ++i) count *= operand.dims[i];
  return count;
}

const Operand kAbsent = {};

void arrange(aclOpExecutor &executor, std::initializer_list<int> order) {
  SmallArray<Operand, 12> given;
  for (const Operand &operand : executor.operands) given.push() = operand;
  executor.operands.clear();
  for (int index : order) executor.operands.push() = index < 0 ? kAbsent : given[static_cast<uint32_t>(index)];
}

NormLayout layoutOfLastDims(const Operand &input, int32_t dims) {
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

void keepLayout(aclOpExecutor &executor, const NormLayout &layout, const NormOptions &options) {
  int64_t *attributes = executor.attributes;
  attributes[kLeading] = layout.leading;
  attributes[kChunk] = layout.chunk;
  attributes[kRun] = std::max<int64_t>(layout.run, 1);
  attributes[kGroups] = layout.count;
  attributes[kElements] = layout.elements;
  attributes[kWeights] = layout.weights;
  attributes[kCentred] = options.centred;
  attributes[kTraining] = options.training;
  attributes[kFromOne] = options.from_one;
  keepReal(executor, kMomentum, options.momentum);
  keepReal(executor, kEpsilon, options.epsilon);
}

aclnnStatus planForward(aclOpExecutor &executor, const NormLayout &layout, const NormOptions &options) {
  const auto &operands = executor.operands;
  SIM_TRY(requireShape(executor, operands[kOutput], shapeOf(operands[kInput])));
  SIM_TRY(requireSizes(executor, {kWeight, kBias}, layout.weights));
  SIM_TRY(requireSizes(executor, {kRunningMean, kRunningVariance}, layout.count));
  if (options.training) SIM_TRY(requireSizes(executor, {kMean, kReciprocal}, layout.count));
  if (!options.training && (operands[kRunningMean].tensor == nullptr || operands[kRunningVariance].tensor == nullptr)) {
    return refuse(executor, "neither training nor running statistics");
  }
  keepLayout(executor, layout, options);
  executor.run = runForward;
  executor.workspace_size =
      roundUp(static_cast<uint64_t>(layout.elements + 2 * layout.weights + 4 * layout.count) * sizeof(double));
  return ACLNN_SUCCESS;
}

aclnnStatus planBackward(aclOpExecutor &executor, const NormLayout &layout, const NormOptions &options) {
  const auto &operands = executor.operands;
  const Shape shape = shapeOf(operands[kGradInput]);
  SIM_TRY(requireShape(executor, operands[kGrad], shape));
  if (operands[kOfInput].tensor != nullptr) SIM_TRY(requireShape(executor, operands[kOfInput], shape));
  SIM_TRY(requireSizes(executor, {kGradMean, kGradReciprocal}, layout.count));
  SIM_TRY(requireSizes(executor, {kGradWeight, kOfWeight, kOfBias}, layout.weights));
  keepLayout(executor, layout, options);
  executor.run = runBackward;
  executor.workspace_size =
      roundUp(static_cast<uint64_t>(2 * layout.elements + 3 * layout.weights + 2 * layout.count) * sizeof(double));
  return ACLNN_SUCCESS;
}

/* The normalizing operators: which layout of the tensor they mean, and what they call their operands. */

NormLayout layoutOfChannels(const Operand &input) {
  const int64_t channels = input.dims[1];
  const int64_t elements = input.dims[0] * productOf(input, 2, input.rank);
  return {0, 1, elements, channels, elements, channels};
}

NormLayout layoutOfGroups(const Operand &input, int64_t groups) {
  const int64_t chunk = input.dims[1] / groups, run = productOf(input, 2, input.rank);
  return {1, chunk, run, input.dims[0] * groups, chunk * run, input.dims[1]};
}

/* Whether the array names the last dimensions of the input. */
aclnnStatus checkNormalized(const aclOpExecutor &executor, const Operand &input, const void *array, int32_t *dims) {
  const aclIntArray *shape = static_cast<const aclIntArray *>(array);
  bool fits = shape->size > 0 && shape->size <= static_cast<uint64_t>(input.rank);
  for (uint64_t i = 0; fits && i < shape->size; ++i) {
    fits = shape->items[i] == input.dims[static_cast<uint64_t>(input.rank) - shape->size + i];
  }
  if (!fits) return refuse(executor, "normalizedShape is not the shape of the last dimensions of input");
  *dims = static_cast<int32_t>(shape->size);
  return ACLNN_SUCCESS;
}

/* Outputs that the mask leaves out may be NULL and are not written. */
aclnnStatus applyMask(aclOpExecutor &executor, const void *array, std::initializer_list<uint32_t> outputs) {
  const aclBoolArray *mask = static_cast<const aclBoolArray *>(array);
  if (mask->size != outputs.size()) {
    return refuse(executor, "outputMask has {} elements, expected {}", mask->size, outputs.size());
  }
  uint64_t i = 0;
  for (uint32_t output : outputs) {
    Operand &operand = executor.operands[output];
    if (!mask->items[i++]) {
      operand = kAbsent;
    } else if (operand.tensor == nullptr) {
      return refuse(executor, "an output that outputMask asks for is NULL");
    }
  }
  return ACLNN_SUCCESS;
}

/* input, normalizedShape, weight, bias, eps, out, mean, rstd */
aclnnStatus prepareLayerNorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  int32_t dims = 0;
  SIM_TRY(checkNormalized(executor, executor.operands[0], arguments[1].pointer, &dims));
  arrange(executor, {0, 1, 2, -1, -1, 3, 4, 5});
  NormOptions options;
  options.epsilon = arguments[4].real;
  return planForward(executor, layoutOfLastDims(executor.operands[0], dims), options);
}

/* gradOut, input, normalizedShape, mean, rstd, weight, bias, outputMask, gradInput, gradWeight, gradBias */
aclnnStatus prepareLayerNormBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  int32_t dims = 0;
  SIM_TRY(checkNormalized(executor, executor.operands[1], arguments[2].pointer, &dims));
  SIM_TRY(applyMask(executor, arguments[7].pointer, {6, 7, 8}));
  arrange(executor, {0, 1, 2, 3, 4, 6, 7, 8});
  return planBackward(executor, layoutOfLastDims(executor.operands[1], dims), NormOptions());
}

/* x, gamma, epsilon, y, rstd; in the variant 1, gamma counts from -1 */
aclnnStatus prepareRmsNorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const int32_t dims = executor.operands[1].rank;
  if (dims > executor.operands[0].rank) return refuse(executor, "gamma has more dimensions than x");
  arrange(executor, {0, 1, -1, -1, -1, 2, -1, 3});
  NormOptions options = rmsOptions(arguments[2].real);
  options.from_one = body.variant != 0;
  return planForward(executor, layoutOfLastDims(executor.operands[0], dims), options);
}

/* dy, x, rstd, gamma, dx, dgamma */
aclnnStatus prepareRmsNormBackward(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const int32_t dims = executor.operands[3].rank;
  if (dims > executor.operands[1].rank) return refuse(executor, "gamma has more dimensions than x");
  arrange(executor, {0, 1, -1, 2, 3, 4, 5, -1});
  return planBackward(executor, layoutOfLastDims(executor.operands[1], dims), rmsOptions(0.0));
}

/* input, weight, bias, runningMean, runningVar, training, momentum, eps, output, saveMean, saveInvstd */
aclnnStatus prepareBatchNorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  if (executor.operands[0].rank < 2) return refuse(executor, "input has no channels");
  NormOptions options;
  options.training = arguments[5].integer != 0;
  options.momentum = arguments[6].real;
  options.epsilon = arguments[7].real;
  if (!options.training) arrange(executor, {0, 1, 2, 3, 4, 5, -1, -1}); /* nothing is saved */
  return planForward(executor, layoutOfChannels(executor.operands[0]), options);
}

/* gradOut, input, weight, runningMean, runningVar, saveMean, saveInvstd, training, eps, outputMask, three gradients */
aclnnStatus prepareBatchNormBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  if (executor.operands[1].rank < 2) return refuse(executor, "input has no channels");
  NormOptions options;
  options.training = arguments[7].integer != 0;
  options.epsilon = arguments[8].real;
  SIM_TRY(applyMask(executor, arguments[9].pointer, {7, 8, 9}));
  const int mean = options.training ? 5 : 3;
  arrange(executor, {0, 1, mean, mean + 1, 2, 7, 8, 9});
  return planBackward(executor, layoutOfChannels(executor.operands[1]), options);
}

aclnnStatus checkGroups(const aclOpExecutor &executor, const Operand &input, const Argument *sizes) {
  const int64_t groups = sizes[3].integer;
  const bool fits = input.rank >= 2 && sizes[0].integer == input.dims[0] && sizes[1].integer == input.dims[1] &&
                    sizes[2].integer == productOf(input, 2, input.rank) && groups > 0 && input.dims[1] % groups == 0;
  if (fits) return ACLNN_SUCCESS;
  return refuse(executor, "N, C, HxW or group does not fit the input");
}

/* self, gamma, beta, N, C, HxW, group, eps, out, mean, rstd */
aclnnStatus prepareGroupNorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  SIM_TRY(checkGroups(executor, executor.operands[0], arguments + 3));
  arrange(executor, {0, 1, 2, -1, -1, 3, 4, 5});
  NormOptions options;
  options.epsilon = arguments[7].real;
  return planForward(executor, layoutOfGroups(executor.operands[0], arguments[6].integer), options);
}

SIM_ELEMENT(SiluOfNorm, 1, kFloats, 0, x *vec::sigmoid(x))

/* ..., of which the output is activated where it lies */
aclError runGroupNormSilu(const aclOpExecutor &executor) {
  SIM_TRY(runNormalization(executor, executor.operands[0]));
  const Operand *out = &executor.operands[5];
  if (out->count > 0) runLoop(&out, 1, *out, kLoopsOf<SiluOfNorm>.loop[out->compute], nullptr);
  return ACLNN_SUCCESS;
}

/* self, gamma, beta, group, eps, out, mean, rstd */
aclnnStatus prepareGroupNormSilu(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &input = executor.operands[0];
  const int64_t groups = arguments[3].integer;
  if (input.rank < 2 || groups <= 0 || input.dims[1] % groups != 0) {
    return refuse(executor, "group is {}, expected a divisor of the number of channels", groups);
  }
  if (executor.operands[3].type != input.type) return refuse(executor, "self and out have different data types");
  executor.operands[3].compute = computeOf(input.type);
  arrange(executor, {0, 1, 2, -1, -1, 3, 4, 5});
  NormOptions options;
  options.epsilon = arguments[4].real;
  SIM_TRY(planForward(executor, layoutOfGroups(executor.operands[0], groups), options));
  executor.run = runGroupNormSilu;
  return ACLNN_SUCCESS;
}

/* gradOut, input, mean, rstd, gamma, N, C, HxW, group, outputMask, gradInput, gradGamma, gradBeta */
aclnnStatus prepareGroupNormBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  SIM_TRY(checkGroups(executor, executor.operands[1], arguments + 5));
  SIM_TRY(applyMask(executor, arguments[9].pointer, {5, 6, 7}));
  return planBackward(executor, layoutOfGroups(executor.operands[1], arguments[8].integer), NormOptions());
}

/* Normalization of a sum of two tensors, which is computed in float. */

SIM_ELEMENT(ScaledSum, 2, kFloats, 1, x *p[0] + y)
SIM_ELEMENT(Product, 1, kFloats, 1, x *p[0])

enum SumAttribute { kSumOffset = 14, kAlpha = 15 }; /* offset of the sum in the workspace; the bits of a float */
constexpr uint32_t kFirst = 8, kSecond = 9;         /* the operands that are added, after those of the norm */
constexpr uint32_t kFurther = 10;

float alphaOf(const aclOpExecutor &executor) { return bitsToFloat(static_cast<uint32_t>(executor.attributes[kAlpha])); }

void apply(const Operand *const *inputs, uint32_t count, const Operand &out, const Loops &loops, float factor) {
  Scalar number = {};
  number.real = static_cast<double>(factor);
  if (out.count > 0) runLoop(inputs, count, out, loops.loop[out.compute], &number);
}

/* alpha * first + second, in the workspace. */
Operand sumInputs(const aclOpExecutor &executor) {
  const Operand *inputs[] = {&executor.operands[kFirst], &executor.operands[kSecond]};
  const Operand sum = contiguousOperand(*inputs[0], ACL_FLOAT, executor.workspace + executor.attributes[kSumOffset]);
  apply(inputs, 2, sum, kLoopsOf<ScaledSum>, alphaOf(executor));
  return sum;
}

/* ..., first, second, and the sum where it is asked for */
aclError runAdded(const aclOpExecutor &executor) {
  const Operand sum = sumInputs(executor);
  if (executor.operands.size() > kFurther && sum.count > 0) convertView(sum, executor.operands[kFurther]);
  return runNormalization(executor, sum);
}

/* ..., first, second, and the gradient of `first`, that of the sum being `second`'s */
aclError runDeepBackward(const aclOpExecutor &executor) {
  SIM_TRY(runNormalizationBackward(executor, sumInputs(executor)));
  const Operand *of_sum = &executor.operands[5];
  apply(&of_sum, 1, executor.operands[kFurther], kLoopsOf<Product>, alphaOf(executor));
  return ACLNN_SUCCESS;
}

/* ..., first, second, and a gradient that the sum has from elsewhere */
aclError runAddedBackward(const aclOpExecutor &executor) {
  SIM_TRY(runNormalizationBackward(executor, sumInputs(executor)));
  const Operand *gradients[] = {&executor.operands[5], &executor.operands[kFurther]};
  if (gradients[1]->tensor != nullptr) apply(gradients, 2, *gradients[0], kLoopsOf<ScaledSum>, 1.0f);
  return ACLNN_SUCCESS;
}

/* Equal shapes and types; every operand computes in float. */
aclnnStatus checkSameShapes(aclOpExecutor &executor, std::initializer_list<uint32_t> alike) {
  const Operand &first = executor.operands[*alike.begin()];
  for (uint32_t index : alike) {
    const Operand &operand = executor.operands[index];
    if (operand.tensor == nullptr) continue;
    SIM_TRY(requireShape(executor, operand, shapeOf(first)));
    if (operand.type != first.type) return refuse(executor, "{} and {} have different data types", first, operand);
  }
  for (Operand &operand : executor.operands) operand.compute = kF32;
  return ACLNN_SUCCESS;
}

/* Of a gamma that spans the last dimensions of x. */
aclnnStatus findLayout(const aclOpExecutor &executor, const Operand &x, const Operand &gamma, NormLayout *layout) {
  if (gamma.rank > x.rank) return refuse(executor, "gamma has more dimensions than its tensor");
  *layout = layoutOfLastDims(x, gamma.rank);
  return ACLNN_SUCCESS;
}

aclnnStatus addSumBuffer(aclOpExecutor &executor, double alpha, aclError (*run)(const aclOpExecutor &)) {
  executor.attributes[kSumOffset] = static_cast<int64_t>(executor.workspace_size);
  executor.attributes[kAlpha] = floatToBits(static_cast<float>(alpha));
  executor.workspace_size += roundUp(static_cast<uint64_t>(executor.operands[kFirst].count) * sizeof(float));
  executor.run = run;
  return ACLNN_SUCCESS;
}

/* x1, x2, gamma, epsilon, y, rstd, x */
aclnnStatus prepareAddRmsNorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  NormLayout layout;
  SIM_TRY(checkSameShapes(executor, {0, 1, 3, 5}));
  SIM_TRY(findLayout(executor, executor.operands[0], executor.operands[2], &layout));
  arrange(executor, {0, 2, -1, -1, -1, 3, -1, 4, 0, 1, 5});
  SIM_TRY(planForward(executor, layout, rmsOptions(arguments[3].real)));
  return addSumBuffer(executor, 1.0, runAdded);
}

NormOptions centredOptions(double epsilon) {
  NormOptions options;
  options.epsilon = epsilon;
  return options;
}

/* x1, x2, gamma, beta, bias, epsilon, additionalOutput, y, mean, rstd, x */
aclnnStatus prepareAddLayerNorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  NormLayout layout;
  if (executor.operands[4].tensor != nullptr)
    return refuse(executor, "bias is given, this kernel has it left out only");
  SIM_TRY(checkSameShapes(executor, {0, 1, 5, 8}));
  SIM_TRY(findLayout(executor, executor.operands[0], executor.operands[2], &layout));
  arrange(executor, {0, 2, 3, -1, -1, 5, 6, 7, 0, 1, 8});
  if (arguments[6].integer == 0) executor.operands.pop();
  SIM_TRY(planForward(executor, layout, centredOptions(arguments[5].real)));
  return addSumBuffer(executor, 1.0, runAdded);
}

/* dy, x1, x2, rstd, mean, gamma, dsum, dx, dgamma, dbeta */
aclnnStatus prepareAddLayerNormGrad(aclOpExecutor &executor, const Argument *, const OpBody &) {
  NormLayout layout;
  SIM_TRY(checkSameShapes(executor, {0, 1, 2, 6, 7}));
  SIM_TRY(findLayout(executor, executor.operands[1], executor.operands[5], &layout));
  arrange(executor, {0, 1, 4, 3, 5, 7, 8, 9, 1, 2, 6});
  SIM_TRY(planBackward(executor, layout, centredOptions(0.0)));
  return addSumBuffer(executor, 1.0, runAddedBackward);
}

/* x, gx, beta, gamma, alpha, epsilon, mean, rstd, y */
aclnnStatus prepareDeepNorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  NormLayout layout;
  SIM_TRY(checkSameShapes(executor, {0, 1, 6}));
  SIM_TRY(findLayout(executor, executor.operands[0], executor.operands[3], &layout));
  arrange(executor, {0, 3, 2, -1, -1, 6, 4, 5, 0, 1});
  SIM_TRY(planForward(executor, layout, centredOptions(arguments[5].real)));
  return addSumBuffer(executor, arguments[4].real, runAdded);
}

/* dy, x, gx, gamma, mean, rstd, alpha, dx, dgx, dbeta, dgamma */
aclnnStatus prepareDeepNormGrad(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  NormLayout layout;
  SIM_TRY(checkSameShapes(executor, {0, 1, 2, 6, 7}));
  SIM_TRY(findLayout(executor, executor.operands[1], executor.operands[3], &layout));
  arrange(executor, {0, 1, 4, 5, 3, 7, 9, 8, 1, 2, 6});
  SIM_TRY(planBackward(executor, layout, centredOptions(0.0)));
  return addSumBuffer(executor, arguments[6].real, runDeepBackward);
}

}  // namespace

SIM_OP(aclnnLayerNorm, prepareLayerNorm, nullptr, 0)
SIM_OP(aclnnLayerNormWithImplMode, prepareLayerNorm, nullptr, 0)
SIM_OP(aclnnLayerNormBackward, prepareLayerNormBackward, nullptr, 0)
SIM_OP(aclnnRmsNorm, prepareRmsNorm, nullptr, 0)
SIM_OP(aclnnGemmaRmsNorm, prepareRmsNorm, nullptr, 1)
SIM_OP(aclnnRmsNormGrad, prepareRmsNormBackward, nullptr, 0)
SIM_OP(aclnnBatchNorm, prepareBatchNorm, nullptr, 0)
SIM_OP(aclnnBatchNormBackward, prepareBatchNormBackward, nullptr, 0)
SIM_OP(aclnnGroupNorm, prepareGroupNorm, nullptr, 0)
SIM_OP(aclnnGroupNormBackward, prepareGroupNormBackward, nullptr, 0)
SIM_OP(aclnnGroupNormSilu, prepareGroupNormSilu, nullptr, 0)
SIM_OP(aclnnAddRmsNorm, prepareAddRmsNorm, nullptr, 0)
SIM_OP(aclnnAddLayerNorm, prepareAddLayerNorm, nullptr, 0)
SIM_OP(aclnnAddLayerNormGrad, prepareAddLayerNormGrad, nullptr, 0)
SIM_OP(aclnnDeepNorm, prepareDeepNorm, nullptr, 0)
SIM_OP(aclnnDeepNormGrad, prepareDeepNormGrad, nullptr, 0)

}  // namespace sim
