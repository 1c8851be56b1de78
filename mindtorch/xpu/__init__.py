"""torch.xpu as in a torch that was built without XPU support: there is no such device."""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mindtorch._compat.absent_device import StreamContext, abstract_class, common_functions, raising, returning

if TYPE_CHECKING:
    from mindtorch import Stream

_REFUSED = AssertionError("Torch not compiled with XPU enabled")

default_generators = ()
_initialized = False
_is_in_bad_fork = returning("torch.xpu", "_is_in_bad_fork", bool)

globals().update(common_functions("torch.xpu", _REFUSED))
memory_snapshot = returning("torch.xpu", "memory_snapshot", list)
get_stream_from_external = raising("torch.xpu", "get_stream_from_external", _REFUSED)

Event = abstract_class("torch.xpu", "Event")
MemPool = abstract_class("torch.xpu", "MemPool")
Stream = abstract_class("torch.xpu", "Stream")
XPUGraph = abstract_class("torch.xpu", "XPUGraph")
globals().update({name: raising("torch.xpu", name, RuntimeError(f"Tried to instantiate dummy base class {dummy}"))
                  for name, dummy in (("graph_pool_handle", "_xpu_graph_pool_handle"),
                                      ("is_current_stream_capturing", "_xpu_isCurrentStreamCapturing"),
                                      ("make_graphed_callables", "XPUGraph"))})


def stream(stream: Stream | None) -> Any:
    """A context in which nothing is different.

    Arguments:
        stream: not read

    Example:
        >>> with torch.xpu.stream(None):
        ...     torch.ones(1) + 1
        tensor([2.])
    """
    return StreamContext(stream)


class device:
    """with torch.xpu.device(0): is refused on entry.

    Arguments:
        device: an index

    Example:
        >>> with torch.xpu.device(0):
        ...     torch.ones(1) + 1
        Traceback (most recent call last):
            ...
        NotImplementedError: PyTorch was compiled without XPU support
    """

    def __init__(self, device: Any) -> None:
        self.idx = device

    def __enter__(self) -> None:
        raise NotImplementedError("PyTorch was compiled without XPU support")

    def __exit__(self, *exception: Any) -> None:
        return False


class device_of(device):
    """with torch.xpu.device_of(tensor): is refused on entry.

    Arguments:
        obj: a tensor

    Example:
        >>> issubclass(torch.xpu.device_of, torch.xpu.device)
        True
    """

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_xpu else -1)


def __getattr__(name: str) -> Any:
    if name == "random":
        return import_module("mindtorch.xpu.random")
    raise AttributeError(f"module 'mindtorch.xpu' has no attribute '{name}'")
