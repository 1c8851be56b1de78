/* aclnnFusedSgd, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_FUSED_SGD_H_
#define MINDTORCH_ACLNNOP_ACLNN_FUSED_SGD_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnFusedSgdGetWorkspaceSize(
    const aclTensorList *paramsRef,
    const aclTensorList *gradsRef,
    const aclTensorList *momentumBufferListOptionalRef,
    const aclTensor *gradScaleOptional,
    float weightDecay,
    float momentum,
    float lr,
    float dampening,
    bool nesterov,
    bool maximize,
    bool isFirstStep,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnFusedSgd(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
