"""Devices, streams and events: C records, what each thread remembers of them, and torch.npu.Stream and Event."""
from mindtorch._npu.cann cimport aclrtEvent, aclrtStream
from mindtorch._npu.structs cimport Capture, EventSlot, StreamSlot


# --- records ---------------------------------------------------------------------------------------------------------
# Devices, streams and events as C records, and what each thread remembers of them.


cdef extern from "mindtorch/thread_state.h" nogil:
    enum:
        MAX_DEVICES "MINDTORCH_MAX_DEVICES"

    ctypedef struct ThreadState:
        int device
        int bound
        void *streams[MAX_DEVICES]

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
# A pool of streams for each of these, handed out in turn; EXTERNAL_STREAM are those of somebody else.
cdef enum StreamKind:
    DEFAULT_STREAM = 0
    SYNC_LAUNCH_STREAM = 2
    NORMAL_STREAM = 3
    HIGH_STREAM = 4
    STREAM_KINDS = 5
    EXTERNAL_STREAM = 1 << 25

cdef enum:
    POOL_BITS = 5                                                      # of a stream's number: its place in the pool
    POOL_LIMIT = 32

# All three count one more holder.
cdef StreamSlot *take_stream(int device, int kind) except NULL         # the next of the pool
cdef StreamSlot *take_numbered(int device, int number) except NULL
cdef StreamSlot *take_external(int device, aclrtStream handle) except NULL

cdef int wait_for_stream(StreamSlot *stream) except -1                 # without the GIL
cdef int let_wait(StreamSlot *waiting, StreamSlot *awaited) except -1  # later work, for the other's work so far

# Captures that are under way: in the process, by device, and all of them.
cdef int captures
cdef int[MAX_DEVICES] capturing
cdef Capture *CAPTURES
cdef inline Capture *capture_of(int device) noexcept:                  # the calling thread's current stream there
    cdef StreamSlot *stream = NULL if captures == 0 else <StreamSlot *>thread_state().streams[device]
    return NULL if stream == NULL else stream.capture

cdef inline bint is_capturing(int device) noexcept:
    return capture_of(device) != NULL

cdef void enter_capture(Capture *capture, StreamSlot *stream) noexcept  # it has begun on `stream`
cdef int join_capture(StreamSlot *stream) except -1                    # where it takes part in one since its last wait
cdef void leave_capture(Capture *capture) noexcept                     # for all streams that took part

cdef enum EventKind:
    PLAIN_EVENT = 0
    TIMING_EVENT = 1
    IPC_EVENT = 2                                                      # other processes may know it: never reused
    FLAG_EVENT = 3                                                     # in hardware: waited for before its record, too
    EVENT_KINDS = 4

cdef EventSlot *take_event(int device, int kind) except NULL
cdef EventSlot *adopt_event(int device, aclrtEvent handle) except NULL     # one that another process has made
cdef void give_event(EventSlot *event) noexcept                        # for reuse; its last record may be unreached
cdef int record(EventSlot *event, StreamSlot *stream) except -1
cdef int is_complete(EventSlot *event) except -1

# torch.npu.set_sync_debug_mode: 1 warns and 2 raises where an operator or a copy makes the host wait for a stream.
cdef int sync_debug_mode
cdef int object_to_wait() except -1
cdef inline int about_to_wait() except -1:
    return object_to_wait() if sync_debug_mode != 0 else 0


# --- torch.npu.Stream ------------------------------------------------------------------------------------------------
# torch.npu.Stream.


cdef class Stream:
    cdef StreamSlot *slot

cdef Stream wrap_stream(StreamSlot *slot)
