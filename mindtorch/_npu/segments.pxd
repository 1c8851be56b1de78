"""Segments: what the blocks of a device are cut from."""
from mindtorch._npu.blocks cimport BlockCache
from mindtorch._npu.records cimport Block, BlockPool, PrivatePool, Segment


cdef class SegmentCache(BlockCache):
    cdef Segment *unwanted           # taken out of use, still to be given back
    cdef Block *unwanted_pages       # the same of expandable segments; linked by `left`
    cdef object source               # NPUPluggableAllocator in place of the driver; None: the driver
    cdef bint keep_physical          # while addresses alone are given up (empty_virt_addr_cache)
    cdef object history              # MemoryHistory; None: nothing is recorded
    cdef dict __dict__               # a test may replace a method of one instance

    # Blocks that they return are detached. NULL: there is no memory.
    cdef Block *add_segment(self, BlockPool *pool, size_t size, object context) except? NULL
    cdef Block *grow(self, BlockPool *pool, size_t size, object context) except? NULL

    # In two steps, so that no driver call is made for what somebody may still take: out of reach, then to the driver.
    cdef bint detach_unused(self, PrivatePool *owner) noexcept
    cdef int release_detached(self) except -1
    cdef bint is_unused(self, Segment *segment) noexcept nogil
    cdef void detach_segment(self, Segment *segment) noexcept
    cdef int wait_for_device(self) except -1

    cdef void *get_memory(self, BlockPool *pool, size_t size) except? NULL
    cdef int put_memory(self, Segment *segment) except -1
    cdef Segment *new_segment(self, BlockPool *pool, void *address, size_t size) except NULL
    cdef int release_segment(self, Segment *segment) except -1
    cdef void unlink(self, Segment *segment) noexcept

    cdef int reserve_addresses(self, BlockPool *pool) except -1
    cdef Block *find_run(self, BlockPool *pool, size_t size) noexcept nogil
    cdef Block *detach_run(self, Block *first, size_t size) noexcept nogil
    cdef void undo_run(self, Block *first, Block *last) noexcept nogil
    cdef int map_run(self, Block *first, Block *last) except -1
    cdef int map_block(self, Block *block) except -1
    cdef void detach_pages(self, Segment *segment) noexcept nogil
    cdef int release_pages(self, Block *block) except -1
    cdef int trace(self, str action, void *address, size_t size, BlockPool *pool, object context) except -1

cdef tuple pool_id(BlockPool *pool)
