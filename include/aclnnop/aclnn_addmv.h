/* aclnnAddmv, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_ADDMV_H_
#define MINDTORCH_ACLNNOP_ACLNN_ADDMV_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnAddmvGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *mat,
    const aclTensor *vec,
    const aclScalar *alpha,
    const aclScalar *beta,
    aclTensor *out,
    int8_t cubeMathType,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnAddmv(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
