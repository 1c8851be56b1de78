"""torch.utils."""
from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

_LAZY = ("_mode_utils", "_pytree", "checkpoint", "data", "deterministic", "dlpack", "hooks")

if TYPE_CHECKING:
    from mindtorch.utils import checkpoint as checkpoint
    from mindtorch.utils import data as data
    from mindtorch.utils import deterministic as deterministic
    from mindtorch.utils import dlpack as dlpack
    from mindtorch.utils import hooks as hooks
    from mindtorch.utils._swap import swap_tensors as swap_tensors
else:
    def __getattr__(name):
        if name in _LAZY:
            return _import_module(f"mindtorch.utils.{name}")
        if name == "swap_tensors":
            return _import_module("mindtorch.utils._swap").swap_tensors
        raise AttributeError(f"module 'mindtorch.utils' has no attribute '{name}'")
