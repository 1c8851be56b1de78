/* aclnnGroupNormSilu, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_GROUP_NORM_SILU_H_
#define MINDTORCH_ACLNNOP_ACLNN_GROUP_NORM_SILU_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnGroupNormSiluGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *gamma,
    const aclTensor *beta,
    int64_t group,
    double eps,
    aclTensor *out,
    aclTensor *meanOut,
    aclTensor *rstdOut,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnGroupNormSilu(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
