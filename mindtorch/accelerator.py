"""torch.accelerator: device-neutral functions, here for the NPU."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import mindtorch
from mindtorch import npu
from mindtorch._submodules import module_getattr as _module_getattr
from mindtorch._tensor.docstrings import complete as _complete_docstrings

if TYPE_CHECKING:
    from mindtorch import Stream, device
    from mindtorch.types import Device

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


def is_available() -> bool:
    """Whether there is an NPU to use, real or simulated.

    Example:
        >>> device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
    """
    return npu.is_available()


def device_count() -> int:
    """How many NPUs there are; 0 where there is none to use.

    Example:
        >>> torch.accelerator.device_count() == torch.npu.device_count()
        True
    """
    return npu.device_count() if npu.is_available() else 0


def current_accelerator(check_available: bool = False) -> device | None:
    """torch.device("npu"); with `check_available` None where there is none to use.

    Arguments:
        check_available: whether the result is None where no device is available

    Example:
        >>> torch.accelerator.current_accelerator()
        device(type='npu')
    """
    return None if check_available and not npu.is_available() else mindtorch.device("npu")


def get_device_capability(device: Device = None, /) -> dict[str, Any]:
    """{"supported_dtypes": the dtypes that tensors on the device may have}.

    Example:
        >>> torch.float16 in torch.accelerator.get_device_capability()["supported_dtypes"]
        True
    """
    npu.get_device_name(_index(device))                  # refuses what is no device
    names = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64",
             "complex128", *(("bfloat16",) if npu.is_bf16_supported() else ()))
    return {"supported_dtypes": {getattr(mindtorch, name) for name in names}}


def current_device_index() -> int:
    """Index of the calling thread's current device.

    Example:
        >>> torch.accelerator.current_device_index()
        0
    """
    _require()
    return npu.current_device()


def set_device_index(device: Device, /) -> None:
    """Makes `device` the calling thread's current one. A negative index changes nothing.

    Example:
        >>> torch.accelerator.set_device_index(0)
        >>> torch.accelerator.current_device_index()
        0
    """
    npu.set_device(_index(device, optional=False))


class device_index(npu.device):
    """with device_index(1): ... makes that device current inside. None changes nothing.

    Example:
        >>> with torch.accelerator.device_index(0):
        ...     torch.ones(1, device="npu").device
        device(type='npu', index=0)
    """

    def __init__(self, device: int | None, /) -> None:
        super().__init__(-1 if device is None else device)


def current_stream(device: Device = None, /) -> Stream:
    """The calling thread's current stream on `device` (None: the current device).

    Example:
        >>> torch.accelerator.current_stream() == torch.npu.current_stream()
        True
    """
    return npu.current_stream(_index(device))


def set_stream(stream: Stream) -> None:
    """Makes `stream` current on its device, and that device current.

    Example:
        >>> torch.accelerator.set_stream(torch.npu.default_stream())
    """
    _require()
    npu.set_stream(stream)


def synchronize(device: Device = None, /) -> None:
    """Waits for all work on `device` (None: the current one).

    Example:
        >>> x = torch.ones(1000, 1000, device="npu")
        >>> y = x @ x
        >>> torch.accelerator.synchronize()         # y has been computed
    """
    npu.synchronize(_index(device))


def empty_cache() -> None:
    """Returns unused memory of the caching allocator to the device.

    Example:
        >>> torch.accelerator.empty_cache()
    """
    _require()
    npu.empty_cache()


def empty_host_cache() -> None:
    """Returns unused page-locked host memory to the system.

    Example:
        >>> torch.accelerator.empty_host_cache()
    """
    _require()
    npu.host_empty_cache()


def get_memory_info(device_index: Device = None, /) -> tuple[int, int]:
    """(free, total) bytes of the device.

    Example:
        >>> free, total = torch.accelerator.get_memory_info()
        >>> free <= total
        True
    """
    return npu.mem_get_info(_index(device_index))


def memory_stats(device_index: Device = None, /) -> Any:
    """The allocator's counters: name -> number; see torch.npu.memory_stats.

    Example:
        >>> torch.accelerator.memory_stats()["allocated_bytes.all.current"] == torch.accelerator.memory_allocated()
        True
    """
    return npu.memory_stats(_index(device_index))


def memory_allocated(device_index: Device = None, /) -> int:
    """Bytes that tensors occupy.

    Example:
        >>> x = torch.ones(1000, device="npu")
        >>> torch.accelerator.memory_allocated() >= x.nbytes
        True
    """
    return npu.memory_allocated(_index(device_index))


def max_memory_allocated(device_index: Device = None, /) -> int:
    """The peak of memory_allocated since the last reset.

    Example:
        >>> torch.accelerator.max_memory_allocated() >= torch.accelerator.memory_allocated()
        True
    """
    return npu.max_memory_allocated(_index(device_index))


def memory_reserved(device_index: Device = None, /) -> int:
    """Bytes that the allocator has taken from the device.

    Example:
        >>> torch.accelerator.memory_reserved() >= torch.accelerator.memory_allocated()
        True
    """
    return npu.memory_reserved(_index(device_index))


def max_memory_reserved(device_index: Device = None, /) -> int:
    """The peak of memory_reserved since the last reset.

    Example:
        >>> torch.accelerator.max_memory_reserved() >= torch.accelerator.memory_reserved()
        True
    """
    return npu.max_memory_reserved(_index(device_index))


def reset_accumulated_memory_stats(device_index: Device = None, /) -> None:
    """Resets the allocator's totals of allocations and frees.

    Example:
        >>> torch.accelerator.reset_accumulated_memory_stats()
        >>> torch.accelerator.memory_stats()["allocation.all.allocated"]
        0
    """
    npu.reset_accumulated_memory_stats(_index(device_index))


def reset_peak_memory_stats(device_index: Device = None, /) -> None:
    """Sets the allocator's peaks to the current values.

    Example:
        >>> torch.accelerator.reset_peak_memory_stats()
        >>> torch.accelerator.max_memory_allocated() == torch.accelerator.memory_allocated()
        True
    """
    npu.reset_peak_memory_stats(_index(device_index))


def current_device_idx() -> Any:
    """current_device_index under an old name.

    Example:
        >>> torch.accelerator.current_device_idx()
        0
    """
    warnings.warn("Use `current_device_index` instead.", FutureWarning, stacklevel=2)
    return current_device_index()


def set_device_idx(device: Device, /) -> None:
    """set_device_index under an old name.

    Example:
        >>> torch.accelerator.set_device_idx(0)
    """
    warnings.warn("Use `set_device_index` instead.", FutureWarning, stacklevel=2)
    set_device_index(device)


class Graph:
    """Graph(keep_graph=False, *, pool=None, capture_error_mode="default"): torch.npu.NPUGraph without the NPU's name.

    with graph: ... captures the work of the current stream, which must not be the default one. keep_graph changes
    nothing but that `instantiate` may be called. The pool and the mode of the next capture may be set as attributes.

    Arguments:
        keep_graph: whether the captured graph stays, so that `instantiate` can be called again

    Example:
        >>> x = torch.ones(2, device="npu")
        >>> graph = torch.accelerator.Graph()
        >>> with torch.npu.stream(torch.npu.Stream()), graph:
        ...     y = x * 2
        >>> graph.replay()
        >>> y
        tensor([2., 2.], device='npu:0')
    """

    def __init__(self, keep_graph: bool = False, *, pool: tuple[int, int] | None = None,
                 capture_error_mode: Literal["default", "global", "thread_local", "relaxed"] = "default") -> None:
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

    def capture_begin(self) -> None:
        """Starts to capture the work of the current stream."""
        mode = "global" if self.capture_error_mode == "default" else self.capture_error_mode
        self._graph.capture_begin(self.graph_pool, mode)

    def capture_end(self) -> None:
        """Ends the capture, on the stream it began on."""
        self._graph.capture_end()

    def instantiate(self) -> None:
        """Does nothing: a captured NPU graph needs no instantiation."""
        if not self._keeps:
            raise RuntimeError("instantiate() is for graphs made with keep_graph=True")
        self._graph.pool()               # refuses where nothing was captured

    def replay(self) -> None:
        """Replays the captured work on the current stream."""
        self._graph.replay()

    def reset(self) -> None:
        """Deletes the graph and its memory, after which another can be captured."""
        self._graph.reset()

    def pool(self) -> tuple[int, int]:
        """The id of the graph's pool of memory, which other graphs may share."""
        return self._graph.pool()

    def enable_debug_mode(self) -> None:
        """Permits debug_dump."""
        self._debug = True

    def debug_dump(self, path: str) -> None:
        """Writes the graph's tasks to a file, as JSON."""
        if not self._debug:
            raise RuntimeError("call enable_debug_mode() before debug_dump()")
        self._graph.debug_dump(path)

    def __enter__(self) -> None:
        self.capture_begin()

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        try:
            self.capture_end()
        except RuntimeError:
            if value is None:            # else that is what the caller should see
                raise


_complete_docstrings(globals(), "npu")

__getattr__ = _module_getattr(__name__)
