/* aclnnReflectionPad2dBackward, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_REFLECTION_PAD2D_BACKWARD_H_
#define MINDTORCH_ACLNNOP_ACLNN_REFLECTION_PAD2D_BACKWARD_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnReflectionPad2dBackwardGetWorkspaceSize(
    const aclTensor *gradOutput,
    const aclTensor *self,
    const aclIntArray *padding,
    aclTensor *gradInput,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnReflectionPad2dBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
