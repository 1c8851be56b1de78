/* aclnnGeGluV3, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_GE_GLU_V3_H_
#define MINDTORCH_ACLNNOP_ACLNN_GE_GLU_V3_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnGeGluV3GetWorkspaceSize(
    const aclTensor *self,
    int64_t dim,
    int64_t approximate,
    bool activateLeft,
    aclTensor *out,
    aclTensor *outGelu,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnGeGluV3(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
