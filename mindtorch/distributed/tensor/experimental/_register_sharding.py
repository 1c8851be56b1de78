"""Placements that a program gives for an operator."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch.distributed.tensor._dispatch import register_placements

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["register_sharding"]


def register_sharding(op: Any) -> Callable[[Callable], Callable]:
    """A decorator for a function that says in which placements an operator, or each in a list, computes on DTensors.

    The function gets what the operator gets, with objects that have `shape` and `ndim` in place of tensors. It returns
    a list of pairs: the placements of the results along one dimension of a mesh, and those of the arguments, with None
    for what is no tensor. They take the place of those that the operator has; what sends least is chosen.

    Arguments:
        op: an operator such as `torch.ops.aten.add.Tensor`, or a list of them

    Example:
        >>> @torch.library.custom_op("docs::twice", mutates_args=())
        ... def twice(x: torch.Tensor) -> torch.Tensor:
        ...     return x * 2
        >>> _ = twice.register_fake(torch.empty_like)
        >>> @dist.tensor.experimental.register_sharding(torch.ops.docs.twice.default)
        ... def by_rows(x):
        ...     return [([dist.tensor.Shard(0)], [dist.tensor.Shard(0)])]
        >>> mesh = dist.device_mesh.init_device_mesh("cpu", (1,))
        >>> x = dist.tensor.distribute_tensor(torch.ones(2), mesh, [dist.tensor.Shard(0)])
        >>> twice(x).placements
        (Shard(dim=0),)
    """
    def register(function: Callable) -> Callable:
        for each in op if isinstance(op, list) else [op]:
            register_placements(each, function)
        return function

    return register
