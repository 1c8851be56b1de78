/* aclnnAddcdiv, aclnnInplaceAddcdiv, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_ADDCDIV_H_
#define MINDTORCH_ACLNNOP_ACLNN_ADDCDIV_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnAddcdivGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *tensor1,
    const aclTensor *tensor2,
    const aclScalar *value,
    const aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnAddcdiv(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceAddcdivGetWorkspaceSize(
    const aclTensor *selfRef,
    const aclTensor *tensor1,
    const aclTensor *tensor2,
    const aclScalar *value,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceAddcdiv(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
