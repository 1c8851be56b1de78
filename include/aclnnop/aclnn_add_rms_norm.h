/* aclnnAddRmsNorm, aclnnInplaceAddRmsNorm, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_ADD_RMS_NORM_H_
#define MINDTORCH_ACLNNOP_ACLNN_ADD_RMS_NORM_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnAddRmsNormGetWorkspaceSize(
    const aclTensor *x1,
    const aclTensor *x2,
    const aclTensor *gamma,
    double epsilon,
    aclTensor *yOut,
    aclTensor *rstdOut,
    aclTensor *xOut,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnAddRmsNorm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceAddRmsNormGetWorkspaceSize(
    aclTensor *x1Ref,
    aclTensor *x2Ref,
    const aclTensor *gamma,
    double epsilon,
    const aclTensor *rstdOut,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceAddRmsNorm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
