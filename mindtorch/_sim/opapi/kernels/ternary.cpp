/* Functions of three tensors, clamping and selection. */
#include "opapi/loops.h"

namespace sim {
namespace {

/* From the nearer end, so that both ends are met exactly. */
template <class C>
C lerp(C start, C end, C weight) {
  return std::fabs(weight) < C(0.5) ? start + weight * (end - start) : end - (end - start) * (C(1) - weight);
}

template <class C>
C atLeast(C x, C low) {
  return isNan(x) || x > low ? x : low;
}

template <class C>
C atMost(C x, C high) {
  return isNan(x) || x < high ? x : high;
}

SIM_ELEMENT(Addcmul, 3, kAll, 1, add(x, multiply(multiply(p[0], y), z)))
SIM_ELEMENT(Addcdiv, 3, kFloats | kComplexes, 1, x + p[0] * (y / z))
SIM_ELEMENT(LerpNumber, 2, kFloats, 1, lerp(x, y, p[0]))
SIM_ELEMENT(ClampMinNumber, 1, kReals, 1, atLeast(x, p[0]))
SIM_ELEMENT(ClampMaxNumber, 1, kReals, 1, atMost(x, p[0]))
SIM_ELEMENT(ClampNumbers, 1, kReals, 2, atMost(atLeast(x, p[0]), p[1]))
SIM_ELEMENT(ClampMinTensor, 2, kReals, 0, atLeast(x, y))
SIM_ELEMENT(ClampMaxTensor, 2, kReals, 0, atMost(x, y))
SIM_ELEMENT(ClampTensors, 3, kReals, 0, atMost(atLeast(x, y), z))

aclnnStatus prepareClamp(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Number *numbers = executor.numbers;
  if (!numbers[0].present && !numbers[1].present) {
    return simFail(ACLNN_ERR_PARAM_NULLPTR, "EZ1001", "aclnnClamp: clipValueMin and clipValueMax are both NULL");
  }
  if (!numbers[1].present) return prepareLoops(executor, kLoopsOf<ClampMinNumber>, kPromoteFirst);
  if (numbers[0].present) return prepareLoops(executor, kLoopsOf<ClampNumbers>, kPromoteFirst | kPromoteSecond);
  numbers[0] = numbers[1];
  return prepareLoops(executor, kLoopsOf<ClampMaxNumber>, kPromoteFirst);
}

/* self, clipValueMin, clipValueMax, out: one of the limits may be left out, as the loops then have one input fewer */
aclnnStatus prepareClampTensor(aclOpExecutor &executor, const Argument *, const OpBody &) {
  auto &operands = executor.operands;
  const bool has_least = operands[1].tensor != nullptr, has_most = operands[2].tensor != nullptr;
  if (!has_least && !has_most) return refuse(executor, "both limits are NULL");
  if (has_least && has_most) return prepareLoops(executor, kLoopsOf<ClampTensors>, kSameType);
  if (has_most) operands[1] = operands[2];
  operands[2] = operands[3];
  operands.pop();
  return prepareLoops(executor, has_least ? kLoopsOf<ClampMinTensor> : kLoopsOf<ClampMaxTensor>, kSameType);
}

template <class C>
SIM_CLONES void whereLoop(const LoopArguments &arguments) {
  const Truth *condition = static_cast<const Truth *>(arguments.in[0]);
  const C *x = static_cast<const C *>(arguments.in[1]);
  const C *y = static_cast<const C *>(arguments.in[2]);
  C *out = static_cast<C *>(arguments.out);
  const int64_t count = arguments.count;
  SIM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const C a = x[i], b = y[i];
    out[i] = condition[i] != 0 ? a : b;
  }
}

constexpr Loops kWhere = {
    {whereLoop<float>, whereLoop<double>, whereLoop<int64_t>, whereLoop<Complex>}, {kF32, kF64, kI64, kC128}, 0};

aclnnStatus prepareWhere(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &condition = executor.operands[0];
  if (categoryOf(condition.type) > kInteger) {
    return refuse(executor, "condition has data type {}, expected BOOL or an integer", condition.type);
  }
  aclDataType type = condition.type;
  condition.type = ACL_BOOL; /* takes no part in promotion */
  SIM_TRY(prepareLoops(executor, kWhere, kSameType));
  condition.type = type;
  condition.compute = kTruth;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_ELEMENTWISE(aclnnAddcmul, Addcmul, kSameType)
SIM_ELEMENTWISE(aclnnAddcdiv, Addcdiv, kSameType)
SIM_POINTWISE(aclnnLerp, 3, kFloats, 0, kSameType, lerp(x, y, z))
SIM_ELEMENTWISE(aclnnLerps, LerpNumber, kSameType)
SIM_POINTWISE(aclnnThresholdBackward, 2, kReals, 1, kSameType, y <= p[0] ? C(0) : x)
SIM_OP(aclnnClamp, prepareClamp, nullptr, 0)
SIM_ELEMENTWISE(aclnnClampMin, ClampMinNumber, kPromoteFirst)
SIM_ELEMENTWISE(aclnnClampMax, ClampMaxNumber, kPromoteFirst)
SIM_ELEMENTWISE(aclnnClampMinTensor, ClampMinTensor, kSameType)
SIM_ELEMENTWISE(aclnnClampMaxTensor, ClampMaxTensor, kSameType)
SIM_OP(aclnnClampTensor, prepareClampTensor, nullptr, 0)
SIM_OP(aclnnSWhere, prepareWhere, nullptr, 0)
SIM_FOREACH(aclnnForeachAddcmulScalarV2, Addcmul)
SIM_FOREACH(aclnnForeachAddcdivScalarV2, Addcdiv)
SIM_FOREACH(aclnnForeachLerpScalar, LerpNumber)
SIM_FOREACH(aclnnForeachMaximumScalarV2, ClampMinNumber)
SIM_FOREACH(aclnnForeachMaximumScalarList, ClampMinNumber)
SIM_FOREACH(aclnnForeachMinimumScalarV2, ClampMaxNumber)
SIM_FOREACH(aclnnForeachMinimumScalarList, ClampMaxNumber)

}  // namespace sim
