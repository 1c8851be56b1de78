"""The names that functions of autocast had when each type of device had its own."""
import warnings

from mindtorch._core.operators import autocast as _autocast
from mindtorch._core.tensor.dtype import dtype as _dtype

_KINDS = {"enabled": (bool, "a bool"), "dtype": (_dtype, "a torch.dtype")}


def _deprecated(name, current, device, argument="", example=""):
    """`current` for a device, with the warning of the old name; `argument`: what is set, if something is."""
    function = getattr(_autocast, current)
    arguments = f"'{device}', {argument}" if argument else f"'{device}'"
    text = f"torch.{name}({argument}) is deprecated. Please use torch.{current}({arguments}) instead."

    def get():
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return function(device)

    def set(value, /):
        kind, shown = _KINDS[argument]
        if not isinstance(value, kind):
            raise TypeError(f"{argument} must be {shown} (got {type(value).__name__})")
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        function(device, value)

    chosen = set if argument else get
    chosen.__name__ = chosen.__qualname__ = name
    section = f"Arguments:\n    value: {_KINDS[argument][1]}\n\n" if argument else ""
    chosen.__doc__ = (f"{current}({arguments}) under an old name; a DeprecationWarning says so.\n\n{section}"
                      f"Example:\n    >>> {example}\n")
    return chosen


is_autocast_cpu_enabled = _deprecated(
    "is_autocast_cpu_enabled", "is_autocast_enabled", "cpu", example="torch.is_autocast_cpu_enabled()\n    False")
set_autocast_cpu_enabled = _deprecated(
    "set_autocast_cpu_enabled", "set_autocast_enabled", "cpu", "enabled",
    example="torch.set_autocast_cpu_enabled(False)")
get_autocast_cpu_dtype = _deprecated(
    "get_autocast_cpu_dtype", "get_autocast_dtype", "cpu", example="torch.get_autocast_cpu_dtype()\n    torch.bfloat16")
set_autocast_cpu_dtype = _deprecated(
    "set_autocast_cpu_dtype", "set_autocast_dtype", "cpu", "dtype",
    example="torch.set_autocast_cpu_dtype(torch.bfloat16)")
get_autocast_gpu_dtype = _deprecated(
    "get_autocast_gpu_dtype", "get_autocast_dtype", "cuda", example="torch.get_autocast_gpu_dtype()\n    torch.float16")
set_autocast_gpu_dtype = _deprecated(
    "set_autocast_gpu_dtype", "set_autocast_dtype", "cuda", "dtype",
    example="torch.set_autocast_gpu_dtype(torch.float16)")
