"""torch.mtia as in a torch that was built without MTIA: there is no such device."""
from mindtorch._compat.absent_device import raising, returning

_HOOKS = {
    "attach_out_of_memory_observer": "attachOutOfMemoryObserver", "current_device": "getCurrentDevice",
    "current_stream": "getCurrentDevice", "default_stream": "getCurrentDevice", "empty_cache": "emptyCache",
    "get_device_capability": "getCurrentDevice", "get_device_properties": "getCurrentDevice",
    "graph_pool_handle": "graphPoolHandle", "set_device": "setCurrentDevice", "set_rng_state": "getCurrentDevice",
    "snapshot": "memorySnapshot", "stream": "getCurrentDevice", "synchronize": "getCurrentDevice"}
_ANSWERS = {
    "device_count": int, "get_rng_state_all": list, "is_available": bool, "is_bf16_supported": lambda: True,
    "is_initialized": bool, "manual_seed": lambda: None, "manual_seed_all": lambda: None,
    "max_memory_allocated": int, "memory_allocated": int, "memory_stats": dict, "record_memory_history": lambda: None,
    "reset_peak_memory_stats": lambda: None, "seed": lambda: None, "seed_all": lambda: None,
    "set_rng_state_all": lambda: None}
_NOT_COMPILED = AssertionError(
    "Torch not compiled with MTIA enabled. Ensure you have `import mtia.host_runtime.torch_mtia.dynamic_library` in "
    "your python src file and include `//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!")

globals().update({name: returning("torch.mtia", name, make) for name, make in _ANSWERS.items()})
globals().update({name: raising("torch.mtia", name, RuntimeError(f"Cannot execute {hook}() without MTIA backend."))
                  for name, hook in _HOOKS.items()})
init, get_rng_state, initial_seed = (raising("torch.mtia", name, _NOT_COMPILED)
                                     for name in ("init", "get_rng_state", "initial_seed"))
