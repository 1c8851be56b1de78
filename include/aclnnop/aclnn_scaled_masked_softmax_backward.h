/* aclnnScaledMaskedSoftmaxBackward, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_SCALED_MASKED_SOFTMAX_BACKWARD_H_
#define MINDTORCH_ACLNNOP_ACLNN_SCALED_MASKED_SOFTMAX_BACKWARD_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnScaledMaskedSoftmaxBackwardGetWorkspaceSize(
    const aclTensor *gradOutput,
    const aclTensor *y,
    const aclTensor *mask,
    double scale,
    bool fixTriuMask,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnScaledMaskedSoftmaxBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
