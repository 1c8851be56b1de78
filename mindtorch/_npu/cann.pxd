"""What mindtorch calls of CANN: types, enums and codes of its headers, and CannApi, which holds its functions."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libcpp cimport bool as cbool


# --- the ACL runtime -------------------------------------------------------------------------------------------------

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
    int ACL_ERROR_BAD_ALLOC
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


# --- ACLNN -----------------------------------------------------------------------------------------------------------

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


# Phase 1 of an operator, by its C signature.
cdef extern from "mindtorch/aclnn_call.h" nogil:
    ctypedef union AclnnValue:
        void *pointer
        int64_t integer
        double real
    ctypedef aclnnStatus (*AclnnPhase1)(void *function, const AclnnValue *values, uint64_t *workspaceSize,
                                        aclOpExecutor **executor) noexcept nogil


# --- functions -------------------------------------------------------------------------------------------------------
# The loader (acl.pyx) fills the struct with pointers.

cdef extern from "mindtorch/cann_api.h" nogil:
    ctypedef struct CannApi:
        aclError (*aclInit)(const char *configPath) noexcept nogil
        aclError (*aclFinalize)() noexcept nogil
        const char *(*aclGetRecentErrMsg)() noexcept nogil
        const char *(*aclrtGetSocName)() noexcept nogil
        aclError (*aclrtGetDeviceCount)(uint32_t *count) noexcept nogil
        aclError (*aclrtSetDevice)(int32_t deviceId) noexcept nogil
        aclError (*aclrtResetDevice)(int32_t deviceId) noexcept nogil
        aclError (*aclrtSynchronizeDevice)() noexcept nogil
        aclError (*aclrtCreateContext)(aclrtContext *context, int32_t deviceId) noexcept nogil
        aclError (*aclrtDestroyContext)(aclrtContext context) noexcept nogil
        aclError (*aclrtSetCurrentContext)(aclrtContext context) noexcept nogil
        aclError (*aclrtCreateStreamWithConfig)(aclrtStream *stream, uint32_t priority, uint32_t flag) noexcept nogil
        aclError (*aclrtDestroyStream)(aclrtStream stream) noexcept nogil
        aclError (*aclrtSynchronizeStream)(aclrtStream stream) noexcept nogil
        aclError (*aclrtStreamQuery)(aclrtStream stream, aclrtStreamStatus *status) noexcept nogil
        aclError (*aclrtStreamWaitEvent)(aclrtStream stream, aclrtEvent event) noexcept nogil
        aclError (*aclrtCreateEventExWithFlag)(aclrtEvent *event, uint32_t flag) noexcept nogil
        aclError (*aclrtDestroyEvent)(aclrtEvent event) noexcept nogil
        aclError (*aclrtRecordEvent)(aclrtEvent event, aclrtStream stream) noexcept nogil
        aclError (*aclrtQueryEventStatus)(aclrtEvent event, aclrtEventRecordedStatus *status) noexcept nogil
        aclError (*aclrtSynchronizeEvent)(aclrtEvent event) noexcept nogil
        aclError (*aclrtEventElapsedTime)(float *ms, aclrtEvent startEvent, aclrtEvent endEvent) noexcept nogil
        aclError (*aclrtMalloc)(void **devPtr, size_t size, aclrtMemMallocPolicy policy) noexcept nogil
        aclError (*aclrtFree)(void *devPtr) noexcept nogil
        aclError (*aclrtMallocHost)(void **hostPtr, size_t size) noexcept nogil
        aclError (*aclrtFreeHost)(void *hostPtr) noexcept nogil
        aclError (*aclrtReserveMemAddress)(void **virPtr, size_t size, size_t alignment, void *expectPtr,
                                           uint64_t flags) noexcept nogil
        aclError (*aclrtReleaseMemAddress)(void *virPtr) noexcept nogil
        aclError (*aclrtMallocPhysical)(aclrtDrvMemHandle *handle, size_t size, const aclrtPhysicalMemProp *prop,
                                        uint64_t flags) noexcept nogil
        aclError (*aclrtFreePhysical)(aclrtDrvMemHandle handle) noexcept nogil
        aclError (*aclrtMapMem)(void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                                uint64_t flags) noexcept nogil
        aclError (*aclrtUnmapMem)(void *virPtr) noexcept nogil
        aclError (*aclrtGetMemInfo)(aclrtMemAttr attr, size_t *free, size_t *total) noexcept nogil
        aclError (*aclrtMemcpy)(void *dst, size_t destMax, const void *src, size_t count,
                                aclrtMemcpyKind kind) noexcept nogil
        aclError (*aclrtMemcpyAsync)(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                                     aclrtStream stream) noexcept nogil
        aclError (*aclrtDeviceCanAccessPeer)(int32_t *canAccessPeer, int32_t deviceId,
                                             int32_t peerDeviceId) noexcept nogil
        aclError (*aclrtDeviceEnablePeerAccess)(int32_t peerDeviceId, uint32_t flags) noexcept nogil
        aclError (*aclrtDeviceDisablePeerAccess)(int32_t peerDeviceId) noexcept nogil
        aclTensor *(*aclCreateTensor)(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType,
                                      const int64_t *stride, int64_t offset, aclFormat format,
                                      const int64_t *storageDims, uint64_t storageDimsNum,
                                      void *tensorData) noexcept nogil
        aclnnStatus (*aclDestroyTensor)(const aclTensor *tensor) noexcept nogil
        aclScalar *(*aclCreateScalar)(void *value, aclDataType dataType) noexcept nogil
        aclnnStatus (*aclDestroyScalar)(const aclScalar *scalar) noexcept nogil
        aclIntArray *(*aclCreateIntArray)(const int64_t *value, uint64_t size) noexcept nogil
        aclnnStatus (*aclDestroyIntArray)(const aclIntArray *array) noexcept nogil
        aclBoolArray *(*aclCreateBoolArray)(const cbool *value, uint64_t size) noexcept nogil
        aclnnStatus (*aclGetViewShape)(const aclTensor *tensor, int64_t **dims, uint64_t *count) noexcept nogil
        void (*delete_array "_ZdaPv")(void *array) noexcept nogil
        aclnnStatus (*aclDestroyBoolArray)(const aclBoolArray *array) noexcept nogil
        aclTensorList *(*aclCreateTensorList)(const aclTensor **value, uint64_t size) noexcept nogil
        aclnnStatus (*aclDestroyTensorList)(const aclTensorList *array) noexcept nogil
        aclScalarList *(*aclCreateScalarList)(const aclScalar **value, uint64_t size) noexcept nogil
        aclnnStatus (*aclDestroyScalarList)(const aclScalarList *array) noexcept nogil
        aclnnStatus (*aclDestroyAclOpExecutor)(aclOpExecutor *executor) noexcept nogil
        # Optional: NULL where the toolkit has none.
        aclError (*aclGetDeviceCapability)(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t *value) noexcept nogil
        aclError (*aclrtGetDeviceUtilizationRate)(int32_t deviceId,
                                                  aclrtUtilizationInfo *utilizationInfo) noexcept nogil
        aclError (*aclrtDeviceGetUuid)(int32_t deviceId, aclrtUuid *uuid) noexcept nogil
        aclError (*aclrtCreateEventWithFlag)(aclrtEvent *event, uint32_t flag) noexcept nogil
        aclError (*aclrtResetEvent)(aclrtEvent event, aclrtStream stream) noexcept nogil
        aclError (*aclrtEventGetTimestamp)(aclrtEvent event, uint64_t *timestamp) noexcept nogil
        aclError (*aclrtIpcGetEventHandle)(aclrtEvent event, aclrtIpcEventHandle *handle) noexcept nogil
        aclError (*aclrtIpcOpenEventHandle)(aclrtIpcEventHandle handle, aclrtEvent *event) noexcept nogil
        aclError (*aclrtLaunchHostFunc)(aclrtStream stream, aclrtHostFunc fn, void *args) noexcept nogil
        aclError (*aclrtCtxSetSysParamOpt)(aclSysParamOpt opt, int64_t value) noexcept nogil
        aclError (*aclrtSetOpExecuteTimeOutWithMs)(uint32_t timeout) noexcept nogil
        aclError (*aclrtHostRegister)(void *ptr, uint64_t size, aclrtHostRegisterType type,
                                      void **devPtr) noexcept nogil
        aclError (*aclrtHostRegisterV2)(void *ptr, uint64_t size, uint32_t flag) noexcept nogil
        aclError (*aclrtHostUnregister)(void *ptr) noexcept nogil
        aclError (*aclrtGetMemUceInfo)(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t arraySize,
                                       size_t *retSize) noexcept nogil
        aclError (*aclrtDeviceTaskAbort)(int32_t deviceId, uint32_t timeout) noexcept nogil
        aclError (*aclrtSetDeviceResLimit)(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) noexcept nogil
        aclError (*aclrtGetDeviceResLimit)(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value) noexcept nogil
        aclError (*aclrtSetStreamResLimit)(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) noexcept nogil
        aclError (*aclrtGetStreamResLimit)(aclrtStream stream, aclrtDevResLimitType type,
                                           uint32_t *value) noexcept nogil
        aclError (*aclrtResetStreamResLimit)(aclrtStream stream) noexcept nogil
        aclError (*aclrtUseStreamResInCurrentThread)(aclrtStream stream) noexcept nogil
        aclError (*aclrtUnuseStreamResInCurrentThread)(aclrtStream stream) noexcept nogil
        aclError (*aclrtGetResInCurrentThread)(aclrtDevResLimitType type, uint32_t *value) noexcept nogil
        aclError (*aclmdlInitDump)() noexcept nogil
        aclError (*aclmdlSetDump)(const char *dumpCfgPath) noexcept nogil
        aclError (*aclmdlFinalizeDump)() noexcept nogil
        aclError (*aclmdlRICaptureBegin)(aclrtStream stream, aclmdlRICaptureMode mode) noexcept nogil
        aclError (*aclmdlRICaptureGetInfo)(aclrtStream stream, aclmdlRICaptureStatus *status,
                                           aclmdlRI *modelRI) noexcept nogil
        aclError (*aclmdlRICaptureEnd)(aclrtStream stream, aclmdlRI *modelRI) noexcept nogil
        aclError (*aclmdlRIExecuteAsync)(aclmdlRI modelRI, aclrtStream stream) noexcept nogil
        aclError (*aclmdlRIDestroy)(aclmdlRI modelRI) noexcept nogil
        aclError (*aclmdlRIDebugJsonPrint)(aclmdlRI modelRI, const char *path, uint32_t flags) noexcept nogil
        aclError (*aclmdlRICaptureTaskGrpBegin)(aclrtStream stream) noexcept nogil
        aclError (*aclmdlRICaptureTaskGrpEnd)(aclrtStream stream, aclrtTaskGrp *handle) noexcept nogil
        aclError (*aclmdlRICaptureTaskUpdateBegin)(aclrtStream stream, aclrtTaskGrp handle) noexcept nogil
        aclError (*aclmdlRICaptureTaskUpdateEnd)(aclrtStream stream) noexcept nogil
        cbool (*CanUsePTACache)(const char *api) noexcept nogil
        void (*InitPTACacheThreadLocal)() noexcept nogil
        void (*UnInitPTACacheThreadLocal)() noexcept nogil
        void (*AddTensorAddrToCachedList)(void *addr) noexcept nogil
        void (*SetPTACacheHashKey)(uint8_t *key, size_t len) noexcept nogil
        aclOpExecutor *(*PTAFindExecCache)(uint8_t *buf, size_t len, uint64_t *workspaceSize) noexcept nogil
        aclnnStatus (*aclSetAclOpExecutorRepeatable)(aclOpExecutor *executor) noexcept nogil
        aclnnStatus (*aclSetTensorAddr)(aclOpExecutor *executor, size_t index, aclTensor *tensor,
                                        void *addr) noexcept nogil
        aclnnStatus (*aclSetDynamicTensorAddr)(aclOpExecutor *executor, size_t irIndex, size_t relativeIndex,
                                               aclTensorList *tensors, void *addr) noexcept nogil
