/* Functions of one tensor. */
#include "opapi/loops.h"

namespace sim {
namespace {

template <class C>
auto magnitude(C x) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return x < 0 ? negate(x) : x;
  } else {
    return std::abs(x);
  }
}

SIM_ELEMENT(Abs, 1, kAll, 0, magnitude(x))
SIM_ELEMENT(Exp, 1, kFloats | kComplexes, 0, vec::exp(x))
SIM_ELEMENT(Log, 1, kFloats | kComplexes, 0, vec::log(x))
SIM_ELEMENT(Sqrt, 1, kFloats | kComplexes, 0, std::sqrt(x))
SIM_ELEMENT(Rsqrt, 1, kFloats | kComplexes, 0, C(1) / std::sqrt(x))
SIM_ELEMENT(Reciprocal, 1, kFloats | kComplexes, 0, C(1) / x)
SIM_ELEMENT(Sigmoid, 1, kFloats | kComplexes, 0, vec::sigmoid(x))
SIM_ELEMENT(Tanh, 1, kFloats | kComplexes, 0, vec::tanh(x))
SIM_ELEMENT(Erf, 1, kFloats, 0, vec::erf(x))
SIM_ELEMENT(Neg, 1, kAll, 0, negate(x))
SIM_ELEMENT(Relu, 1, kReals, 0, x > C(0) || isNan(x) ? x : C(0))
SIM_ELEMENT(BitwiseNot, 1, kIntegers, 0, ~x)
SIM_ELEMENT(LogicalNot, 1, kTruths, 0, x == 0)
SIM_ELEMENT(IsFinite, 1, kFloats, 0, std::fabs(x) <= std::numeric_limits<C>::max())

aclnnStatus prepareBitwiseNot(aclOpExecutor &executor, const Argument *, const OpBody &) {
  bool logical = executor.operands[0].type == ACL_BOOL;
  return prepareLoops(executor, logical ? kLoopsOf<LogicalNot> : kLoopsOf<BitwiseNot>, kSameType);
}

}  // namespace

SIM_ELEMENTWISE(aclnnAbs, Abs, kRealResult)
SIM_ELEMENTWISE(aclnnExp, Exp, kFloatResult)
SIM_ELEMENTWISE(aclnnInplaceExp, Exp, kFloatResult)
SIM_ELEMENTWISE(aclnnLog, Log, kFloatResult)
SIM_ELEMENTWISE(aclnnInplaceLog, Log, kFloatResult)
SIM_ELEMENTWISE(aclnnSqrt, Sqrt, kFloatResult)
SIM_ELEMENTWISE(aclnnInplaceSqrt, Sqrt, kFloatResult)
SIM_ELEMENTWISE(aclnnRsqrt, Rsqrt, kFloatResult)
SIM_ELEMENTWISE(aclnnInplaceRsqrt, Rsqrt, kFloatResult)
SIM_ELEMENTWISE(aclnnReciprocal, Reciprocal, kFloatResult)
SIM_ELEMENTWISE(aclnnInplaceReciprocal, Reciprocal, kFloatResult)
SIM_ELEMENTWISE(aclnnSigmoid, Sigmoid, kFloatResult)
SIM_ELEMENTWISE(aclnnInplaceSigmoid, Sigmoid, kFloatResult)
SIM_ELEMENTWISE(aclnnTanh, Tanh, kFloatResult)
SIM_ELEMENTWISE(aclnnInplaceTanh, Tanh, kFloatResult)
SIM_ELEMENTWISE(aclnnErf, Erf, kFloatResult)
SIM_ELEMENTWISE(aclnnInplaceErf, Erf, kFloatResult)
SIM_ELEMENTWISE(aclnnNeg, Neg, kSameType)
SIM_ELEMENTWISE(aclnnInplaceNeg, Neg, kSameType)
SIM_ELEMENTWISE(aclnnRelu, Relu, kSameType)
SIM_ELEMENTWISE(aclnnInplaceRelu, Relu, kSameType)
SIM_ELEMENTWISE(aclnnLogicalNot, LogicalNot, kBoolResult)
SIM_ELEMENTWISE(aclnnInplaceLogicalNot, LogicalNot, kBoolResult)
SIM_ELEMENTWISE(aclnnIsFinite, IsFinite, kBoolResult)
SIM_OP(aclnnBitwiseNot, prepareBitwiseNot, nullptr, 0)
SIM_FOREACH(aclnnForeachAbs, Abs)
SIM_FOREACH(aclnnForeachExp, Exp)
SIM_FOREACH(aclnnForeachLog, Log)
SIM_FOREACH(aclnnForeachSqrt, Sqrt)
SIM_FOREACH(aclnnForeachReciprocal, Reciprocal)
SIM_FOREACH(aclnnForeachSigmoid, Sigmoid)
SIM_FOREACH(aclnnForeachTanh, Tanh)
SIM_FOREACH(aclnnForeachErf, Erf)
SIM_FOREACH(aclnnForeachNeg, Neg)

}  // namespace sim
