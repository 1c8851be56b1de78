"""The caching allocator of device memory: torch's algorithm, one NpuAllocator a device."""
from mindtorch._core.tensor.tensor cimport Storage
from mindtorch._npu.segments cimport SegmentCache
from mindtorch._npu.structs cimport Block, BlockPool, PrivatePool, StreamSlot


# --- private pools ---------------------------------------------------------------------------------------------------
# The pools that blocks come from.


cdef class PoolCache(SegmentCache):
    cdef PrivatePool *private_pools
    # [(id of a private pool, thread or capture)]: where the blocks of a thread, or of streams, come from; last first
    cdef list routes

    cdef BlockPool *choose_pool(self, StreamSlot *stream, bint small) except NULL
    cdef BlockPool *pool_of(self, PrivatePool *owner, StreamSlot *stream, bint small) except NULL
    cdef PrivatePool *find_pool(self, tuple pool_id) noexcept
    cdef bint owns_segments(self, PrivatePool *owner) noexcept


# --- the allocator ---------------------------------------------------------------------------------------------------
# The caching allocator of device memory.


cdef class NpuAllocator(PoolCache):
    cdef double fraction             # of the device's memory that may be reserved; 1.0: no limit
    cdef bint uncached               # every block is a segment of its own

    cdef Block *search(self, BlockPool *pool, size_t size) except? NULL
    cdef Block *refill(self, BlockPool *pool, size_t size, object context) except NULL
    cdef Block *make_room(self, BlockPool *pool, size_t size, object context) except? NULL
    cdef Block *obtain(self, BlockPool *pool, size_t size, object context) except? NULL
    cdef Block *borrow(self, StreamSlot *stream, size_t size) noexcept
    cdef int process_retired(self) except -1
    cdef int process_events(self) except -1
    cdef int release_cached(self) except -1
    cdef int collect_garbage(self) except -1
    cdef int release_oversize(self, BlockPool *pool, size_t size) except -1
    cdef void finish(self, Block *block) noexcept

cdef NpuAllocator allocator_of(int device)

# `nbytes` > 0 of device memory that belongs to `stream`: 512-byte aligned, 32 bytes of tail.
cdef Block *allocate_block(size_t nbytes, StreamSlot *stream) except NULL
# Ready for reuse in stream order. Calls no driver, never raises: fit for __dealloc__.
cdef inline void free_block(Block *block) noexcept nogil:
    (<NpuAllocator>block.segment.allocator).give(block)
# `stream` works on the block too: it is reused only after that work.
cdef int add_stream_use(Block *block, StreamSlot *stream) except -1
# It does so no longer.
cdef void drop_stream_use(Block *block, StreamSlot *stream) noexcept


# --- storage ---------------------------------------------------------------------------------------------------------
# Storage on the NPU.


cdef class NpuStorage(Storage):
    cdef Block *block                # NULL when nbytes is 0

cdef Storage allocate(size_t nbytes, int index)
