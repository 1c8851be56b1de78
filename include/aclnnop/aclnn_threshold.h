/* aclnnInplaceThreshold, aclnnThreshold, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_THRESHOLD_H_
#define MINDTORCH_ACLNNOP_ACLNN_THRESHOLD_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplaceThresholdGetWorkspaceSize(
    aclTensor *selfRef,
    const aclScalar *threshold,
    const aclScalar *value,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceThreshold(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnThresholdGetWorkspaceSize(
    const aclTensor *self,
    const aclScalar *threshold,
    const aclScalar *value,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnThreshold(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
