"""torch.npu: devices, streams, events, memory and random numbers of Ascend NPUs. Importing it loads no CANN."""
from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any

# Private names of torch_npu that programs call -> the module that has them.
_PRIVATE = {
    "device": ("_get_device_capability", "_get_device_index", "_get_device_name", "_is_in_bad_fork", "_lazy_call",
               "_lazy_init"),
    "memory": ("_erase_stream", "_get_allocator"),
    "random": ("_get_generator", "_get_rng_state_offset", "_set_rng_state_offset"),
    "streams": ("_launch_host_func", "_sleep"),
}

__all__ = ["amp"]
for _name in ("_host_memory", "autocast_utils", "device", "memory", "random", "streams"):
    _module = _import_module(f"mindtorch.npu.{_name}")
    _public = [name for name in _module.__all__ if not name.startswith("_")]
    globals().update({name: getattr(_module, name) for name in (*_public, *_PRIVATE.get(_name, ()))})
    __all__ += list(_public)

# Imported when they are first asked for: names by the module that has them.
_LAZY = {
    "mindtorch._npu.streams": ("Event", "ExternalEvent", "ExternalStream", "Stream", "SyncLaunchStream"),
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
        "executor_cache_stats", "finalize_dump", "get_mm_bmm_format_nd", "get_task_queue_enable", "init_dump",
        "is_jit_compile_false", "matmul", "npurt", "set_compile_mode", "set_deterministic_level", "set_dump",
        "set_mm_bmm_format_nd", "set_op_timeout_ms", "set_option", "set_task_queue_enable", "use_compatible_impl"),
    "mindtorch.npu._repair": ("check_uce_in_memory", "restart_device", "stop_device"),
    "mindtorch.npu._unavailable": (
        "NpuGraphOpHandler", "get_npu_overflow_flag", "obfuscation_calculate", "obfuscation_finalize",
        "obfuscation_initialize", "register_npu_graph_handler", "set_aoe", "stress_detect",
        "super_kernel_scope_begin", "super_kernel_scope_end"),
}
_MODULE_OF = {name: module for module, names in _LAZY.items() for name in names}
__all__ += list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name == "default_generators":             # of those devices that are there now
        return _import_module("mindtorch.npu.random")._default_generators()
    if name == "_initialized":
        return is_initialized()      # noqa: F821 - the loop above defines it
    if name == "amp":
        return _import_module("mindtorch.npu.amp")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'mindtorch.npu' has no attribute '{name}'")
    found = globals()[name] = getattr(_import_module(_MODULE_OF[name]), name)
    return found
