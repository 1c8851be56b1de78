/* aclnnThnnFusedLstmCell, under the vendor's header name.
 * mindtorch's own declarations of the two-phase calls; written by mindtorch._ops.generator.headers. */
#ifndef MINDTORCH_ACLNNOP_ACLNN_THNN_FUSED_LSTM_CELL_H_
#define MINDTORCH_ACLNNOP_ACLNN_THNN_FUSED_LSTM_CELL_H_
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnThnnFusedLstmCellGetWorkspaceSize(
    const aclTensor *inputGates,
    const aclTensor *hiddenGates,
    const aclTensor *cx,
    const aclTensor *inputBiasOptional,
    const aclTensor *hiddenBiasOptional,
    aclTensor *hyOut,
    aclTensor *cyOut,
    aclTensor *storageOut,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnThnnFusedLstmCell(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
