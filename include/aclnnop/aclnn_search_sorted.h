/* aclnnSearchSorted, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_SEARCH_SORTED_H_
#define MINDTORCH_ACLNNOP_ACLNN_SEARCH_SORTED_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnSearchSortedGetWorkspaceSize(
    const aclTensor *sortedSequence,
    const aclTensor *self,
    bool outInt32,
    bool right,
    const aclTensor *sorter,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnSearchSorted(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
