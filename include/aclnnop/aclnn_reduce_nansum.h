/* aclnnReduceNansum, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_REDUCE_NANSUM_H_
#define MINDTORCH_ACLNNOP_ACLNN_REDUCE_NANSUM_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnReduceNansumGetWorkspaceSize(
    const aclTensor *self,
    const aclIntArray *dim,
    bool keepDim,
    aclDataType dtype,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnReduceNansum(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
