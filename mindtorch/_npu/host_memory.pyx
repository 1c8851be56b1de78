"""Pinned host memory, and what is released once a stream has passed it."""
cimport cython
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free, malloc
from posix.stdlib cimport posix_memalign
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from mindtorch._npu import events_thread, segments

from mindtorch._core.tensor.dtype cimport code_name
from mindtorch._core.tensor.tensor cimport BACKENDS, CPU, NPU, Storage, TensorBase, empty_like_tensor, pinned_like
from mindtorch._npu.acl cimport api, check, require
from mindtorch._npu.cann.acl_base_rt cimport ACL_HOST_REG_MAPPED, ACL_HOST_REG_PINNED
from mindtorch._npu.cann.acl_meta cimport aclBoolArray, aclOpExecutor, aclScalarList
from mindtorch._npu.segments cimport Stat, lower_by, raise_by
from mindtorch._npu.streams cimport (
    STREAMS, bind_device, captures, give_event, is_complete, record, take_event, thread_state, use_device,
    wait_for_stream,
)
from mindtorch._npu.structs cimport Deferred, EventSlot


# --- deferred releases -----------------------------------------------------------------------------------------------
# Things to release later: what streams still use, and what CANN refused to destroy.
#
# 1. What waits for a stream stands in that stream's queue, in the order of events; while it captures, in the graph.
# 2. What was refused stands in a ring: whose turn it is goes to the end when it is refused again.
#
# A queue holds at most LIMIT entries. Whoever would add one more waits for the oldest, so that a program which never
# synchronises does not pile up events and memory.


cdef enum:
    LIMIT = 512

cdef struct Refused:
    void *handle
    int kind
    Refused *next

cdef Refused *last_refused = NULL      # whose `next` is the first


cdef int defer(StreamSlot *stream, void (*release)(void *) noexcept, void *argument) except -1:
    global waiting
    cdef Deferred *entry
    while stream.deferred >= LIMIT:
        release_oldest(stream)
    entry = <Deferred *>malloc(sizeof(Deferred))
    if entry == NULL:
        raise MemoryError()
    entry.event = NULL
    if stream.capture != NULL:
        entry.release = release
        entry.argument = argument
        entry.next = stream.capture.held
        stream.capture.held = entry
        return 0
    try:
        entry.event = take_event(stream.device, False)
        record(entry.event, stream)
    except BaseException:
        if entry.event != NULL:
            give_event(entry.event)
        free(entry)
        raise
    entry.release = release
    entry.argument = argument
    entry.next = NULL
    if stream.last_deferred == NULL:
        stream.first_deferred = entry
    else:
        stream.last_deferred.next = entry
    stream.last_deferred = entry
    stream.deferred += 1
    waiting += 1
    return 0


cdef void release_first(StreamSlot *stream) noexcept:
    global waiting
    cdef Deferred *entry = stream.first_deferred
    stream.first_deferred = entry.next
    if entry.next == NULL:
        stream.last_deferred = NULL
    stream.deferred -= 1
    waiting -= 1
    give_event(entry.event)
    entry.release(entry.argument)
    free(entry)


cdef int release_oldest(StreamSlot *stream) except -1:
    # Another thread may release the entry and reuse its event meanwhile: then this waits longer than it must, no less.
    cdef EventSlot *event = stream.first_deferred.event
    use_device(stream.device)
    with nogil:
        check(api.aclrtSynchronizeEvent(event.handle), b"aclrtSynchronizeEvent")
    if stream.first_deferred != NULL and stream.first_deferred.event == event:
        release_first(stream)
    return 0


cdef int drain() except -1:
    cdef StreamSlot *stream = STREAMS
    destroy_refused()
    while stream != NULL and waiting != 0 and captures == 0:     # which may forbid to ask
        while stream.first_deferred != NULL and is_complete(stream.first_deferred.event):
            release_first(stream)
        stream = stream.next
    return 0


cdef int drain_all(int device) except -1:
    cdef StreamSlot *stream = STREAMS
    destroy_refused()
    while stream != NULL:
        while stream.device == device and stream.first_deferred != NULL:
            release_oldest(stream)
        stream = stream.next
    return 0


cdef void destroy_later(void *handle, int kind) noexcept with gil:
    global last_refused, waiting
    cdef Refused *entry = <Refused *>malloc(sizeof(Refused))
    api.aclGetRecentErrMsg()           # or the next exception would tell of this call
    if entry == NULL:
        return                         # the host has no memory left either: the object stays
    entry.handle = handle
    entry.kind = kind
    if last_refused == NULL:
        entry.next = entry
    else:
        entry.next = last_refused.next
        last_refused.next = entry
    last_refused = entry
    waiting += 1


cdef int destroy_again(Refused *entry) noexcept:
    if entry.kind == EXECUTOR:
        return api.aclDestroyAclOpExecutor(<aclOpExecutor *>entry.handle)
    if entry.kind == BOOL_ARRAY:
        return api.aclDestroyBoolArray(<aclBoolArray *>entry.handle)
    if entry.kind == SCALAR_LIST:
        return api.aclDestroyScalarList(<aclScalarList *>entry.handle)
    return try_destroy(entry.handle, entry.kind)


cdef void destroy_refused() noexcept:
    global last_refused, waiting
    cdef Refused *entry
    while last_refused != NULL:
        entry = last_refused.next
        if destroy_again(entry) != 0:
            api.aclGetRecentErrMsg()
            last_refused = entry
            return
        last_refused.next = entry.next
        if entry == last_refused:
            last_refused = NULL
        free(entry)
        waiting -= 1


def abandon(int device):
    """Releases everything at once: the device is being closed."""
    cdef StreamSlot *stream = STREAMS
    destroy_refused()
    while stream != NULL:
        while stream.device == device and stream.first_deferred != NULL:
            release_first(stream)
        stream = stream.next


def pending():
    """Number of entries that wait."""
    return waiting


def drain_now():
    """Releases what the streams have passed, and what was refused."""
    drain()


# --- pinned memory ---------------------------------------------------------------------------------------------------
# Pinned host memory, cached: a freed block serves the next request of its bucket, the block freed last first.
#
# 1. Sizes are powers of two; above the thresholds of the settings they are what was asked for.
# 2. A block that a stream still copies from or to has a reference for that copy, so it is never reused too early.
# 3. What copies have passed is looked after at each request, or by a thread where pinned_use_background_threads says
# so.
# 4. Large blocks that the settings forbid to keep go back to the driver at the next call that may talk to it: the end
# of
#    a tensor may not.


cdef enum:
    BUCKETS = 64
    STEP = 4096                      # parts of the reserved segment, and registered memory, begin at multiples of it
    MIB = 1024 * 1024

cdef struct Bucket:
    PinnedBlock *idle                # the one freed last comes first
    Stat requests                    # blocks handed out and not reusable yet, and their bytes
    Stat bytes

cdef struct Times:                   # of the driver's calls, in microseconds
    int64_t total
    int64_t longest
    int64_t shortest                 # 0: there was none
    int64_t count

cdef struct Limits:                  # what the settings say, in bytes
    size_t rounded                   # larger sizes are not rounded
    size_t kept                      # larger blocks are not kept
    size_t reserved                  # of the segment that is taken at the first request
    bint registered                  # memory is the process's own, and registered for the device to reach it
    bint background                  # a thread looks after what copies have passed

cdef Bucket buckets[BUCKETS]
cdef PinnedBlock *unwanted = NULL    # too large to be kept
cdef Stat blocks                     # taken from the driver, and their bytes
cdef Stat bytes_taken
cdef Times taking
cdef Times giving
cdef Limits limits
cdef object limits_of = None         # the AllocConfig that `limits` are of
cdef char *segment = NULL
cdef size_t segment_left = 0


# Sizes

cdef size_t bytes_of(object megabytes) except? 0:
    return <size_t>-1 if megabytes is None else megabytes * MIB


cdef int read_settings() except -1:
    global limits_of
    config = segments.current_settings
    limits.kept = bytes_of(config.pinned_max_cached_size_mb)
    limits.rounded = min(bytes_of(config.pinned_max_round_threshold_mb), limits.kept)
    limits.reserved = config.pinned_reserve_segment_size_mb * MIB
    limits.registered = config.pinned_mem_register
    limits.background = config.pinned_use_background_threads
    if limits.background:
        events_thread.start()
    limits_of = config
    return 0


cdef int bucket_of(size_t nbytes) noexcept:
    cdef int number = 0
    while (<size_t>1 << number) < nbytes:
        number += 1
    return number


# Blocks

cdef int use_any_device() except -1:
    # Pinned memory belongs to no device, but the driver wants a current context.
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


cdef int take_from_driver(void **address, size_t nbytes) except -1:
    cdef int64_t started = microseconds()
    use_any_device()
    if limits.registered:
        take_registered(address, nbytes)
    else:
        with nogil:
            check(api.aclrtMallocHost(address, nbytes), b"aclrtMallocHost")
    add_time(&taking, started)
    return 0


cdef int take_registered(void **address, size_t nbytes) except -1:
    cdef int status
    require(<void *>api.aclrtHostRegisterV2, "aclrtHostRegisterV2")
    nbytes = (nbytes + STEP - 1) // STEP * STEP
    if posix_memalign(address, STEP, nbytes) != 0:
        raise MemoryError(f"the host has no {nbytes} bytes to pin")
    with nogil:
        status = api.aclrtHostRegisterV2(address[0], nbytes, ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED)
    if status != 0:
        free(address[0])
    return check(status, b"aclrtHostRegisterV2")


cdef int give_to_driver(PinnedBlock *block) noexcept nogil:
    cdef int status
    if not block.registered:
        return api.aclrtFreeHost(block.address)
    status = api.aclrtHostUnregister(block.address)
    if status == 0:
        free(block.address)
    return status


cdef bint take_from_segment(PinnedBlock *block) except -1:
    """Cuts the block out of the reserved segment, where there is one and it has room."""
    global segment, segment_left
    cdef size_t nbytes = (block.size + STEP - 1) // STEP * STEP
    cdef char *start
    if limits.reserved == 0:
        return False
    if segment == NULL:
        take_from_driver(<void **>&start, limits.reserved)
        segment = start
        segment_left = limits.reserved
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
        if not take_from_segment(block):
            take_from_driver(&block.address, nbytes)
            block.registered = limits.registered
    except BaseException:
        free(block)
        raise
    raise_by(&blocks, 1)
    raise_by(&bytes_taken, nbytes)
    return block


cdef PinnedBlock *take_idle(size_t nbytes) noexcept:
    cdef PinnedBlock **link = &buckets[bucket_of(nbytes)].idle
    cdef PinnedBlock *block
    while link[0] != NULL and link[0].size < nbytes:
        link = &link[0].next
    block = link[0]
    if block != NULL:
        link[0] = block.next
    return block


cdef PinnedBlock *take_pinned(size_t nbytes) except NULL:
    cdef PinnedBlock *block
    if nbytes > <size_t>1 << (BUCKETS - 2):
        raise MemoryError(f"cannot pin {nbytes} bytes of host memory")
    if segments.current_settings is not limits_of:
        read_settings()
    if waiting != 0 and not limits.background:
        drain()
    if unwanted != NULL:
        give_unwanted()
    if nbytes <= limits.rounded:
        nbytes = <size_t>1 << bucket_of(nbytes)
    block = take_idle(nbytes)
    if block == NULL:
        block = new_block(nbytes)
    raise_by(&buckets[block.bucket].requests, 1)
    raise_by(&buckets[block.bucket].bytes, block.size)
    block.references = 1
    return block


cdef void release_pinned(PinnedBlock *block) noexcept:
    global unwanted
    cdef PinnedBlock **place = &buckets[block.bucket].idle
    block.references -= 1
    if block.references == 0:
        lower_by(&buckets[block.bucket].requests, 1)
        lower_by(&buckets[block.bucket].bytes, block.size)
        if block.size > limits.kept and not block.reserved:
            place = &unwanted
        block.next = place[0]
        place[0] = block


cdef void release_argument(void *argument) noexcept:
    release_pinned(<PinnedBlock *>argument)


cdef int hold_pinned(PinnedBlock *block, StreamSlot *stream) except -1:
    try:
        defer(stream, release_argument, block)
    except BaseException:
        wait_for_stream(stream)      # the copy is under way already
        raise
    block.references += 1
    return 0


cdef int give_unwanted() except -1:
    """Gives blocks back to the driver. One that it refuses to free is tried again at the next call."""
    global unwanted
    cdef PinnedBlock *block
    cdef int64_t started
    cdef int status
    use_any_device()
    while unwanted != NULL:
        block = unwanted
        unwanted = block.next        # out of reach of other threads during the call
        started = microseconds()
        with nogil:
            status = give_to_driver(block)
        if status != 0:
            block.next = unwanted
            unwanted = block
            return check(status, b"aclrtHostUnregister" if block.registered else b"aclrtFreeHost")
        add_time(&giving, started)
        lower_by(&blocks, 1)
        lower_by(&bytes_taken, block.size)
        free(block)
    return 0


def release_idle():
    """Gives the pinned memory that nobody uses back to the driver."""
    cdef PinnedBlock **link
    cdef int number
    use_any_device()
    if waiting != 0:
        drain()
    give_unwanted()
    for number in range(BUCKETS):
        link = &buckets[number].idle
        while link[0] != NULL:
            if not link[0].reserved:
                unlink_for_driver(link)
            else:
                link = &link[0].next
    give_unwanted()


cdef void unlink_for_driver(PinnedBlock **link) noexcept:
    global unwanted
    cdef PinnedBlock *block = link[0]
    link[0] = block.next
    block.next = unwanted
    unwanted = block


def close():
    """At exit: frees what is idle. Memory of live CPU tensors stays, since they may be read until the very end."""
    global unwanted
    cdef int number
    for number in range(BUCKETS):
        while buckets[number].idle != NULL:
            if not buckets[number].idle.reserved:
                give_to_driver(buckets[number].idle)
            buckets[number].idle = buckets[number].idle.next
    while unwanted != NULL:
        give_to_driver(unwanted)
        unwanted = unwanted.next


# Tensors

@cython.final
@cython.no_gc
cdef class PinnedStorage(Storage):
    def __dealloc__(self):
        if self.block != NULL:
            release_pinned(self.block)


cdef Storage allocate_pinned(size_t nbytes):
    cdef PinnedStorage storage = PinnedStorage.__new__(PinnedStorage)
    storage.device_type = CPU
    if nbytes != 0:
        storage.block = take_pinned(nbytes)
        storage.data = <char *>storage.block.address
        storage.nbytes = nbytes
    return storage


def pin_memory(TensorBase tensor not None):
    """A copy of a CPU tensor in pinned memory; the tensor itself where it lies there already."""
    cdef TensorBase pinned
    if tensor.device_type != CPU:
        kind = ("npu" if tensor.device_type == NPU else "Meta") + code_name(tensor.dtype)
        raise RuntimeError(f"cannot pin '{kind}Type' only dense CPU tensors can be pinned")
    if isinstance(tensor.storage, PinnedStorage):
        return tensor
    pinned = pinned_like(empty_like_tensor(tensor, tensor.dtype, CPU, 0))
    BACKENDS[<int>CPU].copy(pinned, tensor, False)
    return pinned


def is_pinned(TensorBase tensor not None):
    return isinstance(tensor.storage, PinnedStorage) and tensor.storage.nbytes > 0


# Statistics

cdef dict counted(Stat *stat):
    return {"current": stat.current, "peak": stat.peak, "allocated": stat.allocated, "freed": stat.freed}


cdef dict timed(Times *times):
    return {"total": times.total, "max": times.longest, "min": times.shortest, "count": times.count,
            "avg": times.total // times.count if times.count else 0}


cdef Stat summed(bint nbytes) noexcept:
    """All buckets together; their peaks need not have been at one time."""
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


def nested_stats():
    """torch.npu.host_memory_stats_as_nested_dict()."""
    cdef Stat requests, nbytes
    if unwanted != NULL:
        give_unwanted()
    requests, nbytes = summed(False), summed(True)
    return {"num_host_alloc": blocks.allocated, "num_host_free": blocks.freed, "allocations": counted(&blocks),
            "active_requests": counted(&requests), "allocated_bytes": counted(&bytes_taken),
            "active_bytes": counted(&nbytes), "host_alloc_time": timed(&taking), "host_free_time": timed(&giving)}


def reset_accumulated():
    cdef int number
    for number in range(BUCKETS):
        forget_sums(&buckets[number].requests)
        forget_sums(&buckets[number].bytes)
    forget_sums(&blocks)
    forget_sums(&bytes_taken)
    taking.total = taking.count = giving.total = giving.count = 0


cdef void forget_sums(Stat *stat) noexcept:
    stat.allocated = stat.freed = 0


def reset_peak():
    cdef int number
    for number in range(BUCKETS):
        buckets[number].requests.peak = buckets[number].requests.current
        buckets[number].bytes.peak = buckets[number].bytes.current
    blocks.peak = blocks.current
    bytes_taken.peak = bytes_taken.current
    taking.longest = taking.shortest = giving.longest = giving.shortest = 0
