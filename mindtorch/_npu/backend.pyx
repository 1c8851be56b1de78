"""Enters the NPU into the table of backends."""
from libc.stdint cimport intptr_t

from mindtorch._core.device cimport BACKENDS, NPU
from mindtorch._npu import aclnn_call, decomposition
from mindtorch._npu.acl_loader import ensure_acl

from mindtorch._npu.copy cimport copy, read
from mindtorch._npu.handles cimport capture_of, thread_state
from mindtorch._npu.host_memory cimport allocate_pinned
from mindtorch._npu.storage cimport allocate


cdef int current_index() except -1:
    return thread_state().device


cdef intptr_t capturing(int index) noexcept:
    return <intptr_t>capture_of(index)


def register():
    """Loads CANN and makes device "npu" usable; the devices themselves start at their first use."""
    if BACKENDS[<int>NPU].ready:
        return
    ensure_acl()
    BACKENDS[<int>NPU].allocate = allocate
    BACKENDS[<int>NPU].allocate_pinned = allocate_pinned
    BACKENDS[<int>NPU].current_index = current_index
    BACKENDS[<int>NPU].copy = copy
    BACKENDS[<int>NPU].read = read
    BACKENDS[<int>NPU].capturing = capturing
    aclnn_call.register()
    decomposition.register()
    BACKENDS[<int>NPU].ready = True
