/* What CANN documents about the parameters of each operator, and the body that its kernel source registers. Written at
 * build time by mindtorch._ops.codegen.sim_exports. */
#include "opapi/op.h"
#include "opapi_rules.inc"
