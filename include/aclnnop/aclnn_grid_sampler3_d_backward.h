/* aclnnGridSampler3DBackward, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_GRID_SAMPLER3_D_BACKWARD_H_
#define MINDTORCH_ACLNNOP_ACLNN_GRID_SAMPLER3_D_BACKWARD_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnGridSampler3DBackwardGetWorkspaceSize(
    const aclTensor *gradOutput,
    const aclTensor *input,
    const aclTensor *grid,
    int64_t interpolationMode,
    int64_t paddingMode,
    bool alignCorners,
    const aclBoolArray *outputMask,
    aclTensor *inputGrad,
    aclTensor *gridGrad,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnGridSampler3DBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
