/* aclnnLayerNorm, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_LAYER_NORM_H_
#define MINDTORCH_ACLNNOP_ACLNN_LAYER_NORM_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnLayerNormGetWorkspaceSize(
    const aclTensor *input,
    const aclIntArray *normalizedShape,
    const aclTensor *weightOptional,
    const aclTensor *biasOptional,
    double eps,
    aclTensor *out,
    aclTensor *meanOutOptional,
    aclTensor *rstdOutOptional,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnLayerNorm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
