/* aclnnConstantPadNd, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_CONSTANT_PAD_ND_H_
#define MINDTORCH_ACLNNOP_ACLNN_CONSTANT_PAD_ND_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnConstantPadNdGetWorkspaceSize(
    const aclTensor *self,
    const aclIntArray *pad,
    const aclScalar *value,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnConstantPadNd(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
