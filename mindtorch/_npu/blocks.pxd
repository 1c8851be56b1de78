"""Blocks of device memory and the pools they come from."""
from libc.stdint cimport uint32_t

from mindtorch._npu.lock cimport SpinLock
from mindtorch._npu.records cimport Block, BlockPool, Segment, StreamSlot
from mindtorch._npu.settings cimport AllocatorSettings, settings
from mindtorch._npu.stats cimport MemoryStats


cdef enum:
    KIB = 1024
    MIB = 1024 * 1024
    UNIT = 512                       # blocks are multiples of it
    SMALL_LIMIT = MIB                # the largest request of the small pool
    SMALL_SEGMENT = 2 * MIB
    LARGE_LIMIT = 10 * MIB           # from here on a request has a segment of its own
    ALIGNED_LIMIT = 2 * MIB          # from here on base_addr_aligned_kb counts

cdef size_t divided_size(size_t size) noexcept nogil

cdef inline size_t round_size(size_t nbytes) noexcept nogil:
    cdef size_t size = nbytes + settings.tail
    if settings.divided:
        return divided_size(size)
    return (size + UNIT - 1) // UNIT * UNIT


cdef class BlockCache:
    cdef readonly int device
    cdef readonly MemoryStats _stats
    cdef SpinLock lock               # guards all that follows, and the figures
    cdef bint watched                # everything goes by the slow paths, under the GIL
    cdef Segment *segments
    cdef Block *retired              # freed with other streams' work pending; linked by `left`
    cdef long long searches          # for large free blocks: the clock of garbage collection
    cdef Block *spare                # records of merged blocks, linked by `left`: ops split and merge all the time
    cdef uint32_t random

    cdef Block *take(self, size_t nbytes, StreamSlot *stream) except NULL nogil
    cdef void give(self, Block *block) noexcept nogil
    cdef Block *take_slowly(self, size_t nbytes, StreamSlot *stream) except NULL
    cdef void give_slowly(self, Block *block) noexcept

    # Under the lock from here on. A block is `detached` while it is neither in a tree nor handed out.
    cdef Block *new_block(self) noexcept nogil
    cdef void drop_block(self, Block *block) noexcept nogil
    cdef Block *detach_fit(self, BlockPool *pool, size_t size) noexcept nogil
    cdef Block *align_start(self, Block *block, size_t size) noexcept nogil
    cdef Block *find(self, BlockPool *pool, size_t size) noexcept nogil
    cdef Block *hand_out(self, Block *block, size_t nbytes, size_t size) noexcept nogil
    cdef void retire(self, Block *block) noexcept nogil
    cdef void put_back(self, Block *block) noexcept nogil
    cdef Block *cut(self, Block *block, size_t size) noexcept nogil
    cdef size_t merge_next(self, Block *block) noexcept nogil
    cdef Block *join(self, Block *block, size_t *merged, int *count) noexcept nogil
    cdef void insert(self, Block *block) noexcept nogil
    cdef void detach(self, Block *block) noexcept nogil
