/* The normalizing operators: which parts of the tensor they mean, and what they call their operands. */
#include "opapi/kernels/normalization.h"

namespace sim {
namespace {

const Operand kAbsent = {};

Parts channelsOf(const Operand &input) {
  const int64_t channels = input.dims[1];
  const int64_t elements = input.dims[0] * productOf(input, 2, input.rank);
  return {0, 1, elements, channels, elements, channels};
}

Parts groupsOf(const Operand &input, int64_t groups) {
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
  return planForward(executor, linesOf(executor.operands[0], dims), options);
}

/* gradOut, input, normalizedShape, mean, rstd, weight, bias, outputMask, gradInput, gradWeight, gradBias */
aclnnStatus prepareLayerNormBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  int32_t dims = 0;
  SIM_TRY(checkNormalized(executor, executor.operands[1], arguments[2].pointer, &dims));
  SIM_TRY(applyMask(executor, arguments[7].pointer, {6, 7, 8}));
  arrange(executor, {0, 1, 2, 3, 4, 6, 7, 8});
  return planBackward(executor, linesOf(executor.operands[1], dims), NormOptions());
}

/* x, gamma, epsilon, y, rstd */
aclnnStatus prepareRmsNorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const int32_t dims = executor.operands[1].rank;
  if (dims > executor.operands[0].rank) return refuse(executor, "gamma has more dimensions than x");
  arrange(executor, {0, 1, -1, -1, -1, 2, -1, 3});
  return planForward(executor, linesOf(executor.operands[0], dims), rmsOptions(arguments[2].real));
}

/* dy, x, rstd, gamma, dx, dgamma */
aclnnStatus prepareRmsNormBackward(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const int32_t dims = executor.operands[3].rank;
  if (dims > executor.operands[1].rank) return refuse(executor, "gamma has more dimensions than x");
  arrange(executor, {0, 1, -1, 2, 3, 4, 5, -1});
  return planBackward(executor, linesOf(executor.operands[1], dims), rmsOptions(0.0));
}

/* input, weight, bias, runningMean, runningVar, training, momentum, eps, output, saveMean, saveInvstd */
aclnnStatus prepareBatchNorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  if (executor.operands[0].rank < 2) return refuse(executor, "input has no channels");
  NormOptions options;
  options.training = arguments[5].integer != 0;
  options.momentum = arguments[6].real;
  options.epsilon = arguments[7].real;
  if (!options.training) arrange(executor, {0, 1, 2, 3, 4, 5, -1, -1}); /* nothing is saved */
  return planForward(executor, channelsOf(executor.operands[0]), options);
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
  return planBackward(executor, channelsOf(executor.operands[1]), options);
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
  return planForward(executor, groupsOf(executor.operands[0], arguments[6].integer), options);
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
  SIM_TRY(planForward(executor, groupsOf(executor.operands[0], groups), options));
  executor.run = runGroupNormSilu;
  return ACLNN_SUCCESS;
}

/* gradOut, input, mean, rstd, gamma, N, C, HxW, group, outputMask, gradInput, gradGamma, gradBeta */
aclnnStatus prepareGroupNormBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  SIM_TRY(checkGroups(executor, executor.operands[1], arguments + 5));
  SIM_TRY(applyMask(executor, arguments[9].pointer, {5, 6, 7}));
  return planBackward(executor, groupsOf(executor.operands[1], arguments[8].integer), NormOptions());
}

}  // namespace

SIM_OP(aclnnLayerNorm, prepareLayerNorm, nullptr, 0)
SIM_OP(aclnnLayerNormWithImplMode, prepareLayerNorm, nullptr, 0)
SIM_OP(aclnnLayerNormBackward, prepareLayerNormBackward, nullptr, 0)
SIM_OP(aclnnRmsNorm, prepareRmsNorm, nullptr, 0)
SIM_OP(aclnnRmsNormGrad, prepareRmsNormBackward, nullptr, 0)
SIM_OP(aclnnBatchNorm, prepareBatchNorm, nullptr, 0)
SIM_OP(aclnnBatchNormBackward, prepareBatchNormBackward, nullptr, 0)
SIM_OP(aclnnGroupNorm, prepareGroupNorm, nullptr, 0)
SIM_OP(aclnnGroupNormBackward, prepareGroupNormBackward, nullptr, 0)
SIM_OP(aclnnGroupNormSilu, prepareGroupNormSilu, nullptr, 0)

}  // namespace sim
