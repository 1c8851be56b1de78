"""CANN's runtime in pyACL's names and conventions: handles are ints, results come first, the status comes last.

    stream, ret = acl.rt.create_stream()

For cold paths, which read well that way and can be tested with a double. Nothing here raises for a status, and every
call that may wait for the device gives up the GIL. Usable once acl_loader.ensure_acl() has returned this module.
"""
from libc.stdint cimport int32_t, int64_t, intptr_t, uint32_t

from mindtorch._npu.cann.acl_base_rt cimport (
    ACL_DEVICE_INFO_AI_CORE_NUM, ACL_DEVICE_INFO_L2_SIZE, ACL_DEVICE_INFO_VECTOR_CORE_NUM, ACL_STREAM_FAST_LAUNCH,
    ACL_STREAM_FAST_SYNC, aclDeviceInfo, aclrtContext, aclrtStream, aclSysParamOpt)
from mindtorch._npu.cann.acl_rt cimport (
    ACL_HBM_MEM, ACL_HOST_REGISTER_MAPPED, ACL_RT_DEV_RES_CUBE_CORE, ACL_RT_DEV_RES_VECTOR_CORE, aclrtDevResLimitType,
    aclrtHostRegisterType, aclrtMemAttr, aclrtMemMallocPolicy, aclrtMemUceInfo, aclrtUtilizationInfo, aclrtUuid)
from mindtorch._npu.symbols cimport api, require

CUBE_CORES = ACL_DEVICE_INFO_AI_CORE_NUM
VECTOR_CORES = ACL_DEVICE_INFO_VECTOR_CORE_NUM
L2_BYTES = ACL_DEVICE_INFO_L2_SIZE
CUBE_CORE_LIMIT = ACL_RT_DEV_RES_CUBE_CORE
VECTOR_CORE_LIMIT = ACL_RT_DEV_RES_VECTOR_CORE

cdef enum:
    MEMORY_ERRORS = 128              # how many a call can name


def init(config=None):
    cdef bytes path
    cdef const char *raw = NULL
    cdef int ret
    if config is not None:
        path = str(config).encode()
        raw = path
    with nogil:
        ret = api.aclInit(raw)
    return ret


def finalize():
    cdef int ret
    with nogil:
        ret = api.aclFinalize()
    return ret


def get_soc_name():
    cdef const char *name = api.aclrtGetSocName()
    return None if name == NULL else name.decode()


def get_device_capability(uint32_t device_id, int device_info):
    cdef int64_t value = 0
    require(<void *>api.aclGetDeviceCapability, "aclGetDeviceCapability")
    cdef int ret = api.aclGetDeviceCapability(device_id, <aclDeviceInfo>device_info, &value)
    return value, ret


class mdl:
    """acl.mdl: dumps of what operators read and write."""

    @staticmethod
    def init_dump():
        require(<void *>api.aclmdlInitDump, "aclmdlInitDump")
        return api.aclmdlInitDump()

    @staticmethod
    def set_dump(path):
        require(<void *>api.aclmdlSetDump, "aclmdlSetDump")
        cdef bytes raw = str(path).encode()
        return api.aclmdlSetDump(raw)

    @staticmethod
    def finalize_dump():
        require(<void *>api.aclmdlFinalizeDump, "aclmdlFinalizeDump")
        return api.aclmdlFinalizeDump()


class rt:
    """acl.rt: devices, contexts, streams and memory."""

    @staticmethod
    def get_device_count():
        cdef uint32_t count = 0
        cdef int ret
        with nogil:
            ret = api.aclrtGetDeviceCount(&count)
        return count, ret

    @staticmethod
    def set_device(int32_t device_id):
        cdef int ret
        with nogil:
            ret = api.aclrtSetDevice(device_id)
        return ret

    @staticmethod
    def reset_device(int32_t device_id):
        cdef int ret
        with nogil:
            ret = api.aclrtResetDevice(device_id)
        return ret

    @staticmethod
    def synchronize_device():
        cdef int ret
        with nogil:
            ret = api.aclrtSynchronizeDevice()
        return ret

    @staticmethod
    def create_context(int32_t device_id):
        cdef aclrtContext context = NULL
        cdef int ret
        with nogil:
            ret = api.aclrtCreateContext(&context, device_id)
        return <intptr_t>context, ret

    @staticmethod
    def set_context(intptr_t context):
        return api.aclrtSetCurrentContext(<aclrtContext>context)

    @staticmethod
    def destroy_context(intptr_t context):
        cdef int ret
        with nogil:
            ret = api.aclrtDestroyContext(<aclrtContext>context)
        return ret

    @staticmethod
    def create_stream():
        cdef aclrtStream stream = NULL
        cdef int ret
        with nogil:
            ret = api.aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC)
        return <intptr_t>stream, ret

    @staticmethod
    def destroy_stream(intptr_t stream):
        cdef int ret
        with nogil:
            ret = api.aclrtDestroyStream(<aclrtStream>stream)
        return ret

    @staticmethod
    def synchronize_stream(intptr_t stream):
        cdef int ret
        with nogil:
            ret = api.aclrtSynchronizeStream(<aclrtStream>stream)
        return ret

    @staticmethod
    def malloc(size_t size, int policy):
        cdef void *pointer = NULL
        cdef int ret
        with nogil:
            ret = api.aclrtMalloc(&pointer, size, <aclrtMemMallocPolicy>policy)
        return <intptr_t>pointer, ret

    @staticmethod
    def free(intptr_t pointer):
        cdef int ret
        with nogil:
            ret = api.aclrtFree(<void *>pointer)
        return ret

    @staticmethod
    def get_mem_info(int attribute=ACL_HBM_MEM):
        cdef size_t free = 0
        cdef size_t total = 0
        cdef int ret
        with nogil:
            ret = api.aclrtGetMemInfo(<aclrtMemAttr>attribute, &free, &total)
        return free, total, ret

    @staticmethod
    def device_can_access_peer(int32_t device_id, int32_t peer_device_id):
        cdef int32_t can = 0
        cdef int ret = api.aclrtDeviceCanAccessPeer(&can, device_id, peer_device_id)
        return can, ret

    @staticmethod
    def device_enable_peer_access(int32_t peer_device_id, uint32_t flags=0):
        return api.aclrtDeviceEnablePeerAccess(peer_device_id, flags)

    @staticmethod
    def device_disable_peer_access(int32_t peer_device_id):
        return api.aclrtDeviceDisablePeerAccess(peer_device_id)

    @staticmethod
    def get_device_utilization_rate(int32_t device_id):
        """A dict of percentages; -1 stands for what the chip does not measure."""
        cdef aclrtUtilizationInfo info
        cdef int ret
        require(<void *>api.aclrtGetDeviceUtilizationRate, "aclrtGetDeviceUtilizationRate")
        with nogil:
            ret = api.aclrtGetDeviceUtilizationRate(device_id, &info)
        return {"cube": info.cubeUtilization, "vector": info.vectorUtilization, "aicpu": info.aicpuUtilization,
                "memory": info.memoryUtilization}, ret

    @staticmethod
    def device_get_uuid(int32_t device_id):
        """16 bytes; None where the toolkit does not tell."""
        cdef aclrtUuid uuid
        if api.aclrtDeviceGetUuid == NULL:
            return None, 0
        cdef int ret = api.aclrtDeviceGetUuid(device_id, &uuid)
        return uuid.bytes[:sizeof(uuid)], ret

    @staticmethod
    def get_mem_uce_info(int32_t device_id):
        """[(address, bytes)] of errors that the device could not correct."""
        cdef aclrtMemUceInfo found[MEMORY_ERRORS]
        cdef size_t count = 0
        cdef int ret
        require(<void *>api.aclrtGetMemUceInfo, "aclrtGetMemUceInfo")
        with nogil:
            ret = api.aclrtGetMemUceInfo(device_id, found, MEMORY_ERRORS, &count)
        return [(<intptr_t>found[number].addr, found[number].len) for number in range(count)], ret

    @staticmethod
    def device_task_abort(int32_t device_id, uint32_t timeout=0):
        """`timeout` in milliseconds; 0: waits for as long as it takes."""
        cdef int ret
        require(<void *>api.aclrtDeviceTaskAbort, "aclrtDeviceTaskAbort")
        with nogil:
            ret = api.aclrtDeviceTaskAbort(device_id, timeout)
        return ret

    @staticmethod
    def set_device_res_limit(int32_t device_id, int kind, uint32_t value):
        require(<void *>api.aclrtSetDeviceResLimit, "aclrtSetDeviceResLimit")
        return api.aclrtSetDeviceResLimit(device_id, <aclrtDevResLimitType>kind, value)

    @staticmethod
    def get_device_res_limit(int32_t device_id, int kind):
        cdef uint32_t value = 0
        require(<void *>api.aclrtGetDeviceResLimit, "aclrtGetDeviceResLimit")
        cdef int ret = api.aclrtGetDeviceResLimit(device_id, <aclrtDevResLimitType>kind, &value)
        return value, ret

    @staticmethod
    def set_stream_res_limit(intptr_t stream, int kind, uint32_t value):
        require(<void *>api.aclrtSetStreamResLimit, "aclrtSetStreamResLimit")
        return api.aclrtSetStreamResLimit(<aclrtStream>stream, <aclrtDevResLimitType>kind, value)

    @staticmethod
    def get_stream_res_limit(intptr_t stream, int kind):
        cdef uint32_t value = 0
        require(<void *>api.aclrtGetStreamResLimit, "aclrtGetStreamResLimit")
        cdef int ret = api.aclrtGetStreamResLimit(<aclrtStream>stream, <aclrtDevResLimitType>kind, &value)
        return value, ret

    @staticmethod
    def reset_stream_res_limit(intptr_t stream):
        require(<void *>api.aclrtResetStreamResLimit, "aclrtResetStreamResLimit")
        return api.aclrtResetStreamResLimit(<aclrtStream>stream)

    @staticmethod
    def use_stream_res_in_current_thread(intptr_t stream):
        require(<void *>api.aclrtUseStreamResInCurrentThread, "aclrtUseStreamResInCurrentThread")
        return api.aclrtUseStreamResInCurrentThread(<aclrtStream>stream)

    @staticmethod
    def unuse_stream_res_in_current_thread(intptr_t stream):
        require(<void *>api.aclrtUnuseStreamResInCurrentThread, "aclrtUnuseStreamResInCurrentThread")
        return api.aclrtUnuseStreamResInCurrentThread(<aclrtStream>stream)

    @staticmethod
    def get_res_in_current_thread(int kind):
        cdef uint32_t value = 0
        require(<void *>api.aclrtGetResInCurrentThread, "aclrtGetResInCurrentThread")
        cdef int ret = api.aclrtGetResInCurrentThread(<aclrtDevResLimitType>kind, &value)
        return value, ret

    @staticmethod
    def set_ctx_sys_param_opt(int option, int64_t value):
        require(<void *>api.aclrtCtxSetSysParamOpt, "aclrtCtxSetSysParamOpt")
        return api.aclrtCtxSetSysParamOpt(<aclSysParamOpt>option, value)

    @staticmethod
    def set_op_execute_time_out_with_ms(uint32_t timeout):
        require(<void *>api.aclrtSetOpExecuteTimeOutWithMs, "aclrtSetOpExecuteTimeOutWithMs")
        return api.aclrtSetOpExecuteTimeOutWithMs(timeout)

    @staticmethod
    def host_register(intptr_t address, size_t size, int kind=ACL_HOST_REGISTER_MAPPED):
        cdef void *on_device = NULL
        require(<void *>api.aclrtHostRegister, "aclrtHostRegister")
        cdef int ret = api.aclrtHostRegister(<void *>address, size, <aclrtHostRegisterType>kind, &on_device)
        return <intptr_t>on_device, ret

    @staticmethod
    def host_unregister(intptr_t address):
        require(<void *>api.aclrtHostUnregister, "aclrtHostUnregister")
        return api.aclrtHostUnregister(<void *>address)
