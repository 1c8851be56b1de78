/* Comparisons and logic: the result is a truth value, written in the output's type. */
#include "opapi/loops.h"

namespace sim {
namespace {

SIM_ELEMENT(Eq, 2, kAll, 0, x == y)
SIM_ELEMENT(Ne, 2, kAll, 0, x != y)
SIM_ELEMENT(Lt, 2, kReals, 0, x < y)
SIM_ELEMENT(Le, 2, kReals, 0, x <= y)
SIM_ELEMENT(Gt, 2, kReals, 0, x > y)
SIM_ELEMENT(Ge, 2, kReals, 0, x >= y)
SIM_ELEMENT(EqNumber, 1, kAll, 1, x == p[0])
SIM_ELEMENT(NeNumber, 1, kAll, 1, x != p[0])
SIM_ELEMENT(LtNumber, 1, kReals, 1, x < p[0])
SIM_ELEMENT(LeNumber, 1, kReals, 1, x <= p[0])
SIM_ELEMENT(GtNumber, 1, kReals, 1, x > p[0])
SIM_ELEMENT(GeNumber, 1, kReals, 1, x >= p[0])
SIM_ELEMENT(LogicalAnd, 2, kTruths, 0, x != 0 && y != 0)
SIM_ELEMENT(LogicalOr, 2, kTruths, 0, (x | y) != 0)

}  // namespace

SIM_ELEMENTWISE(aclnnEqTensor, Eq, kBoolResult)
SIM_ELEMENTWISE(aclnnNeTensor, Ne, kBoolResult)
SIM_ELEMENTWISE(aclnnLtTensor, Lt, kBoolResult | kOrdered)
SIM_ELEMENTWISE(aclnnLeTensor, Le, kBoolResult | kOrdered)
SIM_ELEMENTWISE(aclnnGtTensor, Gt, kBoolResult | kOrdered)
SIM_ELEMENTWISE(aclnnGeTensor, Ge, kBoolResult | kOrdered)
SIM_ELEMENTWISE(aclnnEqScalar, EqNumber, kBoolResult | kPromoteFirst)
SIM_ELEMENTWISE(aclnnNeScalar, NeNumber, kBoolResult | kPromoteFirst)
SIM_ELEMENTWISE(aclnnLtScalar, LtNumber, kBoolResult | kPromoteFirst | kOrdered)
SIM_ELEMENTWISE(aclnnLeScalar, LeNumber, kBoolResult | kPromoteFirst | kOrdered)
SIM_ELEMENTWISE(aclnnGtScalar, GtNumber, kBoolResult | kPromoteFirst | kOrdered)
SIM_ELEMENTWISE(aclnnGeScalar, GeNumber, kBoolResult | kPromoteFirst | kOrdered)
SIM_ELEMENTWISE(aclnnLogicalAnd, LogicalAnd, kBoolResult)
SIM_ELEMENTWISE(aclnnLogicalOr, LogicalOr, kBoolResult)

}  // namespace sim
