/* aclnnEmbeddingDenseBackward, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_EMBEDDING_DENSE_BACKWARD_H_
#define MINDTORCH_ACLNNOP_ACLNN_EMBEDDING_DENSE_BACKWARD_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnEmbeddingDenseBackwardGetWorkspaceSize(
    const aclTensor *grad,
    const aclTensor *indices,
    uint64_t numWeights,
    uint64_t paddingIdx,
    bool scaleGradByFreq,
    const aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnEmbeddingDenseBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
