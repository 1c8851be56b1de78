"""Segments of device memory and the blocks that they are cut into; the allocator's settings and counters."""
from libc.stdint cimport int64_t, uint32_t

from mindtorch._npu.lock cimport SpinLock
from mindtorch._npu.structs cimport Block, BlockPool, PrivatePool, Segment, StreamSlot


# --- settings --------------------------------------------------------------------------------------------------------
# The settings of PYTORCH_NPU_ALLOC_CONF. Sizes are in bytes.


cdef enum:
    DIVISION_CLASSES = 16                # powers of two from 1 MiB to 32 GiB; the first and the last include the rest

cdef struct AllocatorSettings:
    size_t tail                          # bytes that a block has beyond the requested size
    size_t max_split_size                # blocks of at least this size are not split, and serve only such requests
    size_t max_non_split_rounding        # how much larger than the request such a block may be
    size_t large_segment                 # size of segments that serve several requests of the large pool
    size_t segment_unit                  # segments for one request are multiples of it: pages of 2 MiB or 1 GiB
    double gc_threshold                  # garbage_collection_threshold: a part of the memory limit; 0: never
    bint expandable                      # segments grow: addresses are reserved, memory is mapped as needed
    size_t base_alignment                # of large blocks in expandable segments; 0: none
    bint divided                         # roundup_power2_divisions is in use
    size_t divisions[DIVISION_CLASSES]   # of a power of two, by the request's size; 0 and 1: no rounding
    bint lazy_reclaim                    # events are queried only if no block is free, or many events are pending
    bint throw_on_oom                    # throw_on_npumalloc_oom: raise at once, without freeing cached memory

cdef AllocatorSettings settings


# --- counters --------------------------------------------------------------------------------------------------------
# The counters of torch.npu.memory_stats().


cdef enum:
    ALL = 0
    SMALL_POOL = 1
    LARGE_POOL = 2
    POOLS = 3

cdef enum StatKind:
    ALLOCATION
    SEGMENT
    ACTIVE
    INACTIVE_SPLIT
    ALLOCATED_BYTES
    RESERVED_BYTES
    ACTIVE_BYTES
    INACTIVE_SPLIT_BYTES
    REQUESTED_BYTES
    STAT_KINDS

cdef struct Stat:
    int64_t current
    int64_t peak
    int64_t allocated                # sum of all increases
    int64_t freed                    # sum of all decreases


cdef class MemoryStats:
    cdef Stat table[STAT_KINDS][POOLS]
    cdef public int64_t num_alloc_retries        # requests for a segment that were repeated after freeing cached memory
    cdef public int64_t num_ooms
    cdef public int64_t num_sync_all_streams
    cdef public int64_t num_device_alloc
    cdef public int64_t num_device_free
    cdef public int64_t num_oom_rejections       # out-of-memory errors because of throw_on_npumalloc_oom
    cdef Stat oversize_allocations               # blocks and segments of at least max_split_size_mb
    cdef Stat oversize_segments
    cdef readonly int64_t max_split_size         # at the allocator's creation; -1: unlimited

    cdef int64_t *find_counter(self, str key) except NULL


cdef dict stat_metrics(Stat *stat)                 # by torch's names

# `pools` is the array of one kind, such as stats.table[ALLOCATION].

cdef inline void stat_increase(Stat *stat, int64_t amount) noexcept nogil:
    stat.current += amount
    stat.allocated += amount
    if stat.current > stat.peak:
        stat.peak = stat.current


cdef inline void stat_decrease(Stat *stat, int64_t amount) noexcept nogil:
    stat.current -= amount
    stat.freed += amount


cdef inline void increase(Stat *pools, bint small, int64_t amount) noexcept nogil:
    stat_increase(pools + ALL, amount)
    stat_increase(pools + (SMALL_POOL if small else LARGE_POOL), amount)


cdef inline void decrease(Stat *pools, bint small, int64_t amount) noexcept nogil:
    stat_decrease(pools + ALL, amount)
    stat_decrease(pools + (SMALL_POOL if small else LARGE_POOL), amount)


cdef inline void change(Stat *pools, bint small, int64_t amount) noexcept nogil:
    if amount > 0:
        increase(pools, small, amount)
    elif amount < 0:
        decrease(pools, small, -amount)


# --- blocks ----------------------------------------------------------------------------------------------------------


cdef enum:
    KIB = 1024
    MIB = 1024 * 1024
    UNIT = 512                       # sizes of blocks are multiples of it
    SMALL_LIMIT = MIB                # the largest request of the small pool
    SMALL_SEGMENT = 2 * MIB
    LARGE_LIMIT = 10 * MIB           # requests of at least this size get a segment of their own
    ALIGNED_LIMIT = 2 * MIB          # base_addr_aligned_kb applies to requests of at least this size

cdef size_t divided_size(size_t size) noexcept nogil

cdef inline size_t round_size(size_t nbytes) noexcept nogil:
    cdef size_t size = nbytes + settings.tail
    if settings.divided:
        return divided_size(size)
    return (size + UNIT - 1) // UNIT * UNIT


cdef class BlockCache:
    cdef readonly int device
    cdef readonly MemoryStats _stats
    cdef SpinLock lock               # protects the counters and all that follows
    cdef bint use_slow_path          # all requests take the slow path, with the GIL
    cdef Segment *segments
    cdef Block *retired              # freed, but other streams still use them; linked by `left`
    cdef long long searches          # number of searches for large free blocks: the clock of garbage collection
    cdef Block *spare                # unused Block structs; linked by `left`
    cdef uint32_t random

    cdef Block *allocate(self, size_t nbytes, StreamSlot *stream) except NULL nogil
    cdef void deallocate(self, Block *block) noexcept nogil
    cdef Block *allocate_slow(self, size_t nbytes, StreamSlot *stream) except NULL
    cdef void deallocate_slow(self, Block *block) noexcept

    # The caller of these holds the lock. A block is detached while it is neither in a tree nor in use.
    cdef Block *new_block(self) noexcept nogil
    cdef void drop_block(self, Block *block) noexcept nogil
    cdef Block *get_free_block(self, BlockPool *pool, size_t size) noexcept nogil
    cdef Block *align_start(self, Block *block, size_t size) noexcept nogil
    cdef Block *find_best_fit(self, BlockPool *pool, size_t size) noexcept nogil
    cdef Block *mark_allocated(self, Block *block, size_t nbytes, size_t size) noexcept nogil
    cdef void retire(self, Block *block) noexcept nogil
    cdef void return_to_pool(self, Block *block) noexcept nogil
    cdef Block *split(self, Block *block, size_t size) noexcept nogil
    cdef Block *cut(self, Block *rest, size_t size) noexcept nogil
    cdef bint extend_next(self, Block *block) noexcept nogil
    cdef size_t merge_next(self, Block *block) noexcept nogil
    cdef Block *join(self, Block *block, size_t *merged, int *count) noexcept nogil
    cdef void insert(self, Block *block) noexcept nogil
    cdef void detach(self, Block *block) noexcept nogil


# --- segments --------------------------------------------------------------------------------------------------------


cdef class SegmentCache(BlockCache):
    cdef Segment *segments_to_free   # removed from `segments`, to be freed
    cdef Block *pages_to_unmap       # blocks of expandable segments, to be unmapped; linked by `left`
    cdef object source               # an NPUPluggableAllocator; None: the driver
    cdef bint keep_physical          # unmap without freeing physical memory (empty_virt_addr_cache)
    cdef object history              # a MemoryHistory or None
    cdef dict __dict__               # lets a test replace a method of one instance

    # They return detached blocks; NULL if there is no memory.
    cdef Block *alloc_segment(self, BlockPool *pool, size_t size, object context) except? NULL
    cdef Block *alloc_expandable(self, BlockPool *pool, size_t size, object context) except? NULL

    # Freeing has two steps, so that no thread can take a block while the driver frees it: detach, then release.
    cdef bint detach_unused(self, PrivatePool *owner) noexcept
    cdef int release_detached(self) except -1
    cdef bint is_unused(self, Segment *segment) noexcept nogil
    cdef void detach_segment(self, Segment *segment) noexcept
    cdef int wait_for_device(self) except -1

    cdef void *driver_alloc(self, BlockPool *pool, size_t size) except? NULL
    cdef int driver_free(self, Segment *segment) except -1
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
    cdef int record_trace(self, str action, void *address, size_t size, BlockPool *pool, object context) except -1
