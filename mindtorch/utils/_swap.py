"""torch.utils.swap_tensors: two tensor objects exchange their contents and keep their identities."""
from __future__ import annotations

import copyreg
import weakref
from typing import Any

from mindtorch._core.tensor import attributes

_ABSENT = object()


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchanges class, attributes, data, gradients and hooks of two tensors; neither may have a history.

    RuntimeError where a weak reference to one of them exists, or where their classes have different slots.
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
        if tensor.grad_fn is not None:
            raise RuntimeError(f"Cannot swap {name} because it has a history, which knows it")
    slots = set(copyreg._slotnames(type(t1)))
    if slots != set(copyreg._slotnames(type(t2))):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    data = [tensor.data for tensor in (t1, t2)]
    for name in ("__class__", "__dict__", *slots):
        held = [getattr(tensor, name, _ABSENT) for tensor in (t1, t2)]
        for tensor, value in zip((t1, t2), held[::-1], strict=True):
            if value is not _ABSENT:
                setattr(tensor, name, value)
            elif hasattr(tensor, name):
                delattr(tensor, name)
    attributes.swap_autograd(t1, t2)
    t1.data, t2.data = data[::-1]
