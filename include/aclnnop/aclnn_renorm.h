/* aclnnInplaceRenorm, aclnnRenorm, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_RENORM_H_
#define MINDTORCH_ACLNNOP_ACLNN_RENORM_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplaceRenormGetWorkspaceSize(
    aclTensor *selfRef,
    const aclScalar *p,
    int64_t dim,
    const aclScalar *maxNorm,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceRenorm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnRenormGetWorkspaceSize(
    const aclTensor *self,
    const aclScalar *p,
    int64_t dim,
    const aclScalar *maxNorm,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnRenorm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
