"""torch.distributed.device_mesh: an array of ranks, with process groups along its dimensions."""
from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._submodules import module_getattr
from mindtorch.distributed._groups import init_process_group, new_group
from mindtorch.distributed._world import (
    _get_default_group,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    is_initialized,
)

if TYPE_CHECKING:
    from mindtorch.distributed._process_group import ProcessGroup

__all__ = ["DeviceMesh", "init_device_mesh"]

_entered: list[DeviceMesh] = []     # by `with mesh:`, the innermost last


class _MeshResources:
    """The meshes of the `with` statements that this process is in."""

    @property
    def mesh_stack(self) -> list[DeviceMesh]:
        return _entered

    def get_current_mesh(self) -> DeviceMesh:
        """The innermost."""
        if not _entered:
            raise RuntimeError("No device mesh is currently active!")
        return _entered[-1]

    def get_root_mesh(self, mesh: DeviceMesh) -> DeviceMesh:
        """The mesh of which `mesh` is a part."""
        return mesh._get_root_mesh()


_mesh_resources = _MeshResources()


def _join(size):
    """The group of all ranks, where none is there yet, and this process's NPU."""
    if not is_initialized():
        init_process_group()
    if size > get_world_size():
        raise RuntimeError(f"Mesh should not be bigger than default world size {get_world_size()}, but found {size} "
                           "ranks!")


def _choose_npu(device_type):
    if device_type == "npu" and not mindtorch.npu.is_initialized():
        mindtorch.npu.set_device(int(os.environ.get("LOCAL_RANK", get_rank() % mindtorch.npu.device_count())))


def _rows(mesh, dims):
    """The ranks along `dims` of an array, for each place in the others."""
    others = [dim for dim in range(mesh.ndim) if dim not in dims]
    return mesh.permute(*others, *dims).reshape(-1, *(mesh.shape[dim] for dim in dims))


def _row_with(rows, rank):
    """That which has `rank`, else the first."""
    found = [row for row in rows if bool((row == rank).any())]
    return found[0] if found else rows[0]


def _new_groups(rows, description, backend=None, options=None):
    """A group for each row, which all ranks make; that of this rank, or None."""
    world = _get_default_group()
    if len(rows) == 1 and rows[0].flatten().tolist() == list(range(world.size())) and backend is options is None:
        return world
    own = None
    for row in rows:
        ranks = row.flatten().tolist()
        group = new_group(ranks, backend=backend, pg_options=options, group_desc=description)
        if world.rank() in ranks:
            own = group
    return own


class DeviceMesh:
    """An array of ranks, made by all with the same arguments. `mesh["tp"]` is the part along it that has this rank.

    Arguments:
        mesh: the ranks, as a tensor or nested lists

    Example:
        >>> mesh = dist.DeviceMesh("cpu", [[0]], mesh_dim_names=("dp", "tp"))
        >>> mesh["tp"].size(), mesh.get_coordinate()
        (1, (0, 0))
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None,
                 backend_override: Sequence[tuple[str | None, Any]] | None = None, _init_backend: bool = True) -> None:
        if isinstance(mesh, TensorBase) and mesh.device.type != "cpu":
            raise ValueError(f"`mesh` must be a CPU tensor, got {mesh}")
        array = mesh.detach() if isinstance(mesh, TensorBase) else mindtorch.tensor(mesh, device="cpu")
        names = tuple(mesh_dim_names) if mesh_dim_names else None
        self._set(mindtorch.device(device_type).type, array.to(mindtorch.int32), names, [], None)
        if not _init_backend:
            return
        _join(self.mesh.numel())
        _choose_npu(self.device_type)
        if len(set(self.mesh.flatten().tolist())) != self.mesh.numel():
            raise AssertionError("DeviceMesh requires unique ranks")
        overrides = backend_override or [(None, None)] * self.ndim
        self._dim_groups = [_new_groups(_rows(self.mesh, [dim]), f"mesh_{self._label(dim)}", *overrides[dim])
                            for dim in range(self.ndim)]

    def _set(self, device_type, mesh, names, groups, root):
        self.device_type, self.mesh, self.mesh_dim_names = device_type, mesh, names
        self._dim_groups, self._root_mesh = groups, root
        self._flatten_mapping = {} if root is None else root._flatten_mapping
        self._flattened_dims = {} if root is None else root._flattened_dims

    @classmethod
    def _made(cls, *fields):
        made = cls.__new__(cls)
        made._set(*fields)
        return made

    def _label(self, dim):
        return self.mesh_dim_names[dim] if self.mesh_dim_names else f"dim_{dim}"

    @staticmethod
    def from_group(group: ProcessGroup | list[ProcessGroup], device_type: str, mesh: Any = None, *,
                   mesh_dim_names: Sequence[str] | None = None) -> DeviceMesh:
        """The mesh of a group, or of a group for each dimension of `mesh`."""
        names = tuple(mesh_dim_names) if mesh_dim_names else None
        if not isinstance(group, list):
            ranks = get_process_group_ranks(group)
            if mesh is not None and mindtorch.as_tensor(mesh, device="cpu").flatten().tolist() != ranks:
                raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {ranks}")
            array = mindtorch.tensor(ranks, dtype=mindtorch.int32, device="cpu")
            return DeviceMesh._made(device_type, array, names, [group], None)
        if not group:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        array = mindtorch.as_tensor(mesh, device="cpu").detach().to(mindtorch.int32)
        if array.ndim != len(group):
            raise ValueError(f"Expects mesh with ndim equal to number of ProcessGroups but got mesh {array.tolist()} "
                             f"and {len(group)} ProcessGroups")
        return DeviceMesh._made(device_type, array, names, list(group), None)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many ranks each dimension has."""
        return tuple(self.mesh.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.mesh.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of ranks, or of those along a dimension."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.shape[mesh_dim]

    def __repr__(self) -> str:
        sizes = [f"{name}={size}" for name, size in zip(self.mesh_dim_names or (), self.shape, strict=False)]
        shape = f"({', '.join(sizes)})" if sizes else str(self.shape)
        stride = tuple(math.prod(self.shape[dim + 1:]) for dim in range(self.ndim))
        return f"DeviceMesh({shape}, '{self.device_type}', stride={stride})"

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DeviceMesh) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self):
        return self.device_type, self.shape, tuple(self.mesh.flatten().tolist()), self.mesh_dim_names

    def __enter__(self) -> DeviceMesh:
        _entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _entered.pop()

    # Where this rank is

    def get_rank(self) -> int:
        """The global rank of this process."""
        return get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """The place of this rank in the mesh; None if it is not there."""
        found = (self.mesh == get_rank()).nonzero().tolist()
        return tuple(found[0]) if found else None

    def _sym_get_coordinate(self, index):
        return self.get_coordinate()[index]

    def _is_current_rank_part_of_mesh(self):
        return self.get_coordinate() is not None

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The rank in the group along a dimension, which may be left out if there is only one."""
        return get_rank(self._dim_groups[self._one_dim(mesh_dim)])

    def _one_dim(self, mesh_dim, *advice):
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions",
                               "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.", *advice)
        return self._get_mesh_dim_by_name(mesh_dim) if isinstance(mesh_dim, str) else mesh_dim or 0

    def _get_mesh_dim_by_name(self, name):
        if not self.mesh_dim_names:
            raise KeyError("No `mesh_dim_names` found.")
        if name not in self.mesh_dim_names:
            raise KeyError(f"Mesh dimension '{name}' does not exist.",
                           f"Available mesh dimensions are: mesh_dim_names={self.mesh_dim_names}")
        return self.mesh_dim_names.index(name)

    # Groups

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of the ranks along a dimension, which may be left out if there is only one."""
        if not self._dim_groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        if isinstance(mesh_dim, str) and mesh_dim in self._get_root_mesh()._flatten_mapping:
            return self._get_root_mesh()._flatten_mapping[mesh_dim].get_group()
        return self._dim_groups[self._one_dim(
            mesh_dim, "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
                      "please use `get_all_groups()` instead.")]

    def get_all_groups(self) -> list[ProcessGroup]:
        """The group along each dimension."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    @property
    def _dim_group_names(self) -> list[str]:
        return [group.group_name for group in self._dim_groups]

    # Parts

    def _get_root_mesh(self):
        return self._root_mesh or self

    def __getitem__(self, mesh_dim_names: str | Sequence[str]) -> DeviceMesh:
        """The part along these dimensions, in the order that they have here, that has this rank."""
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if names == self.mesh_dim_names:
            return self
        if len(names) == 1 and names[0] in self._flatten_mapping:
            return self._flatten_mapping[names[0]]
        known = [*self.mesh_dim_names, *self._flatten_mapping]
        if not set(names) <= set(known):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {known}.")
        dims = [dim for name in names for dim in self._dims_of(name)]
        if dims != sorted(dims):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Mesh dim indices should be in ascending order.")
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"Slicing overlapping dim_names {names} is not allowed.")
        if not set(names) <= set(self.mesh_dim_names):
            return self._concatenate([self[name] for name in names])
        part = _row_with(_rows(self.mesh, dims), get_rank())
        groups = [self._dim_groups[dim] for dim in dims] if self._dim_groups else []
        return DeviceMesh._made(self.device_type, part, names, groups, self._get_root_mesh())

    def _dims_of(self, name):
        """The dimensions of a name, which may be that of flattened ones."""
        return self._flattened_dims.get(name) or [self._get_mesh_dim_by_name(name)]

    def _flatten(self, mesh_dim_name: str | None = None, backend_override: Any = None) -> DeviceMesh:
        """All dimensions as one, which the root mesh then knows by its name."""
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        root, name = self._get_root_mesh(), mesh_dim_name or "_".join(self.mesh_dim_names)
        if self.ndim == 1 and name == self.mesh_dim_names[0]:
            return self
        if name in (root.mesh_dim_names or ()):
            raise ValueError(f"{name} already exists for submesh of the {root}. The mesh_dim_names of submesh and "
                             f"flattened mesh are {root.mesh_dim_names}. Please specify another valid mesh_dim_name.")
        if name not in root._flatten_mapping:
            dims = [dim for own in self.mesh_dim_names for dim in root._dims_of(own)]
            rows = _rows(root.mesh, dims).reshape(-1, self.size())
            group = _new_groups(rows, f"mesh_{name}", *(backend_override or (None, None)))
            root._flatten_mapping[name] = DeviceMesh._made(
                self.device_type, _row_with(rows, get_rank()), (name,), [group], root)
            root._flattened_dims[name] = dims
        return root._flatten_mapping[name]

    def _unflatten(self, dim: int | str, mesh_sizes: Sequence[int], mesh_dim_names: Sequence[str],
                   backend_override: Any = None) -> DeviceMesh:
        """A mesh with several dimensions in the place of one of a mesh that is no part of another."""
        if self._root_mesh is not None:
            raise NotImplementedError("DeviceMesh._unflatten of a part of a mesh: call it on the whole mesh")
        dim = self._one_dim(dim)
        if math.prod(mesh_sizes) != self.size(dim):
            raise ValueError(f"The product of mesh_sizes={tuple(mesh_sizes)} must be the size {self.size(dim)} of "
                             f"dimension {dim}")
        names = self.mesh_dim_names or tuple(f"dim_{place}" for place in range(self.ndim))
        made = DeviceMesh._made(
            self.device_type, self.mesh.reshape(*self.shape[:dim], *mesh_sizes, *self.shape[dim + 1:]),
            (*names[:dim], *mesh_dim_names, *names[dim + 1:]), [], None)
        overrides = backend_override or {}
        new = [_new_groups(_rows(made.mesh, [dim + place]), f"mesh_{name}", *overrides.get(name, (None, None)))
               for place, name in enumerate(mesh_dim_names)]
        made._dim_groups = [*self._dim_groups[:dim], *new, *self._dim_groups[dim + 1:]]
        return made

    @staticmethod
    def _concatenate(device_mesh_list: Sequence[DeviceMesh]) -> DeviceMesh:
        """The part along the dimensions of several parts of one mesh, in this order."""
        root = device_mesh_list[0]._get_root_mesh()
        if any(mesh._get_root_mesh() != root for mesh in device_mesh_list):
            raise RuntimeError("Cannot concatenate DeviceMeshes derived from different device meshs")
        names = tuple(name for mesh in device_mesh_list for name in mesh.mesh_dim_names)
        dims = [dim for name in names for dim in root._dims_of(name)]
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"Cannot concatenate overlapping meshes: {device_mesh_list}")
        part = _row_with(_rows(root.mesh, dims), get_rank())
        groups = [group for mesh in device_mesh_list for group in mesh._dim_groups]
        return DeviceMesh._made(root.device_type, part.reshape([size for mesh in device_mesh_list
                                                                for size in mesh.shape]), names, groups, root)


def init_device_mesh(device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None,
                     backend_override: dict[int | str, Any] | None = None) -> DeviceMesh:
    """The first ranks of the job in an array, the last dimension changing fastest.

    `backend_override` has an engine, its options or both for dimensions, by number or name.

    Arguments:
        mesh_shape: the sizes of the dimensions

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
        >>> mesh["dp"].size(), mesh.shape
        (1, (1, 1))
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError("Each mesh_dim_name must be unique. "
                               f"Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}")
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError("mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
                               f"{len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}.")
    if not device_type.isalpha():
        raise RuntimeError(f"Device type with index is not supported but got {device_type}. ",
                           "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.")
    given = backend_override or {}
    overrides = []
    for dim in range(len(mesh_shape)):
        name = mesh_dim_names[dim] if mesh_dim_names else None
        override = given.get(dim, given.get(name))
        overrides.append(override if isinstance(override, tuple) else (override, None)
                         if isinstance(override, str) or override is None else (None, override))
    mesh = mindtorch.arange(math.prod(mesh_shape), dtype=mindtorch.int32, device="cpu").view(tuple(mesh_shape))
    return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, backend_override=overrides)


__getattr__ = module_getattr(__name__)
