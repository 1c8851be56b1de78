"""Devices, streams and events as C structs, the current ones of each thread, and torch.npu.Stream and Event.

Also releases that are deferred until a stream has done its work so far.
"""
import os
import threading
import warnings

from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport intptr_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy
from posix.time cimport nanosleep, timespec

from mindtorch._core.tensor.tensor import device as torch_device
from mindtorch._npu.index import get_device_index

from mindtorch._core.tensor.tensor cimport BACKENDS, NPU
from mindtorch._npu.acl cimport (
    api, check, drain_queue, failed_with, forget_queues, has_launches, require_function, take_refused,
)
from mindtorch._npu.cann cimport (
    ACL_ERROR_RT_INVALID_HANDLE, ACL_EVENT_IPC, ACL_EVENT_RECORDED_STATUS_COMPLETE, ACL_EVENT_SYNC, ACL_EVENT_TIME_LINE,
    ACL_MODEL_RI_CAPTURE_STATUS_NONE, ACL_STREAM_FAST_LAUNCH, ACL_STREAM_FAST_SYNC, ACL_STREAM_STATUS_COMPLETE,
    aclmdlRI, aclmdlRICaptureStatus, aclrtContext, aclrtEvent, aclrtEventRecordedStatus, aclrtHostFunc,
    aclrtIpcEventHandle, aclrtStream, aclrtStreamStatus,
)
from mindtorch._npu.structs cimport Deferred, EventSlot, StreamSlot


# --- devices, streams and events -------------------------------------------------------------------------------------
# 1. Every device has one context. runtime.py creates it at the device's first use; each thread makes it current.
# 2. As in torch, streams come from pools, in turn. The driver's stream is created when its slot of the pool is first
#    taken. Streams without holders and events given back are idle: `destroy_idle` (empty_cache) destroys them.
# 3. After a fork the child has no devices. All paths to a device go through `bind_device`, which raises then.


cdef extern from "mindtorch/threads.h" nogil:
    ThreadState *mindtorch_thread_state() noexcept
    int mindtorch_list_thread(ThreadState *state) noexcept
    void mindtorch_unbind_threads() noexcept


cdef bint closing = False            # the process exits: only `closing_thread` may use devices
cdef unsigned long closing_thread = 0


cdef struct Device:
    aclrtContext context             # NULL: not started
    StreamSlot *default_stream
    EventSlot *idle_events[EVENT_KINDS]
    StreamSlot *pools[STREAM_KINDS][MAX_POOL_SIZE]
    unsigned int taken[STREAM_KINDS]                        # number of calls of take_stream

cdef Device DEVICES[MAX_DEVICES]
cdef EventSlot *EVENT_SLOTS = NULL        # all events of the process
cdef EventSlot *FREE_EVENT_SLOTS = NULL  # slots whose event was destroyed
cdef int external_streams = 0
cdef int sync_debug_mode = 0
POOL_SIZE = int(os.environ.get("STREAMS_PER_DEVICE", "32"))
if POOL_SIZE not in (8, 32):
    raise ValueError(f"STREAMS_PER_DEVICE must be 8 or 32, got {POOL_SIZE}")
cdef int[STREAM_KINDS] POOL_SIZES = [0, 0, 4, POOL_SIZE, POOL_SIZE]


cdef ThreadState *thread_state() noexcept nogil:
    return mindtorch_thread_state()


# Devices

cdef int bind_device(int device) except -1:
    if closing and PyThread_get_thread_ident() != closing_thread:
        from mindtorch._npu.runtime import require_device
        require_device(device)       # raises
    if not 0 <= device < MAX_DEVICES or DEVICES[device].context == NULL:
        from mindtorch._npu.runtime import get_runtime
        get_runtime(device)          # starts the device, or raises if there is none
    check(api.aclrtSetCurrentContext(DEVICES[device].context), b"aclrtSetCurrentContext")
    return set_bound_device(device)


cdef int set_bound_device(int device) except -1:
    if mindtorch_list_thread(thread_state()) != 0:
        raise MemoryError()
    thread_state().bound = device
    return 0


def add_device(int index, intptr_t context, intptr_t stream):
    """Add a device that runtime.py has started, by its context (current for this thread) and default stream."""
    cdef StreamSlot *slot = DEVICES[index].default_stream
    if slot == NULL:
        slot = new_stream_slot(index, 0)
        DEVICES[index].default_stream = slot
        slot.holders = 1             # the runtime
    slot.handle = <aclrtStream>stream
    DEVICES[index].context = <aclrtContext>context
    set_bound_device(index)


def make_current(int index):
    """Make the device's context current for the calling thread. The first use starts the device."""
    use_device(index)


def current_device():
    """The calling thread's device; 0 at first."""
    return thread_state().device


def set_current_device(int index):
    """Make `index` the calling thread's device. The first use starts the device."""
    use_device(index)
    thread_state().device = index


def is_started(int index):
    return 0 <= index < MAX_DEVICES and DEVICES[index].context != NULL


def drop_devices():
    """In the child of a fork: drop the parent's contexts and streams, which the child may not use."""
    cdef int index
    cdef ThreadState *state = thread_state()
    state.bound = -1
    for index in range(MAX_DEVICES):
        DEVICES[index].context = NULL
        state.streams[index] = NULL
    forget_queues()


# Streams

cdef StreamSlot *new_stream_slot(int device, int number) except NULL:
    global STREAM_SLOTS
    cdef StreamSlot *slot = <StreamSlot *>calloc(1, sizeof(StreamSlot))
    cdef int small
    if slot == NULL:
        raise MemoryError()
    slot.device = device
    slot.number = number
    slot.priority = -1 if number >> POOL_BITS == HIGH_STREAM else 0
    for small in range(2):
        slot.pools[small].small = small
        slot.pools[small].stream = slot
    slot.next = STREAM_SLOTS
    STREAM_SLOTS = slot
    return slot


cdef StreamSlot *init_current_stream(int device) except NULL:
    use_device(device)
    thread_state().streams[device] = DEVICES[device].default_stream
    return DEVICES[device].default_stream


cdef aclrtContext device_context(int device) noexcept:
    return DEVICES[device].context


cdef StreamSlot *default_stream(int device) except NULL:
    use_device(device)
    return DEVICES[device].default_stream


cdef StreamSlot *get_stream_from_pool(int device, int kind) except NULL:
    use_device(device)
    cdef unsigned int index = DEVICES[device].taken[kind] % POOL_SIZES[kind]
    DEVICES[device].taken[kind] += 1
    return get_pooled_stream(device, kind, index)


cdef StreamSlot *get_pooled_stream(int device, int kind, int index) except NULL:
    cdef StreamSlot *slot = DEVICES[device].pools[kind][index]
    if slot == NULL:
        slot = DEVICES[device].pools[kind][index] = new_stream_slot(device, kind << POOL_BITS | index)
    slot.holders += 1                # before anything releases the GIL
    try:
        ensure_stream_handle(slot)
    except BaseException:
        slot.holders -= 1
        raise
    return slot


cdef StreamSlot *get_stream_by_id(int device, int number) except NULL:
    cdef StreamSlot *slot = STREAM_SLOTS
    cdef int kind = number >> POOL_BITS
    cdef int index = number & (MAX_POOL_SIZE - 1)
    use_device(device)
    if 0 <= kind < STREAM_KINDS and index < POOL_SIZES[kind]:
        return get_pooled_stream(device, kind, index)
    while slot != NULL and (slot.device != device or slot.number != number):
        slot = slot.next
    if slot == NULL:
        raise RuntimeError(f"npu:{device} has no stream {number}")
    slot.holders += 1
    return slot


cdef StreamSlot *get_external_stream(int device, aclrtStream handle) except NULL:
    global external_streams
    cdef StreamSlot *slot = STREAM_SLOTS
    use_device(device)
    while slot != NULL and (slot.device != device or slot.handle != handle or not is_external(slot)):
        slot = slot.next
    if slot == NULL:
        slot = new_stream_slot(device, EXTERNAL_STREAM << POOL_BITS | external_streams)
        slot.handle = handle
        external_streams += 1
    slot.holders += 1
    return slot


cdef bint is_external(const StreamSlot *slot) noexcept:
    return slot.number >= EXTERNAL_STREAM << POOL_BITS


cdef int ensure_stream_handle(StreamSlot *slot) except -1:
    cdef aclrtStream handle = NULL
    cdef aclrtStreamStatus state
    cdef int status
    if slot.handle != NULL:
        status = api.aclrtStreamQuery(slot.handle, &state)
        if not failed_with(status, ACL_ERROR_RT_INVALID_HANDLE, b"aclrtStreamQuery"):
            return 0
        slot.handle = NULL           # other code has destroyed the driver's stream
    check(api.aclrtCreateStreamWithConfig(&handle, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC),
          b"aclrtCreateStreamWithConfig")
    slot.handle = handle
    return 0


cdef int synchronize_stream(StreamSlot *stream) except -1:
    use_device(stream.device)
    with nogil:
        check(api.aclrtSynchronizeStream(stream.handle), b"aclrtSynchronizeStream")
    return 0


cdef int wait_stream(StreamSlot *waiting, StreamSlot *awaited) except -1:
    cdef EventSlot *event = get_event(awaited.device, PLAIN_EVENT)
    try:
        record(event, awaited)
        wait_for_event(waiting, event)
    finally:
        return_event(event)            # the stream waits for this record, even if the event is recorded again
    return 0


cdef int warn_or_error_on_sync() except -1:
    message = "called a synchronizing NPU operation"
    if sync_debug_mode > 1:
        raise RuntimeError(message)
    warnings.warn(message, UserWarning, stacklevel=2)
    return 0


def set_sync_debug_mode(int mode):
    """torch.npu.set_sync_debug_mode, see streams.pxd."""
    global sync_debug_mode
    sync_debug_mode = mode


def get_sync_debug_mode():
    return sync_debug_mode


def block_other_threads():
    """At exit: from now on only the calling thread may use devices. Launches of others may still be under way."""
    global closing, closing_thread
    closing_thread = PyThread_get_thread_ident()
    closing = True
    mindtorch_unbind_threads()


def has_pending_launches():
    """Whether a launch or a copy is under way, without the GIL."""
    cdef StreamSlot *slot = STREAM_SLOTS
    while slot != NULL:
        if slot.launches != 0:
            return True
        slot = slot.next
    return False


def stream_handles(int device):
    """Handles of the driver's streams of `device`."""
    cdef StreamSlot *slot = STREAM_SLOTS
    cdef list handles = []
    while slot != NULL:
        if slot.device == device and slot.handle != NULL:
            handles.append(<intptr_t>slot.handle)
        slot = slot.next
    return handles


# Captures

cdef void add_capture(Capture *capture, StreamSlot *stream) noexcept:
    global capture_count, CAPTURES
    capture.next = CAPTURES
    CAPTURES = capture
    capture_count += 1
    captures_by_device[capture.device] += 1
    stream.capture = capture


cdef int join_capture(StreamSlot *stream) except -1:
    """After `stream` was made to wait: where it waits for work of a capture, the driver captures its work, too."""
    cdef aclmdlRICaptureStatus status
    cdef aclmdlRI graph = NULL
    cdef Capture *capture = CAPTURES
    if stream.capture != NULL:
        return 0
    check(api.aclmdlRICaptureGetInfo(stream.handle, &status, &graph), b"aclmdlRICaptureGetInfo")
    while capture != NULL and capture.graph != graph:
        capture = capture.next
    if status != ACL_MODEL_RI_CAPTURE_STATUS_NONE and capture != NULL:
        stream.capture = capture
    return 0


cdef void remove_capture(Capture *capture) noexcept:
    global capture_count
    cdef Capture **link = &CAPTURES
    cdef StreamSlot *stream = STREAM_SLOTS
    while link[0] != capture:
        link = &link[0].next
    link[0] = capture.next
    capture_count -= 1
    captures_by_device[capture.device] -= 1
    while stream != NULL:
        if stream.capture == capture:
            stream.capture = NULL
        stream = stream.next


# Events

cdef unsigned int[EVENT_KINDS] EVENT_FLAGS = [
    ACL_EVENT_SYNC, ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC, ACL_EVENT_IPC, ACL_EVENT_SYNC]


cdef EventSlot *get_event(int device, int kind) except NULL:
    cdef EventSlot *slot = DEVICES[device].idle_events[kind]
    cdef aclrtEvent handle = NULL
    if slot != NULL and kind < IPC_EVENT:
        DEVICES[device].idle_events[kind] = slot.next
        return slot
    use_device(device)
    if FREE_EVENT_SLOTS == NULL:
        add_event_slot()
    if kind == FLAG_EVENT:
        require_function(<void *>api.aclrtCreateEventWithFlag, "aclrtCreateEventWithFlag")
        check(api.aclrtCreateEventWithFlag(&handle, EVENT_FLAGS[kind]), b"aclrtCreateEventWithFlag")
    else:
        check(api.aclrtCreateEventExWithFlag(&handle, EVENT_FLAGS[kind]), b"aclrtCreateEventExWithFlag")
    return init_event(device, handle, kind)


cdef EventSlot *wrap_ipc_event(int device, aclrtEvent handle) except NULL:
    if FREE_EVENT_SLOTS == NULL:
        add_event_slot()
    return init_event(device, handle, IPC_EVENT)


cdef EventSlot *init_event(int device, aclrtEvent handle, int kind) noexcept:
    global FREE_EVENT_SLOTS
    cdef EventSlot *slot = FREE_EVENT_SLOTS
    FREE_EVENT_SLOTS = slot.next
    slot.handle = handle
    slot.device = device
    slot.kind = kind
    return slot


cdef int add_event_slot() except -1:
    global EVENT_SLOTS, FREE_EVENT_SLOTS
    cdef EventSlot *slot = <EventSlot *>calloc(1, sizeof(EventSlot))
    if slot == NULL:
        raise MemoryError()
    slot.next_made = EVENT_SLOTS
    EVENT_SLOTS = slot
    slot.next = FREE_EVENT_SLOTS
    FREE_EVENT_SLOTS = slot
    return 0


cdef void return_event(EventSlot *event) noexcept:
    if event.handle != NULL:
        event.next = DEVICES[event.device].idle_events[event.kind]
        DEVICES[event.device].idle_events[event.kind] = event


cdef int record(EventSlot *event, StreamSlot *stream) except -1:
    use_device(stream.device)
    with nogil:                      # waits while the stream's queue is full
        check(api.aclrtRecordEvent(event.handle, stream.handle), b"aclrtRecordEvent")
    return 0


cdef int wait_for_event(StreamSlot *waiting, EventSlot *event) except -1:
    use_device(waiting.device)
    with nogil:
        check(api.aclrtStreamWaitEvent(waiting.handle, event.handle), b"aclrtStreamWaitEvent")
    if capture_count != 0:
        join_capture(waiting)
    return 0


cdef int is_complete(EventSlot *event) except -1:
    cdef aclrtEventRecordedStatus status
    use_device(event.device)
    check(api.aclrtQueryEventStatus(event.handle, &status), b"aclrtQueryEventStatus")
    return status == ACL_EVENT_RECORDED_STATUS_COMPLETE


# Destruction

def destroy_idle(int device):
    """Destroy the idle events of `device`, and its idle streams that own no memory.

    If CANN fails to destroy one, it stays, and the exception leaves the rest as it is.
    """
    cdef EventSlot *event
    cdef EventSlot **link
    cdef StreamSlot *slot = STREAM_SLOTS
    cdef int status, kind
    if captures_by_device[device]:
        return                       # the capture may refer to idle streams and events
    use_device(device)
    for kind in range(EVENT_KINDS):
        link = &DEVICES[device].idle_events[kind]
        while link[0] != NULL:
            event = link[0]
            if event.waiters != 0:
                link = &event.next
                continue
            status = api.aclrtDestroyEvent(event.handle)
            failed_with(status, ACL_ERROR_RT_INVALID_HANDLE, b"aclrtDestroyEvent")       # other code has destroyed it
            link[0] = event.next
            free_event_slot(event)
    while slot != NULL:
        if (slot.device == device and slot.holders == 0 and slot.handle != NULL and slot.segments == 0
                and slot.deferred_count == 0 and slot.launches == 0 and not is_external(slot)):
            destroy_stream(slot)
        slot = slot.next


cdef int destroy_stream(StreamSlot *slot) except -1:
    cdef aclrtStream handle = slot.handle
    cdef int status
    slot.handle = NULL
    slot.holders += 1                # so that no other thread destroys it meanwhile
    with nogil:
        status = api.aclrtDestroyStream(handle)
    slot.holders -= 1
    if status != 0 and status != ACL_ERROR_RT_INVALID_HANDLE and slot.handle == NULL:
        slot.handle = handle         # no other thread has taken the stream meanwhile
    failed_with(status, ACL_ERROR_RT_INVALID_HANDLE, b"aclrtDestroyStream")
    return 0


cdef void free_event_slot(EventSlot *event) noexcept:
    global FREE_EVENT_SLOTS
    event.handle = NULL
    event.next = FREE_EVENT_SLOTS
    FREE_EVENT_SLOTS = event


def close_device(int device):
    """Destroy all events of `device` and all streams but the default one; errors are ignored."""
    cdef EventSlot *event = EVENT_SLOTS
    cdef StreamSlot *slot = STREAM_SLOTS
    cdef int kind
    for kind in range(EVENT_KINDS):
        DEVICES[device].idle_events[kind] = NULL
    while event != NULL:
        if event.device == device and event.handle != NULL:
            api.aclrtDestroyEvent(event.handle)
            free_event_slot(event)
        event = event.next_made
    while slot != NULL:
        if slot.device == device and slot.handle != NULL:
            if slot != DEVICES[device].default_stream and not is_external(slot):
                api.aclrtDestroyStream(slot.handle)
            slot.handle = NULL
        slot = slot.next
    DEVICES[device].context = NULL
    if thread_state().bound == device:
        thread_state().bound = -1
    thread_state().streams[device] = NULL


# --- deferred releases -----------------------------------------------------------------------------------------------
# 1. A release that waits for a stream is in that stream's queue, in the order of the events. While the stream captures,
#    it is in the capture instead, until the graph is reset.
# 2. An object that CANN failed to destroy is in a circular list. `process_deferred` tries to destroy the first, until
#    one fails again; that one moves to the end.
#
# A queue holds at most LIMIT entries. Then `defer` waits for the oldest one, so that a program that never synchronises
# does not accumulate events and memory.


cdef enum:
    MAX_DEFERRED = 512

cdef struct Refused:
    void *handle
    int kind
    Refused *next

cdef Refused *last_refused = NULL      # its `next` is the first


cdef int defer(StreamSlot *stream, void (*release)(void *) noexcept, void *argument) except -1:
    global pending_entries
    cdef Deferred *entry
    while stream.deferred_count >= MAX_DEFERRED:
        release_oldest(stream)
    entry = <Deferred *>malloc(sizeof(Deferred))
    if entry == NULL:
        raise MemoryError()
    entry.event = NULL
    if stream.capture != NULL:
        entry.release = release
        entry.argument = argument
        entry.next = stream.capture.held
        stream.capture.held = entry
        return 0
    try:
        entry.event = get_event(stream.device, False)
        record(entry.event, stream)
    except BaseException:
        if entry.event != NULL:
            return_event(entry.event)
        free(entry)
        raise
    entry.release = release
    entry.argument = argument
    entry.next = NULL
    if stream.last_deferred == NULL:
        stream.first_deferred = entry
    else:
        stream.last_deferred.next = entry
    stream.last_deferred = entry
    stream.deferred_count += 1
    pending_entries += 1
    return 0


cdef void release_first(StreamSlot *stream) noexcept:
    global pending_entries
    cdef Deferred *entry = stream.first_deferred
    stream.first_deferred = entry.next
    if entry.next == NULL:
        stream.last_deferred = NULL
    stream.deferred_count -= 1
    pending_entries -= 1
    return_event(entry.event)
    entry.release(entry.argument)
    free(entry)


cdef int release_oldest(StreamSlot *stream) except -1:
    # Another thread may release the entry and record its event again meanwhile: then this waits longer than necessary.
    cdef EventSlot *event = stream.first_deferred.event
    cdef int status
    use_device(stream.device)
    event.waiters += 1               # so that no other thread destroys it meanwhile
    with nogil:
        status = api.aclrtSynchronizeEvent(event.handle)
    event.waiters -= 1
    check(status, b"aclrtSynchronizeEvent")
    if stream.first_deferred != NULL and stream.first_deferred.event == event:
        release_first(stream)
    return 0


cdef int process_deferred() except -1:
    cdef StreamSlot *stream = STREAM_SLOTS
    retry_refused()
    while stream != NULL and pending_entries != 0 and capture_count == 0:     # a capture may forbid to query events
        while stream.first_deferred != NULL and is_complete(stream.first_deferred.event):
            release_first(stream)
        stream = stream.next
    return 0


cdef int synchronize_deferred(int device) except -1:
    cdef StreamSlot *stream = STREAM_SLOTS
    retry_refused()
    while stream != NULL:
        while stream.device == device and stream.first_deferred != NULL:
            release_oldest(stream)
        stream = stream.next
    return 0


cdef void destroy_later(void *handle, int kind) noexcept with gil:
    global last_refused, pending_entries
    cdef Refused *entry = <Refused *>malloc(sizeof(Refused))
    api.aclGetRecentErrMsg()           # clears the message, which would show up in the next exception
    if entry == NULL:
        return                         # the host has no memory left: the object leaks
    entry.handle = handle
    entry.kind = kind
    if last_refused == NULL:
        entry.next = entry
    else:
        entry.next = last_refused.next
        last_refused.next = entry
    last_refused = entry
    pending_entries += 1


cdef void take_refused_of_queues() noexcept:
    cdef int kind = 0
    cdef void *handle = take_refused(&kind)
    while handle != NULL:
        destroy_later(handle, kind)
        handle = take_refused(&kind)


cdef int retry_destroy(Refused *entry) noexcept:
    if entry.kind == EXECUTOR:
        return api.aclDestroyAclOpExecutor(<aclOpExecutor *>entry.handle)
    if entry.kind == BOOL_ARRAY:
        return api.aclDestroyBoolArray(<aclBoolArray *>entry.handle)
    if entry.kind == SCALAR_LIST:
        return api.aclDestroyScalarList(<aclScalarList *>entry.handle)
    return try_destroy(entry.handle, entry.kind)


cdef void retry_refused() noexcept:
    global last_refused, pending_entries
    cdef Refused *entry
    take_refused_of_queues()
    while last_refused != NULL:
        entry = last_refused.next
        if retry_destroy(entry) != 0:
            api.aclGetRecentErrMsg()
            last_refused = entry
            return
        last_refused.next = entry.next
        if entry == last_refused:
            last_refused = NULL
        free(entry)
        pending_entries -= 1


def release_all(int device):
    """Release everything at once, because the device is being closed."""
    cdef StreamSlot *stream = STREAM_SLOTS
    retry_refused()
    while stream != NULL:
        while stream.device == device and stream.first_deferred != NULL:
            release_first(stream)
        stream = stream.next


def pending_count():
    """The number of entries."""
    return pending_entries


def process_deferred_now():
    """`process_deferred`, for Python."""
    process_deferred()


# --- torch.npu.Stream ------------------------------------------------------------------------------------------------
# A Stream object holds a StreamSlot. When the last object of a slot is freed, the driver's stream is idle:
# `get_stream_from_pool` reuses it, or `destroy_idle` destroys it.


# The Stream objects of thread_state().streams: as long as the thread runs, its current streams are not idle.
_current = threading.local()


cdef enum:
    PRIVATE_USE = 20                 # torch's number of this type of device


cdef class Stream:
    """Stream(device=None, priority=0): a queue of work on one device; work of different streams may overlap.

    A device has 32 streams of priority 0 and 32 of priority -1 (any negative one). They are handed out in turn, so the
    33rd Stream shares the first one's queue. Stream(stream_id=, device_index=, device_type=) is the stream with these
    attributes.

    Example:
        >>> stream = torch.npu.Stream()
        >>> with torch.npu.stream(stream):
        ...     x = torch.ones(1000, device="npu")
        >>> torch.npu.current_stream().wait_stream(stream)
        >>> x.sum()
        tensor(1000., device='npu:0')
    """

    def __init__(self, device=None, int priority=0, *, stream_id=None, device_index=None, device_type=None):
        if self.slot != NULL:
            return
        if stream_id is not None:
            self.slot = get_stream_by_id(device_index or 0, stream_id)
        else:
            self.slot = get_stream_from_pool(get_device_index(device, current_device),
                                             HIGH_STREAM if priority < 0 else NORMAL_STREAM)

    def __dealloc__(self):
        if self.slot != NULL:
            self.slot.holders -= 1

    @property
    def device(self):
        return torch_device("npu", self.slot.device)

    @property
    def device_index(self):
        return self.slot.device

    @property
    def device_type(self):
        """20, torch's number of the type "npu"."""
        return PRIVATE_USE

    @property
    def stream_id(self):
        return self.slot.number

    @property
    def npu_stream(self):
        """The driver's aclrtStream, as an int; what comes by it comes after the launches that were made before."""
        with nogil:
            drain_queue(self.slot.device)
        return <intptr_t>self.slot.handle

    @property
    def native_handle(self):
        """npu_stream under the name that torch.Stream has for it."""
        return self.npu_stream

    @property
    def _as_parameter_(self):
        import ctypes
        return ctypes.c_void_p(self.npu_stream)

    @property
    def priority(self):
        return self.slot.priority

    @staticmethod
    def priority_range():
        """(lowest, highest) priority, as torch counts them. CANN accepts a priority and ignores it."""
        return 0, -1

    def is_capturing(self):
        """Whether a graph captures the stream's work now."""
        return self.slot.capture != NULL

    def query(self):
        """Whether all work submitted so far is done."""
        cdef aclrtStreamStatus status
        if has_launches(self.slot.device):
            return False
        use_device(self.slot.device)
        check(api.aclrtStreamQuery(self.slot.handle, &status), b"aclrtStreamQuery")
        return status == ACL_STREAM_STATUS_COMPLETE

    def synchronize(self):
        """Waits for all work submitted so far."""
        check_sync_debug_mode()
        synchronize_stream(self.slot)

    def record_event(self, event=None):
        """Record `event` (None: a new one) behind the work submitted so far, and return it."""
        if event is None:
            event = Event()
        event.record(self)
        return event

    def wait_event(self, event):
        """Later work of this stream waits for `event` as recorded last."""
        event.wait(self)

    def wait_stream(self, Stream stream not None):
        """Later work of this stream waits for what has been submitted to `stream`."""
        wait_stream(self.slot, stream.slot)

    def __enter__(self):
        """Make the stream and its device current inside the `with`."""
        from mindtorch._npu.stream_context import StreamContext
        context = StreamContext(self)
        _entered_contexts().append(context)
        context.__enter__()
        return self

    def __exit__(self, *exception):
        _entered_contexts().pop().__exit__(*exception)

    def __eq__(self, other):
        return isinstance(other, Stream) and self.slot == (<Stream>other).slot

    def __hash__(self):
        return hash((<intptr_t>self.slot.handle, self.slot.device))

    def __repr__(self):
        return (f"<mindtorch.npu.{type(self).__name__} device=npu:{self.slot.device} "
                f"npu_stream={<intptr_t>self.slot.handle:#x}>")


class SyncLaunchStream(Stream):
    """A stream of a separate pool of four, whose launches skip the queue of TASK_QUEUE_ENABLE.

    Arguments:
        device: the NPU: an index, "npu:0" or a torch.device; None means the current one
        priority: the priority of the stream; a smaller number comes first

    Example:
        >>> with torch.npu.stream(torch.npu.SyncLaunchStream()):
        ...     (torch.ones(2, device="npu") + 1).tolist()
        [2.0, 2.0]
    """

    def __init__(self, device=None, int priority=0):
        if priority:
            raise RuntimeError("a SyncLaunchStream has no priority")
        set_slot(self, get_stream_from_pool(get_device_index(device, current_device), SYNC_LAUNCH_STREAM))


class ExternalStream(Stream):
    """ExternalStream(stream_ptr, device=None): a stream that other code has created, by its aclrtStream as an int.

    That code destroys it, when its work is done and the memory that was allocated for it is freed.

    Arguments:
        stream_ptr: the address of the aclrtStream, as an int
        device: the NPU: an index, "npu:0" or a torch.device; None means the current one
        priority: not read: the other code has chosen it

    Example:
        >>> stream = torch.npu.Stream()             # other code has made it
        >>> same = torch.npu.ExternalStream(stream.npu_stream)
        >>> with torch.npu.stream(same):
        ...     x = torch.ones(1000, device="npu")
        >>> same.synchronize()
    """

    def __init__(self, stream_ptr, device=None, int priority=0):
        if not stream_ptr:
            raise RuntimeError("ExternalStream needs the handle of a stream, got a null pointer")
        if priority:
            raise RuntimeError("an ExternalStream has the priority that it was made with")
        set_slot(self, get_external_stream(get_device_index(device, current_device), <aclrtStream><intptr_t>stream_ptr))


cdef int set_slot(Stream stream, StreamSlot *slot) except -1:
    if stream.slot != NULL:
        stream.slot.holders -= 1
    stream.slot = slot
    return 0


def _entered_contexts():
    """The contexts of the calling thread's `with stream:` statements."""
    if not hasattr(_current, "entered"):
        _current.entered = []
    return _current.entered


cdef Stream wrap_stream(StreamSlot *slot):
    cdef Stream stream = Stream.__new__(Stream)
    stream.slot = slot
    slot.holders += 1
    return stream


def get_current_stream(int device):
    """The calling thread's current stream on `device`."""
    return wrap_stream(current_stream(device))


def get_default_stream(int device):
    return wrap_stream(default_stream(device))


def set_current_stream(Stream stream not None):
    """Make `stream` the calling thread's current stream on its device."""
    use_device(stream.slot.device)
    if not hasattr(_current, "streams"):
        _current.streams = {}
    _current.streams[stream.slot.device] = stream
    thread_state().streams[stream.slot.device] = stream.slot
    if stream.slot != default_stream(stream.slot.device):
        BACKENDS[<int>NPU].streams = True


# Host functions as tasks of a stream

cdef void run_host_function(void *function) noexcept with gil:
    called = <object>function
    Py_DECREF(called)
    called()                         # Cython prints an exception: this thread has no caller to raise it to


cdef void sleep_nanoseconds(void *nanoseconds) noexcept nogil:
    cdef timespec time
    time.tv_sec = <intptr_t>nanoseconds // 1000000000
    time.tv_nsec = <intptr_t>nanoseconds % 1000000000
    nanosleep(&time, NULL)


cdef int launch_host_task(Stream stream, aclrtHostFunc function, void *argument) except -1:
    require_function(<void *>api.aclrtLaunchHostFunc, "aclrtLaunchHostFunc")
    use_device(stream.slot.device)
    with nogil:
        check(api.aclrtLaunchHostFunc(stream.slot.handle, function, argument), b"aclrtLaunchHostFunc")
    return 0


def launch_host_function(Stream stream not None, function):
    """Call `function` on a thread of the driver when the work before it is done; later work waits for it."""
    if not callable(function):
        raise TypeError(f"'{type(function).__name__}' object is not callable")
    Py_INCREF(function)
    try:
        launch_host_task(stream, run_host_function, <void *>function)
    except BaseException:
        Py_DECREF(function)
        raise


def is_current_capturing():
    """Whether a graph captures the calling thread's current stream. Starts no device."""
    return is_capturing(thread_state().device)


def sleep(Stream stream not None, intptr_t nanoseconds):
    """Keep the stream busy for that long."""
    launch_host_task(stream, sleep_nanoseconds, <void *>nanoseconds)


# --- torch.npu.Event -------------------------------------------------------------------------------------------------


cdef class Event:
    """Event(enable_timing=False, blocking=False, interprocess=False): a point in a stream's work.

    The first record creates the driver's event. An event that was never recorded counts as complete. `blocking` has no
    effect: a thread that waits always sleeps. An interprocess event cannot measure times.

    Example:
        >>> start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
        >>> start.record()
        >>> x = torch.ones(1000, device="npu") + 1
        >>> end.record()
        >>> end.synchronize()
        >>> start.elapsed_time(end) > 0             # milliseconds
        True
    """
    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        if interprocess and enable_timing:
            raise RuntimeError("Parameter interprocess cannot be specified together with other parameters.")
        self.kind = IPC_EVENT if interprocess else TIMING_EVENT if enable_timing else PLAIN_EVENT

    def __dealloc__(self):
        if self.slot != NULL:
            return_event(self.slot)

    @property
    def device(self):
        return None if self.slot == NULL else torch_device("npu", self.slot.device)

    @property
    def npu_event(self):
        """The driver's aclrtEvent, as an int; 0 before the first record."""
        return 0 if self.slot == NULL else <intptr_t>self.slot.handle

    @property
    def event_id(self):
        """npu_event under the name that torch.Event has for it."""
        return self.npu_event

    @property
    def _as_parameter_(self):
        import ctypes
        return ctypes.c_void_p(self.npu_event)

    def record(self, stream=None):
        """Mark the end of the work submitted so far to `stream` (None: the current one). May be called again."""
        cdef StreamSlot *on = stream_or_current(stream)
        if self.slot == NULL:
            self.record_first(on)
            return
        if self.slot.device != on.device:
            raise RuntimeError(f"Event device npu:{self.slot.device} does not match recording stream's device "
                               f"npu:{on.device}.")
        record(self.slot, on)

    cdef int record_first(self, StreamSlot *stream) except -1:
        cdef EventSlot *slot = get_event(stream.device, self.kind)
        try:
            record(slot, stream)
            self.slot, slot = slot, self.slot        # if another thread was faster, its event is given back
        finally:
            if slot != NULL:
                return_event(slot)
        return 0

    def wait(self, stream=None):
        """Later work of `stream` (None: the current one) waits for this event."""
        cdef StreamSlot *waiting
        if self.slot == NULL and stream is None:
            return
        waiting = stream_or_current(stream)
        if self.slot != NULL:
            wait_for_event(waiting, self.slot)

    def query(self):
        """Whether the work before the last record is done."""
        return self.slot == NULL or bool(is_complete(self.slot))

    def synchronize(self):
        """Waits until the work before the last record is done."""
        if self.slot == NULL:
            return
        use_device(self.slot.device)
        with nogil:
            check(api.aclrtSynchronizeEvent(self.slot.handle), b"aclrtSynchronizeEvent")

    def elapsed_time(self, end_event):
        """Milliseconds from this event to `end_event`, as a float; waits for both."""
        cdef Event end
        cdef float milliseconds = 0
        if not isinstance(end_event, Event):
            raise RuntimeError("expected other to be a torch.Event object")
        end = <Event>end_event
        if self.slot == NULL or end.slot == NULL:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        if self.kind != TIMING_EVENT or end.kind != TIMING_EVENT:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        self.synchronize()
        end.synchronize()
        check(api.aclrtEventElapsedTime(&milliseconds, self.slot.handle, end.slot.handle), b"aclrtEventElapsedTime")
        return milliseconds

    def recorded_time(self):
        """When the work before the last record was done, in microseconds of the device's clock."""
        cdef uint64_t microseconds = 0
        if self.slot == NULL:
            raise RuntimeError("Event must be recorded before getting recorded timestamp.")
        if self.kind != TIMING_EVENT:
            raise ValueError("The event must be created with argument 'enable_timing=True'.")
        require_function(<void *>api.aclrtEventGetTimestamp, "aclrtEventGetTimestamp")
        self.synchronize()
        check(api.aclrtEventGetTimestamp(self.slot.handle, &microseconds), b"aclrtEventGetTimestamp")
        return microseconds

    def ipc_handle(self):
        """Bytes for `from_ipc_handle` in another process. The event must be interprocess."""
        cdef aclrtIpcEventHandle handle
        if self.kind != IPC_EVENT:
            raise RuntimeError("ipc_handle() needs an event made with interprocess=True")
        use_device(thread_state().device if self.slot == NULL else self.slot.device)
        require_function(<void *>api.aclrtIpcGetEventHandle, "aclrtIpcGetEventHandle")
        if self.slot == NULL:
            self.slot = get_event(thread_state().device, IPC_EVENT)
        check(api.aclrtIpcGetEventHandle(self.slot.handle, &handle), b"aclrtIpcGetEventHandle")
        return (<char *>&handle)[:sizeof(handle)]

    @classmethod
    def from_ipc_handle(cls, device, handle):
        """The event of another process, on `device`, from the bytes that `ipc_handle` returned there."""
        cdef Event event = cls(interprocess=True)
        cdef aclrtIpcEventHandle raw
        cdef aclrtEvent opened = NULL
        cdef bytes content = handle
        cdef int index = get_device_index(device, current_device)
        if len(content) != sizeof(raw):
            raise ValueError(f"an event's handle is {sizeof(raw)} bytes, got {len(content)}")
        use_device(index)
        require_function(<void *>api.aclrtIpcOpenEventHandle, "aclrtIpcOpenEventHandle")
        memcpy(&raw, <char *>content, sizeof(raw))
        check(api.aclrtIpcOpenEventHandle(raw, &opened), b"aclrtIpcOpenEventHandle")
        event.slot = wrap_ipc_event(index, opened)
        return event

    def __repr__(self):
        if self.slot == NULL:
            return f"<mindtorch.npu.{type(self).__name__} uninitialized>"
        return f"<mindtorch.npu.{type(self).__name__} {<intptr_t>self.slot.handle:#x}>"


cdef class ExternalEvent(Event):
    """ExternalEvent(): a flag that record() sets and reset() clears. A stream may wait before the record.

    Example:
        >>> event, stream = torch.npu.ExternalEvent(), torch.npu.Stream()
        >>> with torch.npu.stream(stream):
        ...     event.wait()
        ...     x = torch.ones(2, device="npu")
        >>> stream.query()                          # until the flag is set
        False
        >>> event.record()
        >>> stream.synchronize()
    """

    def __init__(self):
        self.kind = FLAG_EVENT

    def wait(self, stream=None):
        """Later work of `stream` (None: the current one) waits until the flag is set."""
        if self.slot == NULL:
            self.slot = get_event(stream_or_current(stream).device, FLAG_EVENT)
        Event.wait(self, stream)

    def reset(self, stream=None):
        """Clear the flag when `stream` (None: the current one) has done its work so far."""
        cdef StreamSlot *on
        if self.slot == NULL:
            return
        on = stream_or_current(stream)
        require_function(<void *>api.aclrtResetEvent, "aclrtResetEvent")
        use_device(on.device)
        with nogil:
            check(api.aclrtResetEvent(self.slot.handle, on.handle), b"aclrtResetEvent")


cdef StreamSlot *stream_or_current(object stream) except NULL:
    if stream is None:
        return current_stream(thread_state().device)
    return (<Stream?>stream).slot
