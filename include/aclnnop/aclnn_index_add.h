/* aclnnIndexAdd, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_INDEX_ADD_H_
#define MINDTORCH_ACLNNOP_ACLNN_INDEX_ADD_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnIndexAddGetWorkspaceSize(
    const aclTensor *self,
    const int64_t dim,
    const aclTensor *index,
    const aclTensor *source,
    const aclScalar *alpha,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnIndexAdd(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
