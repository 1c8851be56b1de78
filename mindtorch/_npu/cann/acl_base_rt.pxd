"""include/acl/acl_base_rt.h: types, dtypes and codes of the ACL runtime."""
from libc.stdint cimport int32_t


cdef extern from "acl/acl_base_rt.h" nogil:
    ctypedef int aclError
    ctypedef void *aclrtStream
    ctypedef void *aclrtEvent
    ctypedef void *aclrtContext

    ctypedef enum aclDataType:
        ACL_DT_UNDEFINED
        ACL_FLOAT
        ACL_FLOAT16
        ACL_INT8
        ACL_INT32
        ACL_UINT8
        ACL_INT16
        ACL_INT64
        ACL_DOUBLE
        ACL_BOOL
        ACL_COMPLEX64
        ACL_COMPLEX128
        ACL_BF16
        ACL_UINT16
        ACL_UINT32
        ACL_UINT64
        ACL_FLOAT8_E5M2
        ACL_FLOAT8_E4M3FN
        ACL_FLOAT8_E8M0

    ctypedef enum aclFormat:
        ACL_FORMAT_NCHW
        ACL_FORMAT_ND
        ACL_FORMAT_NCDHW
        ACL_FORMAT_NCL

    ctypedef enum aclDeviceInfo:
        ACL_DEVICE_INFO_AI_CORE_NUM
        ACL_DEVICE_INFO_VECTOR_CORE_NUM
        ACL_DEVICE_INFO_L2_SIZE

    ctypedef enum aclSysParamOpt:
        ACL_OPT_DETERMINISTIC

    int ACL_SUCCESS
    int ACL_ERROR_REPEAT_INITIALIZE
    int ACL_ERROR_RT_INVALID_HANDLE
    int ACL_ERROR_RT_MEMORY_ALLOCATION
    int ACL_ERROR_RT_STREAM_SYNC_TIMEOUT
    unsigned int ACL_EVENT_IPC
    unsigned int ACL_EVENT_SYNC
    unsigned int ACL_EVENT_TIME_LINE
    unsigned int ACL_STREAM_FAST_LAUNCH
    unsigned int ACL_STREAM_FAST_SYNC
    unsigned int ACL_HOST_REG_MAPPED
    unsigned int ACL_HOST_REG_PINNED
