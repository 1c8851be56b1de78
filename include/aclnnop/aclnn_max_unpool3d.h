/* aclnnMaxUnpool3d, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_MAX_UNPOOL3D_H_
#define MINDTORCH_ACLNNOP_ACLNN_MAX_UNPOOL3D_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnMaxUnpool3dGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *indices,
    const aclIntArray *outputSize,
    const aclIntArray *stride,
    const aclIntArray *padding,
    aclTensor *outRef,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnMaxUnpool3d(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
