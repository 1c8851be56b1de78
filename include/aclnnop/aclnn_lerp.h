/* aclnnInplaceLerp, aclnnInplaceLerps, aclnnLerp, aclnnLerps, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_LERP_H_
#define MINDTORCH_ACLNNOP_ACLNN_LERP_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplaceLerpGetWorkspaceSize(
    aclTensor *selfRef,
    const aclTensor *end,
    const aclTensor *weight,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceLerp(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceLerpsGetWorkspaceSize(
    aclTensor *selfRef,
    const aclTensor *end,
    const aclScalar *weight,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceLerps(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnLerpGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *end,
    const aclTensor *weight,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnLerp(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnLerpsGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *end,
    const aclScalar *weight,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnLerps(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
