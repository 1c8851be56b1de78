"""torch.nn: layers, parameters, functions."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch._submodules import module_getattr as _module_getattr
from mindtorch.nn import functional, grad, init, modules, parallel, parameter, utils
from mindtorch.nn.modules import *  # noqa: F403 - every module has its name in torch.nn too
from mindtorch.nn.parallel import DataParallel
from mindtorch.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter", "factory_kwargs",
           "functional", "grad", "init", "modules", "parallel", "parameter", "utils"]
__all__ += modules.__all__


def factory_kwargs(kwargs: Any) -> Any:
    """The entries for making tensors (device, dtype, memory_format) in `kwargs` and its dictionary `factory_kwargs`.

    Arguments:
        kwargs: the options; None means none

    Example:
        >>> nn.factory_kwargs({"device": "cpu", "dtype": torch.float64})
        {'device': 'cpu', 'dtype': torch.float64}
    """
    if kwargs is None:
        return {}
    known = {"device", "dtype", "memory_format", "factory_kwargs"}
    if not kwargs.keys() <= known:
        raise TypeError(f"unexpected kwargs {kwargs.keys() - known}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in ("device", "dtype", "memory_format"):
        if name in kwargs:
            if name in found:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            found[name] = kwargs[name]
    return found


if not TYPE_CHECKING:        # a type checker would take any name for one of this module
    __getattr__ = _module_getattr(__name__)
