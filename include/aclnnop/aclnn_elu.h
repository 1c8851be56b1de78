/* aclnnElu, aclnnInplaceElu, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_ELU_H_
#define MINDTORCH_ACLNNOP_ACLNN_ELU_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnEluGetWorkspaceSize(
    const aclTensor *self,
    const aclScalar *alpha,
    const aclScalar *scale,
    const aclScalar *inputScale,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnElu(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceEluGetWorkspaceSize(
    aclTensor *selfRef,
    const aclScalar *alpha,
    const aclScalar *scale,
    const aclScalar *inputScale,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceElu(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
