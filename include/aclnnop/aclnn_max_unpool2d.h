/* aclnnMaxUnpool2d, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_MAX_UNPOOL2D_H_
#define MINDTORCH_ACLNNOP_ACLNN_MAX_UNPOOL2D_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnMaxUnpool2dGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *indices,
    const aclIntArray *outputSize,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnMaxUnpool2d(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
