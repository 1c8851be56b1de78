"""torch.utils."""
from importlib import import_module as _import_module

_LAZY = ("_pytree", "checkpoint", "data", "deterministic", "dlpack", "hooks")


def __getattr__(name):
    if name in _LAZY:
        return _import_module(f"mindtorch.utils.{name}")
    if name == "swap_tensors":
        return _import_module("mindtorch.utils._swap").swap_tensors
    raise AttributeError(f"module 'mindtorch.utils' has no attribute '{name}'")
