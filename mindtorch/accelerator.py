"""torch.accelerator: device-neutral functions, here for the NPU."""
import warnings

import mindtorch
from mindtorch import npu

__path__ = []       # modules below it come from the table of refusals

__all__ = ["Graph", "current_accelerator", "current_device_idx", "current_device_index", "current_stream",
           "device_count", "device_index", "empty_cache", "empty_host_cache", "get_device_capability",
           "get_memory_info", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
           "memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats",
           "set_device_idx", "set_device_index", "set_stream", "synchronize"]


def _require():
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def _index(device, optional=True):
    """The index that an int, string, torch.device or None (the current device) means."""
    _require()
    if isinstance(device, int):
        return device
    if device is not None:
        device = mindtorch.device(device)
        if device.type != "npu":
            raise ValueError(f"{device.type} doesn't match the current accelerator npu.")
        if device.index is not None:
            return device.index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return npu.current_device()


def is_available():
    """Whether there is an NPU to use, real or simulated."""
    return npu.is_available()


def device_count():
    """How many NPUs there are; 0 where there is none to use."""
    return npu.device_count() if npu.is_available() else 0


def current_accelerator(check_available=False):
    """torch.device("npu"); with `check_available` None where there is none to use."""
    return None if check_available and not npu.is_available() else mindtorch.device("npu")


def get_device_capability(device=None, /):
    """{"supported_dtypes": the dtypes that tensors on the device may have}."""
    npu.get_device_name(_index(device))                  # refuses what is no device
    names = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64",
             "complex128", *(("bfloat16",) if npu.is_bf16_supported() else ()))
    return {"supported_dtypes": {getattr(mindtorch, name) for name in names}}


def current_device_index():
    """Index of the calling thread's current device."""
    _require()
    return npu.current_device()


def set_device_index(device, /):
    """Makes `device` the calling thread's current one. A negative index changes nothing."""
    npu.set_device(_index(device, optional=False))


class device_index(npu.device):
    """with device_index(1): ... makes that device current inside. None changes nothing."""

    def __init__(self, device, /):
        super().__init__(-1 if device is None else device)


def current_stream(device=None, /):
    """The calling thread's current stream on `device` (None: the current device)."""
    return npu.current_stream(_index(device))


def set_stream(stream):
    """Makes `stream` current on its device, and that device current."""
    _require()
    npu.set_stream(stream)


def synchronize(device=None, /):
    """Waits for all work on `device` (None: the current one)."""
    npu.synchronize(_index(device))


def empty_cache():
    """Returns unused memory of the caching allocator to the device."""
    _require()
    npu.empty_cache()


def empty_host_cache():
    """Returns unused page-locked host memory to the system."""
    _require()
    npu.host_empty_cache()


def get_memory_info(device_index=None, /):
    """(free, total) bytes of the device."""
    return npu.mem_get_info(_index(device_index))


def memory_stats(device_index=None, /):
    """The allocator's counters: name -> number; see torch.npu.memory_stats."""
    return npu.memory_stats(_index(device_index))


def memory_allocated(device_index=None, /):
    """Bytes that tensors occupy."""
    return npu.memory_allocated(_index(device_index))


def max_memory_allocated(device_index=None, /):
    """The peak of memory_allocated since the last reset."""
    return npu.max_memory_allocated(_index(device_index))


def memory_reserved(device_index=None, /):
    """Bytes that the allocator has taken from the device."""
    return npu.memory_reserved(_index(device_index))


def max_memory_reserved(device_index=None, /):
    """The peak of memory_reserved since the last reset."""
    return npu.max_memory_reserved(_index(device_index))


def reset_accumulated_memory_stats(device_index=None, /):
    """Resets the allocator's totals of allocations and frees."""
    npu.reset_accumulated_memory_stats(_index(device_index))


def reset_peak_memory_stats(device_index=None, /):
    """Sets the allocator's peaks to the current values."""
    npu.reset_peak_memory_stats(_index(device_index))


def current_device_idx():
    """current_device_index under an old name."""
    warnings.warn("Use `current_device_index` instead.", FutureWarning, stacklevel=2)
    return current_device_index()


def set_device_idx(device, /):
    """set_device_index under an old name."""
    warnings.warn("Use `set_device_index` instead.", FutureWarning, stacklevel=2)
    set_device_index(device)


class Graph:
    """Graph(keep_graph=False, *, pool=None, capture_error_mode="default"): torch.npu.NPUGraph without the NPU's name.

    with graph: ... captures the work of the current stream, which must not be the default one. keep_graph changes
    nothing but that `instantiate` may be called. The pool and the mode of the next capture may be set as attributes.
    """

    def __init__(self, keep_graph=False, *, pool=None, capture_error_mode="default"):
        _require()
        modes = ("default", "global", "thread_local", "relaxed")
        if capture_error_mode not in modes:
            raise RuntimeError(f"Unknown capture error mode. Expected one of {', '.join(modes)}, got "
                               f"{capture_error_mode}")
        self.graph_pool = pool
        self.capture_error_mode = capture_error_mode
        self._graph = npu.NPUGraph()
        self._keeps = bool(keep_graph)
        self._debug = False

    def capture_begin(self):
        """Starts to capture the work of the current stream."""
        mode = "global" if self.capture_error_mode == "default" else self.capture_error_mode
        self._graph.capture_begin(self.graph_pool, mode)

    def capture_end(self):
        """Ends the capture, on the stream it began on."""
        self._graph.capture_end()

    def instantiate(self):
        """Does nothing: a captured NPU graph needs no instantiation."""
        if not self._keeps:
            raise RuntimeError("instantiate() is for graphs made with keep_graph=True")
        self._graph.pool()               # refuses where nothing was captured

    def replay(self):
        """Replays the captured work on the current stream."""
        self._graph.replay()

    def reset(self):
        """Deletes the graph and its memory, after which another can be captured."""
        self._graph.reset()

    def pool(self):
        """The id of the graph's pool of memory, which other graphs may share."""
        return self._graph.pool()

    def enable_debug_mode(self):
        """Permits debug_dump."""
        self._debug = True

    def debug_dump(self, path):
        """Writes the graph's tasks to a file, as JSON."""
        if not self._debug:
            raise RuntimeError("call enable_debug_mode() before debug_dump()")
        self._graph.debug_dump(path)

    def __enter__(self):
        self.capture_begin()

    def __exit__(self, kind, value, traceback):
        try:
            self.capture_end()
        except RuntimeError:
            if value is None:            # else that is what the caller should see
                raise
