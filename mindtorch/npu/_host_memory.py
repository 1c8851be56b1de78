"""Statistics of pinned host memory: sizes in bytes, times in microseconds."""

__all__ = ["host_memory_stats", "host_memory_stats_as_nested_dict", "reset_accumulated_host_memory_stats",
           "reset_peak_host_memory_stats"]


def host_memory_stats():
    """All counters in one flat dictionary, as torch.cuda.host_memory_stats names them. Starts no device.

    `allocations` and `allocated_bytes` are of what the driver gave, cached or not; `active_requests` and `active_bytes`
    of what is in use, or still waits for a copy.
    """
    from mindtorch._npu.stats import flatten
    return flatten(host_memory_stats_as_nested_dict())


def host_memory_stats_as_nested_dict():
    """The counters of host_memory_stats as dictionaries in dictionaries."""
    from mindtorch._npu import host_memory
    return host_memory.nested_stats()


def reset_accumulated_host_memory_stats():
    """Sets the sums of all allocations, frees and times to zero."""
    from mindtorch._npu import host_memory
    host_memory.reset_accumulated()


def reset_peak_host_memory_stats():
    """Sets every peak to the current figure."""
    from mindtorch._npu import host_memory
    host_memory.reset_peak()
