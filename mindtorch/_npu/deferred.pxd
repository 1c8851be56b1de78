"""Things to release once a stream has passed a point."""
from mindtorch._npu.records cimport StreamSlot

cdef int waiting                       # entries of all streams: a caller may skip `drain` while it is 0

# Calls release(argument), under the GIL, when `stream` has done all that has been submitted to it up to now.
cdef int defer(StreamSlot *stream, void (*release)(void *) noexcept, void *argument) except -1
cdef int drain() except -1             # releases what the streams have passed; never waits
cdef int drain_all(int device) except -1      # waits for every stream of `device` that has entries
