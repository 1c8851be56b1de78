"""torch.func.vmap: a function of one sample as a function of a batch.

The function is called once, with BatchedTensors in place of the tensors that have a batch. An operator on these
computes all samples at once (_batching_rules.py).
"""
from __future__ import annotations

import functools
from contextlib import nullcontext
from typing import Any

import mindtorch
from mindtorch._ops.composite.common import wrap_dim
from mindtorch.func import _given_rules  # noqa: F401 - which enters itself in the hooks of autograd.Function
from mindtorch.func._batched_tensor import (
    Level,
    PerSampleRandomness,
    add_batch_dim,
    as_batched,
    levels_of,
    moved,
    value_of,
)
from mindtorch.func._random_states import refused_randomness
from mindtorch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = ["vmap"]

_RANDOMNESS = ("error", "different", "same")


def vmap(func: Any, in_dims: int = 0, out_dims: int = 0, randomness: str = "error", *, chunk_size: Any = None) -> Any:
    """`func`, called with each slice of its inputs along `in_dims`; results are stacked along `out_dims`.

    Both are an int, None for what has no batch, or containers of them built as the arguments and the results are.
    `randomness`: "error" refuses random operators, "different" and "same" say whether samples see the same numbers.
    No more than `chunk_size` samples are computed at once. Keyword arguments are handed on as they are. ValueError for
    dims that do not fit, RuntimeError for random operators, and where the function reads elements.

    Arguments:
        func: the function
        in_dims: the dimension of each argument that is the batch; None for an argument that all share
        out_dims: where the batch comes to in each result
        randomness: "error", "different" or "same": what random operators do
        chunk_size: how many of the batch run at once; None means all

    Example:
        >>> rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> torch.vmap(torch.dot)(rows, rows)
        tensor([ 5., 25.])
        >>> torch.vmap(torch.sum, in_dims=1)(rows)
        tensor([4., 6.])
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        name = getattr(func, "__name__", repr(func))
        leaves, spec = tree_flatten(args)
        dims = _dims_of_inputs(name, in_dims, args, leaves)
        count = _size_of_batch(dims, leaves)
        if chunk_size is None or chunk_size >= count:
            return _call(func, name, leaves, dims, spec, kwargs, out_dims, Level(count, randomness))
        parts = zip(*([leaf] * -(-count // chunk_size) if dim is None else leaf.split(chunk_size, dim)
                      for leaf, dim in zip(leaves, dims, strict=True)), strict=True)
        made = [_call(func, name, list(part), dims, spec, kwargs, out_dims,
                      Level(min(chunk_size, count - number * chunk_size), randomness))
                for number, part in enumerate(parts)]
        return _concatenated(name, out_dims, made)
    return wrapper


def _call(func, name, leaves, dims, spec, kwargs, out_dims, level):
    samples = [leaf if dim is None else add_batch_dim(leaf, dim, level) for leaf, dim in zip(leaves, dims, strict=True)]
    drawing = {"error": refused_randomness, "different": PerSampleRandomness, "same": nullcontext}[level.randomness]
    with drawing(), level:
        results, found = tree_flatten(func(*tree_unflatten(samples, spec), **kwargs))
    where = _dims_of_results(name, out_dims, tree_unflatten(results, found), found)
    given = {(id(sample), dim): leaf for sample, leaf, dim in zip(samples, leaves, dims, strict=True)}
    return tree_unflatten([_of_batch(name, result, dim, level, given)
                           for result, dim in zip(results, where, strict=True)], found)


def _concatenated(name, out_dims, made):
    """The results of several chunks in one."""
    columns, spec = list(zip(*(tree_flatten(each)[0] for each in made), strict=True)), tree_flatten(made[0])[1]
    where = _dims_of_results(name, out_dims, made[0], spec)
    return tree_unflatten([column[0] if dim is None else mindtorch.cat(column, dim)
                           for column, dim in zip(columns, where, strict=True)], spec)


def _dims_of_inputs(name, in_dims, args, leaves):
    """The dimension of the batch in each leaf, from 0 on; None where there is none."""
    given = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(f"{given}expected `in_dims` to be int or a (potentially nested) tuple matching the structure "
                         f"of inputs, got: {type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
                         "vmap over a function with no inputs. The latter is unsupported.")
    dims = _broadcast_dims(in_dims, args, f"{given}in_dims is not compatible with the structure of `inputs`. in_dims")
    for i, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if not isinstance(dim, int | None):
            raise ValueError(f"{given}Got in_dim={dim} for an input but in_dim must be either an integer dimension or "
                             "None.")
        if dim is None:
            continue
        if not isinstance(leaf, mindtorch.Tensor):
            raise ValueError(f"{given}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot "
                             "vmap over non-Tensor arguments, please use None as the respective in_dim")
        if not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(f"{given}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
                             f"{leaf.dim()} so expected in_dim to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}.")
        dims[i] = dim % leaf.dim()
    return dims


def _broadcast_dims(dims, tree, told):
    """The dimension for each leaf of `tree`: one may stand for a container. ValueError, begun by `told`, if not."""
    given, spec = tree_flatten(dims)
    try:
        parts = spec.flatten_up_to(tree)
    except ValueError:
        raise ValueError(f"{told} has structure {spec} but {told.split('`')[1]} has structure "
                         f"{tree_flatten(tree)[1]}.") from None
    return [dim for dim, part in zip(given, parts, strict=True) for _ in tree_leaves(part)]


def _size_of_batch(dims, leaves):
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                         f"{sizes} for the mapped dimension")
    return sizes[0]


def _dims_of_results(name, out_dims, results, spec):
    """The dimension of the batch in each result; None where it has none."""
    given = f"vmap({name}, ..., out_dims={out_dims})(<inputs>): "
    if not all(isinstance(dim, int | None) for dim in tree_leaves(out_dims)):
        raise ValueError(f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python "
                         "collection of ints representing where in the outputs the vmapped dimension should appear.")
    if isinstance(out_dims, tuple) and len(out_dims) == 1 and spec.is_leaf():
        out_dims, = out_dims
    return _broadcast_dims(out_dims, results,
                           f"{given}out_dims is not compatible with the structure of `outputs`. out_dims")


def _of_batch(name, result, dim, level, given):
    """A result of all samples, with the batch at `dim`: an argument itself where the sample and `dim` are its own."""
    if dim is None:
        if level in levels_of(result):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return result
    if not isinstance(result, mindtorch.Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(result)}. Did you "
                         "mean to set out_dims= to None for output?")
    rank = result.dim() + 1
    dim = wrap_dim(dim, rank)
    levels, value = levels_of(result), value_of(result)
    if level not in levels:
        return result.expand(level.size, *result.shape).movedim(0, dim)
    if (id(result), dim) in given:
        return given[id(result), dim]
    rest = tuple(each for each in levels if each is not level)
    return as_batched(moved(value, levels.index(level), len(rest) + dim), rest)
