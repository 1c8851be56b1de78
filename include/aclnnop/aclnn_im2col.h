/* aclnnIm2col, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_IM2COL_H_
#define MINDTORCH_ACLNNOP_ACLNN_IM2COL_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnIm2colGetWorkspaceSize(
    const aclTensor *self,
    const aclIntArray *kernelSize,
    const aclIntArray *dilation,
    const aclIntArray *padding,
    const aclIntArray *stride,
    const aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnIm2col(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
