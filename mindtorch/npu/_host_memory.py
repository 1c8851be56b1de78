"""Statistics of pinned host memory: sizes in bytes, times in microseconds."""

from __future__ import annotations

from typing import Any

__all__ = ["host_memory_stats", "host_memory_stats_as_nested_dict", "reset_accumulated_host_memory_stats",
           "reset_peak_host_memory_stats"]


def host_memory_stats() -> dict[str, Any]:
    """All counters in one flat dictionary, as torch.cuda.host_memory_stats names them. Starts no device.

    `allocations` and `allocated_bytes` count memory from the driver, cached or not. `active_requests` and
    `active_bytes` count memory in use, also by pending copies.

    Example:
        >>> x = torch.ones(1000).pin_memory()
        >>> torch.npu.host_memory_stats()["allocated_bytes.current"] >= 4000
        True
    """
    from mindtorch._npu.segments import flatten
    return flatten(host_memory_stats_as_nested_dict())


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """The counters of host_memory_stats as nested dictionaries.

    Example:
        >>> torch.npu.host_memory_stats_as_nested_dict()["allocated_bytes"].keys()
        dict_keys(['current', 'peak', 'allocated', 'freed'])
    """
    from mindtorch._npu import host_memory
    return host_memory.stats_as_nested_dict()


def reset_accumulated_host_memory_stats() -> None:
    """Resets the totals of allocations, frees and times.

    Example:
        >>> torch.npu.reset_accumulated_host_memory_stats()
        >>> torch.npu.host_memory_stats()["allocated_bytes.allocated"]
        0
    """
    from mindtorch._npu import host_memory
    host_memory.reset_accumulated()


def reset_peak_host_memory_stats() -> None:
    """Sets every peak to the current value.

    Example:
        >>> torch.npu.reset_peak_host_memory_stats()
        >>> stats = torch.npu.host_memory_stats()
        >>> stats["allocated_bytes.peak"] == stats["allocated_bytes.current"]
        True
    """
    from mindtorch._npu import host_memory
    host_memory.reset_peak()
