/* aclnnSimThreadExponential, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_SIM_THREAD_EXPONENTIAL_H_
#define MINDTORCH_ACLNNOP_ACLNN_SIM_THREAD_EXPONENTIAL_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnSimThreadExponentialGetWorkspaceSize(
    aclTensor *selfRef,
    int64_t count,
    double lambda,
    int64_t seed,
    int64_t offset,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnSimThreadExponential(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
