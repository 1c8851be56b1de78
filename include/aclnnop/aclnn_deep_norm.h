/* aclnnDeepNorm, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_DEEP_NORM_H_
#define MINDTORCH_ACLNNOP_ACLNN_DEEP_NORM_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnDeepNormGetWorkspaceSize(
    const aclTensor *x,
    const aclTensor *gx,
    const aclTensor *beta,
    const aclTensor *gamma,
    double alpha,
    double epsilon,
    const aclTensor *meanOut,
    const aclTensor *rstdOut,
    const aclTensor *yOut,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnDeepNorm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
