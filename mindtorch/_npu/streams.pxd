"""Devices, streams and events as C structs, the current ones of each thread, deferred releases, torch.npu.Stream."""
from mindtorch._npu.acl cimport api
from mindtorch._npu.cann cimport (
    aclBoolArray, aclIntArray, aclOpExecutor, aclScalar, aclScalarList, aclTensor, aclTensorList, aclrtContext,
    aclrtEvent, aclrtStream,
)
from mindtorch._npu.lock cimport AtomicInt
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
        void *limits

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
cdef aclrtContext device_context(int device) noexcept
# SYNC_LAUNCH, NORMAL and HIGH streams come from a pool each, in turn. EXTERNAL streams belong to other code.
cdef enum StreamKind:
    DEFAULT_STREAM = 0
    SYNC_LAUNCH_STREAM = 2
    NORMAL_STREAM = 3
    HIGH_STREAM = 4
    STREAM_KINDS = 5
    EXTERNAL_STREAM = 1 << 25

cdef enum:
    POOL_BITS = 5                                                      # bits of a stream's number: index in the pool
    MAX_POOL_SIZE = 32

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

cdef void add_capture(Capture *capture, StreamSlot *stream) noexcept    # `capture` has begun on `stream`
cdef void remove_capture(Capture *capture) noexcept                     # `capture` has ended, on all its streams

cdef enum EventKind:
    PLAIN_EVENT = 0
    TIMING_EVENT = 1
    IPC_EVENT = 2                                                      # other processes may use it: never reused
    FLAG_EVENT = 3                                                     # a stream may wait before it is recorded
    EVENT_KINDS = 4

cdef EventSlot *get_event(int device, int kind) except NULL
cdef void return_event(EventSlot *event) noexcept  # for reuse, even before its last record is done
cdef int record(EventSlot *event, StreamSlot *stream) except -1
cdef int wait_for_event(StreamSlot *waiting, EventSlot *event) except -1          # for the event's last record
cdef int is_complete(EventSlot *event) except -1

# torch.npu.set_sync_debug_mode. Where an operator or a copy makes the host wait for a stream, 1 warns and 2 raises.
cdef int sync_debug_mode
cdef int warn_or_error_on_sync() except -1
cdef inline int check_sync_debug_mode() except -1:
    return warn_or_error_on_sync() if sync_debug_mode != 0 else 0


# --- deferred releases -----------------------------------------------------------------------------------------------
# An entry is a release that waits for a stream, or an object that CANN failed to destroy.


cdef AtomicInt pending_entries  # the number of entries: while it is 0, a caller may skip `process_deferred`

# Call release(argument), with the GIL, when `stream` has done the work that it has now.
cdef int defer(StreamSlot *stream, void (*release)(void *) noexcept, void *argument) except -1
cdef int process_deferred() except -1  # process all entries whose event is complete, or that CANN refused; never waits
cdef int synchronize_deferred(int device) except -1  # wait for the streams of `device` and process all their entries


# Kinds of handles, for `destroy`.
cdef enum Kind:
    TENSOR
    SCALAR
    INT_ARRAY
    TENSOR_LIST
    EXECUTOR = 4                       # queued_launch.h has the number, too
    BOOL_ARRAY
    SCALAR_LIST
    OBJECT                             # a Python object, which `destroy` ignores

cdef inline int try_destroy(void *handle, int kind) noexcept nogil:
    if kind == TENSOR:
        return api.aclDestroyTensor(<aclTensor *>handle)
    if kind == SCALAR:
        return api.aclDestroyScalar(<aclScalar *>handle)
    if kind == INT_ARRAY:
        return api.aclDestroyIntArray(<aclIntArray *>handle)
    if kind == TENSOR_LIST:
        return api.aclDestroyTensorList(<aclTensorList *>handle)
    return 0

# Never raises: if CANN fails to destroy the object, `process_deferred` tries again.
cdef inline void destroy(void *handle, int kind) noexcept nogil:
    if try_destroy(handle, kind) != 0:
        destroy_later(handle, kind)

# Rare kinds have functions of their own: with one more kind, the compiler makes a jump table of `try_destroy`.
cdef inline void destroy_executor(aclOpExecutor *executor) noexcept nogil:
    if api.aclDestroyAclOpExecutor(executor) != 0:
        destroy_later(executor, EXECUTOR)

cdef inline void destroy_bool_array(aclBoolArray *array) noexcept nogil:
    if api.aclDestroyBoolArray(array) != 0:
        destroy_later(array, BOOL_ARRAY)

cdef inline void destroy_scalar_list(aclScalarList *numbers) noexcept nogil:
    if api.aclDestroyScalarList(numbers) != 0:
        destroy_later(numbers, SCALAR_LIST)

cdef void destroy_later(void *handle, int kind) noexcept with gil


# --- torch.npu.Stream ------------------------------------------------------------------------------------------------


cdef class Stream:
    cdef StreamSlot *slot


cdef class Event:
    cdef EventSlot *slot             # NULL before the first record
    cdef int kind

    cdef int record_first(self, StreamSlot *stream) except -1
