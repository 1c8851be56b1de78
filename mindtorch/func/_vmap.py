"""torch.func.vmap: a function of one sample as a function of a batch.

The function is called once for each sample, and its results are stacked. That gives torch's values and gradients; what
it does not give is the speed of one operator for the whole batch.
"""
from __future__ import annotations

import functools
from typing import Any

import mindtorch
from mindtorch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

__all__ = ["vmap"]

_RANDOMNESS = ("error", "different", "same")


def vmap(func: Any, in_dims: int = 0, out_dims: int = 0, randomness: str = "error", *, chunk_size: Any = None) -> Any:
    """`func`, called with each slice of its inputs along `in_dims`; results are stacked along `out_dims`.

    Both are an int, None for what has no batch, or containers of them built as the arguments and the results are.
    `randomness`: "error" refuses random operators, "different" and "same" say whether samples see the same numbers.
    `chunk_size` limits memory in torch, and is only checked: samples never go together here. Keyword arguments are
    handed on as they are. ValueError for dims that do not fit, RuntimeError for random operators.
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        return _call(func, in_dims, out_dims, _Draws(randomness), args, kwargs)
    return wrapper


def _call(func, in_dims, out_dims, draws, args, kwargs):
    name = getattr(func, "__name__", repr(func))
    leaves, spec = tree_flatten(args)
    dims = _dims_of_inputs(name, in_dims, args, leaves)
    count = _size_of_batch(dims, leaves)
    columns = [[leaf] * count if dim is None else leaf.unbind(dim) for leaf, dim in zip(leaves, dims, strict=True)]
    if count == 0:
        # The shapes of the results are those of a sample that is not there.
        sample = [leaf if dim is None else leaf.sum(dim) for leaf, dim in zip(leaves, dims, strict=True)]
        made = [tree_flatten(func(*tree_unflatten(sample, spec), **kwargs))]
    else:
        made = [draws.sample(lambda row=row: tree_flatten(func(*tree_unflatten(list(row), spec), **kwargs)))
                for row in zip(*columns, strict=True)]
    results, found = made[0]
    where = _dims_of_results(name, out_dims, tree_unflatten(results, found), found)
    rows = zip(*(row for row, _ in made), strict=True)
    return tree_unflatten([_joined(name, row, dim, count) for row, dim in zip(rows, where, strict=True)], found)


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


def _joined(name, row, dim, count):
    """The results of all samples in one tensor; one that has no batch must be the same for each."""
    first = row[0]
    if dim is None:
        tensors = [each for each in row if isinstance(each, mindtorch.Tensor)]
        if any(each is not first and not mindtorch.equal(each, first) for each in tensors):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return first
    for each in row:
        if not isinstance(each, mindtorch.Tensor):
            raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(each)}. Did you "
                             "mean to set out_dims= to None for output?")
    if count == 0:
        return mindtorch.stack([first], dim).narrow(dim, 0, 0)
    return mindtorch.stack(row, dim)


class _Draws:
    """What random operators give to each sample."""

    def __init__(self, randomness: Any) -> None:
        self.randomness = randomness
        self.first = None

    def sample(self, run: Any) -> Any:
        if self.randomness == "different":
            return run()
        if self.first is None:
            self.first = _states()
        elif self.randomness == "same":
            _restore(self.first)
        result = run()
        if self.randomness == "error" and any(not mindtorch.equal(before, after) for before, after in zip(
                self.first, _states(), strict=True)):
            _restore(self.first)
            raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the "
                               "'same' or 'different' randomness flags on vmap or perform the randomness operation out "
                               "of vmap")
        return result


def _states():
    """The states of the default generators: the CPU's, and those of NPUs in use."""
    npu = mindtorch.npu
    return [mindtorch.get_rng_state(), *(npu.get_rng_state_all() if npu.is_initialized() else [])]


def _restore(states):
    mindtorch.set_rng_state(states[0])
    if states[1:]:
        mindtorch.npu.set_rng_state_all(states[1:])
