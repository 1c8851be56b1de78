"""BatchedTensor: what a function that vmap calls gets in place of a tensor of one sample.

Its `value` holds that tensor of all samples; the batch dimensions come first, one for each vmap that is running, in
their order. Shape and dtype are those of one sample. Operators reach it by __torch_dispatch__, and _batching_rules.py
computes them on values. History belongs to the values: autograd sees a program without vmap.
"""
from __future__ import annotations

import itertools
import threading
from typing import Any

import mindtorch
from mindtorch._core.autograd.node import set_below_autograd
from mindtorch._core.python.torch_function import _disabled_torch_function_impl
from mindtorch._core.tensor.views import set_bits_of
from mindtorch.utils._python_dispatch import TorchDispatchMode

__all__ = [
    "BatchedTensor",
    "Level",
    "PerSampleRandomness",
    "add_batch_dim",
    "add_batch_dims",
    "all_samples",
    "as_batched",
    "current_level",
    "levels_of",
    "moved",
    "remove_batch_dims",
    "running_levels",
    "value_of",
]

_number = itertools.count()
_thread = threading.local()


class Level:
    """A vmap that runs: how many samples it has, and what random operators give them ("different" or "same").

    `derivatives` counts the derivatives that are being taken inside it. In torch a derivative inside a vmap is one of
    max(self), which shares a gradient among equal elements, and one around it is one of the max(dim) that the vmap
    makes of it, which does not. Values have one history for both, so the rule has to know in which of them it runs.
    """

    __slots__ = ("derivatives", "number", "randomness", "size")

    def __init__(self, size: int, randomness: str) -> None:
        self.number, self.size, self.randomness, self.derivatives = next(_number), size, randomness, 0

    def __enter__(self):
        running_levels().append(self)
        return self

    def __exit__(self, *exception):
        running_levels().pop()


def running_levels() -> list[Level]:
    """The levels of this thread, the innermost last."""
    if not hasattr(_thread, "levels"):
        _thread.levels = []
    return _thread.levels


def current_level() -> Level | None:
    """The innermost level of this thread."""
    levels = running_levels()
    return levels[-1] if levels else None


class BatchedTensor(mindtorch.Tensor):
    """A tensor of one sample to the function, of all samples in `value`."""

    __slots__ = ("levels", "value")
    __torch_function__ = _disabled_torch_function_impl

    @staticmethod
    def __new__(cls, value, levels):
        count = len(levels)
        made = mindtorch.Tensor._make_wrapper_subclass(
            cls, value.shape[count:], strides=value.stride()[count:], storage_offset=value.storage_offset(),
            dtype=value.dtype, device=value.device)
        set_bits_of(made, value.is_conj(), value.is_neg())
        made.value, made.levels = value, levels
        return made

    def __init__(self, value, levels):
        pass

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        from mindtorch.func._batching_rules import run_batched
        before = set_below_autograd(False)
        try:
            return run_batched(func, args, kwargs or {})
        finally:
            set_below_autograd(before)

    def __repr__(self, *, tensor_contents=None):
        return f"BatchedTensor(sizes={[level.size for level in self.levels]}, value=\n    {self.value}\n)"


def value_of(tensor: Any) -> Any:
    """The tensor of all samples; a tensor without a batch itself."""
    return tensor.value if type(tensor) is BatchedTensor else tensor


def levels_of(tensor: Any) -> tuple[Level, ...]:
    """The levels that `tensor` has a batch of."""
    return tensor.levels if type(tensor) is BatchedTensor else ()


def as_batched(value: Any, levels: tuple[Level, ...]) -> Any:
    """The BatchedTensor of `value` with these levels."""
    return BatchedTensor(value, levels) if levels else value


def moved(value: Any, source: int, destination: int) -> Any:
    """`value` with its dimension in another place; itself, and no view, where that is its own."""
    return value if source == destination else value.movedim(source, destination)


def add_batch_dim(tensor: Any, dim: int, level: Level) -> Any:
    """`tensor` with its dimension `dim` as the batch of `level`, the innermost."""
    levels = levels_of(tensor)
    return BatchedTensor(moved(value_of(tensor), len(levels) + dim, len(levels)), (*levels, level))


def all_samples(tensor: Any, levels: tuple[Level, ...]) -> Any:
    """The value of `tensor` with a batch dimension for each of `levels`, expanded where it has none."""
    value, own = value_of(tensor), levels_of(tensor)
    for place, level in enumerate(levels):
        if level not in own:
            value = value.unsqueeze(place)
    return value if own == levels else value.expand(*(level.size for level in levels), *tensor.shape)


def remove_batch_dims(tensor: Any, levels: tuple[Level, ...]) -> Any:
    """`tensor` with the batches of `levels` as its first dimensions."""
    if not levels:
        return tensor
    own = levels_of(tensor)
    left = tuple(level for level in own if level not in levels)
    union = tuple(sorted({*own, *levels}, key=lambda level: level.number))
    value = all_samples(tensor, union)
    order = [union.index(level) for level in (*left, *levels)]
    return as_batched(value.permute((*order, *range(len(union), value.dim()))), left)


def add_batch_dims(tensor: Any, levels: tuple[Level, ...]) -> Any:
    """`tensor` with its first dimensions as the batches of `levels`: what undoes `remove_batch_dims`."""
    if not levels:
        return tensor
    value, own = value_of(tensor), (*levels_of(tensor), *levels)
    order = sorted(range(len(own)), key=lambda place: own[place].number)
    return BatchedTensor(value.permute((*order, *range(len(own), value.dim()))), tuple(own[place] for place in order))


class PerSampleRandomness(TorchDispatchMode):
    """Random operators on tensors without a batch draw numbers for each sample of the innermost level."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        from mindtorch.func._batching_rules import is_random, run_batched
        kwargs = kwargs or {}
        level = current_level()
        if not is_random(func) or level is None:
            return func(*args, **kwargs)
        before = set_below_autograd(False)
        try:
            return run_batched(func, args, kwargs, level)
        finally:
            set_below_autograd(before)
