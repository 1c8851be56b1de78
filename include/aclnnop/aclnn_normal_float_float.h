/* aclnnNormalFloatFloat, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_NORMAL_FLOAT_FLOAT_H_
#define MINDTORCH_ACLNNOP_ACLNN_NORMAL_FLOAT_FLOAT_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnNormalFloatFloatGetWorkspaceSize(
    float mean,
    float std,
    int64_t seed,
    int64_t offset,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnNormalFloatFloat(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
