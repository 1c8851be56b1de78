/* aclnnInplaceLeakyRelu, aclnnLeakyRelu, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_LEAKY_RELU_H_
#define MINDTORCH_ACLNNOP_ACLNN_LEAKY_RELU_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplaceLeakyReluGetWorkspaceSize(
    aclTensor *selfRef,
    const aclScalar *negativeSlope,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceLeakyRelu(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnLeakyReluGetWorkspaceSize(
    const aclTensor *self,
    const aclScalar *negativeSlope,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnLeakyRelu(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
