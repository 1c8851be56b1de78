/* aclnnMultinomial, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_MULTINOMIAL_H_
#define MINDTORCH_ACLNNOP_ACLNN_MULTINOMIAL_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnMultinomialGetWorkspaceSize(
    const aclTensor *self,
    int64_t numsamples,
    bool replacement,
    int64_t seed,
    int64_t offset,
    aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnMultinomial(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
