"""torch.npu: devices, streams, events, memory and random numbers of Ascend NPUs. Importing it loads no CANN."""
from importlib import import_module as _import_module

from mindtorch.npu._host_memory import (
    host_memory_stats,
    host_memory_stats_as_nested_dict,
    reset_accumulated_host_memory_stats,
    reset_peak_host_memory_stats,
)
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
    _lazy_call as _lazy_call,
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
    ipc_collect,
    is_available,
    is_bf16_supported,
    is_initialized,
    set_device,
    synchronize,
    toolkit,
    utilization,
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
    _default_generators,
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
from mindtorch.npu.random import (
    _get_generator as _get_generator,
)
from mindtorch.npu.random import (
    _get_rng_state_offset as _get_rng_state_offset,
)
from mindtorch.npu.random import (
    _set_rng_state_offset as _set_rng_state_offset,
)
from mindtorch.npu.streams import (
    StreamContext,
    current_stream,
    default_stream,
    get_sync_debug_mode,
    set_stream,
    set_sync_debug_mode,
    stream,
    stream_priority_range,
)
from mindtorch.npu.streams import (
    _launch_host_func as _launch_host_func,
)
from mindtorch.npu.streams import (
    _sleep as _sleep,
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

__all__ += [
    "get_sync_debug_mode", "host_memory_stats", "host_memory_stats_as_nested_dict", "ipc_collect",
    "reset_accumulated_host_memory_stats", "reset_peak_host_memory_stats", "set_sync_debug_mode", "utilization"]

# Imported when they are first asked for: names by the module that has them.
_LAZY = {
    "mindtorch._npu.event": ("Event", "ExternalEvent"),
    "mindtorch._npu.stream": ("ExternalStream", "Stream", "SyncLaunchStream"),
    "mindtorch.npu._graphed_callables": ("make_graphed_callables",),
    "mindtorch.npu._memory_pools": ("graph_pool_handle",),
    "mindtorch.npu.graphs": (
        "NPUGraph", "graph", "graph_task_group_begin", "graph_task_group_end", "graph_task_update_begin",
        "graph_task_update_end", "is_current_stream_capturing"),
    "mindtorch.npu._legacy": (
        "BFloat16Storage", "BFloat16Tensor", "BoolStorage", "BoolTensor", "ByteStorage", "ByteTensor", "CharStorage",
        "CharTensor", "DoubleStorage", "DoubleTensor", "FloatStorage", "FloatTensor", "HalfStorage", "HalfTensor",
        "IntStorage", "IntTensor", "LongStorage", "LongTensor", "ShortStorage", "ShortTensor"),
    "mindtorch.npu._limits": (
        "get_device_limit", "get_stream_limit", "reset_stream_limit", "set_device_limit", "set_stream_limit"),
    "mindtorch.npu._mstx": ("mstx",),
    "mindtorch.npu._options": (
        "CubeMathType", "are_compatible_impl_enabled", "clear_npu_overflow_flag", "config", "conv",
        "current_blas_handle", "disable_deterministic_with_backward", "enable_deterministic_with_backward",
        "finalize_dump", "get_mm_bmm_format_nd", "get_task_queue_enable", "init_dump", "is_jit_compile_false",
        "matmul", "npurt", "set_compile_mode", "set_deterministic_level", "set_dump", "set_mm_bmm_format_nd",
        "set_op_timeout_ms", "set_option", "set_task_queue_enable", "use_compatible_impl"),
    "mindtorch.npu._repair": ("check_uce_in_memory", "restart_device", "stop_device"),
    "mindtorch.npu._unavailable": (
        "NpuGraphOpHandler", "get_npu_overflow_flag", "obfuscation_calculate", "obfuscation_finalize",
        "obfuscation_initialize", "register_npu_graph_handler", "set_aoe", "stress_detect",
        "super_kernel_scope_begin", "super_kernel_scope_end"),
}
_MODULE_OF = {name: module for module, names in _LAZY.items() for name in names}
__all__ += [name for name in _MODULE_OF if name not in __all__]


def __getattr__(name):
    if name == "default_generators":             # of those devices that are there now
        return _default_generators()
    if name == "amp":
        return _import_module("mindtorch.npu.amp")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mindtorch.npu' has no attribute '{name}'")
    found = globals()[name] = getattr(_import_module(_MODULE_OF[name]), name)
    return found
