/* aclnnMultilabelMarginLoss, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_MULTILABEL_MARGIN_LOSS_H_
#define MINDTORCH_ACLNNOP_ACLNN_MULTILABEL_MARGIN_LOSS_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnMultilabelMarginLossGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *target,
    int64_t reduction,
    aclTensor *out,
    aclTensor *isTarget,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnMultilabelMarginLoss(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
