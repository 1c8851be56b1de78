/* Activation functions, gated units, and their backward operators. */
#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "opapi/kernels/gelu.h"

/* Activation functions and their backward operators, which take the gradient x and the input or output y. */

namespace sim {
namespace {

constexpr double kFastGelu = 1.702;

template <class C>
SIM_INLINE C siluGrad(C x) {
  const C s = vec::sigmoid(x);
  return s * (C(1) + x * (C(1) - s));
}

/* log(1 + exp(x)), without overflow. */
template <class C>
SIM_INLINE C softplus(C x) {
  return larger(x, C(0)) + vec::log1pOfExp(-std::fabs(x));
}

template <class C>
SIM_INLINE C mishGrad(C x) {
  const C t = vec::tanh(softplus(x));
  return t + x * (C(1) - t * t) * vec::sigmoid(x);
}

template <class C>
SIM_INLINE C scaledSoftplus(C x, C beta, C threshold) {
  const C curved = softplus(x * beta) / beta;
  return x * beta > threshold ? x : curved;
}

template <class C>
SIM_INLINE C softplusGrad(C x, C beta, C threshold) {
  const C slope = vec::sigmoid(x * beta);
  return x * beta > threshold ? C(1) : slope;
}

template <class C>
SIM_INLINE C within(C x, C low, C high) {
  return smaller(larger(x, low), high);
}

template <class C>
SIM_INLINE C hardswishGrad(C x) {
  return x <= C(-3) ? C(0) : x < C(3) ? x / C(3) + C(0.5) : C(1);
}

template <class C>
SIM_INLINE bool shrunk(C x, C lambda) {
  return x >= -lambda && x <= lambda;
}

template <class C>
SIM_INLINE C conjugate(C x) {
  if constexpr (std::is_same<C, Complex>::value) {
    return std::conj(x);
  } else {
    return x;
  }
}

/* alpha, scale and input_scale */
template <class C>
SIM_INLINE C elu(C x, const C *p) {
  const C line = x * p[1], curve = p[0] * p[1] * vec::expm1(x * p[2]);
  return x > C(0) ? line : curve;
}

template <class C>
SIM_INLINE C celu(C x, C alpha) {
  const C curve = alpha * vec::expm1(x / alpha);
  return x > C(0) ? x : curve;
}

template <class C>
SIM_INLINE C eluGrad(C x, const C *p) {
  const C slope = p[2] * p[0] * p[1] * vec::exp(x * p[2]);
  return x <= C(0) ? slope : p[1];
}

template <class C>
SIM_INLINE C eluGradOfResult(C y, const C *p) {
  const C slope = p[2] * (y + p[0] * p[1]);
  return y <= C(0) ? slope : p[1];
}

SIM_ELEMENT(Gelu, 1, kFloats, 0, gelu(x))
SIM_ELEMENT(GeluTanh, 1, kFloats, 0, geluByTanh(x))
SIM_ELEMENT(GeluBackward, 2, kFloats, 0, x *geluGrad(y))
SIM_ELEMENT(GeluTanhBackward, 2, kFloats, 0, x *geluTanhGrad(y))
SIM_ELEMENT(EluBackward, 2, kFloats, 3, x *eluGrad(y, p))
SIM_ELEMENT(EluBackwardOfResult, 2, kFloats, 3, x *eluGradOfResult(y, p))
SIM_ELEMENT(HardswishBackward, 2, kFloats, 0, x *hardswishGrad(y))
SIM_ELEMENT(ShrinkBackward, 2, kFloats, 1, shrunk(y, p[0]) ? C(0) : x)
SIM_ELEMENT(LogSigmoid, 1, kFloats, 0, -softplus(-x))
SIM_ELEMENT(LogSigmoidBackward, 2, kFloats, 0, x *vec::sigmoid(-y))
SIM_ELEMENT(Prelu, 2, kFloats, 0, x > C(0) ? x : x * y)

/* x, approximate: 0 exact, 1 by tanh */
aclnnStatus prepareGeluV2(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const int64_t mode = arguments[1].integer;
  if (mode != 0 && mode != 1) return refuse(executor, "approximate is {}, expected 0 or 1", mode);
  return prepareLoops(executor, mode == 1 ? kLoopsOf<GeluTanh> : kLoopsOf<Gelu>, kSameType);
}

/* gradOutput, self, approximate: "none" or "tanh" */
aclnnStatus prepareGeluBackwardV2(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const char *mode = static_cast<const char *>(arguments[2].pointer);
  const bool by_tanh = mode != nullptr && std::strcmp(mode, "tanh") == 0;
  if (!by_tanh && (mode == nullptr || std::strcmp(mode, "none") != 0)) {
    return refuse(executor, "approximate is {}, expected none or tanh", mode != nullptr ? mode : "NULL");
  }
  return prepareLoops(executor, by_tanh ? kLoopsOf<GeluTanhBackward> : kLoopsOf<GeluBackward>, kSameType);
}

/* self, out, buffer: hardware stores exp(-|x|) in the buffer; here it stays as it is. */
aclnnStatus prepareLogSigmoidForward(aclOpExecutor &executor, const Argument *, const OpBody &) {
  executor.operands.pop();
  return prepareLoops(executor, kLoopsOf<LogSigmoid>, kSameType);
}

/* gradOutput, self, buffer, gradInput */
aclnnStatus prepareLogSigmoidBackward(aclOpExecutor &executor, const Argument *, const OpBody &) {
  executor.operands[2] = executor.operands[3];
  executor.operands.pop();
  return prepareLoops(executor, kLoopsOf<LogSigmoidBackward>, kSameType);
}

/* Expands the weight, one number or one for each channel, to the shape of self. */
aclnnStatus expandWeight(const aclOpExecutor &executor, const Operand &self, Operand *weight) {
  if (weight->count == 1) {
    weight->rank = 0;
    return ACLNN_SUCCESS;
  }
  if (self.rank < 2 || weight->rank != 1 || weight->count != self.dims[1]) {
    return refuse(executor, "weight has {} elements, expected 1 or one for each channel", weight->count);
  }
  const int64_t stride = weight->strides[0];
  weight->rank = self.rank - 1;
  for (int32_t i = 0; i < weight->rank; ++i) {
    weight->dims[i] = i == 0 ? self.dims[1] : 1;
    weight->strides[i] = i == 0 ? stride : 0;
  }
  return ACLNN_SUCCESS;
}

/* self, weight, out */
aclnnStatus preparePrelu(aclOpExecutor &executor, const Argument *, const OpBody &) {
  SIM_TRY(expandWeight(executor, executor.operands[0], &executor.operands[1]));
  return prepareLoops(executor, kLoopsOf<Prelu>, kSameType);
}

/* gradOutput, self, weight, gradInput, gradWeight; the workspace holds the sums of gradWeight */
aclError runPreluBackward(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  const int64_t total = operands[1].count, weights = operands[4].count, inner = executor.attributes[0];
  Cursor grads(operands[0]), values(operands[1]), slopes(operands[2]), out(operands[3]);
  double *sum = reinterpret_cast<double *>(executor.workspace);
  std::fill_n(sum, weights, 0.0);
  for (int64_t first = 0; first < total; first += kBlock) {
    const int64_t length = std::min(kBlock, total - first);
    double buffers[3][kBlock], result[kBlock];
    const double *grad = static_cast<const double *>(grads.read(buffers[0], length));
    const double *x = static_cast<const double *>(values.read(buffers[1], length));
    const double *weight = static_cast<const double *>(slopes.read(buffers[2], length));
    for (int64_t i = 0; i < length; ++i) {
      result[i] = x[i] > 0 ? grad[i] : grad[i] * weight[i];
      if (!(x[i] > 0)) sum[(first + i) / inner % weights] += grad[i] * x[i];
    }
    out.write(result, length);
  }
  writeElements(operands[4], sum);
  return ACL_SUCCESS;
}

aclnnStatus preparePreluBackward(aclOpExecutor &executor, const Argument *, const OpBody &) {
  auto &operands = executor.operands;
  const Shape shape = shapeOf(operands[1]);
  SIM_TRY(requireShape(executor, operands[0], shape));
  SIM_TRY(requireShape(executor, operands[3], shape));
  SIM_TRY(requireShape(executor, operands[4], shapeOf(operands[2])));
  SIM_TRY(expandWeight(executor, operands[1], &operands[2]));
  executor.attributes[0] = 1; /* elements that share a channel, in a row */
  for (int32_t i = 2; i < shape.rank; ++i) executor.attributes[0] *= shape.dims[i];
  expandTo(&operands[2], shape);
  operands[2].count = operands[1].count;
  for (Operand &operand : operands) operand.compute = kF64;
  executor.workspace_size = roundUp(static_cast<uint64_t>(operands[4].count) * sizeof(double));
  executor.run = runPreluBackward;
  return ACLNN_SUCCESS;
}

/* gradOutput, alpha, scale, inputScale, isResult, selfOrResult */
aclnnStatus prepareEluBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const bool of_result = arguments[4].integer != 0;
  return prepareLoops(executor, of_result ? kLoopsOf<EluBackwardOfResult> : kLoopsOf<EluBackward>, kSameType);
}

}  // namespace

SIM_ELEMENTWISE(aclnnGelu, Gelu, kSameType)
SIM_OP(aclnnGeluV2, prepareGeluV2, nullptr, 0)
SIM_ELEMENTWISE(aclnnGeluBackward, GeluBackward, kSameType)
SIM_OP(aclnnGeluBackwardV2, prepareGeluBackwardV2, nullptr, 0)
SIM_POINTWISE(aclnnSilu, 1, kFloats, 0, kSameType, x *vec::sigmoid(x))
SIM_POINTWISE(aclnnSiluBackward, 2, kFloats, 0, kSameType, x *siluGrad(y))
SIM_POINTWISE(aclnnMish, 1, kFloats, 0, kSameType, x *vec::tanh(softplus(x)))
SIM_POINTWISE(aclnnMishBackward, 2, kFloats, 0, kSameType, x *mishGrad(y))
SIM_POINTWISE(aclnnLeakyRelu, 1, kFloats, 1, kSameType, x > C(0) ? x : x * p[0])
SIM_POINTWISE(aclnnLeakyReluBackward, 2, kFloats, 1, kSameType, y > C(0) ? x : x * p[0])
SIM_POINTWISE(aclnnElu, 1, kFloats, 3, kSameType, elu(x, p))
SIM_OP(aclnnEluBackward, prepareEluBackward, nullptr, 0)
SIM_POINTWISE(aclnnHardtanh, 1, kReals, 2, kSameType, within(x, p[0], p[1]))
SIM_POINTWISE(aclnnHardtanhBackward, 2, kFloats, 2, kSameType, y <= p[0] || y >= p[1] ? C(0) : x)
SIM_POINTWISE(aclnnSoftplus, 1, kFloats, 2, kSameType, scaledSoftplus(x, p[0], p[1]))
SIM_POINTWISE(aclnnSoftplusBackward, 2, kFloats, 2, kSameType, x *softplusGrad(y, p[0], p[1]))
SIM_POINTWISE(aclnnHardswish, 1, kFloats, 0, kSameType, x *within(x + C(3), C(0), C(6)) / C(6))
SIM_ELEMENTWISE(aclnnHardswishBackward, HardswishBackward, kSameType)
SIM_POINTWISE(aclnnHardsigmoid, 1, kFloats, 0, kSameType, within(x + C(3), C(0), C(6)) / C(6))
SIM_POINTWISE(aclnnHardsigmoidBackward, 2, kFloats, 0, kSameType, y > C(-3) && y < C(3) ? x / C(6) : C(0))
SIM_POINTWISE(aclnnHardshrink, 1, kFloats, 1, kSameType, shrunk(x, p[0]) ? C(0) : x)
SIM_ELEMENTWISE(aclnnHardshrinkBackward, ShrinkBackward, kSameType)
SIM_POINTWISE(aclnnSoftshrink, 1, kFloats, 1, kSameType, x > p[0] ? x - p[0] : x < -p[0] ? x + p[0] : x * C(0))
SIM_ELEMENTWISE(aclnnSoftshrinkBackward, ShrinkBackward, kSameType)
SIM_POINTWISE(aclnnThreshold, 1, kReals, 2, kSameType, x <= p[0] ? p[1] : x)
SIM_ELEMENTWISE(aclnnLogSigmoid, LogSigmoid, kSameType)
SIM_OP(aclnnLogSigmoidForward, prepareLogSigmoidForward, nullptr, 0)
SIM_OP(aclnnLogSigmoidBackward, prepareLogSigmoidBackward, nullptr, 0)
SIM_ELEMENTWISE(aclnnHardswishBackwardV2, HardswishBackward, kSameType)
SIM_POINTWISE(aclnnFastGelu, 1, kFloats, 0, kSameType, x *vec::sigmoid(C(kFastGelu) * x))
SIM_POINTWISE(aclnnFastGeluBackward, 2, kFloats, 0, kSameType, x *siluGrad(C(kFastGelu) * y))
SIM_POINTWISE(aclnnCelu, 1, kFloats, 1, kSameType, celu(x, p[0]))
SIM_OP(aclnnPrelu, preparePrelu, nullptr, 0)
SIM_OP(aclnnPreluBackward, preparePreluBackward, nullptr, 0)
SIM_POINTWISE(aclnnSigmoidBackward, 2, kFloats | kComplexes, 0, kSameType, x *conjugate((C(1) - y) * y))
SIM_POINTWISE(aclnnTanhBackward, 2, kFloats, 0, kSameType, x *(C(1) - y * y))

/* Units that gate one half of a dimension with the other, and their gradients. */

namespace {

/* x is the first half, y the second; in backward operators x is the gradient, y and z are the halves. */
SIM_ELEMENT(Glu, 2, kFloats, 0, x *vec::sigmoid(y))
SIM_ELEMENT(SwiGlu, 2, kFloats, 0, x *vec::sigmoid(x) * y)

SIM_ELEMENT(GluFirst, 3, kFloats, 0, x *vec::sigmoid(z))
SIM_ELEMENT(GluSecond, 3, kFloats, 0, x * y * vec::sigmoid(z) * (C(1) - vec::sigmoid(z)))
SIM_ELEMENT(SwiGluFirst, 3, kFloats, 0, x * z * siluGrad(y))
SIM_ELEMENT(SwiGluSecond, 3, kFloats, 0, x * y * vec::sigmoid(y))

/* x is the linear half, y the activated one; in backward operators x is the gradient, y the linear half, z the
 * activated one. */
SIM_ELEMENT(HalfGelu, 1, kFloats, 0, gelu(x))
SIM_ELEMENT(HalfGeluByTanh, 1, kFloats, 0, geluByTanh(x))
SIM_ELEMENT(GeGlu, 2, kFloats, 0, x *gelu(y))
SIM_ELEMENT(GeGluByTanh, 2, kFloats, 0, x *geluByTanh(y))
SIM_ELEMENT(GeGluPlain, 2, kFloats, 0, x *y)
SIM_ELEMENT(GeGluActivated, 3, kLibm | kFloats, 0, x * y * geluGrad(z))
SIM_ELEMENT(GeGluActivatedByTanh, 3, kFloats, 0, x * y * geluTanhGrad(z))

struct GeGluLoops {
  Loops gelu, product, activated;
};
constexpr GeGluLoops kGeGluLoops[] = {
    {makeLoops<HalfGelu>(), makeLoops<GeGlu>(), makeLoops<GeGluActivated>()},
    {makeLoops<HalfGeluByTanh>(), makeLoops<GeGluByTanh>(), makeLoops<GeGluActivatedByTanh>()}};

struct Slopes {
  Loops first, second;
};
constexpr Slopes kGluGrads = {makeLoops<GluFirst>(), makeLoops<GluSecond>()};
constexpr Slopes kSwiGluGrads = {makeLoops<SwiGluFirst>(), makeLoops<SwiGluSecond>()};

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

/* All operands must have the same type. */
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

/* The activated or the linear half. */
Operand halfOf(const aclOpExecutor &executor, const Operand &operand, bool activated) {
  const bool first = activated == (executor.attributes[kLeft] != 0);
  return halfOf(operand, static_cast<int32_t>(executor.attributes[kDim]), first ? 0 : 1);
}

/* x, out, and gelu if the operator returns it */
aclError runGeGlu(const aclOpExecutor &executor) {
  const GeGluLoops &loops = *static_cast<const GeGluLoops *>(executor.kernel);
  const Operand &x = executor.operands[0];
  if (x.count == 0) return ACL_SUCCESS;
  const Operand plain = halfOf(executor, x, false), activated = halfOf(executor, x, true);
  const Operand *inputs[] = {&plain, &activated};
  runLoop(inputs, 2, executor.operands[1], loops.product.loop[x.compute], nullptr);
  if (executor.operands.size() > 2) runLoop(inputs + 1, 1, executor.operands[2], loops.gelu.loop[x.compute], nullptr);
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

/* The operands `halved` have half the size of x along the dimension. */
aclnnStatus prepareGeGluOf(aclOpExecutor &executor, const Operand &x, int64_t dim, int64_t approximate, bool left,
                           std::initializer_list<uint32_t> halved, aclError (*run)(const aclOpExecutor &)) {
  int32_t normalized = 0;
  SIM_TRY(checkHalves(executor, x, dim, &normalized));
  if (approximate != 0 && approximate != 1) return refuse(executor, "approximate is {}, expected 0 or 1", approximate);
  Shape shape = shapeOf(x);
  shape.dims[normalized] /= 2;
  for (uint32_t index : halved) SIM_TRY(requireShape(executor, executor.operands[index], shape));
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
SIM_OP(aclnnGluBackward, prepareGatedBackward, &kGluGrads, 0)
SIM_OP(aclnnSwiGlu, prepareGated, &kLoopsOf<SwiGlu>, 0)
SIM_OP(aclnnSwiGluGrad, prepareGatedBackward, &kSwiGluGrads, 0)
SIM_OP(aclnnGeGluV3, prepareGeGlu, nullptr, 0)
SIM_OP(aclnnGeGluV3Backward, prepareGeGluBackward, nullptr, 0)
SIM_OP(aclnnGeluMul, prepareGeluMul, nullptr, 0)

}  // namespace sim
