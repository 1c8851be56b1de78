# ruff: noqa: F822 - the names of __all__ come from torch.cuda, below
"""torch.cuda.memory: there is none."""
from mindtorch import cuda

__all__ = ["MemPool", "_record_memory_history", "_snapshot", "empty_cache", "get_per_process_memory_fraction",
           "host_memory_stats", "host_memory_stats_as_nested_dict", "max_memory_allocated", "max_memory_reserved",
           "mem_get_info", "memory_allocated", "memory_reserved", "memory_stats", "memory_stats_as_nested_dict",
           "reset_peak_memory_stats", "set_per_process_memory_fraction"]
globals().update({name: getattr(cuda, name) for name in __all__})
