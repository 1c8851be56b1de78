/* aclnnConvolution, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_CONVOLUTION_H_
#define MINDTORCH_ACLNNOP_ACLNN_CONVOLUTION_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnConvolutionGetWorkspaceSize(
    const aclTensor *input,
    const aclTensor *weight,
    const aclTensor *bias,
    const aclIntArray *stride,
    const aclIntArray *padding,
    const aclIntArray *dilation,
    bool transposed,
    const aclIntArray *outputPadding,
    const int64_t groups,
    aclTensor *output,
    int8_t cubeMathType,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnConvolution(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
