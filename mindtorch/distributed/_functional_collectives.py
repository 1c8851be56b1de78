"""torch.distributed._functional_collectives: collectives that return their result, and that can be differentiated.

They have waited when they return: on the CPU for the ranks, on an NPU only in the order of its streams.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch import Tensor, cat
from mindtorch._submodules import module_getattr
from mindtorch.autograd import Function
from mindtorch.distributed import _collectives as collectives
from mindtorch.distributed._groups import _find_or_create_pg_by_ranks_and_tag
from mindtorch.distributed._options import ReduceOp
from mindtorch.distributed._process_group import ProcessGroup
from mindtorch.distributed._world import _get_group_tag, _resolve_process_group, get_process_group_ranks
from mindtorch.distributed.device_mesh import DeviceMesh

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AsyncCollectiveTensor", "all_gather_into_tensor_coalesced", "all_gather_single",
           "all_gather_single_autograd", "all_gather_single_coalesced", "all_gather_tensor",
           "all_gather_tensor_autograd", "all_reduce", "all_reduce_coalesced", "all_to_all_single",
           "all_to_all_single_autograd", "broadcast", "permute_tensor", "reduce_scatter_single",
           "reduce_scatter_single_autograd", "reduce_scatter_single_coalesced", "reduce_scatter_tensor",
           "reduce_scatter_tensor_autograd", "reduce_scatter_tensor_coalesced", "wait_tensor"]

_REDUCTIONS = {"sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "product": ReduceOp.PRODUCT, "min": ReduceOp.MIN,
               "max": ReduceOp.MAX, "band": ReduceOp.BAND, "bor": ReduceOp.BOR, "bxor": ReduceOp.BXOR}


def _resolve_group(group: Any, tag: str = "") -> ProcessGroup:
    """The group that is given as itself, its name, its ranks, a mesh of one dimension, or (mesh, dimension)."""
    if isinstance(group, ProcessGroup):
        return group
    if isinstance(group, str):
        return _resolve_process_group(group)
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise AssertionError("Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh > 1D")
        return group.get_group()
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, list):
        ranks = group if isinstance(group[0], int) else [rank for row in group for rank in row]
        return _find_or_create_pg_by_ranks_and_tag(tag, ranks, len(ranks) if isinstance(group[0], int)
                                                   else len(group[0]))
    raise ValueError(f"Invalid type for group: {type(group)}, must be one of List, Processgroup, DeviceMesh or "
                     "(DeviceMesh, int).")


def _resolve_group_name(group: Any, tag: str = "") -> str:
    return _resolve_group(group, tag).group_name


def _expand_group(group: Any, tag: str = "") -> tuple[str, list[int], int]:
    """(tag, ranks, size of a group), of what names a group; lists in a list are groups side by side."""
    if isinstance(group, list):
        groups = group if isinstance(group[0], list) else [group]
        if len({len(each) for each in groups}) > 1:
            raise ValueError(f"group sizes must be identical found {sorted({len(each) for each in groups})}")
        return tag, [rank for each in groups for rank in each], len(groups[0])
    if isinstance(group, DeviceMesh) and group.ndim != 1:
        raise AssertionError("Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh > 1D")
    found = _resolve_group(group, tag)
    ranks = get_process_group_ranks(found)
    return tag or _get_group_tag(found), ranks, len(ranks)


class AsyncCollectiveTensor(Tensor):
    """In torch, the class of results that are not there yet. Here no result has it: collectives have waited."""

    def wait(self) -> Tensor:
        return self

    trigger_wait = wait


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor itself: collectives here have already ended."""
    return tensor


def _reduction(name):
    if name.lower() not in _REDUCTIONS:
        raise ValueError(f"Invalid reduce operation {name}, must be one of {list(_REDUCTIONS)}")
    return _REDUCTIONS[name.lower()]


def _gradient_of_reduction(name, grad):
    if name.lower() not in ("sum", "avg"):
        raise RuntimeError(f"the derivative of a reduction is known for sum and avg, not for {name}")
    return grad.contiguous()


def _run(collective, result, *args):
    """Call a collective that writes to `result`; on the device meta there is nothing to send."""
    if not result.is_meta:
        collective(result, *args)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx, tensor, op, group):
        ctx.op, ctx.group = op, group
        result = tensor.contiguous().clone()
        _run(collectives.all_reduce, result, _reduction(op), group)
        return result

    @staticmethod
    def backward(ctx, grad):
        return _AllReduce.apply(_gradient_of_reduction(ctx.op, grad), ctx.op, ctx.group), None, None


class _AllGather(Function):
    """Along the first dimension."""

    @staticmethod
    def forward(ctx, tensor, group):
        ctx.group = group
        result = tensor.new_empty((tensor.shape[0] * group.size(), *tensor.shape[1:]))
        _run(collectives.all_gather_single, result, tensor.contiguous(), group)
        return result

    @staticmethod
    def backward(ctx, grad):
        return _ReduceScatter.apply(grad.contiguous(), "sum", ctx.group), None


class _ReduceScatter(Function):
    """Along the first dimension."""

    @staticmethod
    def forward(ctx, tensor, op, group):
        ctx.op, ctx.group = op, group
        result = tensor.new_empty((tensor.shape[0] // group.size(), *tensor.shape[1:]))
        _run(collectives.reduce_scatter_single, result, tensor.contiguous(), _reduction(op), group)
        return result

    @staticmethod
    def backward(ctx, grad):
        gathered = _AllGather.apply(_gradient_of_reduction(ctx.op, grad), ctx.group)
        return gathered / ctx.group.size() if ctx.op.lower() == "avg" else gathered, None, None


class _AllToAll(Function):
    @staticmethod
    def forward(ctx, tensor, output_splits, input_splits, group):
        ctx.splits, ctx.group = (input_splits, output_splits), group
        rows = tensor.shape[0] if output_splits is None else sum(output_splits)
        result = tensor.new_empty((rows, *tensor.shape[1:]))
        _run(collectives.all_to_all_single, result, tensor.contiguous(), output_splits, input_splits, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        return _AllToAll.apply(grad.contiguous(), *ctx.splits, ctx.group), None, None, None


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """The tensor of rank `src`, a global rank."""
    result = self.contiguous().clone()
    _run(collectives.broadcast, result, src, _resolve_group(group, tag))
    return result


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """The reduction of the tensors of all ranks; "sum", "avg", "max" and so on."""
    return _AllReduce.apply(self, reduceOp, _resolve_group(group, tag))


def all_gather_single(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The tensors of all ranks, behind each other along a dimension."""
    group = _resolve_group(group, tag)
    result = _AllGather.apply(self, group)
    return cat(result.chunk(group.size(), 0), gather_dim) if gather_dim % max(self.ndim, 1) else result


def reduce_scatter_single(self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Tensor:
    """This rank's share, along a dimension, of the reduction of the tensors of all ranks."""
    group = _resolve_group(group, tag)
    if self.size(scatter_dim) % group.size():
        raise AssertionError(f"input dimension 0 ({self.size(scatter_dim)} must be a multiple of group_size "
                             f"{group.size()})")
    source = cat(self.chunk(group.size(), scatter_dim)) if scatter_dim % self.ndim else self
    return _ReduceScatter.apply(source, reduceOp, group)


def all_to_all_single(self: Tensor, output_split_sizes: list[int] | None, input_split_sizes: list[int] | None,
                      group: Any, tag: str = "") -> Tensor:
    """The rows that the other ranks have sent."""
    return _AllToAll.apply(self, output_split_sizes, input_split_sizes, _resolve_group(group, tag))


def all_reduce_coalesced(self: list[Tensor], reduceOp: str, group: Any, tag: str = "") -> list[Tensor]:
    """all_reduce of several tensors at once."""
    results = [tensor.contiguous().clone() for tensor in self]
    collectives.all_reduce_coalesced(results, _reduction(reduceOp), _resolve_group(group, tag))
    return results


def all_gather_single_coalesced(self: list[Tensor], group: Any, tag: str = "") -> list[Tensor]:
    """all_gather_single of several tensors at once, along the first dimension."""
    group = _resolve_group(group, tag)
    results = [tensor.new_empty((tensor.shape[0] * group.size(), *tensor.shape[1:]))
               for tensor in self]
    with collectives._coalescing_manager(group):
        for result, tensor in zip(results, self, strict=True):
            _run(collectives.all_gather_single, result, tensor.contiguous(), group)
    return results


def reduce_scatter_single_coalesced(inputs: list[Tensor], reduceOp: str, scatter_dim: Sequence[int], group: Any,
                                    tag: str = "") -> list[Tensor]:
    """reduce_scatter_single of several tensors at once."""
    group = _resolve_group(group, tag)
    sources = [cat(tensor.chunk(group.size(), dim)) if dim else tensor.contiguous()
               for tensor, dim in zip(inputs, scatter_dim, strict=True)]
    results = [source.new_empty((source.shape[0] // group.size(), *source.shape[1:])) for source in sources]
    with collectives._coalescing_manager(group):
        for result, source in zip(results, sources, strict=True):
            _run(collectives.reduce_scatter_single, result, source, _reduction(reduceOp), group)
    return results


def permute_tensor(self: Tensor, src_dst: list[int], group: Any, tag: str = "") -> Tensor:
    """The tensor of the rank whose entry of `src_dst` is this one."""
    group = _resolve_group(group, tag)
    sent, received = [0] * group.size(), [0] * group.size()
    for source, target in enumerate(src_dst):
        if source == group.rank():
            sent[target] = self.numel()
        if target == group.rank():
            received[source] = self.numel()
    return all_to_all_single(self.reshape(-1), received, sent, group).view(self.shape)


# Torch's other names, and the forms that write to a tensor

all_gather_tensor = all_gather_tensor_autograd = all_gather_single_autograd = all_gather_single
reduce_scatter_tensor = reduce_scatter_tensor_autograd = reduce_scatter_single_autograd = reduce_scatter_single
all_to_all_single_autograd = all_to_all_single
all_gather_into_tensor_coalesced = all_gather_single_coalesced
reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced


def all_reduce_inplace(tensor: Tensor, op: str = "sum", group: Any = None, async_op: bool = False,
                       tag: str = "") -> Tensor:
    """all_reduce that writes to its argument."""
    return tensor.copy_(all_reduce(tensor, op, group, tag))


def all_gather_tensor_inplace(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False,
                              tag: str = "", gather_dim: int = 0) -> Tensor:
    """all_gather_single that writes to a tensor."""
    return output_tensor.copy_(all_gather_single(input_tensor, gather_dim, group, tag))


def reduce_scatter_tensor_inplace(output: Tensor, input: Tensor, op: str = "sum", group: Any = None,
                                  async_op: bool = False, scatter_dim: int = 0, tag: str = "") -> Tensor:
    """reduce_scatter_single that writes to a tensor."""
    return output.copy_(reduce_scatter_single(input, op, scatter_dim, group, tag))


def all_to_all_inplace(output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None,
                       group: Any = None, async_op: bool = False, tag: str = "") -> Tensor:
    """all_to_all_single that writes to a tensor."""
    return output.copy_(all_to_all_single(input, output_split_sizes, input_split_sizes, group, tag))


def all_gather_inplace(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False,
                       tag: str = "") -> list[Tensor]:
    """all_gather_single that writes to a list of tensors."""
    parts = all_gather_single(tensor.unsqueeze(0), 0, group, tag)
    return [place.copy_(part) for place, part in zip(tensor_list, parts, strict=True)]


__getattr__ = module_getattr(__name__)
