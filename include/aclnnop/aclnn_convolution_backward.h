/* aclnnConvolutionBackward, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_CONVOLUTION_BACKWARD_H_
#define MINDTORCH_ACLNNOP_ACLNN_CONVOLUTION_BACKWARD_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnConvolutionBackwardGetWorkspaceSize(
    const aclTensor *gradOutput,
    const aclTensor *input,
    const aclTensor *weight,
    const aclIntArray *biasSizes,
    const aclIntArray *stride,
    const aclIntArray *padding,
    const aclIntArray *dilation,
    bool transposed,
    const aclIntArray *outputPadding,
    int groups,
    const aclBoolArray *outputMask,
    int8_t cubeMathType,
    aclTensor *gradInput,
    aclTensor *gradWeight,
    aclTensor *gradBias,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnConvolutionBackward(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
