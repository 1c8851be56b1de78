/* aclnnAminmaxAll, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_AMINMAX_ALL_H_
#define MINDTORCH_ACLNNOP_ACLNN_AMINMAX_ALL_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnAminmaxAllGetWorkspaceSize(
    const aclTensor *self,
    aclTensor *minOut,
    aclTensor *maxOut,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnAminmaxAll(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
