/* Units that gate one half of a dimension with the other, and their gradients. */
#include "opapi/loops.h"

namespace sim {
namespace {

/* x is the first half, y the second (backward: x the gradient, y and z the halves). */
SIM_ELEMENT(Glu, 2, kFloats, 0, x *vec::sigmoid(y))
SIM_ELEMENT(SwiGlu, 2, kFloats, 0, x *vec::sigmoid(x) * y)

template <class C>
SIM_INLINE C siluSlope(C x) {
  const C s = vec::sigmoid(x);
  return s * (C(1) + x * (C(1) - s));
}

SIM_ELEMENT(GluFirst, 3, kFloats, 0, x *vec::sigmoid(z))
SIM_ELEMENT(GluSecond, 3, kFloats, 0, x * y * vec::sigmoid(z) * (C(1) - vec::sigmoid(z)))
SIM_ELEMENT(SwiGluFirst, 3, kFloats, 0, x * z * siluSlope(y))
SIM_ELEMENT(SwiGluSecond, 3, kFloats, 0, x * y * vec::sigmoid(y))

struct Slopes {
  Loops first, second;
};
constexpr Slopes kGluSlopes = {makeLoops<GluFirst>(), makeLoops<GluSecond>()};
constexpr Slopes kSwiGluSlopes = {makeLoops<SwiGluFirst>(), makeLoops<SwiGluSecond>()};

/* On the stream's thread. */
Operand halfOf(const Operand &operand, int32_t dim, int64_t which) {
  Operand half = operand;
  half.dims[dim] /= 2;
  half.count /= 2;
  half.host += which * half.dims[dim] * half.strides[dim] * half.item;
  return half;
}

aclnnStatus checkHalves(const aclOpExecutor &executor, const Operand &x, int64_t given, int32_t *dim) {
  const aclnnStatus status = normalizeDim(executor, given, x.rank, dim);
  if (status != ACLNN_SUCCESS) return status;
  if (x.rank > 0 && x.dims[*dim] % 2 == 0) return ACLNN_SUCCESS;
  return refuse(executor, "dimension %d cannot be halved", *dim);
}

/* All operands have one type, in which the loops compute. */
aclnnStatus plan(aclOpExecutor &executor, int32_t dim, const void *kernel, aclError (*run)(const aclOpExecutor &)) {
  const aclDataType type = executor.operands[0].type;
  for (Operand &operand : executor.operands) {
    if (operand.type != type) return refuse(executor, "the operands have different data types");
    operand.compute = computeOf(type);
  }
  executor.attributes[0] = dim;
  executor.kernel = kernel;
  executor.run = run;
  return ACLNN_SUCCESS;
}

/* x, out */
aclError runGated(const aclOpExecutor &executor) {
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  const Operand &x = executor.operands[0];
  if (x.count == 0) return ACL_SUCCESS;
  const Operand first = halfOf(x, dim, 0), second = halfOf(x, dim, 1);
  const Operand *inputs[] = {&first, &second};
  runLoop(inputs, 2, executor.operands[1], static_cast<const Loops *>(executor.kernel)->loop[x.compute], nullptr);
  return ACL_SUCCESS;
}

/* x, dim, out */
aclnnStatus prepareGated(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &x = executor.operands[0];
  int32_t dim = 0;
  aclnnStatus status = checkHalves(executor, x, arguments[1].integer, &dim);
  if (status != ACLNN_SUCCESS) return status;
  Shape shape = shapeOf(x);
  shape.dims[dim] /= 2;
  status = requireShape(executor, executor.operands[1], shape);
  return status == ACLNN_SUCCESS ? plan(executor, dim, body.kernel, runGated) : status;
}

/* gradient, x, out */
aclError runGatedBackward(const aclOpExecutor &executor) {
  const Slopes &slopes = *static_cast<const Slopes *>(executor.kernel);
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  const Operand &grad = executor.operands[0];
  if (grad.count == 0) return ACL_SUCCESS;
  const Operand first = halfOf(executor.operands[1], dim, 0), second = halfOf(executor.operands[1], dim, 1);
  const Operand *inputs[] = {&grad, &first, &second};
  runLoop(inputs, 3, halfOf(executor.operands[2], dim, 0), slopes.first.loop[grad.compute], nullptr);
  runLoop(inputs, 3, halfOf(executor.operands[2], dim, 1), slopes.second.loop[grad.compute], nullptr);
  return ACL_SUCCESS;
}

/* gradient, x, dim, out */
aclnnStatus prepareGatedBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &x = executor.operands[1];
  int32_t dim = 0;
  aclnnStatus status = checkHalves(executor, x, arguments[2].integer, &dim);
  if (status != ACLNN_SUCCESS) return status;
  Shape shape = shapeOf(x);
  status = requireShape(executor, executor.operands[2], shape);
  shape.dims[dim] /= 2;
  if (status == ACLNN_SUCCESS) status = requireShape(executor, executor.operands[0], shape);
  return status == ACLNN_SUCCESS ? plan(executor, dim, body.kernel, runGatedBackward) : status;
}

}  // namespace

SIM_OP(aclnnGlu, prepareGated, &kLoopsOf<Glu>, 0)
SIM_OP(aclnnGluBackward, prepareGatedBackward, &kGluSlopes, 0)
SIM_OP(aclnnSwiGlu, prepareGated, &kLoopsOf<SwiGlu>, 0)
SIM_OP(aclnnSwiGluGrad, prepareGatedBackward, &kSwiGluSlopes, 0)

}  // namespace sim
