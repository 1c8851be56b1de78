"""torch.npu: devices, streams, events, memory and random numbers of Ascend NPUs. Importing it loads no CANN."""
from mindtorch.npu.autocast_utils import (
    get_amp_supported_dtype,
    get_autocast_dtype,
    is_autocast_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from mindtorch.npu.device import (
    _get_device_capability as _get_device_capability,
)
from mindtorch.npu.device import (
    _get_device_index as _get_device_index,
)
from mindtorch.npu.device import (
    _get_device_name as _get_device_name,
)
from mindtorch.npu.device import (
    _is_in_bad_fork as _is_in_bad_fork,
)
from mindtorch.npu.device import (
    _lazy_init as _lazy_init,
)
from mindtorch.npu.device import (
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    disable_peer_access,
    enable_peer_access,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_bf16_supported,
    is_initialized,
    set_device,
    synchronize,
    toolkit,
)
from mindtorch.npu.memory import (
    MemPool,
    NPUPluggableAllocator,
    caching_allocator_alloc,
    caching_allocator_delete,
    change_current_allocator,
    empty_cache,
    empty_virt_addr_cache,
    get_allocator_backend,
    get_per_process_memory_fraction,
    host_empty_cache,
    is_pinned,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    pin_memory,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
    use_mem_pool,
)
from mindtorch.npu.memory import (
    _erase_stream as _erase_stream,
)
from mindtorch.npu.memory import (
    _get_allocator as _get_allocator,
)
from mindtorch.npu.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from mindtorch.npu.streams import (
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
    stream_priority_range,
)

__all__ = [
    "Event", "MemPool", "NPUPluggableAllocator", "Stream", "StreamContext", "amp", "caching_allocator_alloc",
    "caching_allocator_delete", "can_device_access_peer", "change_current_allocator", "current_device",
    "current_stream", "default_stream", "device", "device_count", "device_of", "disable_peer_access", "empty_cache",
    "empty_virt_addr_cache", "enable_peer_access", "get_allocator_backend", "get_amp_supported_dtype",
    "get_autocast_dtype", "get_device_capability", "get_device_name", "get_device_properties",
    "get_per_process_memory_fraction", "get_rng_state", "get_rng_state_all", "host_empty_cache", "init",
    "initial_seed", "is_autocast_enabled", "is_available", "is_bf16_supported", "is_initialized", "is_pinned",
    "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_cached", "max_memory_reserved",
    "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved", "memory_snapshot", "memory_stats",
    "memory_stats_as_nested_dict", "memory_summary", "pin_memory", "reset_accumulated_memory_stats",
    "reset_max_memory_allocated", "reset_max_memory_cached", "reset_peak_memory_stats", "seed", "seed_all",
    "set_autocast_dtype", "set_autocast_enabled", "set_device", "set_per_process_memory_fraction", "set_rng_state",
    "set_rng_state_all", "set_stream", "stream", "stream_priority_range", "synchronize", "toolkit", "use_mem_pool",
]


def __getattr__(name):
    if name == "amp":
        import mindtorch.npu.amp as found
    elif name == "Stream":
        from mindtorch._npu.stream import Stream as found
    elif name == "Event":
        from mindtorch._npu.event import Event as found
    else:
        raise AttributeError(f"module 'mindtorch.npu' has no attribute '{name}'")
    globals()[name] = found
    return found
