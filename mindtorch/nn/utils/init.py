"""Modules without the cost of knowing what their parameters begin with."""
from __future__ import annotations

import inspect
from typing import Any

from mindtorch.nn.modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters hold anything; the random numbers are those that would come without it.

    Arguments:
        module_cls: the class of the module
        *args: its arguments
        **kwargs: its arguments by name

    Example:
        >>> net = nn.utils.skip_init(nn.Linear, 2, 3, device="npu")
        >>> net.weight.shape, net.weight.device
        (torch.Size([3, 2]), device(type='npu', index=0))
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
