/* aclnnAddmm, aclnnInplaceAddmm, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_ADDMM_H_
#define MINDTORCH_ACLNNOP_ACLNN_ADDMM_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnAddmmGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *mat1,
    const aclTensor *mat2,
    const aclScalar *beta,
    const aclScalar *alpha,
    aclTensor *out,
    int8_t cubeMathType,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnAddmm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceAddmmGetWorkspaceSize(
    const aclTensor *selfRef,
    const aclTensor *mat1,
    const aclTensor *mat2,
    const aclScalar *beta,
    const aclScalar *alpha,
    int8_t cubeMathType,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceAddmm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
