"""Pinned host memory, cached: a freed block serves the next request of its size, a power of two.

A block that a stream still copies from or to has a reference for that copy, so it is never reused too early.
"""
cimport cython
from libc.stdlib cimport calloc, free

from mindtorch._core.device cimport BACKENDS, CPU, require_backend
from mindtorch._core.dtype cimport ITEMSIZE
from mindtorch._core.tensor cimport Storage, TensorBase, make_tensor
from mindtorch._npu.deferred cimport defer, drain, waiting
from mindtorch._npu.errors cimport check
from mindtorch._npu.handles cimport bind_device, thread_state, wait_for_stream
from mindtorch._npu.symbols cimport api


cdef enum:
    SMALLEST = 9                     # log2 of bytes
    SIZES = 48

cdef PinnedBlock *IDLE[SIZES]
cdef size_t reserved = 0             # bytes taken from the driver


cdef int size_class(size_t nbytes) noexcept:
    cdef int number = SMALLEST
    while (<size_t>1 << number) < nbytes:
        number += 1
    return number


cdef int use_any_device() except -1:
    # Pinned memory belongs to no device, but the driver wants a current context.
    return 0 if thread_state().bound >= 0 else bind_device(thread_state().device)


cdef PinnedBlock *take_pinned(size_t nbytes) except NULL:
    global reserved
    cdef int number
    cdef PinnedBlock *block
    if nbytes > <size_t>1 << (SIZES - 1):
        raise MemoryError(f"cannot pin {nbytes} bytes of host memory")
    if waiting != 0:
        drain()
    number = size_class(nbytes)
    block = IDLE[number]
    if block != NULL:
        IDLE[number] = block.next
    else:
        use_any_device()
        block = <PinnedBlock *>calloc(1, sizeof(PinnedBlock))
        if block == NULL:
            raise MemoryError()
        block.size = <size_t>1 << number
        try:
            with nogil:
                check(api.aclrtMallocHost(&block.address, block.size), b"aclrtMallocHost")
        except BaseException:
            free(block)
            raise
        reserved += block.size
    block.references = 1
    return block


cdef void release_pinned(PinnedBlock *block) noexcept:
    cdef int number
    block.references -= 1
    if block.references == 0:
        number = size_class(block.size)
        block.next = IDLE[number]
        IDLE[number] = block


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


@cython.final
@cython.no_gc
cdef class PinnedStorage(Storage):
    def __dealloc__(self):
        if self.block != NULL:
            release_pinned(self.block)


def pin_memory(TensorBase tensor not None):
    """A copy of a CPU tensor in pinned memory; the tensor itself where it lies there already."""
    cdef PinnedStorage storage
    cdef TensorBase pinned
    if tensor.device_type != CPU:
        raise RuntimeError(f"cannot pin '{type(tensor).__name__}' on npu:{tensor.device_index}: "
                           "only dense CPU tensors can be pinned")
    if isinstance(tensor.storage, PinnedStorage):
        return tensor
    storage = PinnedStorage.__new__(PinnedStorage)
    storage.nbytes = tensor.numel * ITEMSIZE[<int>tensor.dtype]
    storage.device_type = CPU
    if storage.nbytes != 0:
        storage.block = take_pinned(storage.nbytes)
        storage.data = <char *>storage.block.address
    pinned = make_tensor(storage, tensor.dtype, tensor.ndim, tensor.sizes, NULL, 0)
    require_backend(CPU)
    BACKENDS[<int>CPU].copy(pinned, tensor, False)
    return pinned


def is_pinned(TensorBase tensor not None):
    return isinstance(tensor.storage, PinnedStorage)


def release_idle():
    """Gives the pinned memory that nobody uses back to the driver."""
    global reserved
    cdef PinnedBlock *block
    cdef int number, status
    use_any_device()
    for number in range(SIZES):
        while IDLE[number] != NULL:
            block = IDLE[number]
            IDLE[number] = block.next
            with nogil:
                status = api.aclrtFreeHost(block.address)
            if status != 0:
                block.next = IDLE[number]
                IDLE[number] = block
                check(status, b"aclrtFreeHost")
            reserved -= block.size
            free(block)


def reserved_bytes():
    """Bytes of pinned memory taken from the driver, in use or idle."""
    return reserved


def close():
    """At exit: frees what is idle. Memory of live CPU tensors stays, since they may be read until the very end."""
    cdef int number
    for number in range(SIZES):
        while IDLE[number] != NULL:
            api.aclrtFreeHost(IDLE[number].address)
            IDLE[number] = IDLE[number].next
