/* Norms of a sum: the tensors are added up in float, and what is normalized is that. */
#include "opapi/kernels/normalization.h"

namespace sim {
namespace {

SIM_ELEMENT(ScaledSum, 2, kFloats, 1, x *p[0] + y)
SIM_ELEMENT(Product, 1, kFloats, 1, x *p[0])

enum Attribute { kRoom = 14, kAlpha = 15 }; /* where the sum lies in the workspace; the bits of a float */
constexpr uint32_t kFirst = 8, kSecond = 9; /* the operands that are added up, behind those of the norm */
constexpr uint32_t kFurther = 10;

float alphaOf(const aclOpExecutor &executor) { return bitsToFloat(static_cast<uint32_t>(executor.attributes[kAlpha])); }

void apply(const Operand *const *inputs, uint32_t count, const Operand &out, const Loops &loops, float factor) {
  Number number = {};
  number.real = static_cast<double>(factor);
  if (out.count > 0) runLoop(inputs, count, out, loops.loop[out.compute], &number);
}

/* alpha * first + second, in the workspace. */
Operand addUp(const aclOpExecutor &executor) {
  const Operand *inputs[] = {&executor.operands[kFirst], &executor.operands[kSecond]};
  Operand sum = *inputs[0];
  sum.type = ACL_FLOAT;
  sum.item = sizeof(float);
  sum.host = executor.workspace + executor.attributes[kRoom];
  int64_t stride = 1;
  for (int32_t i = sum.rank; i-- > 0; stride *= sum.dims[i]) sum.strides[i] = stride;
  apply(inputs, 2, sum, kLoopsOf<ScaledSum>, alphaOf(executor));
  return sum;
}

/* ..., first, second, and the sum where it is asked for */
aclError runAdded(const aclOpExecutor &executor) {
  const Operand sum = addUp(executor);
  if (executor.operands.size() > kFurther && sum.count > 0) convertView(sum, executor.operands[kFurther]);
  return runNormalization(executor, sum);
}

/* ..., first, second, and the gradient of `first`, that of the sum being `second`'s */
aclError runDeepBackward(const aclOpExecutor &executor) {
  SIM_TRY(runNormalizationBackward(executor, addUp(executor)));
  const Operand *of_sum = &executor.operands[5];
  apply(&of_sum, 1, executor.operands[kFurther], kLoopsOf<Product>, alphaOf(executor));
  return ACLNN_SUCCESS;
}

/* ..., first, second, and a gradient that the sum has from elsewhere */
aclError runAddedBackward(const aclOpExecutor &executor) {
  SIM_TRY(runNormalizationBackward(executor, addUp(executor)));
  const Operand *gradients[] = {&executor.operands[5], &executor.operands[kFurther]};
  if (gradients[1]->tensor != nullptr) apply(gradients, 2, *gradients[0], kLoopsOf<ScaledSum>, 1.0f);
  return ACLNN_SUCCESS;
}

/* Equal shapes and types; every operand computes in float. */
aclnnStatus checkAlike(aclOpExecutor &executor, std::initializer_list<uint32_t> alike) {
  const Operand &first = executor.operands[*alike.begin()];
  for (uint32_t index : alike) {
    const Operand &operand = executor.operands[index];
    if (operand.tensor == nullptr) continue;
    SIM_TRY(requireShape(executor, operand, shapeOf(first)));
    if (operand.type != first.type) {
      return refuse(executor, "{} and {} have different data types", first, operand);
    }
  }
  for (Operand &operand : executor.operands) operand.compute = kF32;
  return ACLNN_SUCCESS;
}

/* Of a gamma that spans the last dimensions of x. */
aclnnStatus findLines(const aclOpExecutor &executor, const Operand &x, const Operand &gamma, Parts *parts) {
  if (gamma.rank > x.rank) return refuse(executor, "gamma has more dimensions than its tensor");
  *parts = linesOf(x, gamma.rank);
  return ACLNN_SUCCESS;
}

aclnnStatus addSumBuffer(aclOpExecutor &executor, double alpha, aclError (*run)(const aclOpExecutor &)) {
  executor.attributes[kRoom] = static_cast<int64_t>(executor.workspace_size);
  executor.attributes[kAlpha] = floatToBits(static_cast<float>(alpha));
  executor.workspace_size += roundUp(static_cast<uint64_t>(executor.operands[kFirst].count) * sizeof(float));
  executor.run = run;
  return ACLNN_SUCCESS;
}

/* x1, x2, gamma, epsilon, y, rstd, x */
aclnnStatus prepareAddRmsNorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Parts parts;
  SIM_TRY(checkAlike(executor, {0, 1, 3, 5}));
  SIM_TRY(findLines(executor, executor.operands[0], executor.operands[2], &parts));
  arrange(executor, {0, 2, -1, -1, -1, 3, -1, 4, 0, 1, 5});
  SIM_TRY(planForward(executor, parts, rmsOptions(arguments[3].real)));
  return addSumBuffer(executor, 1.0, runAdded);
}

NormOptions centredOptions(double epsilon) {
  NormOptions options;
  options.epsilon = epsilon;
  return options;
}

/* x1, x2, gamma, beta, bias, epsilon, additionalOutput, y, mean, rstd, x */
aclnnStatus prepareAddLayerNorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Parts parts;
  if (executor.operands[4].tensor != nullptr)
    return refuse(executor, "bias is given, this kernel has it left out only");
  SIM_TRY(checkAlike(executor, {0, 1, 5, 8}));
  SIM_TRY(findLines(executor, executor.operands[0], executor.operands[2], &parts));
  arrange(executor, {0, 2, 3, -1, -1, 5, 6, 7, 0, 1, 8});
  if (arguments[6].integer == 0) executor.operands.pop();
  SIM_TRY(planForward(executor, parts, centredOptions(arguments[5].real)));
  return addSumBuffer(executor, 1.0, runAdded);
}

/* dy, x1, x2, rstd, mean, gamma, dsum, dx, dgamma, dbeta */
aclnnStatus prepareAddLayerNormGrad(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Parts parts;
  SIM_TRY(checkAlike(executor, {0, 1, 2, 6, 7}));
  SIM_TRY(findLines(executor, executor.operands[1], executor.operands[5], &parts));
  arrange(executor, {0, 1, 4, 3, 5, 7, 8, 9, 1, 2, 6});
  SIM_TRY(planBackward(executor, parts, centredOptions(0.0)));
  return addSumBuffer(executor, 1.0, runAddedBackward);
}

/* x, gx, beta, gamma, alpha, epsilon, mean, rstd, y */
aclnnStatus prepareDeepNorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Parts parts;
  SIM_TRY(checkAlike(executor, {0, 1, 6}));
  SIM_TRY(findLines(executor, executor.operands[0], executor.operands[3], &parts));
  arrange(executor, {0, 3, 2, -1, -1, 6, 4, 5, 0, 1});
  SIM_TRY(planForward(executor, parts, centredOptions(arguments[5].real)));
  return addSumBuffer(executor, arguments[4].real, runAdded);
}

/* dy, x, gx, gamma, mean, rstd, alpha, dx, dgx, dbeta, dgamma */
aclnnStatus prepareDeepNormGrad(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Parts parts;
  SIM_TRY(checkAlike(executor, {0, 1, 2, 6, 7}));
  SIM_TRY(findLines(executor, executor.operands[1], executor.operands[3], &parts));
  arrange(executor, {0, 1, 4, 5, 3, 7, 9, 8, 1, 2, 6});
  SIM_TRY(planBackward(executor, parts, centredOptions(0.0)));
  return addSumBuffer(executor, arguments[6].real, runDeepBackward);
}

}  // namespace

SIM_OP(aclnnAddRmsNorm, prepareAddRmsNorm, nullptr, 0)
SIM_OP(aclnnAddLayerNorm, prepareAddLayerNorm, nullptr, 0)
SIM_OP(aclnnAddLayerNormGrad, prepareAddLayerNormGrad, nullptr, 0)
SIM_OP(aclnnDeepNorm, prepareDeepNorm, nullptr, 0)
SIM_OP(aclnnDeepNormGrad, prepareDeepNormGrad, nullptr, 0)

}  // namespace sim
