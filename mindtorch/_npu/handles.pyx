"""Devices, streams and events as C records, and what each thread remembers of them.

1. Every device has one context, made by runtime.py at the device's first use; each thread makes it current for itself.
2. A stream or event that nobody holds is idle: it is handed out again, or destroyed by release_idle (empty_cache).
3. After a fork the child has no devices: every way to one leads through bind_device, which refuses.
"""
from libc.stdint cimport intptr_t
from libc.stdlib cimport calloc

from mindtorch._npu.cann.acl_base_rt cimport (
    ACL_ERROR_RT_INVALID_HANDLE, ACL_EVENT_SYNC, ACL_EVENT_TIME_LINE, ACL_STREAM_FAST_LAUNCH, ACL_STREAM_FAST_SYNC,
    aclrtContext, aclrtEvent, aclrtStream)
from mindtorch._npu.cann.acl_rt cimport (
    ACL_EVENT_RECORDED_STATUS_COMPLETE, aclrtEventRecordedStatus, aclrtStreamStatus)
from mindtorch._npu.cann.thread_state cimport ThreadState
from mindtorch._npu.cann.thread_state_address cimport mindtorch_thread_state
from mindtorch._npu.errors cimport check
from mindtorch._npu.symbols cimport api


cdef struct Device:
    aclrtContext context             # NULL: not started
    StreamSlot *default_stream
    EventSlot *idle_events[2]        # without and with timing

cdef Device DEVICES[MAX_DEVICES]
cdef EventSlot *EVENTS = NULL        # all events of the process
cdef EventSlot *SPARE_EVENTS = NULL  # records whose event was destroyed
cdef int streams_made = 0


cdef ThreadState *thread_state() noexcept nogil:
    return mindtorch_thread_state()


# Devices

cdef int bind_device(int device) except -1:
    if not 0 <= device < MAX_DEVICES or DEVICES[device].context == NULL:
        from mindtorch._npu.runtime import get_runtime
        get_runtime(device)          # raises for what is no device
    check(api.aclrtSetCurrentContext(DEVICES[device].context), b"aclrtSetCurrentContext")
    thread_state().bound = device
    return 0


def adopt_device(int index, intptr_t context, intptr_t stream):
    """Enters a device that runtime.py has started: its context (current for this thread) and default stream."""
    cdef StreamSlot *slot = DEVICES[index].default_stream
    if slot == NULL:
        slot = new_stream(index)
        DEVICES[index].default_stream = slot
        slot.holders = 1             # the runtime
    slot.handle = <aclrtStream>stream
    slot.number = 0
    DEVICES[index].context = <aclrtContext>context
    thread_state().bound = index


def bind(int index):
    """Makes the device's context current for the calling thread; starts the device at its first use."""
    use_device(index)


def current_device():
    """The calling thread's device; 0 until it has chosen one."""
    return thread_state().device


def set_current_device(int index):
    """Makes `index` the calling thread's device, starting it where it has not been used yet."""
    use_device(index)
    thread_state().device = index


def is_started(int index):
    return 0 <= index < MAX_DEVICES and DEVICES[index].context != NULL


def forget_devices():
    """In the child of a fork: the parent's contexts, streams and memory are none of ours."""
    cdef int index
    cdef ThreadState *state = thread_state()
    state.bound = -1
    for index in range(MAX_DEVICES):
        DEVICES[index].context = NULL
        state.streams[index] = NULL


# Streams

cdef StreamSlot *new_stream(int device) except NULL:
    global STREAMS, streams_made
    cdef StreamSlot *slot = <StreamSlot *>calloc(1, sizeof(StreamSlot))
    cdef int small
    if slot == NULL:
        raise MemoryError()
    streams_made += 1
    slot.device = device
    slot.number = streams_made
    for small in range(2):
        slot.pools[small].small = small
        slot.pools[small].stream = slot
    slot.next = STREAMS
    STREAMS = slot
    return slot


cdef StreamSlot *first_stream(int device) except NULL:
    use_device(device)
    thread_state().streams[device] = DEVICES[device].default_stream
    return DEVICES[device].default_stream


cdef StreamSlot *default_stream(int device) except NULL:
    use_device(device)
    return DEVICES[device].default_stream


cdef StreamSlot *take_stream(int device, int priority) except NULL:
    use_device(device)
    cdef StreamSlot *slot = STREAMS
    while slot != NULL and (slot.holders != 0 or slot.device != device or slot.priority != priority):
        slot = slot.next
    if slot == NULL:
        slot = new_stream(device)
        slot.priority = priority
    slot.holders = 1                 # before the GIL can be given up
    try:
        open_stream(slot)
    except BaseException:
        slot.holders = 0
        raise
    return slot


cdef int open_stream(StreamSlot *slot) except -1:
    cdef aclrtStream handle = NULL
    cdef aclrtStreamStatus state
    cdef int status
    if slot.handle != NULL:
        status = api.aclrtStreamQuery(slot.handle, &state)
        if status != ACL_ERROR_RT_INVALID_HANDLE:
            return check(status, b"aclrtStreamQuery")
        slot.handle = NULL           # destroyed through its raw handle
    check(api.aclrtCreateStreamWithConfig(&handle, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC),
          b"aclrtCreateStreamWithConfig")
    slot.handle = handle
    return 0


cdef int wait_for_stream(StreamSlot *stream) except -1:
    use_device(stream.device)
    with nogil:
        check(api.aclrtSynchronizeStream(stream.handle), b"aclrtSynchronizeStream")
    return 0


def streams_of(int device):
    """Handles of the streams of `device` that exist."""
    cdef StreamSlot *slot = STREAMS
    cdef list handles = []
    while slot != NULL:
        if slot.device == device and slot.handle != NULL:
            handles.append(<intptr_t>slot.handle)
        slot = slot.next
    return handles


# Events

cdef EventSlot *take_event(int device, bint timing) except NULL:
    global SPARE_EVENTS
    cdef EventSlot *slot = DEVICES[device].idle_events[timing]
    cdef aclrtEvent handle = NULL
    if slot != NULL:
        DEVICES[device].idle_events[timing] = slot.next
        return slot
    use_device(device)
    if SPARE_EVENTS == NULL:
        add_spare_event()
    check(api.aclrtCreateEventExWithFlag(&handle, ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC if timing else ACL_EVENT_SYNC),
          b"aclrtCreateEventExWithFlag")
    slot = SPARE_EVENTS
    SPARE_EVENTS = slot.next
    slot.handle = handle
    slot.device = device
    slot.timing = timing
    return slot


cdef int add_spare_event() except -1:
    global EVENTS, SPARE_EVENTS
    cdef EventSlot *slot = <EventSlot *>calloc(1, sizeof(EventSlot))
    if slot == NULL:
        raise MemoryError()
    slot.next_made = EVENTS
    EVENTS = slot
    slot.next = SPARE_EVENTS
    SPARE_EVENTS = slot
    return 0


cdef void give_event(EventSlot *event) noexcept:
    if event.handle != NULL:
        event.next = DEVICES[event.device].idle_events[event.timing]
        DEVICES[event.device].idle_events[event.timing] = event


cdef int record(EventSlot *event, StreamSlot *stream) except -1:
    use_device(stream.device)
    with nogil:                      # waits while the stream's queue is full
        check(api.aclrtRecordEvent(event.handle, stream.handle), b"aclrtRecordEvent")
    return 0


cdef int is_complete(EventSlot *event) except -1:
    cdef aclrtEventRecordedStatus status
    use_device(event.device)
    check(api.aclrtQueryEventStatus(event.handle, &status), b"aclrtQueryEventStatus")
    return status == ACL_EVENT_RECORDED_STATUS_COMPLETE


# The end of a device's life, and of what is idle

def release_idle(int device):
    """Destroys the events and streams of `device` that nobody holds and that own no memory.

    Stops at the first that CANN refuses to destroy, which stays as it was.
    """
    cdef EventSlot *event
    cdef StreamSlot *slot = STREAMS
    cdef int status, timing
    use_device(device)
    for timing in range(2):
        while DEVICES[device].idle_events[timing] != NULL:
            event = DEVICES[device].idle_events[timing]
            status = api.aclrtDestroyEvent(event.handle)
            if status != ACL_ERROR_RT_INVALID_HANDLE:        # which is as good as destroyed
                check(status, b"aclrtDestroyEvent")
            DEVICES[device].idle_events[timing] = event.next
            forget_event(event)
    while slot != NULL:
        if (slot.device == device and slot.holders == 0 and slot.handle != NULL and slot.segments == 0
                and slot.deferred == 0 and slot.launches == 0):
            destroy_stream(slot)
        slot = slot.next


cdef int destroy_stream(StreamSlot *slot) except -1:
    cdef aclrtStream handle = slot.handle
    cdef int status
    slot.handle = NULL
    slot.holders = 1                 # not to be handed out while the driver destroys it
    with nogil:
        status = api.aclrtDestroyStream(handle)
    slot.holders = 0
    if status != 0 and status != ACL_ERROR_RT_INVALID_HANDLE:
        slot.handle = handle         # to be tried again
        check(status, b"aclrtDestroyStream")
    return 0


cdef void forget_event(EventSlot *event) noexcept:
    global SPARE_EVENTS
    event.handle = NULL
    event.next = SPARE_EVENTS
    SPARE_EVENTS = event


def close_device(int device):
    """Destroys every event of `device` and every stream but the default one; statuses no longer matter."""
    cdef EventSlot *event = EVENTS
    cdef StreamSlot *slot = STREAMS
    cdef int timing
    for timing in range(2):
        DEVICES[device].idle_events[timing] = NULL
    while event != NULL:
        if event.device == device and event.handle != NULL:
            api.aclrtDestroyEvent(event.handle)
            forget_event(event)
        event = event.next_made
    while slot != NULL:
        if slot.device == device and slot.handle != NULL:
            if slot != DEVICES[device].default_stream:
                api.aclrtDestroyStream(slot.handle)
            slot.handle = NULL
        slot = slot.next
    DEVICES[device].context = NULL
    if thread_state().bound == device:
        thread_state().bound = -1
    thread_state().streams[device] = NULL
