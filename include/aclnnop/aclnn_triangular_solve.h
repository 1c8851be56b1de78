/* aclnnTriangularSolve, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_TRIANGULAR_SOLVE_H_
#define MINDTORCH_ACLNNOP_ACLNN_TRIANGULAR_SOLVE_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnTriangularSolveGetWorkspaceSize(
    const aclTensor *self,
    const aclTensor *A,
    bool upper,
    bool transpose,
    bool unitriangular,
    aclTensor *xOut,
    aclTensor *mOut,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnTriangularSolve(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
