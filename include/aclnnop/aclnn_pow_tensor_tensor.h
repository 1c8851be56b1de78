/* aclnnInplacePowTensorTensor, aclnnPowTensorTensor, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_POW_TENSOR_TENSOR_H_
#define MINDTORCH_ACLNNOP_ACLNN_POW_TENSOR_TENSOR_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplacePowTensorTensorGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *exponent,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplacePowTensorTensor(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnPowTensorTensorGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *exponent,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnPowTensorTensor(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
