"""Things to release once a stream has passed a point: one queue a stream, in the order of their events.

A queue holds at most LIMIT entries. Whoever would add one more waits for the oldest, so that a program which never
synchronises does not pile up events and memory.
"""
from libc.stdlib cimport free, malloc

from mindtorch._npu.errors cimport check
from mindtorch._npu.handles cimport STREAMS, give_event, is_complete, record, take_event, use_device
from mindtorch._npu.records cimport Deferred, EventSlot
from mindtorch._npu.symbols cimport api


cdef enum:
    LIMIT = 512


cdef int defer(StreamSlot *stream, void (*release)(void *) noexcept, void *argument) except -1:
    global waiting
    cdef Deferred *entry
    while stream.deferred >= LIMIT:
        release_oldest(stream)
    entry = <Deferred *>malloc(sizeof(Deferred))
    if entry == NULL:
        raise MemoryError()
    entry.event = NULL
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
    while stream != NULL and waiting != 0:
        while stream.first_deferred != NULL and is_complete(stream.first_deferred.event):
            release_first(stream)
        stream = stream.next
    return 0


cdef int drain_all(int device) except -1:
    cdef StreamSlot *stream = STREAMS
    while stream != NULL:
        while stream.device == device and stream.first_deferred != NULL:
            release_oldest(stream)
        stream = stream.next
    return 0


def abandon(int device):
    """Releases everything at once: the device is being closed."""
    cdef StreamSlot *stream = STREAMS
    while stream != NULL:
        while stream.device == device and stream.first_deferred != NULL:
            release_first(stream)
        stream = stream.next


def pending():
    """Number of entries that wait, of all streams."""
    return waiting


def drain_now():
    """Releases what the streams have passed."""
    drain()
