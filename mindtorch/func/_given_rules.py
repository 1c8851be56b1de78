"""Rules for batches that a user gives: `vmap` of an autograd.Function, register_vmap of a custom operator."""
from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import mindtorch
from mindtorch._core import hooks
from mindtorch.autograd.function import Function
from mindtorch.func._batched_tensor import (
    BatchedTensor,
    Level,
    add_batch_dim,
    all_samples,
    as_batched,
    levels_of,
    remove_batch_dims,
    running_levels,
    value_of,
)
from mindtorch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

__all__ = ["apply_given_rule", "apply_to_samples"]


class VmapInfo(NamedTuple):
    """What a rule gets to know of the batch."""

    batch_size: int
    randomness: str


def _levels_of_all(values):
    found = {level for value in tree_leaves(values) for level in levels_of(value)}
    return sorted(found, key=lambda level: level.number)


def apply_given_rule(rule: Any, args: tuple, kwargs: dict) -> Any:
    """rule(info, in_dims, *args), for the batch of the innermost level of the arguments."""
    level: Level = _levels_of_all((args, kwargs))[-1]
    args, in_dims = _without_batch_dims(args, level)
    kwargs, _ = _without_batch_dims(kwargs, level)
    result, dims = rule(VmapInfo(level.size, level.randomness), in_dims, *args, **kwargs)
    leaves, spec = tree_flatten(result)
    dims = [dim for dim in tree_flatten(dims)[0] for _ in leaves] if isinstance(dims, int | None) else tree_leaves(
        dims, is_leaf=lambda each: each is None)
    return tree_unflatten([leaf if dim is None else add_batch_dim(leaf, dim, level)
                           for leaf, dim in zip(leaves, dims, strict=True)], spec)


def _without_batch_dims(values, level):
    """The values with the batch of `level` as their first dimension, and 0 for those that have one, else None."""
    return (tree_map(lambda leaf: remove_batch_dims(leaf, (level,)) if level in levels_of(leaf) else leaf, values),
            tree_map(lambda leaf: 0 if level in levels_of(leaf) else None, values))


def apply_to_samples(function: Any, args: tuple, kwargs: dict, levels: tuple[Level, ...] | None = None) -> Any:
    """function(*args, **kwargs), called for each sample, with its results stacked.

    `levels` are those of the arguments, or more. RuntimeError where results of samples have different shapes.
    """
    levels = tuple(_levels_of_all((args, kwargs))) if levels is None else levels
    sizes = [level.size for level in levels]
    if 0 in sizes:
        return _empty_batch_result(function, args, kwargs, levels)

    def of_sample(leaf, place):
        index = tuple(place[levels.index(each)] for each in levels_of(leaf))
        return value_of(leaf)[index] if index else leaf

    made = [tree_flatten(function(*tree_map(lambda leaf, place=place: of_sample(leaf, place), args),
                                  **tree_map(lambda leaf, place=place: of_sample(leaf, place), kwargs)))
            for place in itertools.product(*map(range, sizes))]

    def stacked(column):
        if not isinstance(column[0], mindtorch.Tensor):
            return column[0]
        if any(each.shape != column[0].shape for each in column):
            raise RuntimeError(f"vmap: {function.__name__}: the elements decide the shape of the result, which must be "
                               "the same for all samples")
        return as_batched(mindtorch.stack(column).view(*sizes, *column[0].shape), levels)
    return tree_unflatten([stacked(column) for column in zip(*(leaves for leaves, _ in made), strict=True)],
                          made[0][1])


def _empty_batch_result(function, args, kwargs, levels):
    """Empty results, with the shapes that results of a sample would have."""
    def of_zeros(leaf):
        return value_of(leaf).new_zeros(leaf.shape) if levels_of(leaf) else leaf

    sizes = [level.size for level in levels]
    return tree_map(
        lambda leaf: as_batched(leaf.new_empty((*sizes, *leaf.shape)), levels) if isinstance(leaf, mindtorch.Tensor)
        else leaf, function(*tree_map(of_zeros, args), **tree_map(of_zeros, kwargs)))


def _apply_composite(function, each_sample, args, kwargs):
    """A composite on BatchedTensors; NotImplemented where there are none among the arguments."""
    levels = tuple(_levels_of_all((args, kwargs))) if running_levels() else ()
    if not levels:
        return NotImplemented
    if each_sample:
        return apply_to_samples(function, args, kwargs, levels)
    args, kwargs = tree_map(lambda leaf: as_batched(all_samples(leaf, levels), levels)
                            if isinstance(leaf, mindtorch.Tensor) else leaf, (args, kwargs))
    return function(*args, **kwargs)


def _apply_function(kind, apply, args, kwargs):
    """An autograd.Function on BatchedTensors; NotImplemented where there are none among the arguments."""
    if not any(levels_of(value) for value in tree_leaves((args, kwargs))):
        return NotImplemented
    if kind.vmap is not Function.vmap:
        return apply_given_rule(kind.vmap, args, kwargs)
    return apply_to_samples(apply, args, kwargs)


hooks.BatchedTensor = BatchedTensor
hooks.apply_function_to_batch = _apply_function
hooks.apply_composite_to_batch = _apply_composite
