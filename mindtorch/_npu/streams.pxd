"""Devices, streams and events as C structs, the current ones of each thread, and torch.npu.Stream."""
from mindtorch._npu.cann cimport aclrtEvent, aclrtStream
from mindtorch._npu.structs cimport Capture, EventSlot, StreamSlot


# --- devices, streams and events -------------------------------------------------------------------------------------
# The C interface of streams.pyx.


cdef extern from "mindtorch/thread_state.h" nogil:
    enum:
        MAX_DEVICES "MINDTORCH_MAX_DEVICES"

    ctypedef struct ThreadState:
        int device
        int bound
        void *streams[MAX_DEVICES]

cdef StreamSlot *STREAM_SLOTS                                   # all streams of the process

cdef ThreadState *thread_state() noexcept nogil

# Make the device's context current for this thread. The first use starts the device.
cdef int bind_device(int device) except -1
cdef inline int use_device(int device) except -1:
    if thread_state().bound == device:
        return 0
    return bind_device(device)

# The calling thread's current stream on `device`. The first use starts the device.
cdef StreamSlot *init_current_stream(int device) except NULL
cdef inline StreamSlot *current_stream(int device) except NULL:
    cdef void *stream = NULL
    if 0 <= device < MAX_DEVICES:
        stream = thread_state().streams[device]
    if stream != NULL:
        return <StreamSlot *>stream
    return init_current_stream(device)

cdef StreamSlot *default_stream(int device) except NULL
# SYNC_LAUNCH, NORMAL and HIGH streams come from a pool each, in turn. EXTERNAL streams belong to other code.
cdef enum StreamKind:
    DEFAULT_STREAM = 0
    SYNC_LAUNCH_STREAM = 2
    NORMAL_STREAM = 3
    HIGH_STREAM = 4
    STREAM_KINDS = 5
    EXTERNAL_STREAM = 1 << 25

cdef enum:
    POOL_BITS = 5                                                      # bits of a stream's number: place in the pool
    MAX_POOL_SIZE = 32

# These three increment `holders`.
cdef StreamSlot *get_stream_from_pool(int device, int kind) except NULL         # the next stream of the pool
cdef StreamSlot *get_stream_by_id(int device, int number) except NULL
cdef StreamSlot *get_external_stream(int device, aclrtStream handle) except NULL

cdef int synchronize_stream(StreamSlot *stream) except -1                 # the host waits, without the GIL
# later work of one waits for the other's so far
cdef int wait_stream(StreamSlot *waiting, StreamSlot *awaited) except -1

# Captures under way: their number in the process and by device, and the list of them.
cdef int capture_count
cdef int[MAX_DEVICES] captures_by_device
cdef Capture *CAPTURES
# The capture of the calling thread's current stream on `device`, or NULL.
cdef inline Capture *current_capture(int device) noexcept:
    cdef StreamSlot *stream = NULL if capture_count == 0 else <StreamSlot *>thread_state().streams[device]
    return NULL if stream == NULL else stream.capture

cdef inline bint is_capturing(int device) noexcept:
    return current_capture(device) != NULL

cdef void add_capture(Capture *capture, StreamSlot *stream) noexcept  # `capture` has begun on `stream`
# After `stream` was made to wait: if it waits for work of a capture, the driver captures its work from now on.
cdef int join_capture(StreamSlot *stream) except -1
cdef void remove_capture(Capture *capture) noexcept                     # `capture` has ended, on all its streams

cdef enum EventKind:
    PLAIN_EVENT = 0
    TIMING_EVENT = 1
    IPC_EVENT = 2                                                      # other processes may use it: never reused
    FLAG_EVENT = 3                                                     # a stream may wait before it is recorded
    EVENT_KINDS = 4

cdef EventSlot *get_event(int device, int kind) except NULL
cdef EventSlot *wrap_ipc_event(int device, aclrtEvent handle) except NULL     # an event of another process
cdef void return_event(EventSlot *event) noexcept  # for reuse, even before its last record is done
cdef int record(EventSlot *event, StreamSlot *stream) except -1
cdef int is_complete(EventSlot *event) except -1

# torch.npu.set_sync_debug_mode. Where an operator or a copy makes the host wait for a stream, 1 warns and 2 raises.
cdef int sync_debug_mode
cdef int warn_or_error_on_sync() except -1
cdef inline int check_sync_debug_mode() except -1:
    return warn_or_error_on_sync() if sync_debug_mode != 0 else 0


# --- torch.npu.Stream ------------------------------------------------------------------------------------------------


cdef class Stream:
    cdef StreamSlot *slot

cdef Stream wrap_stream(StreamSlot *slot)
