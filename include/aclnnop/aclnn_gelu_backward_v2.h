/* aclnnGeluBackwardV2, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_GELU_BACKWARD_V2_H_
#define MINDTORCH_ACLNNOP_ACLNN_GELU_BACKWARD_V2_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnGeluBackwardV2GetWorkspaceSize(
    const aclTensor *gradOutput,
    const aclTensor *self,
    char *approximate,
    aclTensor *gradInput,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnGeluBackwardV2(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
