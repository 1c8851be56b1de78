/* aclnnInplacePut, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_PUT_H_
#define MINDTORCH_ACLNNOP_ACLNN_PUT_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplacePutGetWorkspaceSize(
    aclTensor *selfRef,
    const aclTensor *index,
    const aclTensor *source,
    bool accumulate,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplacePut(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
