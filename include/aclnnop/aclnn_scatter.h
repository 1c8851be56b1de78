/* aclnnInplaceScatter, aclnnScatter, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_SCATTER_H_
#define MINDTORCH_ACLNNOP_ACLNN_SCATTER_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplaceScatterGetWorkspaceSize(
    aclTensor *selfRef,
    int64_t dim,
    const aclTensor *index,
    const aclTensor *src,
    int64_t reduce,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceScatter(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnScatterGetWorkspaceSize(
    const aclTensor *self,
    int64_t dim,
    const aclTensor *index,
    const aclTensor *src,
    int64_t reduce,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnScatter(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
