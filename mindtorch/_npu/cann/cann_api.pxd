"""include/mindtorch/cann_api.h: the runtime and descriptor functions, through pointers that the loader fills."""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp cimport bool as cbool

from mindtorch._npu.cann.acl_base_rt cimport *
from mindtorch._npu.cann.acl_meta cimport *
from mindtorch._npu.cann.acl_rt cimport *


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
        # The optional ones.
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
