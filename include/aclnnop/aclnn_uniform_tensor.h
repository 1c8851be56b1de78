/* aclnnInplaceUniformTensor, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_UNIFORM_TENSOR_H_
#define MINDTORCH_ACLNNOP_ACLNN_UNIFORM_TENSOR_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplaceUniformTensorGetWorkspaceSize(
    const aclTensor *selfRef,
    double from,
    double to,
    const aclTensor *seedTensor,
    const aclTensor *offsetTensor,
    uint64_t offset,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceUniformTensor(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
