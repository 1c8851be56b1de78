/* aclnnMaxPool2dWithMask, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_MAX_POOL2D_WITH_MASK_H_
#define MINDTORCH_ACLNNOP_ACLNN_MAX_POOL2D_WITH_MASK_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnMaxPool2dWithMaskGetWorkspaceSize(
    const aclTensor *self,
    const aclIntArray *kernelSize,
    const aclIntArray *stride,
    const aclIntArray *padding,
    const aclIntArray *dilation,
    bool ceilMode,
    aclTensor *out,
    aclTensor *indices,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnMaxPool2dWithMask(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
