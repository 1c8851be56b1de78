/* aclnnDropoutGenMaskV2Tensor, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_DROPOUT_GEN_MASK_V2_TENSOR_H_
#define MINDTORCH_ACLNNOP_ACLNN_DROPOUT_GEN_MASK_V2_TENSOR_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnDropoutGenMaskV2TensorGetWorkspaceSize(
    const aclIntArray *shape,
    double prob,
    const aclTensor *seedTensor,
    const aclTensor *offsetTensor,
    int64_t offset,
    aclDataType probDataType,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnDropoutGenMaskV2Tensor(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
