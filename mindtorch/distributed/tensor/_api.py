"""DTensor: a tensor in parts on the ranks of a mesh."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import Tensor, nn
from mindtorch.autograd import Function
from mindtorch.distributed import _collectives as collectives
from mindtorch.distributed.device_mesh import DeviceMesh, _mesh_resources
from mindtorch.distributed.tensor._dispatch import run_operator
from mindtorch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from mindtorch.distributed.tensor._redistribute import redistribute_local_tensor
from mindtorch.distributed.tensor._utils import (
    checked_placements,
    compute_local_shape,
    compute_local_shape_and_global_offset,
    contiguous_strides,
    cut_dim,
)
from mindtorch.distributed.tensor.placement_types import Partial, Replicate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mindtorch import dtype as Dtype
    from mindtorch.distributed.tensor.placement_types import Placement

__all__ = ["DTensor", "distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros"]


def _without_partial(placements):
    """The placements of a gradient: each rank has the whole gradient of what it has added to."""
    return tuple(Replicate() if isinstance(place, Partial) else place for place in placements)


def _current_mesh(mesh):
    return mesh or _mesh_resources.get_current_mesh()


class _FromLocal(Function):
    @staticmethod
    def forward(ctx, local, spec, grad_placements):
        ctx.placements = grad_placements or _without_partial(spec.placements)
        return DTensor(local.detach(), spec, requires_grad=local.requires_grad)

    @staticmethod
    def backward(ctx, grad):
        return grad.redistribute(placements=ctx.placements).to_local(), None, None


class _ToLocal(Function):
    @staticmethod
    def forward(ctx, tensor, grad_placements):
        ctx.spec, ctx.placements = tensor._spec, grad_placements or _without_partial(tensor.placements)
        return tensor._local_tensor.detach()

    @staticmethod
    def backward(ctx, grad):
        shape, _, _ = ctx.spec.tensor_meta
        meta = TensorMeta(shape, contiguous_strides(shape), grad.dtype)
        return DTensor(grad, DTensorSpec(ctx.spec.mesh, ctx.placements, meta), requires_grad=False), None


class _Redistribute(Function):
    @staticmethod
    def forward(ctx, tensor, placements, forward_dtype, backward_dtype):
        spec = tensor._spec
        ctx.placements, ctx.dtype = _without_partial(spec.placements), backward_dtype or spec.tensor_meta.dtype
        local = tensor._local_tensor if forward_dtype is None else tensor._local_tensor.to(forward_dtype)
        local = redistribute_local_tensor(local, spec.shape, spec.mesh, spec.placements, placements)
        meta = spec.tensor_meta._replace(dtype=local.dtype)
        return DTensor(local.detach(), DTensorSpec(spec.mesh, placements, meta), requires_grad=tensor.requires_grad)

    @staticmethod
    def backward(ctx, grad):
        return _Redistribute.apply(grad, ctx.placements, ctx.dtype, None), None, None, None


class DTensor(Tensor, _activates=False):
    """A tensor of which each rank of `device_mesh` has what `placements` say, one for each dimension of the mesh.

    Made by `distribute_tensor` or `DTensor.from_local`. Operators compute on the parts, and communicate where the
    placements of their arguments ask for it; all ranks call them alike.

    Arguments:
        local_tensor: the part of this rank
        spec: mesh, placements and properties of the whole
        requires_grad: whether autograd records operators on it

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
        >>> x = dist.tensor.distribute_tensor(torch.ones(4, 2), mesh, [dist.tensor.Shard(0)])
        >>> x.to_local().shape, x.sum().full_tensor()       # of one rank
        (torch.Size([4, 2]), tensor(8.))
    """

    _local_tensor: Tensor
    _spec: DTensorSpec

    @staticmethod
    def __new__(cls, local_tensor: Tensor, spec: DTensorSpec, *, requires_grad: bool) -> DTensor:
        """The wrapper of this rank's part."""
        shape, stride, dtype = spec.tensor_meta
        made = Tensor._make_wrapper_subclass(cls, tuple(shape), strides=stride, dtype=dtype,
                                             device=local_tensor.device, requires_grad=requires_grad)
        made._local_tensor, made._spec = local_tensor, spec
        return made

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return (f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, "
                f"placements={self._spec.placements})")

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        return run_operator(DTensor, func, args, kwargs or {})

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(inner: dict, context: Any, outer_size: Any, outer_stride: Any) -> DTensor:
        spec, requires_grad = context
        return DTensor(inner["_local_tensor"], spec, requires_grad=requires_grad)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild, (self._local_tensor, self._spec.mesh, self._spec.placements, self._spec.tensor_meta,
                          self.requires_grad)

    def __deepcopy__(self, memo: dict) -> DTensor:
        if id(self) not in memo:
            made = DTensor(self._local_tensor.clone(), self._spec, requires_grad=self.requires_grad)
            if isinstance(self, nn.Parameter):
                made._is_param = True
            memo[id(self)] = made
        return memo[id(self)]

    @staticmethod
    def from_local(local_tensor: Tensor, device_mesh: DeviceMesh | None = None,
                   placements: Sequence[Placement] | None = None, *, run_check: bool = False, shape: Any = None,
                   stride: Any = None, grad_placements: Sequence[Placement] | None = None) -> DTensor:
        """The tensor of which `local_tensor` is this rank's part; differentiable.

        Without `shape` all parts are taken to be as large as this one. `run_check` sends tensors that shall be whole
        on each rank from the first rank to the others.
        """
        if isinstance(local_tensor, DTensor):
            raise RuntimeError(f"the local_tensor argument only accepts torch.Tensor but got {type(local_tensor)} "
                               "value.")
        mesh = _current_mesh(device_mesh)
        places = checked_placements(placements, mesh, local_tensor.dim())
        if shape is None:
            shape = list(local_tensor.shape)
            for size, place in zip(mesh.shape, places, strict=True):
                if cut_dim(place) is not None:
                    shape[place.dim] *= size
            stride = _stride_like(local_tensor, shape)
        elif stride is None:
            raise RuntimeError(f"Found shape:{tuple(shape)} and stride:None. Please pass both shape and stride at the "
                               "same time.")
        if run_check:
            for dim, place in enumerate(places):
                if isinstance(place, Replicate):
                    local_tensor = local_tensor.contiguous()
                    collectives.broadcast(local_tensor.detach(), group=mesh.get_group(dim), group_src=0)
        meta = TensorMeta(mindtorch.Size(shape), tuple(stride), local_tensor.dtype)
        return _FromLocal.apply(local_tensor, DTensorSpec(mesh, places, meta), grad_placements and tuple(
            grad_placements))

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """This rank's part; differentiable. Its gradient has `grad_placements`, by default those of the tensor."""
        if not (mindtorch.is_grad_enabled() and self.requires_grad):
            return self._local_tensor
        return _ToLocal.apply(self, grad_placements and checked_placements(grad_placements, self.device_mesh,
                                                                           self.dim()))

    def redistribute(self, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None, *,
                     async_op: bool = False, forward_dtype: Dtype | None = None,
                     backward_dtype: Dtype | None = None) -> DTensor:
        """The tensor in other placements; differentiable."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        goal = checked_placements(placements, self.device_mesh, self.dim())
        if any(isinstance(wanted, Partial) and wanted != current
               for current, wanted in zip(self.placements, goal, strict=True)):
            raise RuntimeError("Can not redistribute to Partial, redistributing to Partial is for internal use only!")
        if goal == self.placements and forward_dtype is backward_dtype is None:
            return self
        return _Redistribute.apply(self, goal, forward_dtype, backward_dtype)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The whole tensor, on each rank; differentiable."""
        return self.redistribute(placements=[Replicate()] * self.device_mesh.ndim).to_local(
            grad_placements=grad_placements)

    @property
    def device_mesh(self) -> DeviceMesh:
        """The ranks."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """What they have, for each dimension of the mesh."""
        return self._spec.placements

    # For torch.distributed.checkpoint: the part that this rank has.

    def __create_chunk_list__(self) -> list[Any]:
        from mindtorch.distributed.checkpoint.metadata import ChunkStorageMetadata
        sizes, offsets = compute_local_shape_and_global_offset(self.shape, self.device_mesh, self.placements)
        return [ChunkStorageMetadata(mindtorch.Size(offsets), mindtorch.Size(sizes))]

    def __create_write_items__(self, fqn: str, object: Any) -> list[Any]:
        from mindtorch.distributed.checkpoint.planner_helpers import shard_item
        (chunk,) = self.__create_chunk_list__()
        return [shard_item(fqn, chunk, self._local_tensor, self.shape)]

    def __get_tensor_shard__(self, index: Any) -> Tensor:
        return self.to_local()


def _rebuild(local, mesh, placements, meta, requires_grad):
    return DTensor(local, DTensorSpec(mesh, placements, meta), requires_grad=requires_grad)


def _stride_like(local, shape):
    """Strides of `shape` with the dimensions in the order that they have in memory in `local`."""
    order = sorted(range(local.dim()), key=lambda dim: (local.stride(dim), -dim))
    strides, step = [0] * local.dim(), 1
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def distribute_tensor(tensor: Tensor, device_mesh: DeviceMesh | None = None,
                      placements: Sequence[Placement] | None = None, *, src_data_rank: int | None = 0) -> DTensor:
    """A leaf tensor as a DTensor, of which each rank takes its part.

    Ranks have the tensor of rank `src_data_rank` of each mesh dimension; None: each cuts its own.

    Arguments:
        tensor: the whole tensor

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> x = dist.tensor.distribute_tensor(torch.arange(4.0), mesh, [dist.tensor.Shard(0)])
        >>> (x + 1).sum().full_tensor()
        tensor(10.)
    """
    mesh = _current_mesh(device_mesh)
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    places = checked_placements(placements, mesh, tensor.dim())
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device "
                             f"mesh {mesh}.")
        if tensor.placements != places:
            raise ValueError(f"Cannot distribute a DTensor with placements {tensor.placements} to a different "
                             f"placements {places}. do you want to call `redistribute` instead?")
        return tensor
    local = tensor.detach().to(mesh.device_type) if tensor.device.type != mesh.device_type != "meta" and (
        tensor.device.type != "meta") else tensor.detach()
    for dim, place in enumerate(places):
        if isinstance(place, Partial):
            raise ValueError("Can not distribute a tensor to Partial placements")
        if src_data_rank is not None and local.device.type != "meta":
            local = local.contiguous().clone()
            collectives.broadcast(local, group=mesh.get_group(dim), group_src=src_data_rank)
    whole = (Replicate(),) * mesh.ndim
    local = redistribute_local_tensor(local, tensor.shape, mesh, whole, places)
    meta = TensorMeta(tensor.shape, tensor.stride(), tensor.dtype)
    made = DTensor(local, DTensorSpec(mesh, places, meta), requires_grad=tensor.requires_grad)
    return nn.Parameter(made, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else made


def distribute_module(module: nn.Module, device_mesh: DeviceMesh | None = None, partition_fn: Callable | None = None,
                      input_fn: Callable | None = None, output_fn: Callable | None = None) -> nn.Module:
    """The module, with its parameters and buffers as DTensors.

    `partition_fn(name, module, mesh)` may distribute those of each module below it; the others become whole on each
    rank. `input_fn(module, inputs, mesh)` and `output_fn(module, outputs, mesh)` prepare inputs and outputs.

    Arguments:
        partition_fn: a function (name, module, mesh) that distributes parameters; None copies them
        input_fn: a function (module, inputs, mesh) that changes the inputs
        output_fn: a function (module, results, mesh) that changes the results

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> layer = dist.tensor.distribute_module(torch.nn.Linear(2, 2), mesh)
        >>> layer.weight.placements
        (Replicate(),)
    """
    mesh = _current_mesh(device_mesh)
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        for key, parameter in part._parameters.items():
            if parameter is not None and not isinstance(parameter, DTensor):
                part.register_parameter(key, distribute_tensor(parameter, mesh))
        for key, buffer in part._buffers.items():
            if buffer is not None and not isinstance(buffer, DTensor):
                part._buffers[key] = distribute_tensor(buffer, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda each, inputs: input_fn(each, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda each, inputs, outputs: output_fn(each, outputs, mesh))
    return module


# Factories

def _new(function, size, dtype, requires_grad, mesh, placements):
    mesh = mesh or _mesh_resources.get_current_mesh()
    size = mindtorch.Size(size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
    places = checked_placements(placements, mesh, len(size))
    local = function(compute_local_shape(size, mesh, places), dtype=dtype, device=mesh.device_type)
    meta = TensorMeta(size, contiguous_strides(size), local.dtype)
    return DTensor(local, DTensorSpec(mesh, places, meta), requires_grad=requires_grad)


def _drawn(function, size, dtype, requires_grad, mesh, placements):
    """Every rank draws the whole tensor, from equal generators, and keeps its part."""
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    mesh = mesh or _mesh_resources.get_current_mesh()
    made = distribute_tensor(function(*size, dtype=dtype, device=mesh.device_type), mesh, placements,
                             src_data_rank=None)
    return made.requires_grad_(requires_grad)


def empty(*size: Any, dtype: Dtype | None = None, layout: Any = mindtorch.strided, requires_grad: bool = False,
          device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None) -> DTensor:
    """A DTensor with undefined elements.

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> dist.tensor.empty(4, 2, device_mesh=mesh, placements=[dist.tensor.Shard(0)]).shape
        torch.Size([4, 2])
    """
    return _new(mindtorch.empty, size, dtype, requires_grad, device_mesh, placements)


def zeros(*size: Any, requires_grad: bool = False, dtype: Dtype | None = None, layout: Any = mindtorch.strided,
          device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None) -> DTensor:
    """A DTensor of zeros.

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> dist.tensor.zeros(2, device_mesh=mesh).full_tensor()
        tensor([0., 0.])
    """
    return _new(mindtorch.zeros, size, dtype, requires_grad, device_mesh, placements)


def ones(*size: Any, dtype: Dtype | None = None, layout: Any = mindtorch.strided, requires_grad: bool = False,
         device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None) -> DTensor:
    """A DTensor of ones.

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> dist.tensor.ones(4, device_mesh=mesh, placements=[dist.tensor.Shard(0)]).sum().full_tensor()
        tensor(4.)
    """
    return _new(mindtorch.ones, size, dtype, requires_grad, device_mesh, placements)


def full(size: Any, fill_value: Any, *, dtype: Dtype | None = None, layout: Any = mindtorch.strided,
         requires_grad: bool = False, device_mesh: DeviceMesh | None = None,
         placements: Sequence[Placement] | None = None) -> DTensor:
    """A DTensor of one value.

    Arguments:
        size: the sizes of the whole tensor
        fill_value: the value of each element

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> dist.tensor.full((2,), 7.0, device_mesh=mesh).full_tensor()
        tensor([7., 7.])
    """
    def filled(shape, **options):
        return mindtorch.full(shape, fill_value, **options)
    return _new(filled, (size,), dtype, requires_grad, device_mesh, placements)


def rand(*size: Any, requires_grad: bool = False, dtype: Dtype | None = None, layout: Any = mindtorch.strided,
         device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None) -> DTensor:
    """A DTensor of numbers drawn evenly from [0, 1), those of torch.rand with the same seed on every rank.

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> dist.tensor.rand(4, 2, device_mesh=mesh, placements=[dist.tensor.Shard(0)]).shape
        torch.Size([4, 2])
    """
    return _drawn(mindtorch.rand, size, dtype, requires_grad, device_mesh, placements)


def randn(*size: Any, requires_grad: bool = False, dtype: Dtype | None = None, layout: Any = mindtorch.strided,
          device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None) -> DTensor:
    """A DTensor of normally distributed numbers, those of torch.randn with the same seed on every rank.

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> dist.tensor.randn(4, 2, device_mesh=mesh, placements=[dist.tensor.Shard(0)]).shape
        torch.Size([4, 2])
    """
    return _drawn(mindtorch.randn, size, dtype, requires_grad, device_mesh, placements)
