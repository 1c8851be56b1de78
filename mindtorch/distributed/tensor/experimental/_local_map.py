"""Functions of plain tensors, called with DTensors."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from mindtorch import Tensor
from mindtorch.distributed.tensor._api import DTensor
from mindtorch.utils._pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch.distributed.device_mesh import DeviceMesh

__all__ = ["local_map"]


def local_map(func: Callable | None = None, out_placements: Any = None, in_placements: tuple | None = None,
              in_grad_placements: tuple | None = None, device_mesh: DeviceMesh | None = None, *,
              redistribute_inputs: bool = False) -> Callable:
    """A function that calls `func` with this rank's parts of DTensors, and makes DTensors of what it returns.

    `out_placements` has the placements of each result, `in_placements` those that arguments must have, or with
    `redistribute_inputs` are brought to, `in_grad_placements` those of their gradients; None stands for what is no
    tensor. Without a DTensor among its arguments `func` is called as it is. Without `func` it is a decorator.

    Arguments:
        func: a function of the parts of this rank
        out_placements: the placements of the results
        in_placements: the placements that the inputs are to have; None takes them as they are
        in_grad_placements: the placements of the inputs' gradients
        device_mesh: the DeviceMesh
        redistribute_inputs: whether inputs of other placements are redistributed, in place of an error

    Example:
        >>> mesh = dist.device_mesh.init_device_mesh("cpu", (1,))
        >>> shard = [dist.tensor.Shard(0)]
        >>> double = dist.tensor.experimental.local_map(lambda part: 2 * part, shard, device_mesh=mesh)
        >>> double(dist.tensor.distribute_tensor(torch.ones(2), mesh, shard)).full_tensor()
        tensor([2., 2.])
    """
    if func is None:
        return functools.partial(local_map, out_placements=out_placements, in_placements=in_placements,
                                 in_grad_placements=in_grad_placements, device_mesh=device_mesh,
                                 redistribute_inputs=redistribute_inputs)

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten(args)
        if in_placements is not None and len(in_placements) != len(leaves):
            raise AssertionError(f"in_placements length {len(in_placements)} does not match the number of input args "
                                 f"{len(leaves)}!")
        wanted, gradients = (given or [None] * len(leaves) for given in (in_placements, in_grad_placements))
        parts = [_local(leaf, in_placements is not None, placements, in_grad_placements is not None, gradient)
                 for leaf, placements, gradient in zip(leaves, wanted, gradients, strict=True)]
        result = func(*tree_unflatten(parts, tree), **kwargs)
        first = next((leaf for leaf in leaves if isinstance(leaf, DTensor)), None)
        return result if first is None else _distributed(result, device_mesh or first.device_mesh)

    def _local(leaf, is_checked, placements, has_gradient, gradient):
        if not isinstance(leaf, DTensor):
            if is_checked and placements is not None and not isinstance(leaf, Tensor):
                raise AssertionError(f"Non-Tensor input {leaf} expects None placements but received {placements}!")
            return leaf
        if is_checked and placements is None:
            raise AssertionError(f"DTensor input {leaf} expects placements but received None!")
        if has_gradient and gradient is None:
            raise AssertionError(f"DTensor input {leaf} expects in grad placements but received None!")
        if is_checked and leaf.placements != tuple(placements):
            if not redistribute_inputs:
                raise ValueError(f"arg {leaf} in local_map has a mismatched placements: arg placements is "
                                 f"{leaf.placements} but the input placements is {tuple(placements)}! If "
                                 "redistribute_inputs is wanted, set redistribute_inputs=True to local_map.")
            leaf = leaf.redistribute(placements=placements)
        return leaf.to_local(grad_placements=gradient if has_gradient else None)

    def _distributed(result, mesh):
        leaves, tree = tree_flatten(result)
        places = out_placements if isinstance(out_placements, tuple) else (out_placements,)
        if len(leaves) != len(places):
            raise AssertionError("local_map requires one PlacementType be provided for each output value, received "
                                 f"{len(places)} out_placements but {len(leaves)} is expected!")
        for place, (leaf, placements) in enumerate(zip(leaves, places, strict=True)):
            if isinstance(leaf, DTensor):
                raise AssertionError(f"torch.Tensor output expected but received {type(leaf)}: {leaf}")
            if isinstance(leaf, Tensor):
                leaves[place] = DTensor.from_local(leaf, mesh, placements, run_check=False)
            elif placements is not None:
                raise AssertionError(f"Non-tensor output {leaf} expects None placements but received {placements}!")
        return tree_unflatten(leaves, tree)

    return functools.wraps(func)(call)
