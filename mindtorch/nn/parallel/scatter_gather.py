"""Tensors in parts on several devices, and together again, wherever they are in tuples, lists and dictionaries."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from mindtorch import cat, device
from mindtorch._core.tensor.tensor import TensorBase

__all__ = ["gather", "scatter", "scatter_kwargs"]


def _device(target):
    """A device, which may be given as its number."""
    return device("npu", target) if isinstance(target, int) else device(target)


def _built(like, values):
    """A sequence of the class of `like`."""
    return type(like)(*values) if hasattr(like, "_fields") else type(like)(values)


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> Any:
    """For each device its chunk of the tensors, along `dim`; what is no tensor is there for each.

    Arguments:
        inputs: the arguments: a tensor, or containers of them
        target_gpus: the NPUs, as indexes
        dim: the dimension of the batch

    Example:
        >>> torch.nn.parallel.scatter(torch.ones(2), [0])
        (tensor([1., 1.], device='npu:0'),)
    """
    places = [_device(target) for target in target_gpus]

    def parts(value):
        if isinstance(value, TensorBase):
            return tuple(chunk.to(place) for chunk, place in zip(value.chunk(len(places), dim), places, strict=False))
        if isinstance(value, (tuple, list)) and value:
            return [_built(value, each) for each in zip(*map(parts, value), strict=False)]
        if isinstance(value, dict) and value:
            shares = zip(*map(parts, value.values()), strict=False)
            return [type(value)(zip(value, share, strict=True)) for share in shares]
        return [value for _ in places]
    return parts(inputs)


def scatter_kwargs(inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[int | device],
                   dim: int = 0) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """The same for the arguments of a call: as many tuples as dictionaries.

    Arguments:
        inputs: the arguments: a tensor, or containers of them
        kwargs: the arguments by name
        target_gpus: the NPUs, as indexes
        dim: the dimension of the batch

    Example:
        >>> torch.nn.parallel.scatter_gather.scatter_kwargs((torch.arange(4.0),), {"scale": 2}, ["cpu", "cpu"])
        (((tensor([0., 1.]),), (tensor([2., 3.]),)), ({'scale': 2}, {'scale': 2}))
    """
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(positional), len(named))
    return (*positional, *[()] * (count - len(positional))), (*named, *[{}] * (count - len(named)))


def gather(outputs: Any, target_device: int | device, dim: int = 0) -> Any:
    """The tensors of all devices, one behind the other along `dim`, on one device, a number or "cpu".

    Arguments:
        outputs: the results of the NPUs
        target_device: where the result comes to
        dim: the dimension of the batch

    Example:
        >>> torch.nn.parallel.gather([torch.ones(1, device="npu:0"), torch.zeros(1, device="npu:0")], "cpu")
        tensor([1., 0.])
    """
    place = _device(target_device)

    def joined(values):
        first = values[0]
        if isinstance(first, TensorBase):
            if all(value.dim() == 0 for value in values) and dim == 0:
                warnings.warn("Was asked to gather along dimension 0, but all input tensors were scalars; will instead "
                              "unsqueeze and return a vector.", stacklevel=3)
                values = [value.unsqueeze(0) for value in values]
            return cat([value.to(place) for value in values], dim)
        if first is None:
            return None
        if isinstance(first, dict):
            if any(len(value) != len(first) for value in values):
                raise ValueError("All dicts must have the same number of keys")
            return type(first)((key, joined([value[key] for value in values])) for key in first)
        return _built(first, map(joined, zip(*values, strict=True)))
    return joined(list(outputs))
