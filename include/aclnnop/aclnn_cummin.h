/* aclnnCummin, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_CUMMIN_H_
#define MINDTORCH_ACLNNOP_ACLNN_CUMMIN_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnCumminGetWorkspaceSize(
    const aclTensor *self,
    int64_t dim,
    aclTensor *valuesOut,
    aclTensor *indicesOut,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnCummin(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
