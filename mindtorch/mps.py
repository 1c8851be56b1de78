"""torch.mps as in a torch that was built without MPS: there is no such device."""
from mindtorch._compat.absent_device import raising, returning

__path__ = []       # modules below it come from the table of refusals

__all__ = ["compile_shader", "current_allocated_memory", "device_count", "driver_allocated_memory", "empty_cache",
           "get_rng_state", "is_available", "manual_seed", "recommended_max_memory", "seed",
           "set_per_process_memory_fraction", "set_rng_state", "synchronize"]


def _refused(name, hook):
    return raising("torch.mps", name, RuntimeError(f"Cannot execute {hook}() without MPS backend."))


is_available = returning("torch.mps", "is_available", bool)
device_count = returning("torch.mps", "device_count", int)
manual_seed = returning("torch.mps", "manual_seed")
compile_shader = raising("torch.mps", "compile_shader", RuntimeError("MPS is not available"))
current_allocated_memory = _refused("current_allocated_memory", "getCurrentAllocatedMemory")
driver_allocated_memory = _refused("driver_allocated_memory", "getDriverAllocatedMemory")
empty_cache = _refused("empty_cache", "emptyCache")
get_rng_state = _refused("get_rng_state", "getDefaultGenerator")
recommended_max_memory = _refused("recommended_max_memory", "getRecommendedMaxMemory")
seed = _refused("seed", "getDefaultGenerator")
set_per_process_memory_fraction = _refused("set_per_process_memory_fraction", "setMemoryFraction")
set_rng_state = _refused("set_rng_state", "getDefaultGenerator")
synchronize = _refused("synchronize", "deviceSynchronize")
