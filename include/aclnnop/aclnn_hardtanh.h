/* aclnnHardtanh, aclnnInplaceHardtanh, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_HARDTANH_H_
#define MINDTORCH_ACLNNOP_ACLNN_HARDTANH_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnHardtanhGetWorkspaceSize(
    const aclTensor *self,
    const aclScalar *clipValueMin,
    const aclScalar *clipValueMax,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnHardtanh(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceHardtanhGetWorkspaceSize(
    aclTensor *selfRef,
    const aclScalar *clipValueMin,
    const aclScalar *clipValueMax,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplaceHardtanh(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
