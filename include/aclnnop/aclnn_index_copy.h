/* aclnnIndexCopy, aclnnInplaceIndexCopy, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_INDEX_COPY_H_
#define MINDTORCH_ACLNNOP_ACLNN_INDEX_COPY_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnIndexCopyGetWorkspaceSize(
    aclTensor *selfRef,
    int64_t dim,
    const aclTensor *index,
    const aclTensor *source,
    aclTensor *outRef,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnIndexCopy(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceIndexCopyGetWorkspaceSize(
    aclTensor *selfRef,
    int64_t dim,
    const aclTensor *index,
    const aclTensor *source,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceIndexCopy(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
