"""torch.utils."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any


def set_module(obj: Any, mod: str) -> None:
    """Sets the module that a function or class says it is of. TypeError where `mod` is no string.

    Arguments:
        obj: the function or class
        mod: the name of the module

    Example:
        >>> def f(): pass
        >>> torch.utils.set_module(f, "models")
        >>> f.__module__
        'models'
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


if TYPE_CHECKING:
    from mindtorch.utils import checkpoint as checkpoint
    from mindtorch.utils import data as data
    from mindtorch.utils import deterministic as deterministic
    from mindtorch.utils import dlpack as dlpack
    from mindtorch.utils import hooks as hooks
    from mindtorch.utils._swap import swap_tensors as swap_tensors
else:
    from mindtorch._submodules import module_getattr as _module_getattr

    _lazy = _module_getattr(__name__)

    def __getattr__(name):
        if name == "swap_tensors":
            from mindtorch.utils._swap import swap_tensors
            return swap_tensors
        return _lazy(name)
