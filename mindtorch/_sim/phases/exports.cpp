/* The exported symbols of libopapi.so: both phases of every operator of aclnn_ops.jsonl.
 * The definitions are written at build time by mindtorch._ops.codegen.sim_exports. */
#include "opapi/op.h"

#define SIM_NO_KERNEL(op)                                                                        \
  extern "C" SIM_API aclnnStatus op##GetWorkspaceSize(void);                                     \
  extern "C" SIM_API aclnnStatus op(void);                                                       \
  extern "C" aclnnStatus op##GetWorkspaceSize(void) { return sim::noKernel(#op, sim::kPhase1); } \
  extern "C" aclnnStatus op(void) { return sim::noKernel(#op, ""); }

#include "opapi_exports.inc"
