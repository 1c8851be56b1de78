/* aclnnClampMax, aclnnInplaceClampMax, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_CLAMP_MAX_H_
#define MINDTORCH_ACLNNOP_ACLNN_CLAMP_MAX_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnClampMaxGetWorkspaceSize(
    const aclTensor *self,
    const aclScalar *clipValueMax,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnClampMax(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceClampMaxGetWorkspaceSize(
    const aclTensor *selfRef,
    const aclScalar *clipValueMax,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceClampMax(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
