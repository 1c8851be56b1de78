/* aclnnUnfoldGrad, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_UNFOLD_GRAD_H_
#define MINDTORCH_ACLNNOP_ACLNN_UNFOLD_GRAD_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnUnfoldGradGetWorkspaceSize(
    const aclTensor *gradOut,
    const aclIntArray *inputSizes,
    int64_t dim,
    int64_t size,
    int64_t step,
    const aclTensor *gradIn,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnUnfoldGrad(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
