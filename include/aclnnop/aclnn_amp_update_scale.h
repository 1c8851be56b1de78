/* aclnnAmpUpdateScale, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_AMP_UPDATE_SCALE_H_
#define MINDTORCH_ACLNNOP_ACLNN_AMP_UPDATE_SCALE_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnAmpUpdateScaleGetWorkspaceSize(
    const aclTensor *currentScale,
    const aclTensor *growthTracker,
    const aclTensor *foundInf,
    double growthFactor,
    double backoffFactor,
    int64_t growthInterval,
    const aclTensor *updatedScale,
    const aclTensor *updatedGrowthTracker,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnAmpUpdateScale(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
