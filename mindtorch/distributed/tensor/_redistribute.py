"""Parts of a tensor from some placements to others, by collectives."""
from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch
from mindtorch.distributed import _collectives as collectives
from mindtorch.distributed._functional_collectives import _reduction
from mindtorch.distributed.tensor._utils import compute_local_shape, cut_dim, cutting_order
from mindtorch.distributed.tensor.placement_types import Partial, Replicate, Shard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindtorch import Tensor
    from mindtorch.distributed.device_mesh import DeviceMesh
    from mindtorch.distributed.tensor.placement_types import Placement

__all__ = ["redistribute_local_tensor"]


def _padded(part, dim, length):
    """The part, with zeros up to a length along a dimension."""
    missing = length - part.shape[dim]
    if not missing:
        return part
    shape = list(part.shape)
    shape[dim] = missing
    return mindtorch.cat([part, part.new_zeros(shape)], dim)


def _chunks(local, dim, count):
    """As many parts along a dimension as ranks; the last may be empty."""
    sizes = [Shard.local_shard_size_and_offset(local.shape[dim], count, rank)[0] for rank in range(count)]
    return local.split(sizes, dim)


def _gather(local, dim, length, group):
    """The whole of a dimension, whose length is `length`."""
    size = group.size()
    chunk = -(-length // size)
    part = _padded(local, dim, chunk).contiguous()
    whole = part.new_empty((size, *part.shape))
    collectives.all_gather_single(whole, part.unsqueeze(0), group)
    return whole.movedim(0, dim).flatten(dim, dim + 1).narrow(dim, 0, length).contiguous()


def _stacked(local, dim, size):
    """The parts for all ranks, of one length."""
    chunk = -(-local.shape[dim] // size)
    return mindtorch.stack([_padded(part, dim, chunk) for part in _chunks(local, dim, size)])


def _reduce_scatter(local, dim, op, group):
    parts, rank = _stacked(local, dim, group.size()), group.rank()
    own = parts.new_empty((1, *parts.shape[1:]))
    collectives.reduce_scatter_single(own, parts, _reduction(op), group)
    return own[0].narrow(dim, 0, Shard.local_shard_size_and_offset(local.shape[dim], group.size(), rank)[0])


def _exchange(local, source, target, length, group):
    """From parts along `source`, which is `length` long, to parts along `target`."""
    size, rank = group.size(), group.rank()
    own = Shard.local_shard_size_and_offset(local.shape[target], size, rank)[0]
    parts = _stacked(_padded(local, source, -(-length // size)), target, size)
    received = mindtorch.empty_like(parts)
    collectives.all_to_all_single(received, parts, group=group)
    joined = received.movedim(0, source).flatten(source, source + 1)
    return joined.narrow(source, 0, length).narrow(target, 0, own).contiguous()


def _all_reduce(local, op, group):
    if op.startswith("norm_"):
        return _all_reduce_norm(local, float(op[5:]), group)
    result = local.contiguous().clone()
    collectives.all_reduce(result, _reduction(op), group)
    return result


def _all_reduce_norm(local, order, group):
    """The norm of a vector of norms: of order inf the largest, of order 0 the sum, else by powers."""
    if order in (float("inf"), float("-inf"), 0.0):
        return _all_reduce(local, {0.0: "sum"}.get(order, "max" if order > 0 else "min"), group)
    return _all_reduce(local.pow(order), "sum", group).pow(1 / order)


def _from_replicated(local, place, group):
    """This rank's part under a placement, of a tensor that all ranks have whole."""
    if cut_dim(place) is not None:
        return _chunks(local, place.dim, group.size())[group.rank()].contiguous()
    if place.reduce_op == "sum":        # one rank keeps it: exact, which a quotient is not
        return local if group.rank() == 0 else mindtorch.zeros_like(local)
    if place.reduce_op in ("avg", "min", "max"):
        return local
    raise RuntimeError(f"redistribute from Replicate() to {place!r} is not known")


def redistribute_local_tensor(local_tensor: Tensor, shape: Sequence[int], mesh: DeviceMesh,
                              current: Sequence[Placement], target: Sequence[Placement]) -> Tensor:
    """This rank's part of a tensor of `shape` under the placements `target`, of that under `current`."""
    now, local = list(current), local_tensor
    orders = cutting_order(current), cutting_order(target)

    def alone(dim, at):     # whether no other mesh dimension cuts the tensor there
        return all(cut_dim(placements[other]) != dim for placements in (now, target) for other in orders[0]
                   if other != at)

    def outer_changes(dim, at):
        return any(current[other] != target[other] and dim in (cut_dim(current[other]), cut_dim(target[other]))
                   for order in orders for other in order[:order.index(at)])

    # What an outer mesh dimension has cut the inner ones cut again, so these are joined first.
    for place_in_order, at in reversed(list(enumerate(orders[0]))):
        place, goal = now[at], target[at]
        dim = cut_dim(place)
        if dim is None or (place == goal and not outer_changes(dim, at)):
            continue
        outer = orders[0][:place_in_order]
        length = compute_local_shape(shape, mesh, [each if other in outer else Replicate()
                                                   for other, each in enumerate(current)])[dim]
        if cut_dim(goal) not in (None, dim) and alone(dim, at) and alone(goal.dim, at):
            local = _exchange(local, dim, goal.dim, length, mesh.get_group(at))
            now[at] = goal
        else:
            local = _gather(local, dim, length, mesh.get_group(at))
            now[at] = Replicate()
    for at in orders[1]:
        place, goal = now[at], target[at]
        if place == goal:
            continue
        group = mesh.get_group(at)
        if isinstance(place, Partial):
            if cut_dim(goal) is not None and not place.reduce_op.startswith("norm_"):
                local = _reduce_scatter(local, goal.dim, place.reduce_op, group)
                continue
            if isinstance(goal, Partial):
                raise RuntimeError(f"redistribute from {place!r} to {goal!r} is not supported")
            local = _all_reduce(local, place.reduce_op, group)
        if not isinstance(goal, Replicate):
            local = _from_replicated(local, goal, group)
    return local
