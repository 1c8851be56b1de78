# cython: always_allow_keywords=False
"""The caching allocator of device memory: torch's algorithm, one NpuAllocator for each device."""
import os
import threading

from cpython.object cimport PyTypeObject
from cpython.ref cimport PyObject, Py_INCREF, Py_XDECREF, Py_XINCREF
cimport cython
from libc.stdint cimport intptr_t
from libc.stdlib cimport calloc, free, malloc

from mindtorch._core.errors import OutOfMemoryError
from mindtorch._npu import acl, acl_loader, segments as settings_module
from mindtorch._npu.segments import flatten

from mindtorch._core.tensor.tensor cimport NPU, Storage, TensorBase
from mindtorch._npu.acl cimport api, check
from mindtorch._npu.cann cimport ACL_HBM_MEM
from mindtorch._npu.lock cimport acquire, release
from mindtorch._npu.segments cimport LARGE_LIMIT, SMALL_LIMIT, SMALL_SEGMENT, SegmentCache, round_size, settings
from mindtorch._npu.streams cimport (
    MAX_DEVICES, STREAM_SLOTS, Stream, captures_by_device, current_stream, defer, pending_entries, process_deferred,
    synchronize_deferred, use_device,
)
from mindtorch._npu.structs cimport Block, PrivatePool, Segment, StreamSlot, StreamUse


# --- private pools ---------------------------------------------------------------------------------------------------
# A private pool has segments of its own, for one MemPool or for graphs. All functions here hold the GIL.


cdef class PoolCache(SegmentCache):
    """The pools of one device."""

    def __cinit__(self):
        self.active_pools = []

    cdef BlockPool *choose_pool(self, StreamSlot *stream, bint small) except NULL:
        if self.active_pools:
            thread = threading.get_ident()
            for number, owner in reversed(self.active_pools):
                if owner == (thread, 0) or owner == (0, <intptr_t>stream.capture):
                    return self.pool_of(self.find_pool(number), stream, small)
        return &stream.pools[<int>small]

    cdef BlockPool *pool_of(self, PrivatePool *owner, StreamSlot *stream, bint small) except NULL:
        cdef BlockPool *pool = owner.pools
        while pool != NULL and (pool.stream != stream or pool.small != small):
            pool = pool.next
        if pool == NULL:
            pool = <BlockPool *>calloc(1, sizeof(BlockPool))
            if pool == NULL:
                raise MemoryError()
            pool.small = small
            pool.stream = stream
            pool.owner = owner
            pool.next = owner.pools
            owner.pools = pool
        return pool

    cdef PrivatePool *find_pool(self, tuple number) noexcept:
        cdef PrivatePool *owner = self.private_pools
        while owner != NULL and (owner.id[0] != <long long>number[0] or owner.id[1] != <long long>number[1]):
            owner = owner.next
        return owner

    def acquire_pool(self, tuple number, source=None, bint use_on_oom=False, bint no_split=False):
        """Add a user of the private pool of this id, which is created if it does not exist."""
        cdef PrivatePool *owner = self.find_pool(number)
        if owner == NULL:
            owner = <PrivatePool *>calloc(1, sizeof(PrivatePool))
            if owner == NULL:
                raise MemoryError()
            owner.id[0], owner.id[1] = number
            owner.use_on_oom = use_on_oom
            owner.no_split = no_split
            if source is not None:
                Py_INCREF(source)
                owner.source = <PyObject *>source
            owner.next = self.private_pools
            self.private_pools = owner
        owner.uses += 1

    def pool_use_count(self, tuple number):
        cdef PrivatePool *owner = self.find_pool(number)
        return 0 if owner == NULL else owner.uses

    def _free_unused_pools(self):
        """Free the structs of private pools that have neither users nor memory."""
        cdef PrivatePool **link = &self.private_pools
        cdef PrivatePool *owner
        cdef BlockPool *pool
        while link[0] != NULL:
            owner = link[0]
            if owner.uses == 0 and not self.owns_segments(owner):
                link[0] = owner.next
                while owner.pools != NULL:
                    pool = owner.pools
                    owner.pools = pool.next
                    free(pool)
                Py_XDECREF(owner.source)
                free(owner)
            else:
                link = &owner.next

    cdef bint owns_segments(self, PrivatePool *owner) noexcept:
        cdef Segment *segment
        cdef bint found = False
        for start in range(2):
            segment = self.segments if start == 0 else self.segments_to_free
            while segment != NULL and not found:
                found = segment.pool.owner == owner
                segment = segment.next
        return found


# --- the allocator ---------------------------------------------------------------------------------------------------
# 1. The driver gives memory in segments. A segment belongs to one stream and is cut into blocks.
# 2. Requests up to 1 MiB use segments of 2 MiB (the small pool), larger ones segments of 20 MiB or more.
# 3. BlockCache (segments.pyx) serves most requests without the GIL. NpuAllocator does the rest, with the GIL: blocks
#    that several streams use, private pools, memory history, and the attempts that precede OutOfMemoryError.


cdef enum:
    LAZY_RECLAIM_LIMIT = 512                  # pending events from which on lazy reclaiming queries them

cdef size_t MAX_REQUEST = <size_t>1 << 60
cdef size_t UNLIMITED = <size_t>-1

cdef list ALLOCATORS = [None] * MAX_DEVICES
OOM_OBSERVERS = []                   # called with (device, bytes requested from the driver, limit, free bytes)

# For allocators created from now on: (NPUPluggableAllocator or None, NpuAllocator.uncached).
_default_source = (None, os.environ.get("PYTORCH_NO_NPU_MEMORY_CACHING") == "1")


def _make_history():
    return None


cdef inline size_t segment_size(size_t size, bint small) noexcept:
    if small:
        return SMALL_SEGMENT
    if size < LARGE_LIMIT:
        return settings.large_segment
    return (size + settings.segment_unit - 1) // settings.segment_unit * settings.segment_unit


def format_size(size):
    """A number of bytes in the format of torch's out-of-memory message."""
    if size <= 1024:
        return f"{size} bytes"
    for unit, name in ((1 << 10, "KiB"), (1 << 20, "MiB")):
        if size <= unit * 1024:
            return f"{size / unit:.2f} {name}"
    return f"{size / (1 << 30):.2f} GiB"


@cython.final
cdef class NpuAllocator(PoolCache):
    """The memory of one device, as the memory functions of torch.npu use it."""

    def __cinit__(self, int device_id=0):
        chosen = settings_module.current_settings.per_process_memory_fraction
        self.fraction = 1.0 if chosen is None else chosen
        if settings.max_split_size != UNLIMITED:
            self._stats.max_split_size = settings.max_split_size

    # Requests that BlockCache could not serve without the GIL

    cdef Block *allocate_slow(self, size_t nbytes, StreamSlot *stream) except NULL:
        cdef size_t size
        cdef BlockPool *pool
        cdef Block *block = NULL
        if nbytes >= MAX_REQUEST:
            self._raise_oom(nbytes, nbytes, <intptr_t>stream.handle)
        context = None if self.history is None else self.history.gather()
        if self.uncached or self.source is not None:
            size = nbytes + settings.tail
            block = self.alloc_segment(&stream.pools[<int>(round_size(nbytes) <= SMALL_LIMIT)], size, context)
            if block == NULL:
                self._raise_oom(size, size, <intptr_t>stream.handle)
        else:
            size = round_size(nbytes)
            pool = self.choose_pool(stream, size <= SMALL_LIMIT)
            block = self.find_free_block(pool, size)
            if block == NULL:
                block = self.alloc_new_block(pool, size, context)
        acquire(&self.lock)
        block = self.mark_allocated(block, nbytes, size)
        release(&self.lock)
        if self.history is not None:
            if context is not None:
                Py_INCREF(context)
                block.context = <PyObject *>context
            self.record_trace("alloc", block.address, nbytes, block.pool, self.history.of_allocation(context))
        return block

    cdef Block *find_free_block(self, BlockPool *pool, size_t size) except? NULL:
        """A free block, detached, or NULL. Events are queried first; with lazy reclaiming, only if no block is free."""
        cdef Block *block
        cdef bint looks = not captures_by_device[self.device]         # an event of a capture never completes
        if looks and (not settings.lazy_reclaim or pending_entries > LAZY_RECLAIM_LIMIT):
            self.process_events()
        acquire(&self.lock)
        block = self.get_free_block(pool, size)
        release(&self.lock)
        if block == NULL and looks and settings.lazy_reclaim:
            self.process_events()
            acquire(&self.lock)
            block = self.get_free_block(pool, size)
            release(&self.lock)
        return block

    cdef void deallocate_slow(self, Block *block) noexcept:
        if self.history is not None:
            self.record_trace("free_requested", block.address, block.requested_size, block.pool,
                              self.history.of_free(block_context(block)))
        acquire(&self.lock)
        self.retire(block)
        release(&self.lock)
        if block.uses == NULL:
            self.complete_free(block)

    cdef void complete_free(self, Block *block) noexcept:
        """Make a freed block free for reuse, when no stream uses it any more."""
        cdef PyObject *context = block.context
        cdef Segment *segment = block.segment
        if self.history is not None:
            self.record_trace("free_completed", block.address, block.requested_size, block.pool,
                              self.history.of_free(block_context(block)))
        block.context = NULL
        acquire(&self.lock)
        self.return_to_pool(block)
        if self.uncached or self.source is not None:
            self.detach_segment(segment)
        release(&self.lock)
        Py_XDECREF(context)
        if self.segments_to_free != NULL and not captures_by_device[self.device]:
            if self.source is None:
                self.wait_for_device()
            self.release_detached()

    # Blocks that several streams use

    cdef int process_events(self) except -1:
        self.process_retired()
        return process_deferred() if pending_entries != 0 else 0

    cdef int process_retired(self) except -1:
        """Record an event on every stream that uses a retired block. `complete_stream_use` runs when it completes."""
        cdef Block *block
        cdef StreamUse *use
        while True:
            acquire(&self.lock)
            block = self.retired
            if block != NULL:
                self.retired = block.left
            release(&self.lock)
            if block == NULL:
                return 0
            block.event_count += 1       # so that the block is not put back before the loop ends
            try:
                while block.uses != NULL:
                    use = block.uses
                    if use.stream.handle != NULL:    # else the stream is destroyed: its work is done
                        block.event_count += 1
                        try:
                            defer(use.stream, complete_stream_use, block)
                        except BaseException:
                            block.event_count -= 1
                            raise
                    block.uses = use.next
                    free(use)
            except BaseException:
                block.event_count -= 1
                acquire(&self.lock)
                block.left = self.retired
                self.retired = block
                release(&self.lock)
                raise
            complete_stream_use(block)

    # New memory if no free block fits, and the attempts that precede OutOfMemoryError

    cdef Block *alloc_new_block(self, BlockPool *pool, size_t size, object context) except NULL:
        """A detached block of at least `size`, from new memory."""
        cdef Block *block
        acquire(&self.lock)
        self.searches += not pool.small          # detach_fit counts successful searches only
        release(&self.lock)
        if settings.gc_threshold > 0 and self.fraction < 1.0 and not captures_by_device[self.device]:
            self.collect_garbage()
        block = self.alloc_from_driver(pool, size, context)
        if block == NULL and not captures_by_device[self.device]:  # freeing memory waits, which a capture forbids
            block = self.reclaim(pool, size, context)
        if block == NULL:
            self._raise_oom(segment_size(size, pool.small), size, <intptr_t>pool.stream.handle)
        return block

    cdef Block *reclaim(self, BlockPool *pool, size_t size, object context) except? NULL:
        """The same if the driver has no memory: from other pools, or after freeing cached segments."""
        cdef Block *block = self.get_block_on_oom(pool.stream, size)
        if block == NULL and settings.max_split_size != UNLIMITED and self.release_oversize(pool, size):
            block = self.alloc_from_driver(pool, size, context)
        if block == NULL and settings.throw_on_oom:
            self._stats.num_oom_rejections += 1
            wanted = format_size(segment_size(size, pool.small))
            raise OutOfMemoryError(f"NPU out of memory. Tried to allocate {wanted}; the setting "
                                   "throw_on_npumalloc_oom forbids to wait for memory to be freed")
        if block == NULL:
            self.release_cached()
            self._stats.num_alloc_retries += 1
            block = self.alloc_from_driver(pool, size, context)
        return block

    cdef Block *alloc_from_driver(self, BlockPool *pool, size_t size, object context) except? NULL:
        """A detached block of new memory; NULL if the driver has none, or the process would exceed its limit."""
        cdef size_t wanted = segment_size(size, pool.small)
        if self.fraction < 1.0 and <Py_ssize_t>wanted > <Py_ssize_t>self._allowed():
            return NULL
        if settings.expandable and self.source is None and (pool.owner == NULL or pool.owner.source == NULL):
            return self.alloc_expandable(pool, size, context)
        return self.alloc_segment(pool, wanted, context)

    cdef Block *get_block_on_oom(self, StreamSlot *stream, size_t size) noexcept:
        """A free block of a private pool with `use_on_oom`, or NULL."""
        cdef PrivatePool *owner = self.private_pools
        cdef BlockPool *pool
        cdef Block *block = NULL
        acquire(&self.lock)
        while owner != NULL and block == NULL:
            pool = owner.pools if owner.use_on_oom else NULL
            while pool != NULL and block == NULL:
                if pool.stream == stream and pool.small == (size <= SMALL_LIMIT):
                    block = self.get_free_block(pool, size)
                pool = pool.next
            owner = owner.next
        release(&self.lock)
        return block

    cdef int release_cached(self) except -1:
        """Wait for the device, then free all segments without a block in use."""
        cdef PrivatePool *owner = self.private_pools
        if captures_by_device[self.device]:
            return 0                 # waiting would invalidate the capture
        self._stats.num_sync_all_streams += 1
        self.wait_for_device()
        self.process_retired()
        synchronize_deferred(self.device)
        detached = self.detach_unused(NULL)
        while owner != NULL:
            if owner.uses == 0:
                detached |= self.detach_unused(owner)
            owner = owner.next
        if detached:
            self.wait_for_device()
        return self.release_detached()

    cdef int collect_garbage(self) except -1:
        """Free old large segments if more is reserved than `garbage_collection_threshold` of the process's limit.

        The age of a free segment is the number of searches for large blocks since it became free. Segments of at least
        average age are freed, in rounds, until the reserved memory is below the threshold.
        """
        cdef double limit = settings.gc_threshold * self.fraction * self._mem_get_info()[1]
        cdef long long excess = self._stats["reserved_bytes.all.current"] - <long long>limit
        cdef Segment *segment
        cdef Segment *following
        cdef long long total, count, age, oldest
        if excess <= 0:
            return 0
        self.wait_for_device()
        acquire(&self.lock)
        while excess > 0:
            total = count = 0
            segment = self.segments
            while segment != NULL:
                if is_collectable(segment):
                    total += self.searches - segment.first.freed_at
                    count += 1
                segment = segment.next
            if count == 0:
                break
            oldest = total // count
            segment = self.segments
            while segment != NULL:
                following = segment.next
                age = self.searches - segment.first.freed_at
                if is_collectable(segment) and age >= oldest:
                    excess -= segment.size
                    self.detach_segment(segment)
                segment = following
        release(&self.lock)
        return self.release_detached()

    cdef int release_oversize(self, BlockPool *pool, size_t size) except -1:
        """Free segments that max_split_size_mb keeps whole: one of at least `size`, or else the largest ones."""
        cdef size_t wanted = max(size, settings.max_split_size)
        cdef size_t released = 0
        cdef Segment *segment
        cdef Segment *chosen
        acquire(&self.lock)
        while released < wanted:
            chosen = NULL
            segment = self.segments
            while segment != NULL:
                if (is_collectable(segment) and segment.pool == pool and segment.size >= settings.max_split_size
                        and (chosen == NULL or is_better_fit(segment.size, chosen.size, wanted))):
                    chosen = segment
                segment = segment.next
            if chosen == NULL:
                break
            released += chosen.size
            self.detach_segment(chosen)
        release(&self.lock)
        if self.segments_to_free != NULL:
            self.wait_for_device()
            self.release_detached()
        return released >= wanted

    def _raise_oom(self, wanted, size, intptr_t stream):
        """Raise OutOfMemoryError: the driver could not give `wanted` bytes, for a request of `size`."""
        free_bytes, total = self._mem_get_info()
        limit = int(total * self.fraction) if self.fraction < 1.0 else total
        message = self._describe_oom(wanted, free_bytes, total)
        self._stats.num_ooms += 1
        if self.history is not None:
            self.history.record("oom", free_bytes, size, stream, (0, 0), self.history.gather())
        for observer in list(OOM_OBSERVERS):
            observer(self.device, wanted, limit, free_bytes)
        raise OutOfMemoryError(message)

    def _describe_oom(self, wanted, free_bytes, total):
        parts = [f"NPU {self.device}", f"{format_size(total)} total capacity",
                 f"{format_size(self._stats['allocated_bytes.all.current'])} already allocated",
                 f"{format_size(self._stats['active_bytes.all.current'])} current active",
                 f"{format_size(free_bytes)} free"]
        if self.fraction < 1.0:
            parts.append(f"{format_size(int(total * self.fraction))} allowed")
        parts.append(f"{format_size(self._stats['reserved_bytes.all.current'])} reserved in total by mindtorch")
        return (f"NPU out of memory. Tried to allocate {format_size(wanted)} ({'; '.join(parts)}). If much more is "
                "reserved than allocated, the free memory is in pieces: max_split_size_mb in PYTORCH_NPU_ALLOC_CONF "
                "keeps large blocks whole, and torch.npu.memory_summary() shows what there is")

    def _mem_get_info(self):
        """(free, total) bytes of the device, from the driver."""
        cdef size_t free_bytes = 0
        cdef size_t total = 0
        use_device(self.device)
        with nogil:
            check(api.aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total), b"aclrtGetMemInfo")
        return free_bytes, total

    def _allowed(self):
        """How many more bytes set_per_process_memory_fraction allows to reserve; may be negative."""
        return int(self._mem_get_info()[1] * self.fraction) - self._stats["reserved_bytes.all.current"]

    def _enforce_memory_fraction(self, nbytes):
        """Raise OutOfMemoryError if reserving `nbytes` more would exceed that limit."""
        if self.fraction < 1.0 and <Py_ssize_t>nbytes > <Py_ssize_t>self._allowed():
            self._raise_oom(nbytes, nbytes, 0)

    # Private pools

    def release_pool(self, tuple number):
        """Remove a user of the pool. The last one frees the pool's segments without a block in use."""
        cdef PrivatePool *owner = self.find_pool(number)
        if owner == NULL:
            return
        owner.uses -= 1
        if owner.uses == 0 and not captures_by_device[self.device]:
            self._stats.num_sync_all_streams += 1        # torch_npu counts it, too
            self.process_events()
            if self.detach_unused(owner):
                self.wait_for_device()
                self.release_detached()
            self._free_unused_pools()

    def begin_allocate_to_pool(self, tuple number, intptr_t capture=0):
        """Serve this thread, or the capture's streams, from a private pool until `end_allocate_to_pool`."""
        whose = (0, capture) if capture else (threading.get_ident(), 0)
        if any([number == other for other, _ in self.active_pools]):
            raise RuntimeError(f"memory is allocated to pool {number} already")
        self.acquire_pool(number)
        self.active_pools.append((number, whose))
        self._update_slow_path()

    def end_allocate_to_pool(self, tuple number):
        routed = [entry for entry in self.active_pools if entry[0] == number]
        if not routed:
            raise RuntimeError(f"no memory is being allocated to pool {number}")
        self.active_pools.remove(routed.pop())
        self._update_slow_path()
        self.release_pool(number)

    # For torch.npu

    def _update_slow_path(self):
        """Update `use_slow_path`: whether all requests must take the slow path."""
        acquire(&self.lock)
        self.use_slow_path = (self.history is not None or bool(self.active_pools) or self.uncached
                              or self.source is not None)
        release(&self.lock)

    def set_history(self, history):
        """Record all events in this MemoryHistory from now on; None stops."""
        self.history = history
        self._update_slow_path()

    def get_history(self):
        return self.history

    def set_pluggable_allocator(self, source, uncached=False):
        """Take every block straight from `source`, or from the driver if `uncached`. Only before the first request."""
        if self.segments != NULL:
            raise RuntimeError("Can't swap an already initialized allocator")
        self.source = source
        self.uncached = uncached
        self._update_slow_path()

    def empty_cache(self):
        self.release_cached()
        self._free_unused_pools()

    def empty_virt_addr_cache(self):
        """Unmap what no block uses, but keep the physical memory for the next mapping."""
        self.keep_physical = True
        try:
            self.release_cached()
        finally:
            self.keep_physical = False

    def memory_stats(self):
        """torch.npu.memory_stats(): a flat dictionary with sorted keys."""
        return flatten(self._stats.as_nested_dict())

    def stats_as_nested_dict(self):
        return self._stats.as_nested_dict()

    def reset_peak(self):
        self._stats.reset_peak()

    def reset_accumulated(self):
        self._stats.reset_accumulated()

    def snapshot(self, mempool_id=None):
        """torch.npu.memory_snapshot(): every segment with its blocks, by address."""
        return segment_snapshots(self, mempool_id)

    def set_memory_fraction(self, double fraction):
        self.fraction = fraction

    def memory_fraction(self):
        return self.fraction

    def close(self):
        """Free all memory, in use or not, because the device is being closed. Errors are ignored."""
        close_segments(self.segments)
        close_segments(self.segments_to_free)
        self.segments = self.segments_to_free = NULL


cdef void close_segments(Segment *segment) noexcept:
    while segment != NULL:
        if segment.granule == 0:
            api.aclrtFree(segment.address)
        else:
            free_pages(segment)
        segment = segment.next


cdef void free_pages(Segment *segment) noexcept:
    cdef size_t number
    for number in range(segment.size // segment.granule):
        if segment.handles[number] != NULL:
            api.aclrtUnmapMem(<char *>segment.address + number * segment.granule)
            api.aclrtFreePhysical(segment.handles[number])
    api.aclrtReleaseMemAddress(segment.address)


cdef inline bint is_collectable(Segment *segment) noexcept:
    return (segment.granule == 0 and segment.pool.owner == NULL and not segment.pool.small
            and not segment.first.allocated and segment.first.next == NULL)


cdef inline bint is_better_fit(size_t size, size_t other, size_t wanted) noexcept:
    """Whether a block of `size` is better than one of `other`: the smallest that is enough, else the largest."""
    if size >= wanted:
        return other < wanted or size < other
    return other < wanted and size > other


cdef object block_context(Block *block):
    return None if block.context == NULL else <object>block.context


cdef NpuAllocator allocator_of(int device):
    if ALLOCATORS[device] is None:
        settings_module.set_tail(acl.get_soc_name(), acl_loader.toolkit().version)
        ALLOCATORS[device] = NpuAllocator(device)
        ALLOCATORS[device].set_pluggable_allocator(*_default_source)
        ALLOCATORS[device].set_history(_make_history())
    return <NpuAllocator>ALLOCATORS[device]


def set_pluggable_allocator(source):
    """Take all memory from an NPUPluggableAllocator. Only before any device is used."""
    global _default_source
    if any([allocator is not None for allocator in ALLOCATORS]):
        raise RuntimeError("Can't swap an already initialized allocator")
    _default_source = (source, False)


def pluggable_allocator():
    return _default_source[0]


def record_history(make_history):
    """Give every allocator, also future ones, a MemoryHistory or None: the result of `make_history()`."""
    global _make_history
    _make_history = make_history
    for allocator in ALLOCATORS:
        if allocator is not None:
            allocator.set_history(make_history())


def get_allocator(int device):
    """The allocator of a device, which must exist."""
    return allocator_of(device)


cdef Block *allocate_block(size_t nbytes, StreamSlot *stream) except NULL:
    cdef NpuAllocator allocator
    if stream.allocator == NULL:
        allocator = allocator_of(stream.device)      # ALLOCATORS holds it, so the pointer stays valid
        stream.allocator = <void *>allocator
    return (<NpuAllocator>stream.allocator).allocate(nbytes, stream)


cdef void complete_stream_use(void *argument) noexcept:
    cdef Block *block = <Block *>argument
    block.event_count -= 1
    if block.event_count == 0 and block.uses == NULL:
        (<NpuAllocator>block.segment.allocator).complete_free(block)


cdef int add_stream_use(Block *block, StreamSlot *stream) except -1:
    """`stream` uses the block, too: a freed block is reused only when the stream has done its work."""
    cdef StreamUse *use = block.uses
    if stream == block.pool.stream:
        return 0                     # stream order makes reuse safe
    while use != NULL:
        if use.stream == stream:
            return 0
        use = use.next
    use = <StreamUse *>malloc(sizeof(StreamUse))
    if use == NULL:
        raise MemoryError()
    use.stream = stream
    use.next = block.uses
    block.uses = use
    return 0


cdef void drop_stream_use(Block *block, StreamSlot *stream) noexcept:
    cdef StreamUse **link = &block.uses
    cdef StreamUse *use
    while link[0] != NULL:
        use = link[0]
        if use.stream == stream:
            link[0] = use.next
            free(use)
        else:
            link = &use.next


# --- storage ---------------------------------------------------------------------------------------------------------
# Storage on the NPU is a block of the caching allocator.


@cython.final
@cython.no_gc
cdef class NpuStorage(Storage):
    def exchange(self, Storage other):
        cdef NpuStorage same = <NpuStorage?>other
        Storage.exchange(self, other)
        self.block, same.block = same.block, self.block


# In the place of a __dealloc__, around which Cython would save the error that is set: `free_block` leaves it alone.
cdef void destroy_storage(PyObject *storage) noexcept:
    if (<NpuStorage>storage).block != NULL:
        free_block(<Block *>(<NpuStorage>storage).block)
    (<PyTypeObject *>Storage).tp_dealloc(storage)


(<PyTypeObject *>NpuStorage).tp_dealloc = destroy_storage


cdef Storage allocate(size_t nbytes, int index):
    cdef NpuStorage storage = NpuStorage.__new__(NpuStorage)
    cdef Block *block
    storage.device_type = NPU
    storage.device_index = index
    stream = current_stream(index)
    if nbytes != 0:
        storage.block = block = allocate_block(nbytes, stream)
        storage.data = block.address
        storage.nbytes = nbytes
    return storage


def record_stream(TensorBase tensor not None, stream):
    """Tensor.record_stream: when the memory is freed, it is reused only after the work of `stream` so far."""
    if not isinstance(stream, Stream):
        raise RuntimeError("unknown parameter type")
    add_use_of_tensor(tensor, (<Stream>stream).slot)


cdef int add_use_of_tensor(TensorBase tensor, StreamSlot *stream) except -1:
    cdef Storage storage = tensor.storage
    if isinstance(storage, NpuStorage) and storage.block != NULL:
        add_stream_use(<Block *>storage.block, stream)
    return 0


# --- memory by address -----------------------------------------------------------------------------------------------
# torch.npu.caching_allocator_alloc: device memory by address, without a tensor.


cdef dict RAW_BLOCKS = {}                # address -> Block *


cdef StreamSlot *find_stream(int device, intptr_t handle) except NULL:
    cdef StreamSlot *slot = STREAM_SLOTS
    while slot != NULL and (slot.device != device or <intptr_t>slot.handle != handle):
        slot = slot.next
    if slot == NULL:
        raise ValueError(f"{handle:#x} is no stream of npu:{device}")
    return slot


def allocate_raw(size_t nbytes, int device, intptr_t stream):
    """The address of `nbytes` of new memory for the stream with this handle; 0 for no bytes."""
    cdef Block *block
    if nbytes == 0:
        return 0
    block = allocate_block(nbytes, find_stream(device, stream))
    RAW_BLOCKS[<intptr_t>block.address] = <intptr_t>block
    return <intptr_t>block.address


def release_raw(intptr_t address):
    """Free memory of `allocate_raw`. RuntimeError for any other address."""
    if address == 0:
        return
    if address not in RAW_BLOCKS:
        raise RuntimeError(f"invalid device pointer: {address:#x}")
    free_block(<Block *><intptr_t>RAW_BLOCKS.pop(address))


def erase_stream(TensorBase tensor not None, Stream stream not None):
    """Undo Tensor.record_stream: the caller has made the stream of the memory wait for `stream`.

    Nothing happens unless the current stream is the one that the memory was allocated for.
    """
    cdef Block *block
    if isinstance(tensor.storage, NpuStorage):
        block = <Block *>tensor.storage.block
        if block != NULL and current_stream(tensor.device_index) == block.pool.stream:
            drop_stream_use(block, stream.slot)


# --- snapshots -------------------------------------------------------------------------------------------------------
# torch.npu.memory_snapshot(), in the format of PyTorch's memory viewer.
#
# Under the lock, the blocks are copied into an array of C structs. Python objects are created afterwards: creating one
# may free tensors, which takes the lock.


cdef enum State:
    INACTIVE
    ALLOCATED
    PENDING_FREE

STATES = ("inactive", "active_allocated", "active_pending_free")

cdef struct BlockSnapshot:                  # what a snapshot says about a block
    intptr_t address
    size_t size
    size_t requested_size
    State state
    PyObject *context
    bint first                       # in its segment, or in a mapped part of an expandable segment
    bint small
    bint expandable
    intptr_t stream
    long long pool_id[2]
    PyObject *segment_context


cdef Py_ssize_t count_blocks(SegmentCache allocator) noexcept:
    cdef Py_ssize_t count = 0
    cdef Segment *segment = allocator.segments
    cdef Block *block
    while segment != NULL:
        block = segment.first
        while block != NULL:
            count += 1
            block = block.next
        segment = segment.next
    return count


cdef void copy_block(BlockSnapshot *copied, Block *block) noexcept:
    cdef Segment *segment = block.segment
    copied.address = <intptr_t>block.address
    copied.size = block.size
    copied.requested_size = block.requested_size
    copied.state = INACTIVE if block.requested_size == 0 else PENDING_FREE if is_freed(block) else ALLOCATED
    copied.first = block.previous == NULL or not block.previous.mapped
    copied.small = block.pool.small
    copied.expandable = segment.granule != 0
    copied.stream = <intptr_t>block.pool.stream.handle
    copied.pool_id[0] = 0 if block.pool.owner == NULL else block.pool.owner.id[0]
    copied.pool_id[1] = 0 if block.pool.owner == NULL else block.pool.owner.id[1]
    copied.context = block.context
    copied.segment_context = segment.context
    Py_XINCREF(copied.context)
    Py_XINCREF(copied.segment_context)


cdef bint is_freed(Block *block) noexcept:
    return block.retired or block.event_count != 0


cdef Py_ssize_t copy_blocks(SegmentCache allocator, BlockSnapshot *copies) noexcept:
    cdef Py_ssize_t count = 0
    cdef Segment *segment = allocator.segments
    cdef Block *block
    while segment != NULL:
        block = segment.first
        while block != NULL:
            if block.mapped:
                copy_block(copies + count, block)
                count += 1
            block = block.next
        segment = segment.next
    return count


cdef list frames_of(PyObject *context):
    return [] if context == NULL else (<object>context).frames()


cdef dict describe_block(BlockSnapshot *copied):
    return {"address": copied.address, "size": copied.size, "requested_size": copied.requested_size,
            "state": STATES[<int>copied.state], "frames": frames_of(copied.context)}


cdef dict describe_segment(BlockSnapshot *copied, int device):
    return {"device": device, "address": copied.address, "total_size": 0, "allocated_size": 0, "active_size": 0,
            "requested_size": 0, "stream": copied.stream, "segment_pool_id": (copied.pool_id[0], copied.pool_id[1]),
            "segment_type": "small" if copied.small else "large", "is_expandable": bool(copied.expandable),
            "frames": frames_of(copied.segment_context), "blocks": []}


cdef list describe(BlockSnapshot *copies, Py_ssize_t count, int device):
    cdef list segments = []
    cdef dict segment = None
    cdef BlockSnapshot *copied
    cdef Py_ssize_t number
    for number in range(count):
        copied = copies + number
        if copied.first:
            segment = describe_segment(copied, device)
            segments.append(segment)
        segment["blocks"].append(describe_block(copied))
        segment["total_size"] += copied.size
        segment["requested_size"] += copied.requested_size
        segment["allocated_size"] += copied.size if copied.state == ALLOCATED else 0
        segment["active_size"] += copied.size if copied.state != INACTIVE else 0
    segments.sort(key=lambda segment: segment["address"])
    return segments


def segment_snapshots(SegmentCache allocator, pool_id=None):
    """The segments of an allocator as dictionaries, sorted by address; with `pool_id`, only those of one pool."""
    cdef BlockSnapshot *copies = NULL
    cdef Py_ssize_t room = 0
    cdef Py_ssize_t count, number
    while True:
        acquire(&allocator.lock)
        count = count_blocks(allocator)
        if count <= room:
            count = copy_blocks(allocator, copies) if room else 0
            release(&allocator.lock)
            break
        release(&allocator.lock)
        free(copies)
        room = count + count // 8
        copies = <BlockSnapshot *>malloc(room * sizeof(BlockSnapshot))
        if copies == NULL:
            raise MemoryError()
    try:
        segments = describe(copies, count, allocator.device)
    finally:
        for number in range(count):
            Py_XDECREF(copies[number].context)
            Py_XDECREF(copies[number].segment_context)
        free(copies)
    return segments if pool_id is None else [s for s in segments if s["segment_pool_id"] == tuple(pool_id)]
