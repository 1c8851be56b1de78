"""The calling thread's streams, and what is said when it has to wait for them."""
from mindtorch.npu.device import _get_device_index, _lazy_init

_follow_limits = None            # called with the new current stream, once one has limits of its own: see _limits.py


def stream_priority_range():
    """(lowest, highest) priority of a Stream, as Stream.priority_range() has it."""
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
    if _follow_limits is not None:
        _follow_limits(stream)


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


def _sleep(cycles):
    """Keeps the current stream busy for so many cycles of 1 GHz, that is nanoseconds."""
    from mindtorch._npu import stream
    stream.sleep(current_stream(), cycles)


def _launch_host_func(stream, function):
    """Calls `function` on a thread of the driver when the work before it is done; later work of the stream waits."""
    from mindtorch._npu.stream import launch_host_function
    launch_host_function(stream, function)


_DEBUG_MODES = ("default", "warn", "error")


def set_sync_debug_mode(debug_mode):
    """What to do where an operator or a copy makes the host wait for a stream: "default" (nothing), "warn", "error".

    Or 0, 1, 2. torch.npu.synchronize and Event.synchronize are meant to wait, and say nothing.
    """
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError("invalid value of debug_mode, expected one of 0,1,2")
    _lazy_init()
    from mindtorch._npu import handles
    handles.set_sync_debug_mode(debug_mode)


def get_sync_debug_mode():
    """0, 1 or 2, as set_sync_debug_mode has it."""
    _lazy_init()
    from mindtorch._npu import handles
    return handles.get_sync_debug_mode()
