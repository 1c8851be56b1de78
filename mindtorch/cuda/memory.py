"""torch.cuda.memory: there is none."""
from mindtorch.cuda import (
    MemPool,
    empty_cache,
    get_per_process_memory_fraction,
    host_memory_stats,
    host_memory_stats_as_nested_dict,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_stats_as_nested_dict,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)

__all__ = ["MemPool", "empty_cache", "get_per_process_memory_fraction", "host_memory_stats",
           "host_memory_stats_as_nested_dict", "max_memory_allocated", "max_memory_reserved", "mem_get_info",
           "memory_allocated", "memory_reserved", "memory_stats", "memory_stats_as_nested_dict",
           "reset_peak_memory_stats", "set_per_process_memory_fraction"]
