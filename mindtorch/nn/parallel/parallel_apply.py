"""Calls of several modules at once, each in a thread."""
from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._utils import ExceptionWrapper
from mindtorch.nn.parallel.scatter_gather import _device

if TYPE_CHECKING:
    from mindtorch import Tensor, device
    from mindtorch.nn.modules.module import Module

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj: Tensor | list[Any] | tuple[Any, ...] | dict[Any, Any]) -> Tensor | None:
    """A tensor somewhere in `obj`, or None.

    Arguments:
        obj: a tensor, or containers of them

    Example:
        >>> from importlib import import_module
        >>> module = import_module(torch.__name__ + ".nn.parallel.parallel_apply")
        >>> module.get_a_var({"a": [1, torch.ones(2)]})
        tensor([1., 1.])
    """
    if isinstance(obj, TensorBase):
        return obj
    if isinstance(obj, dict):
        obj = obj.values()
    elif not isinstance(obj, (list, tuple)):
        return None
    return next((found for found in map(get_a_var, obj) if found is not None), None)


def _call(place, module, args, kwargs, grad_enabled):
    try:
        found = get_a_var((args, kwargs)) if place is None else None
        place = found.device if found is not None else place
        with mindtorch.set_grad_enabled(grad_enabled):
            if place is None or place.type != "npu":
                return module(*args, **kwargs)
            with mindtorch.npu.device(place):
                return module(*args, **kwargs)
    except Exception:       # noqa: BLE001 - raised again in the thread that asked
        return ExceptionWrapper(where=f"in replica on device {place}")


def parallel_apply(modules: Sequence[Module], inputs: Sequence[Any], kwargs_tup: Sequence[dict[str, Any]] | None = None,
                   devices: Sequence[int | device | None] | None = None) -> list[Any]:
    """The results of modules for inputs, each on its device: that given, or that of its input.

    Arguments:
        modules: a module for each NPU
        inputs: the arguments of each module
        kwargs_tup: the arguments by name of each module; None means none
        devices: the NPU of each module

    Example:
        >>> layers = [torch.nn.Linear(2, 1, device="npu") for _ in range(2)]
        >>> parts = [torch.ones(3, 2, device="npu") for _ in range(2)]
        >>> [result.shape for result in torch.nn.parallel.parallel_apply(layers, parts)]
        [torch.Size([3, 1]), torch.Size([3, 1])]
    """
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs "
                             f"{len(inputs)}")
    kwargs_tup = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    places = [None if target is None else _device(target) for target in devices or [None] * len(modules)]
    arguments = [args if isinstance(args, (list, tuple)) else (args,) for args in inputs]
    grad_enabled = [mindtorch.is_grad_enabled()] * len(modules)
    with ThreadPoolExecutor(len(modules)) as threads:
        results = list(threads.map(_call, places, modules, arguments, kwargs_tup, grad_enabled))
    for result in results:
        if isinstance(result, ExceptionWrapper):
            result.reraise()
    return results
