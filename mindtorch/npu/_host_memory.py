"""Figures of pinned host memory: sizes in bytes, times in microseconds. There are none before a device is used."""
from collections import OrderedDict

from mindtorch.npu.device import is_initialized


def host_memory_stats():
    """All counters in one flat dictionary, as torch.cuda.host_memory_stats names them; empty before the first use.

    `allocations` and `allocated_bytes` are of what the driver gave, cached or not; `active_requests` and `active_bytes`
    of what is in use, or still waits for a copy.
    """
    if not is_initialized():
        return OrderedDict()
    from mindtorch._npu.allocator import flatten
    return flatten(host_memory_stats_as_nested_dict())


def host_memory_stats_as_nested_dict():
    """The counters of host_memory_stats as dictionaries in dictionaries."""
    if not is_initialized():
        return {}
    from mindtorch._npu import host_memory
    return host_memory.nested_stats()


def reset_accumulated_host_memory_stats():
    """Sets the sums of all allocations, frees and times to zero."""
    if is_initialized():
        from mindtorch._npu import host_memory
        host_memory.reset_accumulated()


def reset_peak_host_memory_stats():
    """Sets every peak to the current figure."""
    if is_initialized():
        from mindtorch._npu import host_memory
        host_memory.reset_peak()
