/* aclnnUpsampleTrilinear3d, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_UPSAMPLE_TRILINEAR3D_H_
#define MINDTORCH_ACLNNOP_ACLNN_UPSAMPLE_TRILINEAR3D_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnUpsampleTrilinear3dGetWorkspaceSize(
    const aclTensor *self,
    const aclIntArray *outputSize,
    bool alignCorners,
    double scalesD,
    double scalesH,
    double scalesW,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnUpsampleTrilinear3d(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
