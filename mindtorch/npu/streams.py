"""The calling thread's streams."""
from mindtorch.npu.device import _get_device_index


def stream_priority_range():
    """(lowest, highest) priority of a Stream, as torch counts them. CANN accepts a priority and ignores it."""
    return 0, -1


def current_stream(device=None):
    """The calling thread's current stream on `device` (None: the current device)."""
    from mindtorch._npu import stream
    return stream.get_current_stream(_get_device_index(device, optional=True))


def default_stream(device=None):
    """The stream that every thread begins with on `device`."""
    from mindtorch._npu import stream
    return stream.get_default_stream(_get_device_index(device, optional=True))


def set_stream(stream):
    """Makes `stream` current on its device, and that device current. None changes nothing."""
    if stream is None:
        return
    from mindtorch._npu import handles
    from mindtorch._npu.stream import set_current_stream
    set_current_stream(stream)
    handles.set_current_device(stream.device_index)


class StreamContext:
    """with torch.npu.stream(s): ... makes `s`, and its device, current inside. None changes nothing."""

    def __init__(self, stream):
        self.stream = stream
        self._before = []            # on entry: the current stream, and that of `stream`'s device

    def __enter__(self):
        if self.stream is not None:
            self._before.append((current_stream(), current_stream(self.stream.device_index)))
            set_stream(self.stream)
        return self.stream

    def __exit__(self, *exception):
        if self.stream is not None:
            current, on_device = self._before.pop()
            set_stream(on_device)
            set_stream(current)


def stream(stream):
    """StreamContext(stream)."""
    return StreamContext(stream)
