"""torch.cuda as in a torch that was built without CUDA: there is no such device."""
from collections import OrderedDict
from importlib import import_module

from mindtorch._core.errors import OutOfMemoryError  # noqa: F401 - torch has it here too

_MESSAGE = "Torch not compiled with CUDA enabled"

has_half = has_magma = False
default_generators = ()


def is_available():
    """False."""
    return False


def is_initialized():
    """False."""
    return False


def device_count():
    """0."""
    return 0


def is_bf16_supported(including_emulation=True):
    """False."""
    return False


def is_tf32_supported():
    """False."""
    return False


def get_arch_list():
    """No architectures."""
    return []


def get_rng_state_all():
    """The states of no generators."""
    return []


def memory_stats(device=None):
    """No counters."""
    return OrderedDict()


def _nothing(name):
    def call(*args, **kwargs):
        """Does nothing where there is no CUDA."""
    call.__name__ = call.__qualname__ = name
    return call


def _zero(name):
    def call(device=None):
        """0 bytes."""
        return 0
    call.__name__ = call.__qualname__ = name
    return call


def _refused(name):
    def call(*args, **kwargs):
        """AssertionError: there is no CUDA."""
        raise AssertionError(_MESSAGE)
    call.__name__ = call.__qualname__ = name
    return call


globals().update({name: _nothing(name) for name in (
    "empty_cache", "manual_seed", "manual_seed_all", "seed", "seed_all")})
globals().update({name: _zero(name) for name in (
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved")})
globals().update({name: _refused(name) for name in (
    "can_device_access_peer", "cudart", "current_blas_handle", "current_device", "current_stream", "default_stream",
    "get_device_capability", "get_device_name", "get_device_properties", "get_per_process_memory_fraction",
    "get_rng_state", "get_sync_debug_mode", "init", "initial_seed", "ipc_collect", "mem_get_info",
    "reset_peak_memory_stats", "set_device", "set_per_process_memory_fraction", "set_rng_state",
    "set_sync_debug_mode", "synchronize")})


class device:
    """with torch.cuda.device(-1): ... changes nothing; any device is refused on entry."""

    def __init__(self, device):
        self.idx = device

    def __enter__(self):
        if not isinstance(self.idx, int) or self.idx >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support")

    def __exit__(self, *exception):
        return False


def __getattr__(name):
    if name == "amp":
        return import_module("mindtorch.cuda.amp")
    raise AttributeError(f"module 'mindtorch.cuda' has no attribute '{name}'")
