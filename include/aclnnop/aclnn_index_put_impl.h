/* aclnnIndexPutImpl, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_INDEX_PUT_IMPL_H_
#define MINDTORCH_ACLNNOP_ACLNN_INDEX_PUT_IMPL_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnIndexPutImplGetWorkspaceSize(
    aclTensor *selfRef,
    const aclTensorList *indices,
    const aclTensor *values,
    const bool accumulate,
    const bool unsafe,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnIndexPutImpl(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
