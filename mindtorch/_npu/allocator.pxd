"""The caching allocator of device memory: torch's algorithm, one NpuAllocator for each device."""
from mindtorch._core.tensor.tensor cimport Storage, TensorBase
from mindtorch._npu.segments cimport SegmentCache
from mindtorch._npu.structs cimport Block, BlockPool, PrivatePool, StreamSlot


# --- private pools ---------------------------------------------------------------------------------------------------


cdef class PoolCache(SegmentCache):
    cdef PrivatePool *private_pools
    # [(id of a private pool, thread or capture)]: requests of that thread, or of the capture's streams, use the pool.
    # The last entry that fits counts.
    cdef list active_pools

    cdef BlockPool *choose_pool(self, StreamSlot *stream, bint small) except NULL
    cdef BlockPool *pool_of(self, PrivatePool *owner, StreamSlot *stream, bint small) except NULL
    cdef PrivatePool *find_pool(self, tuple pool_id) noexcept
    cdef bint owns_segments(self, PrivatePool *owner) noexcept


# --- the allocator ---------------------------------------------------------------------------------------------------


cdef class NpuAllocator(PoolCache):
    cdef double fraction             # of the device's memory that may be reserved; 1.0: no limit
    cdef bint uncached               # nothing is cached: every block is a segment of its own

    cdef Block *find_free_block(self, BlockPool *pool, size_t size) except? NULL
    cdef Block *alloc_new_block(self, BlockPool *pool, size_t size, object context) except NULL
    cdef Block *reclaim(self, BlockPool *pool, size_t size, object context) except? NULL
    cdef Block *alloc_from_driver(self, BlockPool *pool, size_t size, object context) except? NULL
    cdef Block *get_block_on_oom(self, StreamSlot *stream, size_t size) noexcept
    cdef int process_retired(self) except -1
    cdef int process_events(self) except -1
    cdef int release_cached(self) except -1
    cdef int collect_garbage(self) except -1
    cdef int release_oversize(self, BlockPool *pool, size_t size) except -1
    cdef void complete_free(self, Block *block) noexcept

cdef NpuAllocator allocator_of(int device)

# `nbytes` > 0 of device memory for `stream`, aligned to 512 bytes; 32 more bytes may be touched.
cdef Block *allocate_block(size_t nbytes, StreamSlot *stream) except NULL
# Later work of the stream may reuse the block. Never raises, drops an error or calls the driver: destructors call it.
cdef inline void free_block(Block *block) noexcept nogil:
    (<NpuAllocator>block.segment.allocator).deallocate(block)


# --- storage ---------------------------------------------------------------------------------------------------------


cdef class NpuStorage(Storage):      # `block` is a Block; NULL when nbytes is 0
    pass

cdef Storage allocate(size_t nbytes, int index)
# `stream` uses the memory of the tensor, too.
cdef int add_use_of_tensor(TensorBase tensor, StreamSlot *stream) except -1
