"""torch.distributed.tensor._utils: which part of a tensor a rank has."""
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mindtorch.distributed.tensor.placement_types import Replicate, Shard, _StridedShard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mindtorch.distributed.device_mesh import DeviceMesh
    from mindtorch.distributed.tensor.placement_types import Placement

__all__ = ["checked_placements", "compute_local_shape", "compute_local_shape_and_global_offset", "contiguous_strides",
           "cut_dim", "cutting_order"]


def cut_dim(place: Placement) -> int | None:
    """The dimension along which a placement cuts; None where it does not."""
    return place.dim if isinstance(place, (Shard, _StridedShard)) else None


def cutting_order(placements: Sequence[Placement]) -> list[int]:
    """The mesh dimensions in the order in which they cut a tensor: each cuts what those before it have left."""
    return sorted(range(len(placements)), key=lambda dim: isinstance(placements[dim], _StridedShard))


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def checked_placements(placements: Sequence[Placement] | None, mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    """One for each dimension of the mesh, with dimensions from 0; without any: Replicate."""
    if placements is None:
        return (Replicate(),) * mesh.ndim
    if len(placements) != mesh.ndim:
        raise ValueError(f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: "
                         f"{len(placements)}, and device_mesh.ndim: {mesh.ndim}.")
    result = []
    for place in placements:
        if cut_dim(place) is not None:
            if not -ndim <= place.dim < ndim:
                raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got "
                                 f"{place.dim})")
            result.append(replace(place, dim=place.dim % ndim))
        else:
            result.append(place)
    return tuple(result)


def compute_local_shape_and_global_offset(
        global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement],
        skip_offset: bool = False) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this rank's part, and where it begins in each dimension.

    Without elements it begins at the end. Ranks outside the mesh have nothing: ((0,), ()).
    """
    place_in_mesh = mesh.get_coordinate()
    if place_in_mesh is None:
        return (0,), ()
    shape, offset = list(global_shape), [0] * len(global_shape)
    for at in cutting_order(placements):
        dim = cut_dim(placements[at])
        if dim is not None:
            shape[dim], begin = Shard.local_shard_size_and_offset(shape[dim], mesh.shape[at], place_in_mesh[at])
            offset[dim] += begin
    return tuple(shape), () if skip_offset else tuple(
        total if size == 0 else begin for total, size, begin in zip(global_shape, shape, offset, strict=True))


def compute_local_shape(global_shape: Sequence[int], mesh: DeviceMesh,
                        placements: Sequence[Placement]) -> tuple[int, ...]:
    """The shape of this rank's part."""
    return compute_local_shape_and_global_offset(global_shape, mesh, placements, True)[0]
