"""torch.cuda as in a torch that was built without CUDA: there is no such device."""
from __future__ import annotations

import sys
from collections import OrderedDict
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mindtorch import _backend
from mindtorch._compat.absent_device import StreamContext, abstract_class, common_functions, raising, returning
from mindtorch._core.errors import OutOfMemoryError  # noqa: F401 - torch has it here too

if TYPE_CHECKING:
    from mindtorch import Stream

_REFUSED = AssertionError("Torch not compiled with CUDA enabled")
_SUBMODULES = ("amp", "comm", "graphs", "memory", "nccl", "nvtx", "profiler", "random", "sparse", "streams")
_TYPES = ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")

has_half = has_magma = False
default_generators = ()

globals().update(common_functions("torch.cuda", _REFUSED))
host_memory_stats = returning("torch.cuda", "host_memory_stats", OrderedDict)
host_memory_stats_as_nested_dict = returning("torch.cuda", "host_memory_stats_as_nested_dict", dict)
globals().update({name: returning("torch.cuda", name, int) for name in ("max_memory_cached", "memory_cached")})
globals().update({name: returning("torch.cuda", name)
                  for name in ("reset_max_memory_allocated", "reset_max_memory_cached")})
memory_summary = returning("torch.cuda", "memory_summary", str)
_initialized = False
_is_in_bad_fork = returning("torch.cuda", "_is_in_bad_fork", bool)
_lazy_call = returning("torch.cuda", "_lazy_call")             # it would run when CUDA starts, which it never does
globals().update({name: raising("torch.cuda", name, _REFUSED) for name in (
    "_lazy_init", "_record_memory_history", "_sleep", "_snapshot", "check_error", "cudart", "get_stream_from_external",
    "set_stream", "current_blas_handle", "current_solver_handle", "default_stream", "get_sync_debug_mode",
    "ipc_collect", "reset_peak_memory_stats", "set_sync_debug_mode")})

# What torch asks NVIDIA's management library, which is not there either.
globals().update({name: raising("torch.cuda", name, ModuleNotFoundError(
    "nvidia-ml-py does not seem to be installed or it can't be imported."))
                  for name in ("clock_rate", "device_memory_used", "memory_usage", "power_draw", "temperature",
                               "utilization")})
list_gpu_processes = returning("torch.cuda", "list_gpu_processes",
                               lambda: "pynvml module not found, please install nvidia-ml-py")
caching_allocator_enable = returning("torch.cuda", "caching_allocator_enable")


class CudaError(RuntimeError):
    """Never raised: there is no CUDA.

    Example:
        >>> issubclass(torch.cuda.CudaError, RuntimeError)
        True
    """


class DeferredCudaCallError(Exception):
    """Never raised: no call waits for CUDA's start.

    Example:
        >>> issubclass(torch.cuda.DeferredCudaCallError, Exception)
        True
    """


CUDAGraph = abstract_class("torch.cuda", "CUDAGraph")
CUDAPluggableAllocator = abstract_class("torch.cuda", "CUDAPluggableAllocator")
Event = abstract_class("torch.cuda", "Event")
ExternalStream = abstract_class("torch.cuda", "ExternalStream", "torch.cuda.Stream requires CUDA support")
MemPool = abstract_class("torch.cuda", "MemPool")
Stream = abstract_class("torch.cuda", "Stream", "torch.cuda.Stream requires CUDA support")
globals().update({name: raising("torch.cuda", name, RuntimeError(f"Tried to instantiate dummy base class {dummy}"))
                  for name, dummy in (("graph_pool_handle", "_graph_pool_handle"),
                                      ("is_current_stream_capturing", "_cuda_isCurrentStreamCapturing"),
                                      ("make_graphed_callables", "CUDAGraph"))})


_hinted = False


def is_available() -> bool:
    """False. Where there is an NPU, a line on stderr, once, says how a CUDA program runs on it.

    Example:
        >>> torch.cuda.is_available()
        False
    """
    global _hinted
    if not _hinted and _backend.npu_available():
        _hinted = True
        print("mindtorch: torch.cuda.is_available() is False, as there is no CUDA: the accelerator is 'npu'. With "
              "`python -m mindtorch --cuda-is-npu`, or after `import torch_npu.contrib.transfer_to_npu`, 'cuda' and "
              "torch.cuda mean the NPU", file=sys.stderr)
    return False


def stream(stream: Stream | None) -> Any:
    """A context in which nothing is different.

    Arguments:
        stream: not read

    Example:
        >>> with torch.cuda.stream(None):
        ...     torch.ones(1) + 1
        tensor([2.])
    """
    return StreamContext(stream)


class graph:
    """with torch.cuda.graph(g): is refused, by the class of streams where it is given none, and on entry.

    Arguments:
        cuda_graph: not read
        pool: not read
        stream: not read
        capture_error_mode: not read

    Example:
        >>> torch.cuda.graph(None)
        Traceback (most recent call last):
            ...
        RuntimeError: torch.cuda.Stream requires CUDA support
    """

    def __init__(self, cuda_graph: Any, pool: Any = None, stream: Stream | None = None,
                 capture_error_mode: str = "global") -> None:
        self.capture_stream = Stream() if stream is None else stream
        self.cuda_graph, self.pool, self.capture_error_mode = cuda_graph, pool, capture_error_mode

    def __enter__(self) -> None:
        synchronize()               # noqa: F821 - among the refusals above

    def __exit__(self, *exception: object) -> None:
        return None


class device:
    """with torch.cuda.device(-1): ... changes nothing; any device is refused on entry.

    Arguments:
        device: an index

    Example:
        >>> with torch.cuda.device(-1):
        ...     torch.ones(1) + 1
        tensor([2.])
    """

    def __init__(self, device: Any) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if not isinstance(self.idx, int) or self.idx >= 0:
            raise RuntimeError("PyTorch was compiled without CUDA support")

    def __exit__(self, *exception: Any) -> None:
        return False


class device_of(device):
    """with torch.cuda.device_of(tensor): changes nothing, for no tensor is there.

    Arguments:
        obj: a tensor

    Example:
        >>> with torch.cuda.device_of(torch.ones(1)):
        ...     torch.ones(1) + 1
        tensor([2.])
    """

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


class _NoTensors(type):
    """The class of torch.cuda.FloatTensor and its like, of which no tensor is an instance."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.")


globals().update({f"{name}Tensor": _NoTensors(f"{name}Tensor", (), {
    "__module__": "torch.cuda", "__doc__": f"No tensor is one: there is no CUDA.\n\nArguments:\n    *args: refused\n"
                                           f"    **kwargs: refused\n\nExample:\n"
                                           f"    >>> isinstance(torch.ones(1), torch.cuda.{name}Tensor)\n    False\n"})
                  for name in _TYPES})


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"mindtorch.cuda.{name}")
    raise AttributeError(f"module 'mindtorch.cuda' has no attribute '{name}'")
