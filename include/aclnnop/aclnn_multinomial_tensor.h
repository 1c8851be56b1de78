/* aclnnMultinomialTensor, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_MULTINOMIAL_TENSOR_H_
#define MINDTORCH_ACLNNOP_ACLNN_MULTINOMIAL_TENSOR_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnMultinomialTensorGetWorkspaceSize(
    const aclTensor *self,
    int64_t numsamples,
    bool replacement,
    const aclTensor *seedTensor,
    const aclTensor *offsetTensor,
    int64_t offset,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnMultinomialTensor(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
