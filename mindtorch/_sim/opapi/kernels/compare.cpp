/* Comparisons and logic: the result is a truth value, written in the output's type. */
#include <algorithm>

#include "opapi/loops.h"

namespace sim {
namespace {

/* p: relative and absolute tolerance, and whether NaN equals NaN. */
template <class C>
bool isClose(C x, C y, const C *p) {
  if (isNan(x) || isNan(y)) return p[2] != C(0) && isNan(x) && isNan(y);
  return x == y || (std::isfinite(y) && std::fabs(x - y) <= p[1] + std::fabs(p[0] * y));
}

SIM_ELEMENT(IsClose, 2, kLibm | kFloats, 3, isClose(x, y, p))

/* self, other, rtol, atol, equalNan, out */
aclnnStatus prepareIsClose(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const double numbers[] = {arguments[2].real, arguments[3].real, arguments[4].integer != 0 ? 1.0 : 0.0};
  if (!(numbers[0] >= 0.0 && numbers[1] >= 0.0)) return refuse(executor, "rtol or atol is below 0");
  for (int i = 0; i < 3; ++i) executor.numbers[i] = {true, ACL_BOOL, 0, numbers[i], 0.0};
  return prepareLoops(executor, kLoopsOf<IsClose>, kFloatResult | kBoolResult);
}

/* self, other, out: one truth value, whether shapes and all elements are equal */
aclError runEqual(const aclOpExecutor &executor) {
  alignas(64) char buffers[2][kBlockBytes];
  const Operand &self = executor.operands[0], &other = executor.operands[1];
  Cursor a(self), b(other);
  Truth equal = executor.attributes[0] != 0;
  for (int64_t first = 0; equal != 0 && first < self.count; first += kBlock) {
    const int64_t count = std::min(kBlock, self.count - first);
    const void *x = a.read(buffers[0], count), *y = b.read(buffers[1], count);
    equal = (self.compute == kI64 ? std::equal(static_cast<const int64_t *>(x), static_cast<const int64_t *>(x) + count,
                                               static_cast<const int64_t *>(y))
                                  : std::equal(static_cast<const double *>(x), static_cast<const double *>(x) + count,
                                               static_cast<const double *>(y)));
  }
  Operand out = executor.operands[2];
  out.compute = kTruth;
  Cursor(out).write(&equal, 1);
  return ACL_SUCCESS;
}

aclnnStatus prepareEqual(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &self = executor.operands[0], &other = executor.operands[1];
  const Operand &out = executor.operands[2];
  if (out.count != 1 || out.type != ACL_BOOL) return refuse(executor, "out is no single BOOL");
  if (self.type != other.type) return refuse(executor, "self and other have different data types");
  bool fits = self.rank == other.rank;
  for (int32_t i = 0; fits && i < self.rank; ++i) fits = self.dims[i] == other.dims[i];
  self.compute = other.compute = computeOf(self.type) == kF32 ? kF64 : computeOf(self.type);
  executor.attributes[0] = fits;
  executor.run = runEqual;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_POINTWISE(aclnnEqTensor, 2, kAll, 0, kBoolResult, x == y)
SIM_POINTWISE(aclnnNeTensor, 2, kAll, 0, kBoolResult, x != y)
SIM_POINTWISE(aclnnLtTensor, 2, kReals, 0, kBoolResult | kOrdered, x < y)
SIM_POINTWISE(aclnnLeTensor, 2, kReals, 0, kBoolResult | kOrdered, x <= y)
SIM_POINTWISE(aclnnGtTensor, 2, kReals, 0, kBoolResult | kOrdered, x > y)
SIM_POINTWISE(aclnnGeTensor, 2, kReals, 0, kBoolResult | kOrdered, x >= y)
SIM_POINTWISE(aclnnEqScalar, 1, kAll, 1, kBoolResult | kPromoteFirst, x == p[0])
SIM_POINTWISE(aclnnNeScalar, 1, kAll, 1, kBoolResult | kPromoteFirst, x != p[0])
SIM_POINTWISE(aclnnLtScalar, 1, kReals, 1, kBoolResult | kPromoteFirst | kOrdered, x < p[0])
SIM_POINTWISE(aclnnLeScalar, 1, kReals, 1, kBoolResult | kPromoteFirst | kOrdered, x <= p[0])
SIM_POINTWISE(aclnnGtScalar, 1, kReals, 1, kBoolResult | kPromoteFirst | kOrdered, x > p[0])
SIM_POINTWISE(aclnnGeScalar, 1, kReals, 1, kBoolResult | kPromoteFirst | kOrdered, x >= p[0])
SIM_POINTWISE(aclnnLogicalAnd, 2, kTruths, 0, kBoolResult, x != 0 && y != 0)
SIM_POINTWISE(aclnnLogicalOr, 2, kTruths, 0, kBoolResult, (x | y) != 0)
SIM_OP(aclnnIsClose, prepareIsClose, nullptr, 0)
SIM_OP(aclnnEqual, prepareEqual, nullptr, 0)

}  // namespace sim
