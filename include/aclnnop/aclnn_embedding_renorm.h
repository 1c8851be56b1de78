/* aclnnEmbeddingRenorm, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_EMBEDDING_RENORM_H_
#define MINDTORCH_ACLNNOP_ACLNN_EMBEDDING_RENORM_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnEmbeddingRenormGetWorkspaceSize(
    aclTensor *selfRef,
    const aclTensor *indices,
    double maxNorm,
    double normType,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnEmbeddingRenorm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
