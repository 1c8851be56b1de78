"""include/aclnn/aclnn_base.h and acl_meta.h: handles of the operator library."""
from libc.stdint cimport int32_t


cdef extern from "aclnn/acl_meta.h" nogil:
    ctypedef int32_t aclnnStatus

    ctypedef struct aclTensor:
        pass
    ctypedef struct aclScalar:
        pass
    ctypedef struct aclIntArray:
        pass
    ctypedef struct aclFloatArray:
        pass
    ctypedef struct aclBoolArray:
        pass
    ctypedef struct aclTensorList:
        pass
    ctypedef struct aclScalarList:
        pass
    ctypedef struct aclOpExecutor:
        pass
