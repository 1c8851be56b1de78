"""torch.npu.StreamContext and set_stream, which `with stream:` uses as well."""
from __future__ import annotations

from typing import Any, Self

apply_limits = None            # called with the new current stream, once one has limits: see npu/_limits.py


def set_stream(stream: Any) -> None:
    """Makes `stream` current on its device, and that device current. None changes nothing.

    Example:
        >>> stream = torch.npu.Stream()
        >>> torch.npu.set_stream(stream)
        >>> torch.npu.current_stream() == stream
        True
        >>> torch.npu.set_stream(torch.npu.default_stream())
    """
    if stream is None:
        return
    from mindtorch._npu import streams
    from mindtorch._npu.streams import set_current_stream
    set_current_stream(stream)
    streams.set_current_device(stream.device_index)
    if apply_limits is not None:
        apply_limits(stream)


class StreamContext:
    """with torch.npu.stream(s): ... makes `s`, and its device, current inside. None changes nothing.

    Example:
        >>> stream = torch.npu.Stream()
        >>> with torch.npu.StreamContext(stream):
        ...     torch.npu.current_stream() == stream
        True
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._before = []            # on entry: the current stream, and that of `stream`'s device

    def __enter__(self) -> Self:
        if self.stream is not None:
            from mindtorch._npu import streams
            from mindtorch._npu.streams import get_current_stream
            current = get_current_stream(streams.current_device())
            self._before.append((current, get_current_stream(self.stream.device_index)))
            set_stream(self.stream)
        return self.stream

    def __exit__(self, *exception: Any) -> None:
        if self.stream is not None:
            current, on_device = self._before.pop()
            set_stream(on_device)
            set_stream(current)


set_stream.__module__ = StreamContext.__module__ = "mindtorch.npu.streams"
