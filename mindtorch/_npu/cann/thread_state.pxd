"""include/mindtorch/thread_state.h: the calling thread's devices and streams."""

cdef extern from "mindtorch/thread_state.h" nogil:
    enum:
        MAX_DEVICES "MINDTORCH_MAX_DEVICES"

    ctypedef struct ThreadState:
        int device
        int bound
        void *streams[MAX_DEVICES]
