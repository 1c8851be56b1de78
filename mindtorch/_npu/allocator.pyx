"""The caching allocator of device memory: torch's algorithm, one NpuAllocator a device.

1. Memory comes from the driver in segments. A segment belongs to the stream it was made for and is cut into blocks.
2. Requests up to 1 MiB are served by 2 MiB segments (the small pool), larger ones by segments of 20 MiB or more.
3. A request takes the smallest free block of its stream and pool that fits, and gives back what it does not need.
4. A freed block merges with free neighbours and may be reused at once by the same stream, whose order makes that safe.
   A block that other streams use waits for events recorded on them (record_stream).
5. When the driver has no memory left, everything cached is given back and the request tried once more.

The GIL is the lock of every field here and in records.pxd; it is given up around driver calls that may wait.
"""
cimport cython
from libc.stdint cimport intptr_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from mindtorch._core.errors import OutOfMemoryError

from mindtorch._npu.block_tree cimport next_priority, tree_best_fit, tree_insert, tree_remove
from mindtorch._npu.cann.acl_base_rt cimport ACL_ERROR_RT_MEMORY_ALLOCATION
from mindtorch._npu.cann.acl_rt cimport ACL_HBM_MEM, ACL_MEM_MALLOC_HUGE_FIRST
from mindtorch._npu.deferred cimport defer, drain, drain_all, waiting
from mindtorch._npu.errors cimport check
from mindtorch._npu.handles cimport MAX_DEVICES, STREAMS, use_device
from mindtorch._npu.records cimport Block, Segment, StreamSlot, StreamUse
from mindtorch._npu.stats cimport (
    ACTIVE, ACTIVE_BYTES, ALLOCATED_BYTES, ALLOCATION, INACTIVE_SPLIT, INACTIVE_SPLIT_BYTES, REQUESTED_BYTES,
    RESERVED_BYTES, SEGMENT, MemoryStats, decrease, increase)
from mindtorch._npu.symbols cimport api


cdef enum:
    KIB = 1024
    MIB = 1024 * 1024
    UNIT = 512                       # blocks are multiples of it
    TAIL = 32                        # the hardware moves 32-byte blocks and may touch so much past the end
    SMALL_LIMIT = MIB                # the largest request of the small pool
    SMALL_SEGMENT = 2 * MIB
    LARGE_SEGMENT = 20 * MIB         # for requests below LARGE_LIMIT; larger ones get a segment of their own
    LARGE_LIMIT = 10 * MIB
    SEGMENT_UNIT = 2 * MIB

cdef size_t MAX_REQUEST = <size_t>1 << 60

cdef list ALLOCATORS = [None] * MAX_DEVICES
cdef Block *SPARE_BLOCKS = NULL      # records of merged blocks, linked by `left`: splitting is on the way of every op


cdef Block *new_block() noexcept:
    """A zeroed record; NULL when the host is out of memory."""
    global SPARE_BLOCKS
    cdef Block *block = SPARE_BLOCKS
    if block == NULL:
        return <Block *>calloc(1, sizeof(Block))
    SPARE_BLOCKS = block.left
    memset(block, 0, sizeof(Block))
    return block


cdef void drop_block(Block *block) noexcept:
    global SPARE_BLOCKS
    block.left = SPARE_BLOCKS
    SPARE_BLOCKS = block


cdef inline size_t round_size(size_t nbytes) noexcept:
    return (nbytes + TAIL + UNIT - 1) // UNIT * UNIT


cdef inline size_t segment_size(size_t size, bint small) noexcept:
    if small:
        return SMALL_SEGMENT
    if size < LARGE_LIMIT:
        return LARGE_SEGMENT
    return (size + SEGMENT_UNIT - 1) // SEGMENT_UNIT * SEGMENT_UNIT


cdef inline Block **free_tree(Segment *segment) noexcept:
    return &segment.stream.small_blocks if segment.small else &segment.stream.large_blocks


cdef inline bint is_split(Block *block) noexcept:
    return block.previous != NULL or block.next != NULL


def format_size(size):
    """A number of bytes as torch's out-of-memory message has it."""
    if size <= KIB:
        return f"{size} bytes"
    for unit, name in ((KIB, "KiB"), (MIB, "MiB")):
        if size <= unit * KIB:
            return f"{size / unit:.2f} {name}"
    return f"{size / (MIB * KIB):.2f} GiB"


@cython.final
cdef class NpuAllocator:
    """The memory of one device. Public through torch.npu's memory functions."""

    def __cinit__(self, int device_id=0):
        self.device = device_id
        self._stats = MemoryStats()
        self.fraction = 1.0
        self.random = 2463534242

    # Blocks

    cdef Block *take(self, size_t nbytes, StreamSlot *stream) except NULL:
        cdef size_t size = round_size(nbytes)
        cdef bint small = size <= SMALL_LIMIT
        cdef Block *block
        if self.retired != NULL or waiting != 0:
            self.process_retired()
            drain()
        block = tree_best_fit(stream.small_blocks if small else stream.large_blocks, size)
        if block == NULL:
            block = self.refill(size, small, stream)
        self.remove_free(block)
        block.allocated = True
        if block.size - size >= (<size_t>UNIT if small else <size_t>SMALL_LIMIT + 1):
            self.split(block, size)
        block.requested = nbytes
        increase(self._stats.table[<int>ALLOCATION], small, 1)
        increase(self._stats.table[<int>ALLOCATED_BYTES], small, block.size)
        increase(self._stats.table[<int>ACTIVE], small, 1)
        increase(self._stats.table[<int>ACTIVE_BYTES], small, block.size)
        increase(self._stats.table[<int>REQUESTED_BYTES], small, nbytes)
        return block

    cdef void give(self, Block *block) noexcept:
        cdef bint small = block.segment.small
        decrease(self._stats.table[<int>ALLOCATION], small, 1)
        decrease(self._stats.table[<int>ALLOCATED_BYTES], small, block.size)
        if block.uses != NULL:
            block.retired = True
            block.left = self.retired
            self.retired = block
        else:
            self.put_back(block)

    cdef void split(self, Block *block, size_t size) noexcept:
        """Cuts `block`, which is in use, to `size`; the rest becomes a free block after it."""
        cdef Block *rest = new_block()
        if rest == NULL:
            return                   # the whole block serves as well
        rest.address = block.address + size
        rest.size = block.size - size
        rest.segment = block.segment
        rest.previous = block
        rest.next = block.next
        rest.priority = next_priority(&self.random)
        if rest.next != NULL:
            rest.next.previous = rest
        block.next = rest
        block.size = size
        self.insert_free(rest)

    cdef void put_back(self, Block *block) noexcept:
        cdef bint small = block.segment.small
        decrease(self._stats.table[<int>ACTIVE], small, 1)
        decrease(self._stats.table[<int>ACTIVE_BYTES], small, block.size)
        decrease(self._stats.table[<int>REQUESTED_BYTES], small, block.requested)
        block.requested = 0
        block.allocated = block.retired = False
        if block.next != NULL and not block.next.allocated:
            self.remove_free(block.next)
            self.merge_next(block)
        if block.previous != NULL and not block.previous.allocated:
            block = block.previous
            self.remove_free(block)
            self.merge_next(block)
        self.insert_free(block)

    cdef void merge_next(self, Block *block) noexcept:
        cdef Block *gone = block.next
        block.size += gone.size
        block.next = gone.next
        if gone.next != NULL:
            gone.next.previous = block
        drop_block(gone)

    cdef void insert_free(self, Block *block) noexcept:
        tree_insert(free_tree(block.segment), block)
        if is_split(block):
            increase(self._stats.table[<int>INACTIVE_SPLIT], block.segment.small, 1)
            increase(self._stats.table[<int>INACTIVE_SPLIT_BYTES], block.segment.small, block.size)

    cdef void remove_free(self, Block *block) noexcept:
        tree_remove(free_tree(block.segment), block)
        if is_split(block):
            decrease(self._stats.table[<int>INACTIVE_SPLIT], block.segment.small, 1)
            decrease(self._stats.table[<int>INACTIVE_SPLIT_BYTES], block.segment.small, block.size)

    # Blocks that several streams use

    cdef int process_retired(self) except -1:
        """Has every stream that uses a retired block say when it is done with it."""
        cdef Block *block
        cdef StreamUse *use
        while self.retired != NULL:
            block = self.retired
            self.retired = block.left
            block.pending += 1       # this loop's own, so that an early event does not put the block back
            try:
                while block.uses != NULL:
                    use = block.uses
                    if use.stream.handle != NULL:    # a destroyed stream has done its work
                        block.pending += 1
                        try:
                            defer(use.stream, release_use, block)
                        except BaseException:
                            block.pending -= 1
                            raise
                    block.uses = use.next
                    free(use)
            except BaseException:
                block.pending -= 1
                block.left = self.retired
                self.retired = block
                raise
            release_use(block)
        return 0

    # Segments

    cdef Block *refill(self, size_t size, bint small, StreamSlot *stream) except NULL:
        """A free block of at least `size`, from the driver. The ladder before torch.OutOfMemoryError."""
        cdef size_t wanted = segment_size(size, small) if size < MAX_REQUEST else size
        cdef Block *block = NULL
        if size < MAX_REQUEST:
            if self.fraction >= 1.0 or wanted <= self._allowed():
                block = self.add_segment(wanted, small, stream)
            if block == NULL:
                self.release_cached()
                self._enforce_memory_fraction(wanted)
                self._stats.num_alloc_retries += 1
                block = self.add_segment(wanted, small, stream)
        if block == NULL:
            self._stats.num_ooms += 1
            raise OutOfMemoryError(self._describe_oom(wanted))
        return block

    cdef Block *add_segment(self, size_t size, bint small, StreamSlot *stream) except? NULL:
        """NULL when the driver has no room."""
        cdef void *address = NULL
        cdef int status
        cdef Segment *segment
        cdef Block *block
        use_device(self.device)
        segment = <Segment *>calloc(1, sizeof(Segment))
        block = new_block()
        if segment == NULL or block == NULL:
            free(segment)
            if block != NULL:
                drop_block(block)
            raise MemoryError()
        with nogil:
            status = api.aclrtMalloc(&address, size, ACL_MEM_MALLOC_HUGE_FIRST)
        if status != 0:
            free(segment)
            drop_block(block)
            if status != ACL_ERROR_RT_MEMORY_ALLOCATION:
                check(status, b"aclrtMalloc")
            return NULL
        segment.address = address
        segment.size = block.size = size
        segment.small = small
        segment.stream = stream
        segment.allocator = <void *>self
        segment.first = block
        segment.next = self.segments
        if self.segments != NULL:
            self.segments.previous = segment
        self.segments = segment
        stream.segments += 1
        block.address = <char *>address
        block.segment = segment
        block.priority = next_priority(&self.random)
        increase(self._stats.table[<int>SEGMENT], small, 1)
        increase(self._stats.table[<int>RESERVED_BYTES], small, size)
        self._stats.num_device_alloc += 1
        self.insert_free(block)
        return block

    cdef int release_cached(self) except -1:
        """Waits for the device, then gives every segment without a block in use back to the driver.

        Other threads go on meanwhile: so segments are first taken out of reach, and freed when the device has done what
        it was given up to then.
        """
        cdef Segment *detached
        self._stats.num_sync_all_streams += 1
        self.wait_for_device()
        self.process_retired()
        drain_all(self.device)
        self.drop_workspaces()
        detached = self.detach_unused()
        try:
            if detached != NULL:
                self.wait_for_device()
        finally:
            self.discard(detached)
        return self.free_unwanted()

    cdef int wait_for_device(self) except -1:
        use_device(self.device)
        with nogil:
            check(api.aclrtSynchronizeDevice(), b"aclrtSynchronizeDevice")
        return 0

    cdef void discard(self, Segment *detached) noexcept:
        """Adds segments that the device no longer uses to those to be freed."""
        cdef Segment *following
        while detached != NULL:
            following = detached.next
            detached.next = self.unwanted
            self.unwanted = detached
            detached = following

    cdef void drop_workspaces(self) noexcept:
        cdef StreamSlot *stream = STREAMS
        cdef Block *block
        while stream != NULL:
            if stream.device == self.device and stream.launches == 0 and stream.workspace != NULL:
                block = stream.workspace
                stream.workspace = NULL
                self.give(block)
            stream = stream.next

    cdef Segment *detach_unused(self) noexcept:
        """Takes segments without a block in use out of every list; returns them, linked by `next`."""
        cdef Segment *detached = NULL
        cdef Segment *segment = self.segments
        cdef Segment *following
        while segment != NULL:
            following = segment.next
            if not segment.first.allocated and segment.first.next == NULL:
                self.remove_free(segment.first)
                drop_block(segment.first)
                if segment.previous != NULL:
                    segment.previous.next = following
                else:
                    self.segments = following
                if following != NULL:
                    following.previous = segment.previous
                segment.next = detached
                detached = segment
                segment.stream.segments -= 1
            segment = following
        return detached

    cdef int free_unwanted(self) except -1:
        cdef Segment *segment
        cdef int status
        while self.unwanted != NULL:
            use_device(self.device)
            segment = self.unwanted
            self.unwanted = segment.next
            with nogil:
                status = api.aclrtFree(segment.address)
            if status != 0:
                segment.next = self.unwanted         # to be tried again
                self.unwanted = segment
                check(status, b"aclrtFree")
            decrease(self._stats.table[<int>SEGMENT], segment.small, 1)
            decrease(self._stats.table[<int>RESERVED_BYTES], segment.small, segment.size)
            self._stats.num_device_free += 1
            free(segment)
        return 0

    # For torch.npu

    def empty_cache(self):
        self.release_cached()

    def memory_stats(self):
        """torch.npu.memory_stats(): one flat dictionary, its keys sorted."""
        flat = {}

        def add(prefix, value):
            if isinstance(value, dict):
                for key, inner in value.items():
                    add(f"{prefix}.{key}" if prefix else key, inner)
            else:
                flat[prefix] = value

        add("", self._stats.nested())
        return dict(sorted(flat.items()))

    def nested_stats(self):
        return self._stats.nested()

    def reset_peak(self):
        self._stats.reset_peak()

    def reset_accumulated(self):
        self._stats.reset_accumulated()

    def snapshot(self):
        """Every segment with its blocks, by address. For torch.npu.memory_snapshot()."""
        cdef Segment *segment = self.segments
        segments = []
        while segment != NULL:
            segments.append(describe_segment(segment, self.device))
            segment = segment.next
        segments.sort(key=lambda entry: entry["address"])
        return {"segments": segments, "device": self.device, "allocator": "native"}

    def set_memory_fraction(self, double fraction):
        self.fraction = fraction

    def memory_fraction(self):
        return self.fraction

    def _mem_get_info(self):
        """(free, total) bytes of the device, as the driver has it."""
        cdef size_t free_bytes = 0
        cdef size_t total = 0
        use_device(self.device)
        with nogil:
            check(api.aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total), b"aclrtGetMemInfo")
        return free_bytes, total

    def _allowed(self):
        """How many bytes more may be reserved under the limit of set_per_process_memory_fraction; may be negative."""
        return int(self._mem_get_info()[1] * self.fraction) - self._stats["reserved_bytes.all.current"]

    def _enforce_memory_fraction(self, nbytes):
        """OutOfMemoryError when reserving `nbytes` more would pass that limit."""
        if self.fraction < 1.0 and nbytes > self._allowed():
            self._stats.num_ooms += 1
            raise OutOfMemoryError(self._describe_oom(nbytes))

    def _describe_oom(self, wanted):
        free_bytes, total = self._mem_get_info()
        parts = [f"NPU {self.device}", f"{format_size(total)} total capacity",
                 f"{format_size(self._stats['allocated_bytes.all.current'])} already allocated",
                 f"{format_size(self._stats['active_bytes.all.current'])} current active",
                 f"{format_size(free_bytes)} free"]
        if self.fraction < 1.0:
            parts.append(f"{format_size(int(total * self.fraction))} allowed")
        parts.append(f"{format_size(self._stats['reserved_bytes.all.current'])} reserved in total by mindtorch")
        return (f"NPU out of memory. Tried to allocate {format_size(wanted)} ({'; '.join(parts)}). If much more is "
                "reserved than allocated, the free memory is in pieces: see torch.npu.memory_summary()")

    def close(self):
        """Gives all memory to the driver, in use or not: the device is being closed. Statuses no longer matter."""
        close_segments(self.segments)
        close_segments(self.unwanted)
        self.segments = self.unwanted = NULL


cdef void close_segments(Segment *segment) noexcept:
    while segment != NULL:
        api.aclrtFree(segment.address)
        segment = segment.next


cdef dict describe_segment(Segment *segment, int device):
    cdef Block *block = segment.first
    cdef list blocks = []
    cdef size_t allocated = 0
    cdef size_t active = 0
    cdef size_t requested = 0
    while block != NULL:
        state = ("inactive" if not block.allocated else "active_pending_free" if block.retired
                 else "active_allocated")
        blocks.append({"address": <intptr_t>block.address, "size": block.size, "requested_size": block.requested,
                       "state": state, "frames": []})
        requested += block.requested
        active += block.size if block.allocated else 0
        allocated += block.size if state == "active_allocated" else 0
        block = block.next
    return {"device": device, "address": blocks[0]["address"], "total_size": segment.size, "allocated_size": allocated,
            "active_size": active, "requested_size": requested, "stream": <intptr_t>segment.stream.handle,
            "segment_pool_id": (0, 0), "segment_type": "small" if segment.small else "large", "is_expandable": False,
            "frames": [], "blocks": blocks}


cdef NpuAllocator allocator_of(int device):
    if ALLOCATORS[device] is None:
        ALLOCATORS[device] = NpuAllocator(device)
    return <NpuAllocator>ALLOCATORS[device]


def get_allocator(int device):
    """The allocator of a device that exists."""
    return allocator_of(device)


cdef Block *allocate_block(size_t nbytes, StreamSlot *stream) except NULL:
    cdef NpuAllocator allocator
    if stream.allocator == NULL:
        allocator = allocator_of(stream.device)      # ALLOCATORS keeps it for ever
        stream.allocator = <void *>allocator
    return (<NpuAllocator>stream.allocator).take(nbytes, stream)


cdef void free_block(Block *block) noexcept:
    (<NpuAllocator>block.segment.allocator).give(block)


cdef void release_use(void *argument) noexcept:
    cdef Block *block = <Block *>argument
    block.pending -= 1
    if block.pending == 0 and block.uses == NULL:
        (<NpuAllocator>block.segment.allocator).put_back(block)


cdef int add_stream_use(Block *block, StreamSlot *stream) except -1:
    cdef StreamUse *use = block.uses
    if stream == block.segment.stream:
        return 0                     # its own order makes reuse safe
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
