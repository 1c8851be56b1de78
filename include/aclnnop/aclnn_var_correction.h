/* aclnnVarCorrection, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_VAR_CORRECTION_H_
#define MINDTORCH_ACLNNOP_ACLNN_VAR_CORRECTION_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnVarCorrectionGetWorkspaceSize(
    const aclTensor *self,
    const aclIntArray *dim,
    int64_t correction,
    bool keepdim,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnVarCorrection(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
