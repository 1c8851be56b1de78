"""The calling thread's streams, and warnings about synchronization."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch._npu.stream_context import StreamContext, set_stream
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.npu.device import _get_device_index, _lazy_init

if TYPE_CHECKING:
    from mindtorch._npu.streams import Stream
    from mindtorch.types import Device

__all__ = ["StreamContext", "current_stream", "default_stream", "get_sync_debug_mode", "set_stream",
           "set_sync_debug_mode", "stream", "stream_priority_range"]


def stream_priority_range() -> Any:
    """(lowest, highest) priority of a Stream, as Stream.priority_range() has it.

    Example:
        >>> lowest, highest = torch.npu.stream_priority_range()
        >>> lowest >= highest
        True
    """
    return 0, -1


def current_stream(device: Device = None) -> Stream:
    """The calling thread's current stream on `device` (None: the current device).

    Example:
        >>> torch.npu.current_stream() == torch.npu.default_stream()
        True
    """
    from mindtorch._npu import streams
    return streams.get_current_stream(_get_device_index(device, optional=True))


def default_stream(device: Device = None) -> Stream:
    """The stream that is current in a new thread on `device`.

    Example:
        >>> with torch.npu.stream(torch.npu.Stream()):
        ...     torch.npu.current_stream() == torch.npu.default_stream()
        False
    """
    from mindtorch._npu import streams
    return streams.get_default_stream(_get_device_index(device, optional=True))


def stream(stream: Stream | None) -> Any:
    """StreamContext(stream).

    Example:
        >>> stream = torch.npu.Stream()
        >>> with torch.npu.stream(stream):
        ...     x = torch.ones(1000, device="npu")
        >>> stream.synchronize()
    """
    return StreamContext(stream)


def _sleep(cycles):
    """Keeps the current stream busy for `cycles` nanoseconds (cycles of 1 GHz)."""
    from mindtorch._npu import streams
    streams.sleep(current_stream(), cycles)


def _launch_host_func(stream, function):
    """Adds a call of `function` to the work of `stream`. A thread of the driver makes the call."""
    from mindtorch._npu.streams import launch_host_function
    launch_host_function(stream, function)


_DEBUG_MODES = ("default", "warn", "error")


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Set the reaction to an operator or copy that makes the host wait for a stream: "default" (none), "warn", "error".

    0, 1 and 2 stand for these. Explicit synchronize() calls never warn.

    Arguments:
        debug_mode: "default", "warn" or "error", or 0, 1 or 2

    Example:
        >>> torch.npu.set_sync_debug_mode("error")
        >>> try:
        ...     torch.ones(1, device="npu").item()
        ... except RuntimeError:
        ...     print("item() waits for the device")
        item() waits for the device
        >>> torch.npu.set_sync_debug_mode("default")
    """
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
    _lazy_init()
    from mindtorch._npu import streams
    streams.set_sync_debug_mode(debug_mode)


def get_sync_debug_mode() -> int:
    """The mode of set_sync_debug_mode as 0, 1 or 2.

    Example:
        >>> torch.npu.get_sync_debug_mode()
        0
    """
    _lazy_init()
    from mindtorch._npu import streams
    return streams.get_sync_debug_mode()


_complete_docstrings(globals(), "npu")
