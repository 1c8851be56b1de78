/* aclnnMoeFinalizeRouting, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_MOE_FINALIZE_ROUTING_H_
#define MINDTORCH_ACLNNOP_ACLNN_MOE_FINALIZE_ROUTING_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnMoeFinalizeRoutingGetWorkspaceSize(
    const aclTensor *expandedX,
    const aclTensor *x1,
    const aclTensor *x2Optional,
    const aclTensor *bias,
    const aclTensor *scales,
    const aclTensor *expandedRowIdx,
    const aclTensor *expandedExpertIdx,
    const aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnMoeFinalizeRouting(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
