"""Functions and classes for the modules of absent devices, such as torch.cuda and torch.xpu."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindtorch.nn.modules.module import Module

__all__ = ["StreamContext", "abstract_class", "common_functions", "raising", "returning"]

# Functions of both torch.cuda and torch.xpu: what makes their result, and their names.
_RETURNING = (
    (bool, "is_available is_initialized is_bf16_supported is_tf32_supported _is_compiled"),
    (int, "device_count max_memory_allocated max_memory_reserved memory_allocated memory_reserved"),
    (str, "get_gencode_flags"),
    (list, "get_arch_list get_rng_state_all"),
    (OrderedDict, "memory_stats"),
    (dict, "memory_stats_as_nested_dict"),
    (lambda: None, "empty_cache manual_seed manual_seed_all seed seed_all set_rng_state set_rng_state_all"))
_RAISING = (
    "can_device_access_peer", "current_device", "current_stream", "get_device_capability", "get_device_name",
    "get_device_properties", "get_per_process_memory_fraction", "get_rng_state", "init", "initial_seed",
    "mem_get_info", "set_device", "set_per_process_memory_fraction", "synchronize")


def _described(module, name, function, says, prints):
    function.__name__ = function.__qualname__ = name
    example = "\n".join(f"    {line}" for line in [f">>> {module}.{name}()", *prints])
    function.__doc__ = (f"{says}: mindtorch has no such device. Arguments are not looked at.\n\n"
                        f"On the NPU a function of this name is in torch.npu, if it has a meaning there.\n\n"
                        f"Arguments:\n    *args: not read\n    **kwargs: not read\n\n"
                        f"Example:\n{example}\n")
    return function


def returning(module: str, name: str, make: Any = lambda: None) -> Any:
    """A function of torch's `module` that accepts any arguments and returns `make()`."""
    result = make()
    return _described(module, name, lambda *args, **kwargs: make(), f"Returns {result!r}",
                      [] if result is None else [repr(result)])


def raising(module: str, name: str, error: Any) -> Any:
    """A function of torch's `module` that accepts any arguments and raises an exception like `error`."""
    def fail(*args, **kwargs):
        raise type(error)(*error.args)
    return _described(module, name, fail, f"Raises {type(error).__name__}",
                      ["Traceback (most recent call last):", "    ...", f"{type(error).__name__}: {error}"])


def abstract_class(module: Module, name: str, message: Any = None) -> Any:
    """A class for isinstance and annotations. Its constructor raises RuntimeError."""
    def __new__(cls, *args, **kwargs):
        raise RuntimeError(message or f"Tried to instantiate dummy base class {cls.__name__}")
    return type(name, (), {"__new__": __new__, "__module__": module,
                           "__doc__": f"RuntimeError: {message or 'there is no such device'}.\n\n"
                                      f"Arguments:\n    *args: not read\n    **kwargs: not read\n\n"
                                      f"Example:\n    >>> isinstance(torch.ones(1), {module}.{name})\n    False\n"})


def common_functions(module: str, error: Any) -> Any:
    """The functions of such a module by name. Those that need the device raise `error`."""
    functions = {name: returning(module, name, make) for make, names in _RETURNING for name in names.split()}
    return functions | {name: raising(module, name, error) for name in _RAISING}


class StreamContext:
    """with torch.cuda.stream(stream): has no effect.

    Arguments:
        stream: not read

    Example:
        >>> with torch.cuda.stream(None):
        ...     torch.ones(1) + 1
        tensor([2.])
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> Any:
        return None

    def __exit__(self, *exception: Any) -> None:
        return None
