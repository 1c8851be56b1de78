"""include/mindtorch/thread_state.h: the part for handles.pyx alone, since each module would get a state of its own."""
from mindtorch._npu.cann.thread_state cimport ThreadState


cdef extern from "mindtorch/thread_state.h" nogil:
    ThreadState *mindtorch_thread_state() noexcept
