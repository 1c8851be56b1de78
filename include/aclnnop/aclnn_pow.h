/* aclnnInplacePowTensorScalar, aclnnPowScalarTensor, aclnnPowTensorScalar, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_POW_H_
#define MINDTORCH_ACLNNOP_ACLNN_POW_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplacePowTensorScalarGetWorkspaceSize(
    const aclTensor *self,
    const aclScalar *exponent,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnInplacePowTensorScalar(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnPowScalarTensorGetWorkspaceSize(
    const aclScalar *self,
    const aclTensor *exponent,
    const aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnPowScalarTensor(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnPowTensorScalarGetWorkspaceSize(
    const aclTensor *self,
    const aclScalar *exponent,
    const aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnPowTensorScalar(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
