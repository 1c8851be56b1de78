/* aclnnSmoothL1LossBackward, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_SMOOTH_L1_LOSS_BACKWARD_H_
#define MINDTORCH_ACLNNOP_ACLNN_SMOOTH_L1_LOSS_BACKWARD_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnSmoothL1LossBackwardGetWorkspaceSize(
    const aclTensor *gradOut,
    const aclTensor *self,
    const aclTensor *target,
    int64_t reduction,
    float beta,
    aclTensor *gradInput,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnSmoothL1LossBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
