"""The caching allocator of device memory."""
from libc.stdint cimport uint32_t

from mindtorch._npu.records cimport Block, Segment, StreamSlot
from mindtorch._npu.stats cimport MemoryStats


cdef class NpuAllocator:
    cdef readonly int device
    cdef readonly MemoryStats _stats
    cdef double fraction             # of the device's memory that may be reserved; 1.0: no limit
    cdef Segment *segments
    cdef Segment *unwanted           # taken out of use, still to be given to the driver
    cdef Block *retired              # freed with other streams' work pending; linked by `left`
    cdef uint32_t random
    cdef dict __dict__               # a test may replace a method of one instance

    cdef Block *take(self, size_t nbytes, StreamSlot *stream) except NULL
    cdef void give(self, Block *block) noexcept
    cdef Block *refill(self, size_t size, bint small, StreamSlot *stream) except NULL
    cdef Block *add_segment(self, size_t size, bint small, StreamSlot *stream) except? NULL
    cdef void split(self, Block *block, size_t size) noexcept
    cdef void insert_free(self, Block *block) noexcept
    cdef void remove_free(self, Block *block) noexcept
    cdef void merge_next(self, Block *block) noexcept
    cdef void put_back(self, Block *block) noexcept
    cdef int process_retired(self) except -1
    cdef int release_cached(self) except -1
    cdef void drop_workspaces(self) noexcept
    cdef int wait_for_device(self) except -1
    cdef Segment *detach_unused(self) noexcept
    cdef void discard(self, Segment *detached) noexcept
    cdef int free_unwanted(self) except -1

# `nbytes` > 0 of device memory that belongs to `stream`: 512-byte aligned, 32 bytes of tail.
cdef Block *allocate_block(size_t nbytes, StreamSlot *stream) except NULL
# Ready for reuse in stream order. Never calls CANN, never raises: fit for __dealloc__.
cdef void free_block(Block *block) noexcept
# `stream` works on the block too: it is reused only after that work.
cdef int add_stream_use(Block *block, StreamSlot *stream) except -1
