"""The calling thread's streams, and what is said when it has to wait for them."""
from mindtorch._npu.stream_context import StreamContext, set_stream
from mindtorch.npu.device import _get_device_index, _lazy_init

__all__ = ["StreamContext", "current_stream", "default_stream", "get_sync_debug_mode", "set_stream",
           "set_sync_debug_mode", "stream", "stream_priority_range"]


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
