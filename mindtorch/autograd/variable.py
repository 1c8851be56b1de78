"""torch.autograd.variable: the class that wrapped tensors before they had gradients."""
from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

from mindtorch._core.autograd.engine import queue_callback
from mindtorch._core.tensor.tensor import TensorBase

__all__ = ["Variable"]


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> Any:
        return isinstance(instance, TensorBase)

    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Any:
        if data is None:
            from mindtorch import empty
            data = empty(0)
        if not isinstance(data, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile is not None:
            warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                          UserWarning, stacklevel=2)
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return data.detach().requires_grad_(requires_grad)


class Variable(metaclass=_VariableMeta):
    """Variable(t) is t without its history; every tensor is an instance.

    Arguments:
        data: the tensor
        requires_grad: whether autograd records operators on it
        volatile: not read

    Example:
        >>> torch.autograd.Variable(torch.ones(1), requires_grad=True).requires_grad
        True
    """

    _execution_engine = SimpleNamespace(queue_callback=queue_callback)
