/* Units that gate one half of a dimension with the other, and their gradients. */
#include <cstring>
#include <initializer_list>

#include "opapi/kernels/gelu.h"

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

/* x is the plain half, y the one that is activated (backward: x the gradient, y the plain half, z the other). */
SIM_ELEMENT(HalfGelu, 1, kFloats, 0, gelu(x))
SIM_ELEMENT(HalfGeluByTanh, 1, kFloats, 0, geluByTanh(x))
SIM_ELEMENT(GeGlu, 2, kFloats, 0, x *gelu(y))
SIM_ELEMENT(GeGluByTanh, 2, kFloats, 0, x *geluByTanh(y))
SIM_ELEMENT(GeGluPlain, 2, kFloats, 0, x *y)
SIM_ELEMENT(GeGluActivated, 3, kLibm | kFloats, 0, x * y * geluSlope(z))
SIM_ELEMENT(GeGluActivatedByTanh, 3, kFloats, 0, x * y * geluTanhSlope(z))

struct GeGluLoops {
  Loops gelu, product, activated;
};
constexpr GeGluLoops kGeGluLoops[] = {
    {makeLoops<HalfGelu>(), makeLoops<GeGlu>(), makeLoops<GeGluActivated>()},
    {makeLoops<HalfGeluByTanh>(), makeLoops<GeGluByTanh>(), makeLoops<GeGluActivatedByTanh>()}};

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
  SIM_TRY(normalizeDim(executor, given, x.rank, dim));
  if (x.rank > 0 && x.dims[*dim] % 2 == 0) return ACLNN_SUCCESS;
  return refuse(executor, "dimension {} cannot be halved", *dim);
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
  SIM_TRY(checkHalves(executor, x, arguments[1].integer, &dim));
  Shape shape = shapeOf(x);
  shape.dims[dim] /= 2;
  SIM_TRY(requireShape(executor, executor.operands[1], shape));
  return plan(executor, dim, body.kernel, runGated);
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
  SIM_TRY(checkHalves(executor, x, arguments[2].integer, &dim));
  Shape shape = shapeOf(x);
  SIM_TRY(requireShape(executor, executor.operands[2], shape));
  shape.dims[dim] /= 2;
  SIM_TRY(requireShape(executor, executor.operands[0], shape));
  return plan(executor, dim, body.kernel, runGatedBackward);
}

enum GeGluAttribute { kDim, kLeft }; /* kLeft: the first half is the activated one */

/* The half that is activated, or the other one. */
Operand halfOf(const aclOpExecutor &executor, const Operand &operand, bool activated) {
  const bool first = activated == (executor.attributes[kLeft] != 0);
  return halfOf(operand, static_cast<int32_t>(executor.attributes[kDim]), first ? 0 : 1);
}

/* x, out, and gelu where the operator gives that, too */
aclError runGeGlu(const aclOpExecutor &executor) {
  const GeGluLoops &loops = *static_cast<const GeGluLoops *>(executor.kernel);
  const Operand &x = executor.operands[0];
  if (x.count == 0) return ACL_SUCCESS;
  const Operand plain = halfOf(executor, x, false), activated = halfOf(executor, x, true);
  const Operand *inputs[] = {&plain, &activated};
  runLoop(inputs, 2, executor.operands[1], loops.product.loop[x.compute], nullptr);
  if (executor.operands.size() > 2) {
    runLoop(inputs + 1, 1, executor.operands[2], loops.gelu.loop[x.compute], nullptr);
  }
  return ACL_SUCCESS;
}

/* gradient, x, gelu, out */
aclError runGeGluBackward(const aclOpExecutor &executor) {
  const GeGluLoops &loops = *static_cast<const GeGluLoops *>(executor.kernel);
  const Operand &grad = executor.operands[0], &x = executor.operands[1], &out = executor.operands[3];
  if (grad.count == 0) return ACL_SUCCESS;
  const Operand plain = halfOf(executor, x, false), activated = halfOf(executor, x, true);
  const Operand *of_plain[] = {&grad, &executor.operands[2]}, *of_activated[] = {&grad, &plain, &activated};
  runLoop(of_plain, 2, halfOf(executor, out, false), kLoopsOf<GeGluPlain>.loop[grad.compute], nullptr);
  runLoop(of_activated, 3, halfOf(executor, out, true), loops.activated.loop[grad.compute], nullptr);
  return ACL_SUCCESS;
}

/* `halved` are half as long as x along the dimension. */
aclnnStatus prepareGeGluOf(aclOpExecutor &executor, const Operand &x, int64_t dim, int64_t approximate, bool left,
                           std::initializer_list<uint32_t> halved, aclError (*run)(const aclOpExecutor &)) {
  int32_t normalized = 0;
  SIM_TRY(checkHalves(executor, x, dim, &normalized));
  if (approximate != 0 && approximate != 1) {
    return refuse(executor, "approximate is {}, expected 0 or 1", approximate);
  }
  Shape shape = shapeOf(x);
  shape.dims[normalized] /= 2;
  for (uint32_t index : halved) {
    SIM_TRY(requireShape(executor, executor.operands[index], shape));
  }
  executor.attributes[kLeft] = left;
  return plan(executor, normalized, &kGeGluLoops[approximate], run);
}

/* x, dim, approximate, activateLeft, out, gelu */
aclnnStatus prepareGeGlu(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  return prepareGeGluOf(executor, executor.operands[0], arguments[1].integer, arguments[2].integer,
                        arguments[3].integer != 0, {1, 2}, runGeGlu);
}

/* gradient, x, gelu, dim, approximate, activateLeft, out */
aclnnStatus prepareGeGluBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &x = executor.operands[1];
  SIM_TRY(requireShape(executor, executor.operands[3], shapeOf(x)));
  return prepareGeGluOf(executor, x, arguments[3].integer, arguments[4].integer, arguments[5].integer != 0, {0, 2},
                        runGeGluBackward);
}

/* x, approximate, out: the first half of the last dimension is the activated one */
aclnnStatus prepareGeluMul(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const char *mode = static_cast<const char *>(arguments[1].pointer);
  const bool by_tanh = mode != nullptr && std::strcmp(mode, "tanh") == 0;
  if (!by_tanh && mode != nullptr && std::strcmp(mode, "none") != 0) {
    return refuse(executor, "approximate is {}, expected none or tanh", mode);
  }
  return prepareGeGluOf(executor, executor.operands[0], -1, by_tanh ? 1 : 0, true, {1}, runGeGlu);
}

}  // namespace

SIM_OP(aclnnGlu, prepareGated, &kLoopsOf<Glu>, 0)
SIM_OP(aclnnGluBackward, prepareGatedBackward, &kGluSlopes, 0)
SIM_OP(aclnnSwiGlu, prepareGated, &kLoopsOf<SwiGlu>, 0)
SIM_OP(aclnnSwiGluGrad, prepareGatedBackward, &kSwiGluSlopes, 0)
SIM_OP(aclnnGeGluV3, prepareGeGlu, nullptr, 0)
SIM_OP(aclnnGeGluV3Backward, prepareGeGluBackward, nullptr, 0)
SIM_OP(aclnnGeluMul, prepareGeluMul, nullptr, 0)

}  // namespace sim
