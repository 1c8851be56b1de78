/* aclnnAvgPool3dBackward, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_AVG_POOL3D_BACKWARD_H_
#define MINDTORCH_ACLNNOP_ACLNN_AVG_POOL3D_BACKWARD_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnAvgPool3dBackwardGetWorkspaceSize(
    const aclTensor *gradOutput,
    const aclTensor *self,
    const aclIntArray *kernelSize,
    const aclIntArray *stride,
    const aclIntArray *padding,
    bool ceilMode,
    bool countIncludePad,
    int64_t divisorOverride,
    aclTensor *output,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnAvgPool3dBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
