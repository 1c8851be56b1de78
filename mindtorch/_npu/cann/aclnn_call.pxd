"""include/mindtorch/aclnn_call.h: phase 1 of an operator, by its C signature."""
from libc.stdint cimport int64_t, uint64_t

from mindtorch._npu.cann.acl_meta cimport aclOpExecutor, aclnnStatus


cdef extern from "mindtorch/aclnn_call.h" nogil:
    ctypedef union AclnnValue:
        void *pointer
        int64_t integer
        double real
    ctypedef aclnnStatus (*AclnnPhase1)(void *function, const AclnnValue *values, uint64_t *workspaceSize,
                                        aclOpExecutor **executor) noexcept nogil
