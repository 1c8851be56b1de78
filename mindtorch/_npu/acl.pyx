"""CANN's runtime in pyACL's names and conventions: handles are ints, results come first, the status comes last.

    stream, ret = acl.rt.create_stream()

For cold paths, which read well that way and can be tested with a double. Nothing here raises for a status, and every
call that may wait for the device gives up the GIL. Usable once acl_loader.ensure_acl() has returned this module.
"""
from libc.stdint cimport int32_t, intptr_t, uint32_t

from mindtorch._npu.cann.acl_base_rt cimport ACL_STREAM_FAST_LAUNCH, ACL_STREAM_FAST_SYNC, aclrtContext, aclrtStream
from mindtorch._npu.cann.acl_rt cimport ACL_HBM_MEM, aclrtMemAttr, aclrtMemMallocPolicy
from mindtorch._npu.symbols cimport api


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
