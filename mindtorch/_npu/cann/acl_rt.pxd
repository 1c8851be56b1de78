"""include/acl/acl_rt.h: enums and structs of the ACL runtime."""
from libc.stdint cimport int32_t, uint32_t, uint64_t

cdef extern from "acl/acl_rt.h" nogil:
    ctypedef enum aclrtMemcpyKind:
        ACL_MEMCPY_HOST_TO_HOST
        ACL_MEMCPY_HOST_TO_DEVICE
        ACL_MEMCPY_DEVICE_TO_HOST
        ACL_MEMCPY_DEVICE_TO_DEVICE

    ctypedef enum aclrtMemMallocPolicy:
        ACL_MEM_MALLOC_HUGE_FIRST
        ACL_MEM_MALLOC_HUGE_ONLY
        ACL_MEM_MALLOC_NORMAL_ONLY
        ACL_MEM_MALLOC_HUGE1G_ONLY

    ctypedef enum aclrtMemAttr:
        ACL_DDR_MEM
        ACL_HBM_MEM
        ACL_HBM_MEM_HUGE
        ACL_HBM_MEM_HUGE1G

    ctypedef void *aclrtDrvMemHandle

    ctypedef enum aclrtMemHandleType:
        ACL_MEM_HANDLE_TYPE_NONE

    ctypedef enum aclrtMemAllocationType:
        ACL_MEM_ALLOCATION_TYPE_PINNED

    ctypedef enum aclrtMemLocationType:
        ACL_MEM_LOCATION_TYPE_DEVICE

    ctypedef struct aclrtMemLocation:
        uint32_t id
        aclrtMemLocationType type

    ctypedef struct aclrtPhysicalMemProp:
        aclrtMemHandleType handleType
        aclrtMemAllocationType allocationType
        aclrtMemAttr memAttr
        aclrtMemLocation location
        uint64_t reserve

    ctypedef enum aclrtStreamStatus:
        ACL_STREAM_STATUS_COMPLETE
        ACL_STREAM_STATUS_NOT_READY

    ctypedef enum aclrtEventRecordedStatus:
        ACL_EVENT_RECORDED_STATUS_NOT_READY
        ACL_EVENT_RECORDED_STATUS_COMPLETE

    ctypedef struct aclrtUtilizationInfo:
        int32_t cubeUtilization
        int32_t vectorUtilization
        int32_t aicpuUtilization
        int32_t memoryUtilization

    ctypedef enum aclrtDevResLimitType:
        ACL_RT_DEV_RES_CUBE_CORE
        ACL_RT_DEV_RES_VECTOR_CORE

    ctypedef struct aclrtMemUceInfo:
        void *addr
        size_t len

    ctypedef struct aclrtUuid:
        char bytes[16]

    ctypedef struct aclrtIpcEventHandle:
        char reserved[64]

    ctypedef void (*aclrtHostFunc)(void *) noexcept

    ctypedef enum aclrtHostRegisterType:
        ACL_HOST_REGISTER_MAPPED

    ctypedef void *aclmdlRI
    ctypedef void *aclrtTaskGrp

    ctypedef enum aclmdlRICaptureMode:
        ACL_MODEL_RI_CAPTURE_MODE_GLOBAL
        ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL
        ACL_MODEL_RI_CAPTURE_MODE_RELAXED

    ctypedef enum aclmdlRICaptureStatus:
        ACL_MODEL_RI_CAPTURE_STATUS_NONE
        ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE
        ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED
