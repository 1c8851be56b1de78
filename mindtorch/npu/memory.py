"""Memory of the devices: what is in use, what is cached, and pinned host memory. Sizes are bytes."""
from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict
from typing import TYPE_CHECKING, Any

from mindtorch import npu
from mindtorch._core.tensor.factories import clear_constants as _forget_constants
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.npu._memory_history import (
    _dump_snapshot,
    _record_memory_history,
    _save_memory_usage,
    _save_segment_usage,
    _snapshot,
    memory_snapshot,
)
from mindtorch.npu._memory_pools import (
    MemPool,
    NPUPluggableAllocator,
    _erase_stream,
    _free_mutex,
    _get_current_allocator,
    caching_allocator_alloc,
    caching_allocator_delete,
    change_current_allocator,
    get_allocator_backend,
    use_mem_pool,
)
from mindtorch.npu.device import _get_device_index, _lazy_init, _valid_index, is_initialized

if TYPE_CHECKING:
    from mindtorch.types import Device

__all__ = [
    "MemPool", "NPUPluggableAllocator", "_dump_snapshot", "_erase_stream", "_free_mutex", "_get_current_allocator",
    "_record_memory_history", "_save_memory_usage", "_save_segment_usage", "_snapshot", "caching_allocator_alloc",
    "caching_allocator_delete", "change_current_allocator", "empty_cache", "empty_virt_addr_cache",
    "get_allocator_backend", "get_per_process_memory_fraction", "host_empty_cache", "is_pinned", "max_memory_allocated",
    "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved",
    "memory_snapshot", "memory_stats", "memory_stats_as_nested_dict", "memory_summary", "pin_memory",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats", "set_per_process_memory_fraction", "use_mem_pool",
]


class _UninitializedAllocator:
    """The allocator before the first use of a device: its statistics are empty, as in torch."""

    _stats = defaultdict(int)

    def memory_stats(self) -> Any:
        return OrderedDict()

    def stats_as_nested_dict(self) -> Any:
        return {}

    def snapshot(self, mempool_id: Any = None) -> Any:
        return []

    def reset_peak(self) -> Any:
        """Does nothing."""

    def reset_accumulated(self) -> Any:
        """Does nothing."""


def _get_allocator(device=None):
    """The allocator of a device, which is not started for it; RuntimeError for a device that does not exist."""
    if not is_initialized():
        return _UninitializedAllocator()
    from mindtorch._npu import allocator, runtime
    index = _get_device_index(device, optional=True)
    runtime.require_device(index)
    return allocator.get_allocator(index)


def _allocators():
    """The allocators of the devices that have been started."""
    if not is_initialized():
        return []
    from mindtorch._npu import allocator, runtime
    return [allocator.get_allocator(index) for index in runtime.started_devices()]


def memory_stats(device: Device = None) -> dict[str, Any]:
    """All counters in one flat dictionary, as torch.cuda.memory_stats names them; empty before the first use.

    Example:
        >>> x = torch.ones(1000, device="npu")
        >>> torch.npu.memory_stats()["allocated_bytes.all.current"] == torch.npu.memory_allocated()
        True
    """
    return npu._get_allocator(device).memory_stats()


def memory_stats_as_nested_dict(device: Device = None) -> dict[str, Any]:
    """The counters of memory_stats as nested dictionaries.

    Example:
        >>> x = torch.ones(1000, device="npu")
        >>> torch.npu.memory_stats_as_nested_dict()["allocated_bytes"]["all"].keys()
        dict_keys(['current', 'peak', 'allocated', 'freed'])
    """
    return npu._get_allocator(device).stats_as_nested_dict()


def memory_allocated(device: Device = None) -> int:
    """Bytes that tensors occupy now. Workspaces of operators count during the launch, so they show in the peak.

    Example:
        >>> before = torch.npu.memory_allocated()
        >>> x = torch.ones(128, device="npu")
        >>> torch.npu.memory_allocated() - before >= x.nbytes
        True
    """
    return npu._get_allocator(device)._stats["allocated_bytes.all.current"]


def max_memory_allocated(device: Device = None) -> int:
    """The peak of memory_allocated since the start or the last reset_peak_memory_stats.

    Example:
        >>> before = torch.npu.memory_allocated()
        >>> torch.npu.reset_peak_memory_stats()
        >>> x = torch.ones(1000, device="npu")
        >>> del x
        >>> torch.npu.max_memory_allocated() - before >= 4000, torch.npu.memory_allocated() - before
        (True, 0)
    """
    return npu._get_allocator(device)._stats["allocated_bytes.all.peak"]


def memory_reserved(device: Device = None) -> int:
    """Bytes that the allocator holds, in use or cached.

    Example:
        >>> x = torch.ones(128, device="npu")
        >>> torch.npu.memory_reserved() >= torch.npu.memory_allocated()
        True
    """
    return npu._get_allocator(device)._stats["reserved_bytes.all.current"]


def max_memory_reserved(device: Device = None) -> int:
    """The peak of memory_reserved since the start or the last reset_peak_memory_stats.

    Example:
        >>> torch.npu.max_memory_reserved() >= torch.npu.memory_reserved()
        True
    """
    return npu._get_allocator(device)._stats["reserved_bytes.all.peak"]


def reset_peak_memory_stats(device: Device = None) -> None:
    """Sets every peak to the current value.

    Example:
        >>> torch.npu.reset_peak_memory_stats()
        >>> torch.npu.max_memory_allocated() == torch.npu.memory_allocated()
        True
    """
    npu._get_allocator(device).reset_peak()


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Resets the totals of allocations and frees and the numbers of retries and out-of-memory errors.

    Example:
        >>> torch.npu.reset_accumulated_memory_stats()
        >>> torch.npu.memory_stats()["allocation.all.allocated"]
        0
    """
    npu._get_allocator(device).reset_accumulated()


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """(free, total) bytes of the device, from the driver. AssertionError for a device that does not exist.

    Example:
        >>> free, total = torch.npu.mem_get_info()
        >>> free <= total
        True
    """
    index = _valid_index(device)
    _lazy_init()
    return npu._get_allocator(index)._mem_get_info()


def empty_cache() -> None:
    """Returns all cached memory of all devices to the driver; also pinned host memory, and idle streams and events.

    Example:
        >>> x = torch.ones(1000, device="npu")
        >>> del x
        >>> torch.npu.empty_cache()
    """
    if not is_initialized():
        return
    from mindtorch._npu import host_memory, runtime, streams
    _forget_constants()
    for allocator in _allocators():
        allocator.empty_cache()
    for index in runtime.started_devices():
        streams.destroy_idle(index)
    host_memory.free_idle_blocks()


def host_empty_cache() -> None:
    """Returns unused pinned host memory to the driver.

    Example:
        >>> torch.npu.host_empty_cache()
    """
    if is_initialized():
        from mindtorch._npu import host_memory
        host_memory.free_idle_blocks()


def set_per_process_memory_fraction(fraction: Any, device: Device = None) -> None:
    """Limits what this process may take from the device to `fraction` of its memory; 1.0 removes the limit.

    Arguments:
        fraction: the share of the NPU's memory, from 0 to 1

    Example:
        >>> torch.npu.set_per_process_memory_fraction(0.5)
        >>> torch.npu.get_per_process_memory_fraction()
        0.5
        >>> torch.npu.set_per_process_memory_fraction(1.0)
    """
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _lazy_init()
    npu._get_allocator(device).set_memory_fraction(fraction)


def get_per_process_memory_fraction(device: Device = None) -> float:
    """The limit of set_per_process_memory_fraction; 1.0 where there is none.

    Example:
        >>> torch.npu.get_per_process_memory_fraction()
        1.0
    """
    _lazy_init()
    return npu._get_allocator(device).memory_fraction()


def pin_memory(tensor: Any) -> None:
    """A copy of a CPU tensor in pinned memory. Copies from pinned memory to the device can be asynchronous.

    Example:
        >>> torch.npu.pin_memory(torch.ones(2)).is_pinned()
        True
    """
    from mindtorch._npu import host_memory
    return host_memory.pin_memory(tensor)


def is_pinned(tensor: Any) -> Any:
    """Whether a tensor is in pinned host memory.

    Example:
        >>> torch.npu.is_pinned(torch.ones(2)), torch.npu.is_pinned(torch.ones(2).pin_memory())
        (False, True)
    """
    from mindtorch._npu import host_memory
    return host_memory.is_pinned(tensor)


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """memory_stats as a readable table, in the layout of torch_npu.

    Arguments:
        abbreviated: whether the table has fewer rows

    Example:
        >>> "Allocated memory" in torch.npu.memory_summary(abbreviated=True)
        True
    """
    from mindtorch.npu._memory_summary import summary
    stats = memory_stats(device)
    return summary(stats, _get_device_index(device, optional=True), abbreviated)


def memory_cached(device: Device = None) -> int:
    """memory_reserved under its former name.

    Example:
        >>> torch.npu.memory_cached() == torch.npu.memory_reserved()
        True
    """
    _warn_old("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: Device = None) -> int:
    """max_memory_reserved under its former name.

    Example:
        >>> torch.npu.max_memory_cached() == torch.npu.max_memory_reserved()
        True
    """
    _warn_old("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def reset_max_memory_allocated(device: Device = None) -> None:
    """reset_peak_memory_stats under a former name: resets every peak.

    Example:
        >>> torch.npu.reset_max_memory_allocated()
        >>> torch.npu.max_memory_allocated() == torch.npu.memory_allocated()
        True
    """
    _warn_old("reset_max_memory_allocated", "reset_peak_memory_stats")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Device = None) -> None:
    """reset_peak_memory_stats under a former name: resets every peak.

    Example:
        >>> torch.npu.reset_max_memory_cached()
        >>> torch.npu.max_memory_reserved() == torch.npu.memory_reserved()
        True
    """
    _warn_old("reset_max_memory_cached", "reset_peak_memory_stats")
    reset_peak_memory_stats(device)


def _warn_old(name, instead):
    warnings.warn(f"torch.npu.{name} is now torch.npu.{instead}", DeprecationWarning, stacklevel=3)


def _set_allocator_settings(settings):
    """Changes those settings of PYTORCH_NPU_ALLOC_CONF that alloc_config.CHANGEABLE lists, at run time."""
    from mindtorch._npu import alloc_config, segments
    config = alloc_config.parse(settings, segments.current_settings, alloc_config.CHANGEABLE)
    if is_initialized():
        npu.synchronize()
    segments.apply_settings(config)
    if config.per_process_memory_fraction is not None:
        for allocator in _allocators():
            allocator.set_memory_fraction(config.per_process_memory_fraction)


def empty_virt_addr_cache() -> None:
    """Releases cached virtual addresses of expandable segments. The physical memory stays with the process.

    Example:
        >>> try:
        ...     torch.npu.empty_virt_addr_cache()
        ... except RuntimeError:
        ...     print("there are no such addresses without PYTORCH_NPU_ALLOC_CONF=expandable_segments:True")
        there are no such addresses without PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
    """
    from mindtorch._npu import segments
    if not segments.current_settings.expandable_segments:
        raise RuntimeError("empty_virt_addr_cache needs expandable_segments:True in PYTORCH_NPU_ALLOC_CONF")
    for allocator in _allocators():
        allocator.empty_virt_addr_cache()


def _attach_out_of_memory_observer(observer):
    """Calls observer(device, bytes asked for, limit, free bytes) before every torch.OutOfMemoryError of a device."""
    if not callable(observer):
        raise TypeError(f"'{type(observer).__name__}' object is not callable")
    from mindtorch._npu.allocator import OOM_OBSERVERS
    OOM_OBSERVERS.append(observer)


_complete_docstrings(globals(), "npu")
