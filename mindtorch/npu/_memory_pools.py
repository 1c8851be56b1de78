"""Private pools of device memory, pluggable allocators, and memory by address."""
from __future__ import annotations

import ctypes
import itertools
import operator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mindtorch.npu.device import _get_device_index, _lazy_init, is_initialized

if TYPE_CHECKING:
    from mindtorch.types import Device

_pool_numbers = itertools.count(1)


class NPUPluggableAllocator:
    """An allocator with functions from a shared library.

    alloc: void *(size_t bytes, int device, aclrtStream stream); NULL when out of memory.
    free: void (void *pointer, size_t bytes, int device, aclrtStream stream).

    Arguments:
        path_to_so_file: the path of the shared library
        alloc_fn_name: the name of its function that allocates
        free_fn_name: the name of its function that frees

    Example:
        >>> library = f"{torch.npu.toolkit().root}/lib64/libascendcl.so"        # or one of your own
        >>> allocator = torch.npu.NPUPluggableAllocator(library, "aclrtMalloc", "aclrtFree")
    """

    def __init__(self, path_to_so_file: Any, alloc_fn_name: Any, free_fn_name: Any) -> None:
        library = ctypes.CDLL(path_to_so_file)
        self._alloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(
            (alloc_fn_name, library))
        self._free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(
            (free_fn_name, library))

    def allocator(self) -> Any:
        """The allocator itself, as MemPool takes it."""
        return self

    def allocate(self, nbytes: Any, device: Device, stream: Any) -> Any:
        """The address of `nbytes` of memory for a stream handle; 0 when out of memory."""
        return self._alloc(nbytes, device, stream) or 0

    def free(self, address: Any, nbytes: Any, device: Device, stream: Any) -> None:
        """Frees what `allocate` returned."""
        self._free(address, nbytes, device, stream)


def change_current_allocator(allocator: Any) -> None:
    """Replaces the caching allocator by `allocator`. RuntimeError after the first allocation.

    Example:
        >>> library = f"{torch.npu.toolkit().root}/lib64/libascendcl.so"        # or one of your own
        >>> allocator = torch.npu.NPUPluggableAllocator(library, "aclrtMalloc", "aclrtFree")
        >>> x = torch.ones(1, device="npu")
        >>> try:
        ...     torch.npu.change_current_allocator(allocator)
        ... except RuntimeError:
        ...     print("too late: memory has been allocated")
        too late: memory has been allocated
    """
    from mindtorch._npu.allocator import set_pluggable_allocator
    set_pluggable_allocator(allocator.allocator())


def _get_current_allocator():
    """The NPUPluggableAllocator in use; None: the caching allocator."""
    from mindtorch._npu.allocator import pluggable_allocator
    return pluggable_allocator()


def get_allocator_backend() -> str:
    """"native": the caching allocator; "pluggable" after change_current_allocator.

    Example:
        >>> torch.npu.get_allocator_backend()
        'native'
    """
    return "native" if _get_current_allocator() is None else "pluggable"


def graph_pool_handle() -> Any:
    """A new id of a memory pool, (0, n), that graphs can share.

    Example:
        >>> len(torch.npu.graph_pool_handle())
        2
    """
    return 0, next(_pool_numbers)


class MemPool:
    """A private pool of device memory: with torch.npu.use_mem_pool(pool): ... allocates from it.

    `allocator` (an NPUPluggableAllocator) provides its memory, by default the driver. `use_on_oom`: allocations outside
    the pool may use its free memory before they run out of memory. `no_split`: a block is a whole segment. The pool
    returns its free memory to the driver when it is deleted, the rest once it is freed and the cache is emptied.

    Arguments:
        use_on_oom: whether other allocations may take memory of the pool before they fail
        no_split: whether blocks are given whole

    Example:
        >>> pool = torch.npu.MemPool()
        >>> with torch.npu.use_mem_pool(pool):
        ...     x = torch.ones(1000, device="npu")
        >>> sum(segment["allocated_size"] for segment in pool.snapshot()) >= 4000
        True
    """

    def __init__(self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False) -> None:
        if not isinstance(allocator, NPUPluggableAllocator | None):
            raise TypeError(f"allocator must be NPUPluggableAllocator, not {type(allocator).__name__}")
        for name, value in (("use_on_oom", use_on_oom), ("no_split", no_split)):
            if not isinstance(value, bool):
                raise TypeError(f"{name} must be bool, not {type(value).__name__}")
        _lazy_init()
        self._id = (0, next(_pool_numbers))
        self._source, self._use_on_oom, self._no_split = allocator, use_on_oom, no_split
        self._allocators = {}                    # of devices that the pool has been used on
        self._acquire(_get_device_index(None, optional=True))

    def _acquire(self, index):
        from mindtorch import npu
        if index not in self._allocators:
            self._allocators[index] = npu._get_allocator(index)
            self._allocators[index].acquire_pool(self._id, self._source, self._use_on_oom, self._no_split)
        return self._allocators[index]

    @property
    def id(self) -> tuple[int, int]:
        """(0, n), unique in this process."""
        return self._id

    @property
    def allocator(self) -> Any:
        """The NPUPluggableAllocator of the pool; None: the driver."""
        return self._source

    def use_count(self) -> int:
        """The number of users of the pool: this object and every active use_mem_pool."""
        return max(allocator.pool_use_count(self._id) for allocator in self._allocators.values())

    def snapshot(self) -> Any:
        """The pool's segments, as torch.npu.memory_snapshot has them."""
        return [segment for allocator in self._allocators.values() for segment in allocator.snapshot(self._id)]

    def __del__(self) -> None:
        for allocator in getattr(self, "_allocators", {}).values():
            if is_initialized():
                allocator.release_pool(self._id)


@contextmanager
def use_mem_pool(pool: MemPool, device: Device = None) -> Any:
    """Context manager: allocations of the calling thread on `device` come from `pool`, a MemPool.

    Example:
        >>> pool = torch.npu.MemPool()
        >>> with torch.npu.use_mem_pool(pool):
        ...     x = torch.ones(1000, device="npu")
        >>> len(pool.snapshot())
        1
    """
    number = pool.id
    allocator = pool._acquire(_get_device_index(device, optional=True))
    allocator.begin_allocate_to_pool(number)
    try:
        yield
    finally:
        allocator.end_allocate_to_pool(number)


def caching_allocator_alloc(size: Any, device: Device = None, stream: Any = None) -> Any:
    """The address of `size` bytes of device memory, as an int, for code that manages memory itself.

    `stream` (None: the current one) is a Stream or a stream handle. Free it by caching_allocator_delete.

    Arguments:
        size: the number of bytes

    Example:
        >>> address = torch.npu.caching_allocator_alloc(1024)
        >>> address % 512
        0
        >>> torch.npu.caching_allocator_delete(address)
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
    from mindtorch._npu import allocator
    return allocator.allocate_raw(operator.index(size), index, stream)


def caching_allocator_delete(mem_ptr: Any) -> None:
    """Frees the memory of caching_allocator_alloc. RuntimeError for any other address.

    Arguments:
        mem_ptr: an address that caching_allocator_alloc returned

    Example:
        >>> torch.npu.caching_allocator_delete(torch.npu.caching_allocator_alloc(1024))
    """
    from mindtorch._npu import allocator
    allocator.release_raw(mem_ptr)


@contextmanager
def _free_mutex():
    """Context manager: other threads that return device memory to the driver wait until its end."""
    from mindtorch._npu.segments import FREE_MUTEX
    with FREE_MUTEX:
        yield


def _erase_stream(tensor, stream):
    """Undoes tensor.record_stream(stream), for programs that synchronized the current stream with `stream`."""
    from mindtorch._npu import allocator
    allocator.erase_stream(tensor, stream)
