/* aclnnBatchNorm, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_BATCH_NORM_H_
#define MINDTORCH_ACLNNOP_ACLNN_BATCH_NORM_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnBatchNormGetWorkspaceSize(
    const aclTensor *input,
    const aclTensor *weight,
    const aclTensor *bias,
    aclTensor *runningMean,
    aclTensor *runningVar,
    bool training,
    double momentum,
    double eps,
    aclTensor *output,
    aclTensor *saveMean,
    aclTensor *saveInvstd,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnBatchNorm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
