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

SIM_ELEMENT(BitwiseNot, 1, kIntegers, 0, ~x)
SIM_ELEMENT(LogicalNot, 1, kTruths, 0, x == 0)

aclnnStatus prepareBitwiseNot(aclOpExecutor &executor, const Argument *, const OpBody &) {
  bool logical = executor.operands[0].type == ACL_BOOL;
  return prepareLoops(executor, logical ? kLoopsOf<LogicalNot> : kLoopsOf<BitwiseNot>, kSameType);
}

}  // namespace

SIM_POINTWISE(aclnnAbs, 1, kAll, 0, kRealResult, magnitude(x))
SIM_POINTWISE(aclnnExp, 1, kFloats | kComplexes, 0, kFloatResult, vec::exp(x))
SIM_POINTWISE(aclnnLog, 1, kFloats | kComplexes, 0, kFloatResult, vec::log(x))
SIM_POINTWISE(aclnnSqrt, 1, kFloats | kComplexes, 0, kFloatResult, std::sqrt(x))
SIM_POINTWISE(aclnnRsqrt, 1, kFloats | kComplexes, 0, kFloatResult, C(1) / std::sqrt(x))
SIM_POINTWISE(aclnnReciprocal, 1, kFloats | kComplexes, 0, kFloatResult, C(1) / x)
SIM_POINTWISE(aclnnSigmoid, 1, kFloats | kComplexes, 0, kFloatResult, vec::sigmoid(x))
SIM_POINTWISE(aclnnTanh, 1, kFloats | kComplexes, 0, kFloatResult, vec::tanh(x))
SIM_POINTWISE(aclnnErf, 1, kFloats, 0, kFloatResult, vec::erf(x))
SIM_POINTWISE(aclnnNeg, 1, kAll, 0, kSameType, negate(x))
SIM_POINTWISE(aclnnRelu, 1, kReals, 0, kSameType, x > C(0) || isNan(x) ? x : C(0))
SIM_ELEMENTWISE(aclnnLogicalNot, LogicalNot, kBoolResult)
SIM_POINTWISE(aclnnIsFinite, 1, kLibm | kFloats, 0, kBoolResult, std::fabs(x) <= std::numeric_limits<C>::max())
SIM_OP(aclnnBitwiseNot, prepareBitwiseNot, nullptr, 0)

}  // namespace sim
