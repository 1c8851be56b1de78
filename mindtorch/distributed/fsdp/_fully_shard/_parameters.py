"""The parameters of one fully_shard: gathered before they are used, their gradients reduced to shards after."""
from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import nn
from mindtorch.autograd import no_grad
from mindtorch.distributed import _collectives as collectives
from mindtorch.distributed._groups import new_group
from mindtorch.distributed._options import ReduceOp
from mindtorch.distributed._world import _get_default_group, get_process_group_ranks
from mindtorch.distributed.device_mesh import DeviceMesh
from mindtorch.distributed.fsdp._fully_shard._policies import CPUOffloadPolicy
from mindtorch.distributed.tensor import DTensor, Replicate, Shard
from mindtorch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from mindtorch.distributed.tensor._redistribute import redistribute_local_tensor
from mindtorch.distributed.tensor.placement_types import _StridedShard

if TYPE_CHECKING:
    from collections.abc import Callable

    from mindtorch import Tensor
    from mindtorch.distributed.fsdp._fully_shard._policies import MixedPrecisionPolicy, OffloadPolicy

__all__ = ["ParameterGroup", "ShardedParameter"]


class ShardedParameter:
    """A parameter: its shard, a DTensor, and while it is gathered the whole, which modules then have in its place."""

    def __init__(self, parameter: nn.Parameter, places: list[tuple[nn.Module, str]], mesh: DeviceMesh, dim: int,
                 on_host: bool, pinned: bool) -> None:
        self.places, self.dim, self._on_host, self._pinned = places, dim, on_host, pinned
        # The spec of a parameter that tensor parallel has cut: "whole" is then what this rank has of it.
        self._tp_spec = parameter._spec if isinstance(parameter, DTensor) else None
        whole = _local(parameter.detach())
        self.shape, self.ranks = whole.shape, mesh.size(mesh.ndim - 1)
        chunk = list(self.shape)
        chunk[dim] = -(-chunk[dim] // self.ranks)
        self.chunk, self.elements = tuple(chunk), math.prod(chunk)     # what each rank sends, padded
        placements = (*(Replicate(),) * (mesh.ndim - 1), Shard(dim))
        local = redistribute_local_tensor(whole, self.shape, mesh, (Replicate(),) * mesh.ndim, placements).clone()
        if self._tp_spec is None:
            self._spec = DTensorSpec(mesh, placements, TensorMeta(self.shape, whole.stride(), whole.dtype))
        else:
            self._spec = _with_fsdp(self._tp_spec, mesh, placements)
        self.sharded = nn.Parameter(DTensor(self._offloaded(local), self._spec, requires_grad=False),
                                    parameter.requires_grad)
        self.whole: nn.Parameter | None = None
        self._buffer: Tensor | None = None      # the whole, padded: its storage is empty while it is not gathered
        self.hook: Any = None                   # on the gradient of the whole
        self.partial: Tensor | None = None      # a gradient that has still to be reduced over the replicas
        self._accumulated: Tensor | None = None     # gradients of backwards that did not reduce
        _copy_attributes(parameter, self.sharded)
        self.set_in_modules(self.sharded)

    def _offloaded(self, local):
        """The shard on the device that the offload policy names."""
        if not self._on_host or local.device.type == "meta":
            return local
        local = local.to("cpu")
        return local.pin_memory() if self._pinned else local

    def set_in_modules(self, parameter: nn.Parameter) -> None:
        """Makes this, the shard or the whole, the parameter of the modules."""
        for module, name in self.places:
            module._parameters[name] = parameter

    def update_sharded(self) -> None:
        """Takes the shard from the module: to(), to_empty() and load_state_dict(assign=True) may have replaced it."""
        module, name = self.places[0]
        if module._parameters[name] is not self.whole:
            self.sharded = module._parameters[name]
            self._spec = self.sharded._spec
            self.set_in_modules(self.sharded)

    # Gathering

    def send(self, dtype: Any, device: Any) -> Tensor:
        """What this rank contributes: its shard, padded, in one dimension."""
        local = self.sharded._local_tensor.to(device=device, dtype=dtype, non_blocking=True)
        missing = self.elements - local.numel()
        if not missing:
            return local.reshape(-1)
        padded = local.new_zeros(self.chunk)
        padded.narrow(self.dim, 0, local.shape[self.dim]).copy_(local)
        return padded.view(-1)

    def receive(self, parts: Tensor) -> None:
        """The whole of the ranks' parts, (rank, elements). It keeps its storage: the graph has saved it."""
        length = self.chunk[self.dim] * self.ranks
        shape = (*self.shape[:self.dim], length, *self.shape[self.dim + 1:])
        if self.whole is None:
            self._buffer = parts.new_empty(shape)
            whole = self._buffer.narrow(self.dim, 0, self.shape[self.dim])
            if self._tp_spec is not None:
                meta = self._tp_spec.tensor_meta._replace(dtype=whole.dtype)
                whole = DTensor(whole, self._tp_spec._replace(tensor_meta=meta), requires_grad=False)
            self.whole = nn.Parameter(whole, self.sharded.requires_grad)
            _copy_attributes(self.sharded, self.whole)
        else:
            self._buffer.untyped_storage().resize_(math.prod(shape) * parts.element_size())
        joined = parts.unflatten(1, self.chunk).movedim(0, self.dim)
        # Written through .data, which has a version of its own: to autograd it is what it was.
        self._buffer.data.view(joined.shape).copy_(joined)
        self.whole.requires_grad_(self.sharded.requires_grad)
        self.set_in_modules(self.whole)

    def free(self) -> None:
        """Puts the shard back into the modules, and frees the memory of the whole."""
        self.set_in_modules(self.sharded)
        self._buffer.untyped_storage().resize_(0)

    # Gradients

    def has_gradient(self) -> bool:
        """Whether there is a gradient that has still to be reduced over the shards."""
        return self.whole is not None and (self.whole.grad is not None or self._accumulated is not None)

    def accumulate_gradient(self, dtype: Any) -> None:
        """Adds the gradient of a backward that does not reduce to those before, in the dtype of the reduction."""
        gradient = self.whole.grad
        if gradient is not None and gradient.dtype != dtype:
            self.whole.grad = None
            gradient = gradient.to(dtype)
            self._accumulated = gradient if self._accumulated is None else self._accumulated + gradient

    def send_gradient(self, dtype: Any) -> Tensor:
        """The gradient cut for the ranks and padded: (rank, elements)."""
        gradient, self.whole.grad = self.whole.grad, None
        if self._accumulated is not None:
            gradient = self._accumulated if gradient is None else self._accumulated + gradient.to(dtype)
            self._accumulated = None
        if gradient is None:                    # another rank may have one
            gradient = mindtorch.zeros_like(self.whole)
        if self._tp_spec is not None:
            gradient = gradient.redistribute(placements=self._tp_spec.placements)
        gradient = _local(gradient).to(dtype)
        missing = self.chunk[self.dim] * self.ranks - self.shape[self.dim]
        if missing:
            shape = list(self.shape)
            shape[self.dim] = missing
            gradient = mindtorch.cat([gradient, gradient.new_zeros(shape)], self.dim)
        return gradient.unflatten(self.dim, (self.ranks, self.chunk[self.dim])).movedim(self.dim, 0).reshape(
            self.ranks, self.elements)

    def receive_gradient(self, part: Tensor) -> None:
        """Adds this rank's part of the reduced gradient to the gradient of the shard."""
        local = self.sharded._local_tensor
        part = part.view(self.chunk).narrow(self.dim, 0, local.shape[self.dim]).to(local.dtype)
        part = part.to(local.device) if part.device != local.device else part.clone()
        if self.sharded.grad is None:
            self.sharded.grad = DTensor(part, self._spec, requires_grad=False)
        else:
            self.sharded.grad._local_tensor.add_(part)


def _local(tensor):
    return tensor._local_tensor if isinstance(tensor, DTensor) else tensor


def _copy_attributes(source, target):
    """What users have set on a parameter."""
    for key, value in vars(source).items():
        if key not in ("_local_tensor", "_spec", "_is_param"):
            setattr(target, key, value)


def _with_fsdp(tp_spec, mesh, placements):
    """The spec of a tensor with the parts of `tp_spec`, cut again along `mesh`, the dimensions of which come first."""
    def strided(place):
        factor = math.prod(size for size, cut in zip(tp_spec.mesh.shape, tp_spec.placements, strict=True)
                           if cut == place)
        return _StridedShard(place.dim, split_factor=factor) if isinstance(place, Shard) and factor > 1 else place

    return DTensorSpec(DeviceMesh._concatenate([mesh, tp_spec.mesh]),
                       (*(strided(place) for place in placements), *tp_spec.placements), tp_spec.tensor_meta)


_made_groups: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()      # of the default group: by their ranks


def _group_of(ranks):
    """The group of some ranks, made once for all modules."""
    made = _made_groups.setdefault(_get_default_group(), {})
    if ranks not in made:
        made[ranks] = new_group(list(ranks), use_local_synchronization=True)
    return made[ranks]


class ParameterGroup:
    """Parameters that are gathered in one collective; their gradients are reduced in one."""

    def __init__(self, parameters: list[tuple[nn.Parameter, list]], mesh: DeviceMesh, dims: Callable,
                 policy: MixedPrecisionPolicy, offload: OffloadPolicy) -> None:
        self.mesh, self.policy, self.device = mesh, policy, mindtorch.device(mesh.device_type)
        self.shard_group = mesh.get_group(mesh.ndim - 1)
        self.replica_group = mesh.get_group(0) if mesh.ndim == 2 else None
        on_host = isinstance(offload, CPUOffloadPolicy)
        self.members = [ShardedParameter(parameter, places, mesh, dims(parameter), on_host,
                                         on_host and offload.pin_memory and self.device.type != "cpu")
                        for parameter, places in parameters]
        self.gathered = False
        self.reduces, self.reduces_over_replicas, self.divisor = True, True, None
        self.averages = True                # by the engine, rather than as a sum that is divided
        self.reduces_unused = False         # gradients that are absent take part as zeros
        self.hook: Any = (None, None)       # called with the reduced gradients, and the stream on which
        self._part_group: Any = None        # the ranks among whom the whole stays shared out after a forward
        self._parts: dict = {}              # by dtype: this rank's part of it, and the other parts of the same ranks
        self._gathering: Any = None         # (works, buffers) of what is under way
        self._reducing: Any = None

    def keep_parts(self, ranks: int) -> None:
        """Between forward and backward the whole stays shared out among so many ranks, who gather it again."""
        ours = get_process_group_ranks(self.shard_group)
        first = self.shard_group.rank() // ranks * ranks
        self._part_group = _group_of(tuple(ours[first:first + ranks]))

    def forget_parts(self) -> None:
        """The backward is over, or another forward begins: the shards may have changed."""
        self._parts.clear()

    # Gathering

    @no_grad()
    def unshard(self, async_op: bool = True) -> None:
        """Start to gather, unless that is done or under way. The memory of the parts is freed when all have come."""
        if self.gathered or self._gathering is not None or not self.members:
            return
        self._gathering = []
        for dtype, members in self._by_dtype(lambda each: self.policy.param_dtype or each.sharded.dtype):
            group, parts = self._part_group, self._parts.get(dtype)
            if parts is None:
                group, parts = self.shard_group, mindtorch.cat([each.send(dtype, self.device) for each in members])
            result = parts.new_empty((self.shard_group.size(), sum(each.elements for each in members)))
            work = collectives.all_gather_single(result.view(group.size(), -1), parts, group, async_op)
            self._gathering.append((work, result, parts, members))

    @no_grad()
    def wait_for_unshard(self) -> None:
        """Puts the whole parameters into the modules; gathers them first where that is not under way."""
        self.unshard(async_op=False)
        for work, result, _, members in self._gathering or ():
            if work is not None:
                work.wait()
            if self._part_group is not None:
                rows = self.shard_group.size() // self._part_group.size()
                own = result.narrow(0, self._part_group.rank() * rows, rows)
                self._parts.setdefault(result.dtype, own.flatten().clone())
            for each, parts in zip(members, result.split([each.elements for each in members], 1), strict=True):
                each.receive(parts)
        self.gathered, self._gathering = True, None

    def free(self) -> None:
        """Puts the shards back into the modules."""
        if self._gathering is not None:
            self.wait_for_unshard()
        if self.gathered:
            for each in self.members:
                each.free()
            self.gathered = False

    # Gradients

    @no_grad()
    def reduce_gradients(self) -> None:
        """Begin to reduce the gradients that there are to shards."""
        self.wait_for_gradients()
        ready = [each for each in self.members if each.whole is not None and each.whole.requires_grad
                 and (self.reduces_unused or each.has_gradient())]
        if not self.reduces and self.policy.reduce_dtype is not None:
            for each in ready:
                each.accumulate_gradient(self.policy.reduce_dtype)
        if not self.reduces or not ready:
            return
        self._reducing = []
        for dtype, members in self._by_dtype(lambda each: self.policy.reduce_dtype or each.whole.dtype, ready):
            parts = mindtorch.cat([each.send_gradient(dtype) for each in members], 1)
            own = parts.new_empty((1, parts.shape[1]))
            work = collectives.reduce_scatter_single(own, parts, self._reduction(), self.shard_group, True)
            self._reducing.append((work, own, parts, members))

    @no_grad()
    def wait_for_gradients(self) -> None:
        """Wait for the reductions under way, and add their results to the gradients of the shards."""
        for work, own, _, members in self._reducing or ():
            work.wait()
            if self.divisor is not None or not self.averages:
                own.div_(self.divisor or self.mesh.size())
            for each, part in zip(members, own[0].split([each.elements for each in members]), strict=True):
                each.partial = part if each.partial is None else each.partial + part
            if self.replica_group is not None and self.reduces_over_replicas:
                joined = mindtorch.cat([each.partial for each in members])
                collectives.all_reduce(joined, self._reduction(), self.replica_group)
                for each, part in zip(members, joined.split([each.elements for each in members]), strict=True):
                    each.partial = part
            if self.replica_group is None or self.reduces_over_replicas:
                self._call_hook(members)
                for each in members:
                    each.receive_gradient(each.partial)
                    each.partial = None
                for each in members:
                    for hook in (each.sharded._post_accumulate_grad_hooks or {}).values():
                        hook(each.sharded)
        self._reducing = None

    def _reduction(self):
        return ReduceOp.AVG if self.divisor is None and self.averages else ReduceOp.SUM

    def _call_hook(self, members):
        hook, stream = self.hook
        if hook is None:
            return
        joined = mindtorch.cat([each.partial for each in members])
        if stream is None:
            hook(joined)
        else:
            stream.wait_stream(mindtorch.accelerator.current_stream())
            with stream:
                hook(joined)
            mindtorch.accelerator.current_stream().wait_stream(stream)
        for each, part in zip(members, joined.split([each.elements for each in members]), strict=True):
            each.partial = part

    def _by_dtype(self, dtype_of, members=None):
        found: dict = {}
        for each in self.members if members is None else members:
            found.setdefault(dtype_of(each), []).append(each)
        return found.items()
