"""torch.accelerator: the device of this process without its name, which here is the NPU."""
import warnings

import mindtorch
from mindtorch import npu

__all__ = ["current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
           "device_index", "empty_cache", "empty_host_cache", "get_device_capability", "get_memory_info",
           "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
           "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx",
           "set_device_index", "set_stream", "synchronize"]


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
    """Gives the memory that the caching allocator does not use back to the device."""
    _require()
    npu.empty_cache()


def empty_host_cache():
    """Gives page-locked host memory that is not used back to the system."""
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
    """The most bytes that tensors have occupied since the peaks were last reset."""
    return npu.max_memory_allocated(_index(device_index))


def memory_reserved(device_index=None, /):
    """Bytes that the allocator has taken from the device."""
    return npu.memory_reserved(_index(device_index))


def max_memory_reserved(device_index=None, /):
    """The most bytes that the allocator has taken since the peaks were last reset."""
    return npu.max_memory_reserved(_index(device_index))


def reset_accumulated_memory_stats(device_index=None, /):
    """Sets the allocator's sums of all that was ever allocated and freed to 0."""
    npu.reset_accumulated_memory_stats(_index(device_index))


def reset_peak_memory_stats(device_index=None, /):
    """Sets the allocator's peaks to what is in use now."""
    npu.reset_peak_memory_stats(_index(device_index))


def current_device_idx():
    """current_device_index under an old name."""
    warnings.warn("Use `current_device_index` instead.", FutureWarning, stacklevel=2)
    return current_device_index()


def set_device_idx(device, /):
    """set_device_index under an old name."""
    warnings.warn("Use `set_device_index` instead.", FutureWarning, stacklevel=2)
    set_device_index(device)
