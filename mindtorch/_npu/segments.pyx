# cython: always_allow_keywords=False
"""Segments of device memory and the blocks that they are cut into; the allocator's settings and counters."""
from collections import OrderedDict
import threading

from cpython.exc cimport PyErr_Fetch, PyErr_Restore
from cpython.ref cimport PyObject, Py_INCREF, Py_XDECREF
cimport cython
from libc.stdint cimport intptr_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from mindtorch._npu.alloc_config import AllocConfig, from_environment
from mindtorch._npu.toolkit import version_key

from mindtorch._npu.acl cimport api, check, drain_queue, failed_with
from mindtorch._npu.cann cimport (
    ACL_ERROR_RT_MEMORY_ALLOCATION, ACL_HBM_MEM_HUGE, ACL_HBM_MEM_HUGE1G, ACL_MEM_ALLOCATION_TYPE_PINNED,
    ACL_MEM_HANDLE_TYPE_NONE, ACL_MEM_LOCATION_TYPE_DEVICE, ACL_MEM_MALLOC_HUGE1G_ONLY, ACL_MEM_MALLOC_HUGE_FIRST,
    aclrtDrvMemHandle, aclrtMemMallocPolicy, aclrtPhysicalMemProp,
)
from mindtorch._npu.free_blocks cimport (
    best_fit, insert_free, next_free, next_priority, remove_free, resize_free, tree_insert, tree_next, tree_remove,
)
from mindtorch._npu.lock cimport acquire, release
from mindtorch._npu.streams cimport pending_entries, use_device


# --- settings --------------------------------------------------------------------------------------------------------
# alloc_config.py parses the settings; `apply_settings` converts them to the C struct.


cdef enum:
    TAIL = 32                            # bytes past the end of a tensor that the hardware may touch

cdef size_t UNLIMITED = <size_t>-1

current_settings = None                           # the AllocConfig in use


def apply_settings(config):
    """Use an AllocConfig from now on. Existing blocks do not change."""
    global current_settings
    cdef int number
    settings.max_split_size = UNLIMITED if config.max_split_size_mb is None else config.max_split_size_mb * MIB
    settings.max_non_split_rounding = config.max_non_split_rounding_mb * MIB
    settings.segment_unit = (1024 if config.page_size == "1g" else 2) * MIB
    settings.large_segment = config.large_segment_size_mb * MIB
    if config.page_size == "1g":
        settings.large_segment += -settings.large_segment % settings.segment_unit
    settings.gc_threshold = config.garbage_collection_threshold
    settings.base_alignment = config.base_addr_aligned_kb * KIB
    settings.expandable = config.expandable_segments
    settings.lazy_reclaim = config.multi_stream_lazy_reclaim
    settings.throw_on_oom = config.throw_on_npumalloc_oom
    settings.divided = False
    for number in range(DIVISION_CLASSES):
        settings.divisions[number] = config.roundup_power2_divisions[number]
        settings.divided |= settings.divisions[number] > 1
    current_settings = config


def set_tail(soc_name, cann_version):
    """Choose the tail for a device: an Ascend 950 needs none from CANN 9.1 on."""
    without = (soc_name or "").startswith("Ascend950") and version_key(cann_version) >= [9, 1]
    settings.tail = 0 if without else TAIL


set_tail(None, "")
apply_settings(from_environment() or AllocConfig())


# --- counters --------------------------------------------------------------------------------------------------------
# The counters of torch.npu.memory_stats().


KINDS = ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
         "inactive_split_bytes", "requested_bytes")
POOL_NAMES = ("all", "small_pool", "large_pool")
METRICS = ("current", "peak", "allocated", "freed")
SCALARS = ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free",
           "num_oom_rejections")


cdef class MemoryStats:
    """A mapping: stats["allocated_bytes.all.current"] reads that counter, an assignment sets it."""

    cdef int64_t *find_counter(self, str key) except NULL:
        cdef Stat *stat
        try:
            kind, pool, metric = key.split(".")
            stat = &self.table[<int>KINDS.index(kind)][<int>POOL_NAMES.index(pool)]
            return <int64_t *>stat + <int>METRICS.index(metric)
        except ValueError:
            raise KeyError(key) from None

    def __cinit__(self):
        self.max_split_size = -1

    def __getitem__(self, str key):
        return self.find_counter(key)[0]

    def __setitem__(self, str key, int64_t value):
        self.find_counter(key)[0] = value

    def as_nested_dict(self):
        """torch.npu.memory_stats_as_nested_dict(), with torch_npu's order of keys."""
        result = {"num_alloc_retries": self.num_alloc_retries, "num_ooms": self.num_ooms,
                  "max_split_size": self.max_split_size,
                  "num_sync_all_streams": self.num_sync_all_streams, "num_device_alloc": self.num_device_alloc,
                  "num_device_free": self.num_device_free, "num_oom_rejections": self.num_oom_rejections}
        for kind in KINDS:
            result[kind] = {pool: {metric: self[f"{kind}.{pool}.{metric}"] for metric in METRICS}
                            for pool in POOL_NAMES}
        result["oversize_allocations"] = stat_metrics(&self.oversize_allocations)
        result["oversize_segments"] = stat_metrics(&self.oversize_segments)
        return result

    def reset_peak(self):
        cdef int kind, pool
        for kind in range(STAT_KINDS):
            for pool in range(POOLS):
                self.table[kind][pool].peak = self.table[kind][pool].current
        self.oversize_allocations.peak = self.oversize_allocations.current
        self.oversize_segments.peak = self.oversize_segments.current

    def reset_accumulated(self):
        cdef int kind, pool
        for kind in range(STAT_KINDS):
            for pool in range(POOLS):
                self.table[kind][pool].allocated = 0
                self.table[kind][pool].freed = 0
        self.oversize_allocations.allocated = self.oversize_allocations.freed = 0
        self.oversize_segments.allocated = self.oversize_segments.freed = 0
        for name in SCALARS:
            setattr(self, name, 0)


cdef dict stat_metrics(Stat *stat):
    return {"current": stat.current, "peak": stat.peak, "allocated": stat.allocated, "freed": stat.freed}


def flatten(nested):
    """{"a": {"b": 1}} as {"a.b": 1}, with sorted keys."""
    flat = {}

    def add(prefix, value):
        if isinstance(value, dict):
            for key, inner in value.items():
                add(f"{prefix}.{key}" if prefix else key, inner)
        else:
            flat[prefix] = value

    add("", nested)
    return OrderedDict(sorted(flat.items()))


# --- blocks ----------------------------------------------------------------------------------------------------------
# torch's best-fit algorithm on the segments of one device. Nothing here calls the driver or needs the GIL.
#
# 1. The blocks of a segment cover it. Free blocks are in the trees of their pool, ordered by size and address.
# 2. A request takes the smallest free block that fits and splits off the rest.
# 3. A freed block is merged with free neighbours. Later work of the same stream may reuse it at once, because it runs
#    after the earlier work. A block that other streams use is retired until their events complete (allocator.pyx).
#
# The lock is held for a few dozen instructions at a time. A block that a thread uses without the lock is detached (in
# no tree) and marked as allocated, so that no other thread takes or merges it.


cdef size_t divided_size(size_t size) noexcept nogil:
    """`size` rounded up as roundup_power2_divisions says; powers of two are kept."""
    cdef size_t floor = UNIT
    cdef int number = -11                # log2(floor / 1 MiB)
    cdef size_t divisions, part
    while floor <= size // 2:
        floor *= 2
        number += 1
    if number < 0:
        number = 0
    elif number >= DIVISION_CLASSES:
        number = DIVISION_CLASSES - 1
    divisions = settings.divisions[number]
    if divisions <= 1 or size <= UNIT * divisions:
        return (size + UNIT - 1) // UNIT * UNIT
    if floor == size:
        return size
    part = floor // divisions
    return (size + part - 1) // part * part


cdef inline bint is_split(Block *block) noexcept nogil:
    return block.previous != NULL or block.next != NULL


cdef inline size_t expandable_size(Block *block) noexcept nogil:
    """How large a block of an expandable segment can become in place."""
    return block.size + (block.next.size if block.next != NULL and not block.next.mapped else 0)


cdef class BlockCache:
    """The blocks of one device."""

    def __cinit__(self, int device_id=0):
        self.device = device_id
        self._stats = MemoryStats()
        self.random = 2463534242

    cdef Block *allocate(self, size_t nbytes, StreamSlot *stream) except NULL nogil:
        """A block of at least `nbytes` > 0 and the tail, for `stream`."""
        cdef size_t size = round_size(nbytes)
        cdef Block *block = NULL
        acquire(&self.lock)
        if self.retired == NULL and not self.use_slow_path and pending_entries == 0:
            block = self.find_best_fit(&stream.pools[<int>(size <= SMALL_LIMIT)], size)
            if block != NULL:
                self.searches += not block.pool.small
                block = self.mark_allocated(block, nbytes, size)
        release(&self.lock)
        if block == NULL:
            with gil:
                block = self.allocate_slow(nbytes, stream)
        return block

    cdef void deallocate(self, Block *block) noexcept nogil:
        """Free a block: later work of its stream may reuse it. Never raises, drops an error or calls the driver."""
        cdef PyObject *kind
        cdef PyObject *value
        cdef PyObject *traceback
        acquire(&self.lock)
        if self.use_slow_path or block.context != NULL:
            release(&self.lock)
            with gil:
                PyErr_Fetch(&kind, &value, &traceback)
                self.deallocate_slow(block)
                PyErr_Restore(kind, value, traceback)
            return
        self.retire(block)
        if block.uses == NULL:
            self.return_to_pool(block)
        release(&self.lock)

    cdef Block *allocate_slow(self, size_t nbytes, StreamSlot *stream) except NULL:
        raise NotImplementedError

    cdef void deallocate_slow(self, Block *block) noexcept:
        pass

    @cython.final
    cdef Block *new_block(self) noexcept nogil:
        """A Block whose fields the caller sets; NULL if the host is out of memory."""
        cdef Block *block = self.spare
        if block == NULL:
            return <Block *>malloc(sizeof(Block))
        self.spare = block.left
        return block

    @cython.final
    cdef void drop_block(self, Block *block) noexcept nogil:
        block.left = self.spare
        self.spare = block

    @cython.final
    cdef Block *get_free_block(self, BlockPool *pool, size_t size) noexcept nogil:
        cdef Block *block = self.find_best_fit(pool, size)
        if block != NULL:
            self.searches += not pool.small
            self.detach(block)
            block.allocated = True
        return block

    @cython.final
    cdef Block *align_start(self, Block *block, size_t size) noexcept nogil:
        """Split a detached block at its first aligned address if that leaves `size`; the part before becomes free."""
        cdef size_t alignment = settings.base_alignment
        cdef size_t past = <size_t>block.address % alignment if alignment != 0 else 0
        cdef Block *rest = NULL
        if past != 0 and block.size >= alignment - past + size:
            rest = self.split(block, alignment - past)
        if rest == NULL:
            return block
        block.allocated, rest.allocated = False, True
        self.insert(block)
        return rest

    @cython.final
    cdef Block *find_best_fit(self, BlockPool *pool, size_t size) noexcept nogil:
        """The free block that fits a request best; NULL if there is none."""
        cdef Block *block = best_fit(&pool.free, size)
        cdef Block *following
        if block == NULL:
            return NULL
        if block.segment.granule != 0:
            following = next_free(&pool.free, block)
            if not settings.expandable:      # switched off meanwhile: use other segments only
                while block != NULL and block.segment.granule != 0:
                    block = next_free(&pool.free, block)
                return block
            while (following != NULL and following.segment.granule != 0
                    and expandable_size(following) < expandable_size(block)):
                block = following
                following = next_free(&pool.free, block)
            return block
        if size < settings.max_split_size:
            return block if block.size < settings.max_split_size else NULL
        return block if block.size < size + settings.max_non_split_rounding else NULL

    @cython.final
    cdef Block *mark_allocated(self, Block *block, size_t nbytes, size_t size) noexcept nogil:
        """Mark a block, free or detached, as used, after splitting off what exceeds `size` if it makes a block."""
        cdef bint small = block.pool.small
        cdef bint was_split = is_split(block)
        cdef bint fixed = block.segment.granule == 0
        cdef bint whole = block.pool.owner != NULL and block.pool.owner.no_split
        cdef size_t left
        cdef Block *rest = NULL
        cdef Block *front
        if size >= ALIGNED_LIMIT and not fixed and not whole:
            if not block.allocated:
                self.detach(block)
                block.allocated = True
            block = self.align_start(block, size)
        left = block.size - size
        if whole:
            left = 0
        elif small or not fixed:
            left = left if left >= UNIT else 0
        elif left <= SMALL_LIMIT or size >= settings.max_split_size:
            left = 0
        front = self.cut(block, size) if left != 0 and not block.allocated else NULL
        if front != NULL:
            rest, block = block, front
        elif not block.allocated:
            self.detach(block)
        elif left != 0:
            rest = self.split(block, size)
            if rest != NULL:
                self.insert(rest)
        block.allocated = True
        if fixed and was_split:
            decrease(self._stats.table[<int>INACTIVE_SPLIT_BYTES], small, block.size)
            if rest == NULL:
                decrease(self._stats.table[<int>INACTIVE_SPLIT], small, 1)
        elif fixed and rest != NULL:
            increase(self._stats.table[<int>INACTIVE_SPLIT_BYTES], small, rest.size)
            increase(self._stats.table[<int>INACTIVE_SPLIT], small, 1)
        block.requested_size = nbytes
        increase(self._stats.table[<int>ALLOCATION], small, 1)
        increase(self._stats.table[<int>ALLOCATED_BYTES], small, block.size)
        increase(self._stats.table[<int>ACTIVE], small, 1)
        increase(self._stats.table[<int>ACTIVE_BYTES], small, block.size)
        increase(self._stats.table[<int>REQUESTED_BYTES], small, nbytes)
        if block.size >= settings.max_split_size:
            stat_increase(&self._stats.oversize_allocations, 1)
        return block

    @cython.final
    cdef void retire(self, Block *block) noexcept nogil:
        """Count the block as freed. If other streams use it, it is retired."""
        cdef bint small = block.pool.small
        decrease(self._stats.table[<int>ALLOCATION], small, 1)
        decrease(self._stats.table[<int>ALLOCATED_BYTES], small, block.size)
        if block.size >= settings.max_split_size:
            stat_decrease(&self._stats.oversize_allocations, 1)
        if block.uses != NULL:
            block.retired = True
            block.left = self.retired
            self.retired = block

    @cython.final
    cdef void return_to_pool(self, Block *block) noexcept nogil:
        """Insert a freed block into its pool, merged with free neighbours."""
        cdef bint small = block.pool.small
        cdef Block *rest = block.next
        cdef size_t merged = 0
        cdef int count = 0
        decrease(self._stats.table[<int>ACTIVE], small, 1)
        decrease(self._stats.table[<int>ACTIVE_BYTES], small, block.size)
        decrease(self._stats.table[<int>REQUESTED_BYTES], small, block.requested_size)
        if self.extend_next(block):
            merged, count = rest.size - block.size, 1
            self.drop_block(block)
            block = rest
        else:
            block = self.join(block, &merged, &count)
            self.insert(block)
        if block.segment.granule == 0:
            if is_split(block):
                change(self._stats.table[<int>INACTIVE_SPLIT], small, 1 - count)
                change(self._stats.table[<int>INACTIVE_SPLIT_BYTES], small, <long long>(block.size - merged))
            else:
                change(self._stats.table[<int>INACTIVE_SPLIT], small, -count)
                change(self._stats.table[<int>INACTIVE_SPLIT_BYTES], small, -<long long>merged)

    @cython.final
    cdef Block *join(self, Block *block, size_t *merged, int *count) noexcept nogil:
        """Mark a detached block as free and merge it with free neighbours; returns the result, still detached.

        `merged` and `count` grow by the bytes and the number of these neighbours.
        """
        cdef Block *other
        block.requested_size = 0
        block.allocated = block.retired = False
        other = block.next
        if other != NULL and not other.allocated and other.mapped == block.mapped:
            self.detach(other)
            merged[0] += self.merge_next(block)
            count[0] += 1
        other = block.previous
        if other != NULL and not other.allocated and other.mapped == block.mapped:
            self.detach(other)
            merged[0] += other.size
            count[0] += 1
            self.merge_next(other)
            block = other
        return block

    @cython.final
    cdef Block *split(self, Block *block, size_t size) noexcept nogil:
        """Split a detached block at `size`; returns the rest, also detached. NULL: no host memory, nothing is split."""
        cdef Block *rest = self.new_block()
        if rest == NULL:
            return NULL
        rest[0] = block[0]
        rest.address += size
        rest.size -= size
        rest.allocated = False
        rest.previous = block
        rest.priority = next_priority(&self.random)
        if rest.next != NULL:
            rest.next.previous = rest
        block.next = rest
        block.size = size
        return rest

    @cython.final
    cdef Block *cut(self, Block *rest, size_t size) noexcept nogil:
        """Cut a detached block of `size` from the front of a free block; `extend_next` is the opposite.

        NULL: no host memory, nothing is cut.
        """
        cdef Block *block = self.new_block()
        if block == NULL:
            return NULL
        block[0] = rest[0]
        block.priority = next_priority(&self.random)
        block.size = size
        block.next = rest
        if block.previous != NULL:
            block.previous.next = block
        else:
            block.segment.first = block
        resize_free(&rest.pool.free, rest, rest.address + size, rest.size - size)
        rest.previous = block
        rest.freed_at = self.searches
        return block

    @cython.final
    cdef bint extend_next(self, Block *block) noexcept nogil:
        """Extend the free block behind a freed one to the front, unless the block before it is free, too."""
        cdef Block *other = block.next
        cdef Block *previous = block.previous
        if (other == NULL or other.allocated or not (other.mapped and block.mapped)
                or previous != NULL and not previous.allocated and previous.mapped):
            return False
        resize_free(&other.pool.free, other, block.address, other.size + block.size)
        other.previous = previous
        other.freed_at = self.searches
        if previous != NULL:
            previous.next = other
        else:
            other.segment.first = other
        return True

    @cython.final
    cdef size_t merge_next(self, Block *block) noexcept nogil:
        """Merge the detached block after `block` into it; returns its size."""
        cdef Block *gone = block.next
        cdef size_t size = gone.size
        block.size += size
        block.next = gone.next
        if gone.next != NULL:
            gone.next.previous = block
        self.drop_block(gone)
        return size

    @cython.final
    cdef void insert(self, Block *block) noexcept nogil:
        block.freed_at = self.searches
        if block.mapped:
            insert_free(&block.pool.free, block)
        else:
            tree_insert(&block.pool.unmapped, block)

    @cython.final
    cdef void detach(self, Block *block) noexcept nogil:
        if block.mapped:
            remove_free(&block.pool.free, block)
        else:
            tree_remove(&block.pool.unmapped, block)


# --- segments --------------------------------------------------------------------------------------------------------
# Segments are allocated by the driver, or by an NPUPluggableAllocator. All functions here hold the GIL.
#
# 1. A plain segment is the memory of one aclrtMalloc.
# 2. An expandable segment is a range of addresses as large as the device's memory. Physical memory is mapped into it in
#    granules, as its blocks need it. One segment that grows replaces many, which would leave gaps.
#
# Driver calls release the GIL, so other threads run meanwhile. To free segments, the allocator first detaches them,
# then waits for the device, because streams may still use blocks that were freed, then calls the driver.


cdef enum:
    SMALL_GRANULE = 2 * 1024 * 1024
    GIGABYTE_PAGE = 1024 * 1024 * 1024
    HUGE_PAGES = 1                   # flag of aclrtReserveMemAddress


FREE_MUTEX = threading.RLock()           # held while a thread frees detached memory


cdef class SegmentCache(BlockCache):
    """The segments of one device."""

    cdef Block *alloc_segment(self, BlockPool *pool, size_t size, object context) except? NULL:
        cdef void *address
        cdef Segment *segment
        use_device(self.device)
        address = self.driver_alloc(pool, size)
        if address == NULL:
            return NULL
        segment = self.new_segment(pool, address, size)
        if context is not None:
            Py_INCREF(context)
            segment.context = <PyObject *>context
        acquire(&self.lock)
        segment.first.mapped = True
        increase(self._stats.table[<int>SEGMENT], pool.small, 1)
        increase(self._stats.table[<int>RESERVED_BYTES], pool.small, size)
        if size >= settings.max_split_size:
            stat_increase(&self._stats.oversize_segments, 1)
        self._stats.num_device_alloc += 1
        release(&self.lock)
        self.record_trace("segment_alloc", address, size, pool, context)
        return segment.first

    cdef void *driver_alloc(self, BlockPool *pool, size_t size) except? NULL:
        """Memory from the driver or the pluggable allocator; NULL if it has none."""
        cdef void *address = NULL
        cdef aclrtMemMallocPolicy policy = ACL_MEM_MALLOC_HUGE_FIRST
        cdef int status
        source = self.source if pool.owner == NULL or pool.owner.source == NULL else <object>pool.owner.source
        if source is not None:
            return <void *><intptr_t>source.allocate(size, self.device, <intptr_t>pool.stream.handle)
        if size % GIGABYTE_PAGE == 0 and settings.segment_unit == GIGABYTE_PAGE:
            policy = ACL_MEM_MALLOC_HUGE1G_ONLY
        with nogil:
            status = api.aclrtMalloc(&address, size, policy)
        return NULL if failed_with(status, ACL_ERROR_RT_MEMORY_ALLOCATION, b"aclrtMalloc") else address

    cdef int driver_free(self, Segment *segment) except -1:
        cdef int status
        cdef PrivatePool *owner = segment.pool.owner
        source = self.source if owner == NULL or owner.source == NULL else <object>owner.source
        if source is not None:
            with nogil:
                drain_queue(self.device)           # it may give the memory back to the driver at once
            source.free(<intptr_t>segment.address, segment.size, self.device, <intptr_t>segment.pool.stream.handle)
            return 0
        with nogil:
            if segment.granule != 0:
                status = api.aclrtReleaseMemAddress(segment.address)
            else:
                status = api.aclrtFree(segment.address)
        return check(status, b"aclrtFree" if segment.granule == 0 else b"aclrtReleaseMemAddress")

    cdef Segment *new_segment(self, BlockPool *pool, void *address, size_t size) except NULL:
        """Add a segment with one block, which covers it and is detached."""
        cdef Segment *segment = <Segment *>calloc(1, sizeof(Segment))
        cdef Block *block = NULL
        if segment != NULL:
            segment.address = address
            segment.size = size
            segment.pool = pool
            segment.allocator = <void *>self
            acquire(&self.lock)
            block = segment.first = self.new_block()
            if block != NULL:
                memset(block, 0, sizeof(Block))
                block.address = <char *>address
                block.size = size
                block.segment = segment
                block.pool = pool
                block.allocated = True
                block.priority = next_priority(&self.random)
                segment.next = self.segments
                if self.segments != NULL:
                    self.segments.previous = segment
                self.segments = segment
                pool.stream.segments += 1
            release(&self.lock)
        if block == NULL:
            if segment != NULL:
                self.driver_free(segment)
            free(segment)
            raise MemoryError()
        return segment

    # Freeing

    cdef int wait_for_device(self) except -1:
        use_device(self.device)
        with nogil:
            check(api.aclrtSynchronizeDevice(), b"aclrtSynchronizeDevice")
        return 0

    cdef bint detach_unused(self, PrivatePool *owner) noexcept:
        """Detach unused segments and pages of the pools of `owner`; returns whether there is anything to release."""
        cdef Segment *segment
        cdef Segment *following
        acquire(&self.lock)
        segment = self.segments
        while segment != NULL:
            following = segment.next
            if segment.pool.owner == owner:
                if segment.granule != 0:
                    self.detach_pages(segment)
                if self.is_unused(segment):
                    self.detach_segment(segment)
            segment = following
        release(&self.lock)
        return self.segments_to_free != NULL or self.pages_to_unmap != NULL

    cdef bint is_unused(self, Segment *segment) noexcept nogil:
        """Whether one free block covers the segment. In an expandable segment it must not be mapped."""
        cdef Block *block = segment.first
        if block.allocated or block.next != NULL:
            return False
        return segment.granule == 0 or not (block.mapped or self.keep_physical)

    cdef void detach_segment(self, Segment *segment) noexcept:
        """Detach one segment, whose only block is free. The caller holds the lock."""
        self.detach(segment.first)
        self.unlink(segment)
        segment.next = self.segments_to_free
        self.segments_to_free = segment

    cdef void unlink(self, Segment *segment) noexcept:
        self.drop_block(segment.first)
        if segment.previous != NULL:
            segment.previous.next = segment.next
        else:
            self.segments = segment.next
        if segment.next != NULL:
            segment.next.previous = segment.previous
        segment.pool.stream.segments -= 1

    cdef int release_detached(self) except -1:
        """Free what is detached. If the driver fails, the rest stays detached until the next call."""
        cdef Segment *segment
        cdef Block *block
        with FREE_MUTEX:
            while self.pages_to_unmap != NULL:       # this may add to `segments_to_free`
                block = self.pages_to_unmap
                self.pages_to_unmap = block.left
                self.release_pages(block)
            while self.segments_to_free != NULL:
                segment = self.segments_to_free
                self.segments_to_free = segment.next
                try:
                    self.release_segment(segment)
                except BaseException:
                    segment.next = self.segments_to_free
                    self.segments_to_free = segment
                    raise
        return 0

    cdef int release_segment(self, Segment *segment) except -1:
        cdef size_t number
        use_device(self.device)
        if segment.granule != 0:
            for number in range(segment.size // segment.granule):
                if segment.handles[number] != NULL:
                    check(free_physical(&segment.handles[number]), b"aclrtFreePhysical")
        self.driver_free(segment)
        acquire(&self.lock)
        if segment.granule == 0:
            decrease(self._stats.table[<int>SEGMENT], segment.pool.small, 1)
            decrease(self._stats.table[<int>RESERVED_BYTES], segment.pool.small, segment.size)
            if segment.size >= settings.max_split_size:
                stat_decrease(&self._stats.oversize_segments, 1)
            self._stats.num_device_free += 1
        release(&self.lock)
        if segment.granule == 0:
            context = None if segment.context == NULL else <object>segment.context
            self.record_trace("segment_free", segment.address, segment.size, segment.pool, context)
        Py_XDECREF(segment.context)
        free(segment.handles)
        free(segment)
        return 0

    # Expandable segments

    cdef Block *alloc_expandable(self, BlockPool *pool, size_t size, object context) except? NULL:
        """A detached block of a run of free blocks, mapped where necessary, at the lowest address where `size` fits."""
        cdef Block *first
        cdef Block *last
        cdef char *end
        cdef char *address = NULL
        cdef size_t total = 0
        cdef size_t merged = 0
        cdef int count = 0
        use_device(self.device)
        acquire(&self.lock)
        first = self.find_run(pool, size)
        release(&self.lock)
        if first == NULL and not self.reserve_addresses(pool):
            return NULL
        acquire(&self.lock)
        first = self.find_run(pool, size)        # other threads may have changed it while addresses were reserved
        last = NULL if first == NULL else self.detach_run(first, size)
        release(&self.lock)
        if last == NULL:
            return NULL
        mapped = False
        try:
            mapped = self.map_run(first, last)
        finally:
            acquire(&self.lock)
            if mapped:
                end = last.address + last.size
                while first.address + first.size < end:
                    self.merge_next(first)
                address, total = first.address, first.size
                first = self.join(first, &merged, &count)        # the next block may be free, too
                first.allocated = True
            else:
                self.undo_run(first, last)
            release(&self.lock)
        if not mapped:
            return NULL
        self.record_trace("segment_map", address, total, pool, context)
        return first

    cdef int map_run(self, Block *first, Block *last) except -1:
        """Map all blocks of a detached run; 0 if memory runs out."""
        cdef Block *block = first
        while True:
            if not block.mapped:
                if not self.map_block(block):
                    return 0
                acquire(&self.lock)
                block.mapped = True
                increase(self._stats.table[<int>RESERVED_BYTES], block.pool.small, block.size)
                self._stats.num_device_alloc += 1
                release(&self.lock)
            if block == last:
                return 1
            block = block.next

    cdef int map_block(self, Block *block) except -1:
        """Map one block; 0 if memory runs out, then nothing has changed."""
        cdef aclrtPhysicalMemProp properties
        cdef Segment *segment = block.segment
        cdef size_t granule = segment.granule
        cdef char *address = block.address
        cdef aclrtDrvMemHandle *handle
        cdef int status = 0
        cdef int ignored = 0
        cdef const char *function
        properties.handleType = ACL_MEM_HANDLE_TYPE_NONE
        properties.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED
        properties.memAttr = ACL_HBM_MEM_HUGE1G if granule % GIGABYTE_PAGE == 0 else ACL_HBM_MEM_HUGE
        properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = self.device
        properties.reserve = 0
        use_device(self.device)
        while address < block.address + block.size:
            handle = &segment.handles[(address - <char *>segment.address) // granule]
            with nogil:
                function = b"aclrtMallocPhysical"
                if handle[0] == NULL:        # else empty_virt_addr_cache has kept the memory
                    status = api.aclrtMallocPhysical(handle, granule, &properties, 0)
                if status == 0:
                    function = b"aclrtMapMem"
                    status = api.aclrtMapMem(address, granule, 0, handle[0], 0)
            if status != 0:
                if handle[0] != NULL:
                    free_physical(handle)
                unmap_pages(segment, block.address, address, False, &ignored)
                return not failed_with(status, ACL_ERROR_RT_MEMORY_ALLOCATION, function)
            address += granule
        return 1

    cdef int reserve_addresses(self, BlockPool *pool) except -1:
        """Add an expandable segment without memory; 0 if no addresses are left."""
        cdef void *address = NULL
        cdef size_t granule = SMALL_GRANULE if pool.small else settings.large_segment
        cdef size_t size = self._mem_get_info()[1] // 8 * 9 // granule * granule + granule
        cdef aclrtDrvMemHandle *handles = <aclrtDrvMemHandle *>calloc(size // granule, sizeof(aclrtDrvMemHandle))
        cdef Segment *segment
        cdef int status
        if handles == NULL:
            raise MemoryError()
        with nogil:
            status = api.aclrtReserveMemAddress(&address, size, 0, NULL, HUGE_PAGES)
        if status != 0:
            free(handles)
            return not failed_with(status, ACL_ERROR_RT_MEMORY_ALLOCATION, b"aclrtReserveMemAddress")
        try:
            segment = self.new_segment(pool, address, size)
        except BaseException:
            free(handles)
            raise
        segment.granule = granule
        segment.handles = handles
        acquire(&self.lock)
        segment.first.allocated = False
        self.insert(segment.first)
        release(&self.lock)
        return 1

    cdef Block *find_run(self, BlockPool *pool, size_t size) noexcept nogil:
        """The first of adjacent free blocks, mapped or not, of `size` together, at the lowest address; else NULL."""
        cdef Block *unmapped = pool.unmapped.first
        cdef Block *found = NULL
        cdef Block *first
        cdef Block *block
        cdef size_t total
        while unmapped != NULL:
            first = unmapped.previous
            if first == NULL or first.allocated:
                first = unmapped
            total = 0
            block = first
            while block != NULL and not block.allocated and total < size:
                total += block.size
                block = block.next
            if total >= size and (found == NULL or first.address < found.address):
                found = first
            unmapped = tree_next(&pool.unmapped, unmapped)
        return found

    cdef Block *detach_run(self, Block *first, size_t size) noexcept nogil:
        """Detach the blocks from `first` on that hold `size`; returns the last, split at a whole number of granules."""
        cdef Block *block = first
        cdef Block *rest
        cdef size_t granule = first.segment.granule
        cdef size_t wanted
        while True:
            self.detach(block)
            block.allocated = True
            if block.size >= size:
                break
            size -= block.size
            block = block.next
        wanted = (size + granule - 1) // granule * granule
        if not block.mapped and wanted < block.size:
            rest = self.split(block, wanted)
            if rest != NULL:
                self.insert(rest)
        return block

    cdef void undo_run(self, Block *first, Block *last) noexcept nogil:
        """Make the blocks of a detached run free again."""
        cdef Block *block = first
        cdef Block *following
        cdef char *end = last.address + last.size
        cdef size_t merged = 0
        cdef int count = 0
        while block != NULL and block.address < end:
            following = block.next
            self.insert(self.join(block, &merged, &count))
            block = following

    cdef void detach_pages(self, Segment *segment) noexcept nogil:
        """Detach whole granules that no block uses. The caller holds the lock."""
        cdef size_t granule = segment.granule
        cdef char *base = <char *>segment.address
        cdef Block *block = segment.first
        cdef Block *rest
        cdef char *start
        cdef char *end
        while block != NULL:
            start = base + (block.address - base + granule - 1) // granule * granule
            end = base + (block.address + block.size - base) // granule * granule
            if not block.allocated and block.mapped and start < end:
                self.detach(block)
                if block.address < start:
                    rest = self.split(block, start - block.address)
                    self.insert(block)
                    block = block if rest == NULL else rest
                if block.address == start:
                    rest = self.split(block, end - start) if block.address + block.size > end else NULL
                    if rest != NULL:
                        self.insert(rest)
                    if block.address + block.size == end:
                        block.allocated = True
                        block.left = self.pages_to_unmap
                        self.pages_to_unmap = block
                    else:
                        self.insert(block)
            block = block.next

    cdef int release_pages(self, Block *block) except -1:
        """Unmap a detached block of whole granules. A segment without any memory left becomes `segments_to_free`."""
        cdef Segment *segment = block.segment
        cdef BlockPool *pool = block.pool
        cdef char *start = block.address
        cdef Block *rest = NULL
        cdef char *end
        cdef size_t merged = 0
        cdef int count = 0
        cdef int status = 0
        use_device(self.device)
        end = unmap_pages(segment, start, start + block.size, self.keep_physical, &status)
        acquire(&self.lock)
        if end != start + block.size:        # the driver failed: the rest stays mapped
            rest = self.split(block, end - start) if end != start else block
            if rest != NULL:
                self.insert(self.join(rest, &merged, &count))
        if end != start:
            decrease(self._stats.table[<int>RESERVED_BYTES], pool.small, end - start)
            self._stats.num_device_free += 1
            block.mapped = False
            block = self.join(block, &merged, &count)
            if block.size == segment.size and not self.keep_physical:
                self.unlink(segment)
            else:
                self.insert(block)
                segment = NULL
        else:
            segment = NULL
        release(&self.lock)
        if end != start:
            self.record_trace("segment_unmap", start, end - start, pool, None)
        if segment != NULL:
            segment.next = self.segments_to_free
            self.segments_to_free = segment
        return check(status, b"aclrtUnmapMem")

    cdef int record_trace(self, str action, void *address, size_t size, BlockPool *pool, object context) except -1:
        """Record an event in the memory history, if there is one."""
        if self.history is not None:
            self.history.record(action, <intptr_t>address, size, <intptr_t>pool.stream.handle, pool_id(pool), context)
        return 0


cdef tuple pool_id(BlockPool *pool):
    if pool.owner == NULL:
        return 0, 0
    return pool.owner.id[0], pool.owner.id[1]


cdef int free_physical(aclrtDrvMemHandle *handle) noexcept:
    cdef int status
    with nogil:
        status = api.aclrtFreePhysical(handle[0])
    if status == 0:
        handle[0] = NULL                 # else the next mapping of the granule uses it
    return status


cdef char *unmap_pages(Segment *segment, char *start, char *end, bint keep_physical, int *status) noexcept:
    """Unmap the granules between two addresses; returns the address that it reached."""
    cdef aclrtDrvMemHandle *handle
    while start < end:
        handle = &segment.handles[(start - <char *>segment.address) // segment.granule]
        with nogil:
            status[0] = api.aclrtUnmapMem(start)
        if status[0] != 0:
            break
        start += segment.granule
        if not keep_physical:
            status[0] = free_physical(handle)
            if status[0] != 0:
                break
    return start
