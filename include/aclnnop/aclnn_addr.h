/* aclnnAddr, aclnnInplaceAddr, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_ADDR_H_
#define MINDTORCH_ACLNNOP_ACLNN_ADDR_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnAddrGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *vec1,
    const aclTensor *vec2,
    const aclScalar *betaOptional,
    const aclScalar *alphaOptional,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnAddr(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceAddrGetWorkspaceSize(
    aclTensor *selfRef,
    const aclTensor *vec1,
    const aclTensor *vec2,
    const aclScalar *betaOptional,
    const aclScalar *alphaOptional,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceAddr(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
