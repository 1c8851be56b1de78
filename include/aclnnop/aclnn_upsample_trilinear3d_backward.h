/* aclnnUpsampleTrilinear3dBackward, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_UPSAMPLE_TRILINEAR3D_BACKWARD_H_
#define MINDTORCH_ACLNNOP_ACLNN_UPSAMPLE_TRILINEAR3D_BACKWARD_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnUpsampleTrilinear3dBackwardGetWorkspaceSize(
    const aclTensor *gradOut,
    const aclIntArray *outputSize,
    const aclIntArray *inputSize,
    bool alignCorners,
    double scalesD,
    double scalesH,
    double scalesW,
    aclTensor *gradInput,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnUpsampleTrilinear3dBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
