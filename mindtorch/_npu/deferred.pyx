"""Things to release later: what streams still use, and what CANN refused to destroy.

1. What waits for a stream stands in that stream's queue, in the order of events; while it captures, in the graph.
2. What was refused stands in a ring: whose turn it is goes to the end when it is refused again.

A queue holds at most LIMIT entries. Whoever would add one more waits for the oldest, so that a program which never
synchronises does not pile up events and memory.
"""
from libc.stdlib cimport free, malloc

from mindtorch._npu.cann.acl_meta cimport aclBoolArray, aclOpExecutor, aclScalarList
from mindtorch._npu.errors cimport check
from mindtorch._npu.handles cimport STREAMS, captures, give_event, is_complete, record, take_event, use_device
from mindtorch._npu.records cimport Deferred, EventSlot
from mindtorch._npu.symbols cimport api


cdef enum:
    LIMIT = 512

cdef struct Refused:
    void *handle
    int kind
    Refused *next

cdef Refused *last_refused = NULL      # whose `next` is the first


cdef int defer(StreamSlot *stream, void (*release)(void *) noexcept, void *argument) except -1:
    global waiting
    cdef Deferred *entry
    while stream.deferred >= LIMIT:
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
        entry.event = take_event(stream.device, False)
        record(entry.event, stream)
    except BaseException:
        if entry.event != NULL:
            give_event(entry.event)
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
    stream.deferred += 1
    waiting += 1
    return 0


cdef void release_first(StreamSlot *stream) noexcept:
    global waiting
    cdef Deferred *entry = stream.first_deferred
    stream.first_deferred = entry.next
    if entry.next == NULL:
        stream.last_deferred = NULL
    stream.deferred -= 1
    waiting -= 1
    give_event(entry.event)
    entry.release(entry.argument)
    free(entry)


cdef int release_oldest(StreamSlot *stream) except -1:
    # Another thread may release the entry and reuse its event meanwhile: then this waits longer than it must, no less.
    cdef EventSlot *event = stream.first_deferred.event
    use_device(stream.device)
    with nogil:
        check(api.aclrtSynchronizeEvent(event.handle), b"aclrtSynchronizeEvent")
    if stream.first_deferred != NULL and stream.first_deferred.event == event:
        release_first(stream)
    return 0


cdef int drain() except -1:
    cdef StreamSlot *stream = STREAMS
    destroy_refused()
    while stream != NULL and waiting != 0 and captures == 0:     # which may forbid to ask
        while stream.first_deferred != NULL and is_complete(stream.first_deferred.event):
            release_first(stream)
        stream = stream.next
    return 0


cdef int drain_all(int device) except -1:
    cdef StreamSlot *stream = STREAMS
    destroy_refused()
    while stream != NULL:
        while stream.device == device and stream.first_deferred != NULL:
            release_oldest(stream)
        stream = stream.next
    return 0


cdef void destroy_later(void *handle, int kind) noexcept with gil:
    global last_refused, waiting
    cdef Refused *entry = <Refused *>malloc(sizeof(Refused))
    api.aclGetRecentErrMsg()           # or the next exception would tell of this call
    if entry == NULL:
        return                         # the host has no memory left either: the object stays
    entry.handle = handle
    entry.kind = kind
    if last_refused == NULL:
        entry.next = entry
    else:
        entry.next = last_refused.next
        last_refused.next = entry
    last_refused = entry
    waiting += 1


cdef int destroy_again(Refused *entry) noexcept:
    if entry.kind == EXECUTOR:
        return api.aclDestroyAclOpExecutor(<aclOpExecutor *>entry.handle)
    if entry.kind == BOOL_ARRAY:
        return api.aclDestroyBoolArray(<aclBoolArray *>entry.handle)
    if entry.kind == SCALAR_LIST:
        return api.aclDestroyScalarList(<aclScalarList *>entry.handle)
    return try_destroy(entry.handle, entry.kind)


cdef void destroy_refused() noexcept:
    global last_refused, waiting
    cdef Refused *entry
    while last_refused != NULL:
        entry = last_refused.next
        if destroy_again(entry) != 0:
            api.aclGetRecentErrMsg()
            last_refused = entry
            return
        last_refused.next = entry.next
        if entry == last_refused:
            last_refused = NULL
        free(entry)
        waiting -= 1


def abandon(int device):
    """Releases everything at once: the device is being closed."""
    cdef StreamSlot *stream = STREAMS
    destroy_refused()
    while stream != NULL:
        while stream.device == device and stream.first_deferred != NULL:
            release_first(stream)
        stream = stream.next


def pending():
    """Number of entries that wait."""
    return waiting


def drain_now():
    """Releases what the streams have passed, and what was refused."""
    drain()
