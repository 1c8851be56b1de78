/* aclnnInplaceScatterReduce, aclnnScatterReduce, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_SCATTER_REDUCE_H_
#define MINDTORCH_ACLNNOP_ACLNN_SCATTER_REDUCE_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplaceScatterReduceGetWorkspaceSize(
    aclTensor *selfRef,
    int64_t dim,
    const aclTensor *index,
    const aclTensor *src,
    int64_t reduce,
    bool includeSelf,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceScatterReduce(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnScatterReduceGetWorkspaceSize(
    const aclTensor *self,
    int64_t dim,
    const aclTensor *index,
    const aclTensor *src,
    int64_t reduce,
    bool includeSelf,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnScatterReduce(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
