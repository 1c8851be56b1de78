"""Private pools of device memory, and memory from other sources than the caching allocator."""
import ctypes
import itertools
import operator
from contextlib import contextmanager

from mindtorch.npu.device import _get_device_index, _lazy_init, is_initialized

_pool_numbers = itertools.count(1)


class NPUPluggableAllocator:
    """Memory from functions of a shared library, in place of the driver's.

    alloc: void *(size_t bytes, int device, aclrtStream stream); NULL where there is no room.
    free: void (void *pointer, size_t bytes, int device, aclrtStream stream).
    """

    def __init__(self, path_to_so_file, alloc_fn_name, free_fn_name):
        library = ctypes.CDLL(path_to_so_file)
        self._alloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(
            (alloc_fn_name, library))
        self._free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(
            (free_fn_name, library))

    def allocator(self):
        """The allocator itself, which is what MemPool takes."""
        return self

    def allocate(self, nbytes, device, stream):
        """The address of `nbytes` of memory for a stream given by its handle; 0 where there is no room."""
        return self._alloc(nbytes, device, stream) or 0

    def free(self, address, nbytes, device, stream):
        """Gives back what `allocate` gave."""
        self._free(address, nbytes, device, stream)


def change_current_allocator(allocator):
    """Takes all device memory from `allocator`, uncached. RuntimeError once a device's memory has been used."""
    from mindtorch._npu.allocator import set_first_source
    set_first_source(allocator.allocator())


def _get_current_allocator():
    """The NPUPluggableAllocator in use; None: the caching allocator."""
    from mindtorch._npu.allocator import first_source
    return first_source()


def get_allocator_backend():
    """"native": the caching allocator; "pluggable" after change_current_allocator."""
    return "native" if _get_current_allocator() is None else "pluggable"


def graph_pool_handle():
    """The id of a pool of memory that no other has, for graphs to share: (0, n)."""
    return 0, next(_pool_numbers)


class MemPool:
    """A pool of device memory of its own: with torch.npu.use_mem_pool(pool): ... allocates from it.

    `allocator` (an NPUPluggableAllocator) gives its memory, else the driver. `use_on_oom`: what is free in it serves
    others before they run out of memory. `no_split`: its blocks are whole segments. Its free memory goes back to the
    driver with the pool, the rest when it is freed and the cache is emptied.
    """

    def __init__(self, allocator=None, use_on_oom=False, no_split=False):
        if not isinstance(allocator, NPUPluggableAllocator | None):
            raise TypeError(f"allocator must be NPUPluggableAllocator, not {type(allocator).__name__}")
        for name, value in (("use_on_oom", use_on_oom), ("no_split", no_split)):
            if not isinstance(value, bool):
                raise TypeError(f"{name} must be bool, not {type(value).__name__}")
        _lazy_init()
        self._id = (0, next(_pool_numbers))
        self._source, self._use_on_oom, self._no_split = allocator, use_on_oom, no_split
        self._holders = {}                    # of devices that the pool has been used on
        self._hold(_get_device_index(None, optional=True))

    def _hold(self, index):
        from mindtorch import npu
        if index not in self._holders:
            self._holders[index] = npu._get_allocator(index)
            self._holders[index].hold_pool(self._id, self._source, self._use_on_oom, self._no_split)
        return self._holders[index]

    @property
    def id(self):
        """(0, n): the n-th pool of this process."""
        return self._id

    @property
    def allocator(self):
        """The NPUPluggableAllocator that gives the pool's memory; None: the driver does."""
        return self._source

    def use_count(self):
        """How many hold the pool: this object, and every use_mem_pool under way."""
        return max(holder.pool_uses(self._id) for holder in self._holders.values())

    def snapshot(self):
        """The pool's segments, as torch.npu.memory_snapshot has them."""
        return [segment for holder in self._holders.values() for segment in holder.snapshot(self._id)]

    def __del__(self):
        for holder in getattr(self, "_holders", {}).values():
            if is_initialized():
                holder.leave_pool(self._id)


@contextmanager
def use_mem_pool(pool, device=None):
    """Inside, what the calling thread allocates on `device` comes from `pool`, a MemPool."""
    number = pool.id
    holder = pool._hold(_get_device_index(device, optional=True))
    holder.route(number)
    try:
        yield
    finally:
        holder.unroute(number)


def caching_allocator_alloc(size, device=None, stream=None):
    """The address of `size` bytes of device memory, as an int, for code that manages memory itself.

    `stream` (None: the current one) owns it: a Stream or the handle of one. caching_allocator_delete gives it back.
    """
    from mindtorch import npu
    index = _get_device_index(device, optional=True)
    if stream is None:
        stream = npu.current_stream(index)
    if isinstance(stream, npu.Stream):
        stream = stream.npu_stream
    if not isinstance(stream, int):
        raise TypeError("Invalid type for stream argument, must be `torch.npu.Stream` or `int` representing a pointer "
                        f"to a existing stream, but got {type(stream).__name__}")
    from mindtorch._npu import raw_memory
    return raw_memory.allocate(operator.index(size), index, stream)


def caching_allocator_delete(mem_ptr):
    """Gives back the memory of caching_allocator_alloc. RuntimeError for any other address."""
    from mindtorch._npu import raw_memory
    raw_memory.release(mem_ptr)


@contextmanager
def _free_mutex():
    """Inside, only the calling thread gives device memory back to the driver; others wait."""
    from mindtorch._npu.segments import FREE_MUTEX
    with FREE_MUTEX:
        yield


def _erase_stream(tensor, stream):
    """Takes back tensor.record_stream(stream), once the current stream has waited for `stream` by itself."""
    from mindtorch._npu import raw_memory
    raw_memory.erase_stream(tensor, stream)
