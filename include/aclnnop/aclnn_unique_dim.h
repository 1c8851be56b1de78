/* aclnnUniqueDim, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_UNIQUE_DIM_H_
#define MINDTORCH_ACLNNOP_ACLNN_UNIQUE_DIM_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnUniqueDimGetWorkspaceSize(
    const aclTensor *self,
    bool sorted,
    bool returnInverse,
    int64_t dim,
    aclTensor *valueOut,
    aclTensor *inverseOut,
    aclTensor *countsOut,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnUniqueDim(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
