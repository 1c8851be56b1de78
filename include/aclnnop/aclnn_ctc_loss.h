/* aclnnCtcLoss, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_CTC_LOSS_H_
#define MINDTORCH_ACLNNOP_ACLNN_CTC_LOSS_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnCtcLossGetWorkspaceSize(
    const aclTensor *logProbs,
    const aclTensor *targets,
    const aclIntArray *inputLengths,
    const aclIntArray *targetlengths,
    int64_t blank,
    bool zeroInfinity,
    aclTensor *negLogLikelihoodOut,
    aclTensor *logAlphaOut,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnCtcLoss(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
