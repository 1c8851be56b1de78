/* aclnnAddbmm, aclnnInplaceAddbmm, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_ADDBMM_H_
#define MINDTORCH_ACLNNOP_ACLNN_ADDBMM_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnAddbmmGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *batch1,
    const aclTensor *batch2,
    const aclScalar *beta,
    const aclScalar *alpha,
    aclTensor *out,
    int8_t cubeMathType,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnAddbmm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceAddbmmGetWorkspaceSize(
    aclTensor *selfRef,
    const aclTensor *batch1,
    const aclTensor *batch2,
    const aclScalar *beta,
    const aclScalar *alpha,
    int8_t cubeMathType,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceAddbmm(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
