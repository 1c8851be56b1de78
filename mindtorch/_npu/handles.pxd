"""Devices, streams and events as C records, and what each thread remembers of them."""
from mindtorch._npu.cann.thread_state cimport MAX_DEVICES, ThreadState
from mindtorch._npu.records cimport EventSlot, StreamSlot

cdef StreamSlot *STREAMS                                   # all streams of the process

cdef ThreadState *thread_state() noexcept nogil

# Makes the device's context current for this thread; starts the device at its first use.
cdef int bind_device(int device) except -1
cdef inline int use_device(int device) except -1:
    if thread_state().bound == device:
        return 0
    return bind_device(device)

# The calling thread's current stream on `device`; starts the device at its first use.
cdef StreamSlot *first_stream(int device) except NULL
cdef inline StreamSlot *current_stream(int device) except NULL:
    cdef void *stream = NULL
    if 0 <= device < MAX_DEVICES:
        stream = thread_state().streams[device]
    if stream != NULL:
        return <StreamSlot *>stream
    return first_stream(device)

cdef StreamSlot *default_stream(int device) except NULL
cdef StreamSlot *take_stream(int device, int priority) except NULL     # an idle one, or a new one; holders is 1
cdef int wait_for_stream(StreamSlot *stream) except -1                 # without the GIL

cdef EventSlot *take_event(int device, bint timing) except NULL
cdef void give_event(EventSlot *event) noexcept                        # for reuse; its last record may be unreached
cdef int record(EventSlot *event, StreamSlot *stream) except -1
cdef int is_complete(EventSlot *event) except -1
