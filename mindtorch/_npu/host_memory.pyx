"""Pinned host memory: the device copies from and to it without the host."""
cimport cython
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy
from posix.stdlib cimport posix_memalign
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from mindtorch._npu import events_thread, segments

from mindtorch._core.tensor.dtype cimport dtype_name
from mindtorch._core.tensor.tensor cimport (
    CPU, NPU, Storage, TensorBase, copy_data, empty_like_tensor, empty_pinned_like,
)
from mindtorch._npu.acl cimport api, check, require_function
from mindtorch._npu.cann cimport ACL_HOST_REG_MAPPED, ACL_HOST_REG_PINNED
from mindtorch._npu.segments cimport Stat, stat_decrease, stat_increase, stat_metrics
from mindtorch._npu.streams cimport (
    bind_device, defer, pending_entries, process_deferred, synchronize_stream, thread_state,
)


# Freed blocks are cached by size. A request takes the block of its bucket that was freed last.
#
# 1. Sizes are powers of two. Above the thresholds of the settings they are not rounded.
# 2. A block has a reference for each copy that uses it, so it is not reused before the copy is done.
# 3. `process_deferred` drops the references of finished copies. Each request calls it, or a thread does
#    (pinned_use_background_threads).
# 4. Large blocks that the settings exclude from the cache are freed at the next call that may use the driver. The
#    deallocation of a tensor may not.


cdef enum:
    BUCKETS = 64
    PAGE_SIZE = 4096                      # alignment in the reserved segment and of registered memory
    MIB = 1024 * 1024

cdef struct Bucket:
    PinnedBlock *idle                # the block freed last comes first
    Stat requests                    # blocks in use
    Stat bytes                       # of blocks in use

cdef struct Times:                   # durations of driver calls, in microseconds
    int64_t total
    int64_t longest
    int64_t shortest                 # 0: there was no call
    int64_t count

cdef struct PinnedSettings:                  # the settings, in bytes
    size_t rounded                   # larger sizes are not rounded
    size_t kept                      # larger blocks are not cached
    size_t reserved                  # size of the segment that the first request allocates
    bint registered                  # memory of the process is registered with the driver
    bint background                  # a thread calls `process_deferred`

cdef Bucket buckets[BUCKETS]
cdef PinnedBlock *blocks_to_free = NULL    # idle blocks that are to be freed
cdef Stat blocks                     # allocated by the driver
cdef Stat allocated_bytes                # their bytes
cdef Times alloc_times                    # of allocations
cdef Times free_times                    # of frees
cdef PinnedSettings pinned_settings
cdef object settings_read_from = None         # the AllocConfig that `pinned_settings` was read from
cdef char *segment = NULL
cdef size_t segment_left = 0


# Sizes

cdef size_t megabytes_to_bytes(object megabytes) except? 0:
    return <size_t>-1 if megabytes is None else megabytes * MIB


cdef int read_settings() except -1:
    global settings_read_from
    config = segments.current_settings
    pinned_settings.kept = megabytes_to_bytes(config.pinned_max_cached_size_mb)
    pinned_settings.rounded = min(megabytes_to_bytes(config.pinned_max_round_threshold_mb), pinned_settings.kept)
    pinned_settings.reserved = config.pinned_reserve_segment_size_mb * MIB
    pinned_settings.registered = config.pinned_mem_register
    pinned_settings.background = config.pinned_use_background_threads
    if pinned_settings.background:
        events_thread.start()
    settings_read_from = config
    return 0


cdef int bucket_of(size_t nbytes) noexcept:
    cdef int number = 0
    while (<size_t>1 << number) < nbytes:
        number += 1
    return number


# Blocks

cdef int use_any_device() except -1:
    # Pinned memory belongs to no device, but the driver needs a current context.
    return 0 if thread_state().bound >= 0 else bind_device(thread_state().device)


cdef int64_t microseconds() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <int64_t>now.tv_sec * 1000000 + now.tv_nsec // 1000


cdef void add_time(Times *times, int64_t started) noexcept:
    cdef int64_t took = microseconds() - started
    times.total += took
    times.count += 1
    times.longest = max(times.longest, took)
    times.shortest = took if times.shortest == 0 else min(times.shortest, took)


cdef int driver_alloc(void **address, size_t nbytes) except -1:
    cdef int64_t started = microseconds()
    use_any_device()
    if pinned_settings.registered:
        alloc_registered(address, nbytes)
    else:
        with nogil:
            check(api.aclrtMallocHost(address, nbytes), b"aclrtMallocHost")
    add_time(&alloc_times, started)
    return 0


cdef int alloc_registered(void **address, size_t nbytes) except -1:
    cdef int status
    require_function(<void *>api.aclrtHostRegisterV2, "aclrtHostRegisterV2")
    nbytes = (nbytes + PAGE_SIZE - 1) // PAGE_SIZE * PAGE_SIZE
    if posix_memalign(address, PAGE_SIZE, nbytes) != 0:
        raise MemoryError(f"the host has no {nbytes} bytes to pin")
    with nogil:
        status = api.aclrtHostRegisterV2(address[0], nbytes, ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED)
    if status != 0:
        free(address[0])
    return check(status, b"aclrtHostRegisterV2")


cdef int driver_free(PinnedBlock *block) noexcept nogil:
    cdef int status
    if not block.registered:
        return api.aclrtFreeHost(block.address)
    status = api.aclrtHostUnregister(block.address)
    if status == 0:
        free(block.address)
    return status


cdef bint alloc_from_segment(PinnedBlock *block) except -1:
    """Take the block from the reserved segment. False if there is none, or it is full."""
    global segment, segment_left
    cdef size_t nbytes = (block.size + PAGE_SIZE - 1) // PAGE_SIZE * PAGE_SIZE
    cdef char *start
    if pinned_settings.reserved == 0:
        return False
    if segment == NULL:
        driver_alloc(<void **>&start, pinned_settings.reserved)
        segment = start
        segment_left = pinned_settings.reserved
    if nbytes > segment_left:
        return False
    block.address = segment
    block.reserved = True
    segment += nbytes
    segment_left -= nbytes
    return True


cdef PinnedBlock *new_block(size_t nbytes) except NULL:
    cdef PinnedBlock *block = <PinnedBlock *>calloc(1, sizeof(PinnedBlock))
    if block == NULL:
        raise MemoryError()
    block.size = nbytes
    block.bucket = bucket_of(nbytes)
    try:
        if not alloc_from_segment(block):
            driver_alloc(&block.address, nbytes)
            block.registered = pinned_settings.registered
    except BaseException:
        free(block)
        raise
    stat_increase(&blocks, 1)
    stat_increase(&allocated_bytes, nbytes)
    return block


cdef PinnedBlock *pop_idle(size_t nbytes) noexcept:
    cdef PinnedBlock **link = &buckets[bucket_of(nbytes)].idle
    cdef PinnedBlock *block
    while link[0] != NULL and link[0].size < nbytes:
        link = &link[0].next
    block = link[0]
    if block != NULL:
        link[0] = block.next
    return block


cdef PinnedBlock *get_pinned_block(size_t nbytes) except NULL:
    cdef PinnedBlock *block
    if nbytes > <size_t>1 << (BUCKETS - 2):
        raise MemoryError(f"cannot pin {nbytes} bytes of host memory")
    if segments.current_settings is not settings_read_from:
        read_settings()
    if pending_entries != 0 and not pinned_settings.background:
        process_deferred()
    if blocks_to_free != NULL:
        free_unused_blocks()
    if nbytes <= pinned_settings.rounded:
        nbytes = <size_t>1 << bucket_of(nbytes)
    block = pop_idle(nbytes)
    if block == NULL:
        block = new_block(nbytes)
    stat_increase(&buckets[block.bucket].requests, 1)
    stat_increase(&buckets[block.bucket].bytes, block.size)
    block.references = 1
    return block


cdef void release_pinned(PinnedBlock *block) noexcept:
    global blocks_to_free
    cdef PinnedBlock **list_head = &buckets[block.bucket].idle
    block.references -= 1
    if block.references == 0:
        stat_decrease(&buckets[block.bucket].requests, 1)
        stat_decrease(&buckets[block.bucket].bytes, block.size)
        if block.size > pinned_settings.kept and not block.reserved:
            list_head = &blocks_to_free
        block.next = list_head[0]
        list_head[0] = block


cdef void drop_reference(void *argument) noexcept:
    release_pinned(<PinnedBlock *>argument)


cdef int record_pinned_use(PinnedBlock *block, StreamSlot *stream) except -1:
    try:
        defer(stream, drop_reference, block)
    except BaseException:
        synchronize_stream(stream)      # the copy uses the block already
        raise
    block.references += 1
    return 0


cdef int free_unused_blocks() except -1:
    """Free the unwanted blocks. If the driver fails to free one, the next call tries again."""
    global blocks_to_free
    cdef PinnedBlock *block
    cdef int64_t started
    cdef int status
    use_any_device()
    while blocks_to_free != NULL:
        block = blocks_to_free
        blocks_to_free = block.next        # so that other threads do not see the block during the driver call
        started = microseconds()
        with nogil:
            status = driver_free(block)
        if status != 0:
            block.next = blocks_to_free
            blocks_to_free = block
            return check(status, b"aclrtHostUnregister" if block.registered else b"aclrtFreeHost")
        add_time(&free_times, started)
        stat_decrease(&blocks, 1)
        stat_decrease(&allocated_bytes, block.size)
        free(block)
    return 0


def free_idle_blocks():
    """Free all idle pinned memory."""
    cdef PinnedBlock **link
    cdef int number
    use_any_device()
    if pending_entries != 0:
        process_deferred()
    free_unused_blocks()
    for number in range(BUCKETS):
        link = &buckets[number].idle
        while link[0] != NULL:
            if not link[0].reserved:
                move_to_blocks_to_free(link)
            else:
                link = &link[0].next
    free_unused_blocks()


cdef void move_to_blocks_to_free(PinnedBlock **link) noexcept:
    global blocks_to_free
    cdef PinnedBlock *block = link[0]
    link[0] = block.next
    block.next = blocks_to_free
    blocks_to_free = block


def close():
    """At exit: free idle blocks. Memory of live CPU tensors stays, because the program may still read them."""
    global blocks_to_free
    cdef int number
    for number in range(BUCKETS):
        while buckets[number].idle != NULL:
            if not buckets[number].idle.reserved:
                driver_free(buckets[number].idle)
            buckets[number].idle = buckets[number].idle.next
    while blocks_to_free != NULL:
        driver_free(blocks_to_free)
        blocks_to_free = blocks_to_free.next


# Tensors

@cython.final
@cython.no_gc
cdef class PinnedStorage(Storage):
    def __dealloc__(self):
        if self.block != NULL:
            release_pinned(<PinnedBlock *>self.block)

    def exchange(self, Storage other):
        """Replace the bytes of this storage by a copy of the other's, in pinned memory."""
        cdef PinnedStorage pinned = <PinnedStorage>allocate_pinned(other.nbytes)
        memcpy(pinned.data, other.data, other.nbytes)
        Storage.exchange(self, pinned)
        self.block, pinned.block = pinned.block, self.block


cdef Storage allocate_pinned(size_t nbytes):
    cdef PinnedStorage storage = PinnedStorage.__new__(PinnedStorage)
    storage.device_type = CPU
    if nbytes != 0:
        storage.block = get_pinned_block(nbytes)
        storage.data = <char *>(<PinnedBlock *>storage.block).address
        storage.nbytes = nbytes
    return storage


def pin_memory(TensorBase tensor not None):
    """A copy of a CPU tensor in pinned memory; the tensor itself if it is pinned."""
    cdef TensorBase pinned
    if tensor.device_type != CPU:
        kind = ("npu" if tensor.device_type == NPU else "Meta") + dtype_name(tensor.dtype)
        raise RuntimeError(f"cannot pin '{kind}Type' only dense CPU tensors can be pinned")
    if isinstance(tensor.storage, PinnedStorage):
        return tensor
    pinned = empty_pinned_like(empty_like_tensor(tensor, tensor.dtype, CPU, 0))
    copy_data(pinned, tensor, False)
    return pinned


def is_pinned(TensorBase tensor not None):
    return isinstance(tensor.storage, PinnedStorage) and tensor.storage.nbytes > 0


# Statistics

cdef dict times_dict(Times *times):
    return {"total": times.total, "max": times.longest, "min": times.shortest, "count": times.count,
            "avg": times.total // times.count if times.count else 0}


cdef Stat sum_of_buckets(bint nbytes) noexcept:
    """The sum of all buckets. The sum of their peaks may exceed the peak of the sum."""
    cdef Stat total = Stat(0, 0, 0, 0)
    cdef Stat *one
    cdef int number
    for number in range(BUCKETS):
        one = &buckets[number].bytes if nbytes else &buckets[number].requests
        total.current += one.current
        total.peak += one.peak
        total.allocated += one.allocated
        total.freed += one.freed
    return total


def stats_as_nested_dict():
    """torch.npu.host_memory_stats_as_nested_dict()."""
    cdef Stat requests, nbytes
    if blocks_to_free != NULL:
        free_unused_blocks()
    requests, nbytes = sum_of_buckets(False), sum_of_buckets(True)
    return {"num_host_alloc": blocks.allocated, "num_host_free": blocks.freed, "allocations": stat_metrics(&blocks),
            "active_requests": stat_metrics(&requests), "allocated_bytes": stat_metrics(&allocated_bytes),
            "active_bytes": stat_metrics(&nbytes), "host_alloc_time": times_dict(&alloc_times),
            "host_free_time": times_dict(&free_times)}


def reset_accumulated():
    cdef int number
    for number in range(BUCKETS):
        reset_sums(&buckets[number].requests)
        reset_sums(&buckets[number].bytes)
    reset_sums(&blocks)
    reset_sums(&allocated_bytes)
    alloc_times.total = alloc_times.count = free_times.total = free_times.count = 0


cdef void reset_sums(Stat *stat) noexcept:
    stat.allocated = stat.freed = 0


def reset_peak():
    cdef int number
    for number in range(BUCKETS):
        buckets[number].requests.peak = buckets[number].requests.current
        buckets[number].bytes.peak = buckets[number].bytes.current
    blocks.peak = blocks.current
    allocated_bytes.peak = allocated_bytes.current
    alloc_times.longest = alloc_times.shortest = free_times.longest = free_times.shortest = 0
