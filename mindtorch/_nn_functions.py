"""torch._C._nn: functions of networks by the names of their operators, and what Module.to uses."""
from importlib import import_module

from mindtorch._core._gen.namespace import ATEN

__all__ = ["_parse_to"]


def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) that a call of Module.to with these arguments means."""
    return import_module("mindtorch.nn.modules.module")._parse_to(args, kwargs)


def __getattr__(name):
    found = ATEN.get(name) or vars(import_module("mindtorch.nn.functional")).get(name)
    if found is None or name.startswith("__"):
        raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")
    return found
