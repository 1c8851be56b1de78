"""include/mindtorch/thread_list.h: for handles.pyx alone, as thread_state_address.pxd is."""
from mindtorch._npu.cann.thread_state cimport ThreadState


cdef extern from "mindtorch/thread_list.h" nogil:
    int mindtorch_list_thread(ThreadState *state) noexcept
    void mindtorch_unbind_threads() noexcept
