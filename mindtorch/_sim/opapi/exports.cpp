/* The exported symbols of libopapi.so: both phases of every operator of aclnn_ops.jsonl.
 * The rules and the definitions are written at build time by mindtorch._ops.generator.sim_exports. */
#include "opapi/op.h"

#define SIM_NO_KERNEL(op)                                                                                      \
  extern "C" SIM_API aclnnStatus op##GetWorkspaceSize() { return sim::noKernel(#op, #op "GetWorkspaceSize"); } \
  extern "C" SIM_API aclnnStatus op() { return sim::noKernel(#op, #op); }

#include "opapi_exports.inc"
