/* aclnnInplaceScatterValue, aclnnScatterValue, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_SCATTER_VALUE_H_
#define MINDTORCH_ACLNNOP_ACLNN_SCATTER_VALUE_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplaceScatterValueGetWorkspaceSize(
    aclTensor *selfRef,
    int64_t dim,
    const aclTensor *index,
    const aclScalar *value,
    int64_t reduce,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceScatterValue(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnScatterValueGetWorkspaceSize(
    const aclTensor *self,
    int64_t dim,
    const aclTensor *index,
    const aclScalar *value,
    int64_t reduce,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnScatterValue(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
