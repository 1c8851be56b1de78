/* aclnnInplaceRandomTensor, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_RANDOM_TENSOR_H_
#define MINDTORCH_ACLNNOP_ACLNN_RANDOM_TENSOR_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplaceRandomTensorGetWorkspaceSize(
    const aclTensor *selfRef,
    int64_t from,
    int64_t to,
    const aclTensor *seedTensor,
    const aclTensor *offsetTensor,
    int64_t offset,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceRandomTensor(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
