"""torch.distributed.nn.functional: collectives that can be differentiated. None as a group is that of all ranks."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch import empty_like, zeros_like
from mindtorch._submodules import module_getattr
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.autograd import Function
from mindtorch.distributed import _collectives as collectives
from mindtorch.distributed._options import ReduceOp
from mindtorch.distributed._world import get_rank, get_world_size

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.distributed._process_group import ProcessGroup

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
           "reduce_scatter", "scatter"]


def broadcast(tensor: Tensor, src: int, group: ProcessGroup | None = None) -> Tensor:
    """The tensor of rank `src`. Its gradient is the sum of the gradients of all ranks.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> dist.nn.broadcast(x, src=0).sum().backward()
        >>> x.grad                      # of one rank
        tensor([1., 1.])
    """
    return _Broadcast.apply(src, group, tensor)


def gather(tensor: Tensor, dst: int = 0, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks; zeros, but on rank `dst`.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> dist.nn.gather(x, dst=0)[0].sum().backward()
        >>> x.grad
        tensor([1., 1.])
    """
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: Any, src: int = 0, group: ProcessGroup | None = None) -> Tensor:
    """What stands in this rank's place in the list of rank `src`.

    Arguments:
        tensors: a tensor for each rank, on the rank that sends

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> dist.nn.scatter([x], src=0).sum().backward()                          # of one rank
        >>> x.grad
        tensor([1., 1.])
    """
    return _Scatter.apply(src, group, *tensors)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None) -> Tensor:
    """The reduction of the tensors of all ranks, on rank `dst`.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> dist.nn.reduce(x, dst=0).sum().backward()
        >>> x.grad                      # of one rank
        tensor([1., 1.])
    """
    return _Reduce.apply(dst, op, group, tensor)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM,
                   group: ProcessGroup | None = None) -> Tensor:
    """What stands in this rank's place in the reduction of the lists of all ranks. `output` gives the shape.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> dist.nn.reduce_scatter(torch.empty(2), [x]).sum().backward()          # of one rank
        >>> x.grad
        tensor([1., 1.])
    """
    return _ReduceScatter.apply(op, group, output, *input_list)


def all_gather(tensor: Tensor, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> sum(dist.nn.all_gather(x)).sum().backward()
        >>> x.grad                      # of one rank
        tensor([1., 1.])
    """
    return _AllGather.apply(group, tensor)


def _all_gather_base(output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None) -> Tensor:
    return _AllGatherBase.apply(output_tensor, input_tensor, group)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor],
               group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """The tensors that the other ranks have for this one. `output_tensor_list` gives the shapes.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> dist.nn.all_to_all([torch.empty(2)], [x])[0].sum().backward()         # of one rank
        >>> x.grad
        tensor([1., 1.])
    """
    return _AllToAll.apply(group, output_tensor_list, *input_tensor_list)


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: list[int] | None = None,
                      input_split_sizes: list[int] | None = None, group: ProcessGroup | None = None) -> Tensor:
    """The rows that the other ranks have for this one. `output` gives the shape.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> dist.nn.all_to_all_single(torch.empty(2), x).sum().backward()         # of one rank
        >>> x.grad
        tensor([1., 1.])
    """
    return _AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None) -> Tensor:
    """The reduction of the tensors of all ranks.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> dist.nn.all_reduce(x).sum().backward()
        >>> x.grad                      # of one rank
        tensor([1., 1.])
    """
    return _AllReduce.apply(op, group, tensor)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx, src, group, tensor):
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        reduced = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, reduced if get_rank() == ctx.src else zeros_like(reduced)


class _Gather(Function):
    @staticmethod
    def forward(ctx, dst, group, tensor):
        ctx.dst, ctx.group = dst, group
        parts = [zeros_like(tensor) for _ in range(get_world_size(group))]
        collectives.gather(tensor.contiguous(), parts if get_rank() == dst else None, dst, group)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *grads):
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx, src, group, *tensors):
        ctx.src, ctx.group = src, group
        result = zeros_like(tensors[0])
        parts = [tensor.contiguous() for tensor in tensors]
        collectives.scatter(result, parts if get_rank() == src else None, src, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


class _Reduce(Function):
    @staticmethod
    def forward(ctx, dst, op, group, tensor):
        ctx.dst, ctx.group = dst, group
        result = tensor.clone()
        collectives.reduce(result, dst, op, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx, op, group, output, *tensors):
        ctx.group = group
        result = empty_like(output)
        collectives.reduce_scatter(result, [tensor.contiguous() for tensor in tensors], op, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx, group, tensor):
        ctx.group = group
        parts = [empty_like(tensor) for _ in range(get_world_size(group))]
        collectives.all_gather(parts, tensor.contiguous(), group)
        return tuple(parts)

    @staticmethod
    def backward(ctx, *grads):
        own = grads[get_rank(ctx.group)]
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, own, *grads)


class _AllGatherBase(Function):
    @staticmethod
    def forward(ctx, output, tensor, group):
        ctx.group, ctx.shape = group, tensor.shape
        result = empty_like(output)
        collectives.all_gather_single(result, tensor.contiguous(), group)
        return result

    @staticmethod
    def backward(ctx, grad):
        result = grad.new_empty(ctx.shape)
        collectives.reduce_scatter_single(result, grad.contiguous(), ReduceOp.SUM, ctx.group)
        return None, result, None


class _AllToAll(Function):
    @staticmethod
    def forward(ctx, group, outputs, *tensors):
        ctx.group, ctx.inputs = group, [empty_like(tensor) for tensor in tensors]
        results = [empty_like(output) for output in outputs]
        collectives.all_to_all(results, [tensor.contiguous() for tensor in tensors], group)
        return tuple(results)

    @staticmethod
    def backward(ctx, *grads):
        return None, None, *_AllToAll.apply(ctx.group, ctx.inputs, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx, group, output, output_splits, input_splits, tensor):
        ctx.group, ctx.input, ctx.splits = group, empty_like(tensor), (input_splits, output_splits)
        result = empty_like(output)
        collectives.all_to_all_single(result, tensor.contiguous(), output_splits, input_splits, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        return None, None, None, None, _AllToAllSingle.apply(ctx.group, ctx.input, *ctx.splits, grad)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx, op, group, tensor):
        ctx.op, ctx.group = op, group
        result = tensor.clone()
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx, grad):
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


_complete_docstrings(globals(), "distributed.nn")
__getattr__ = module_getattr(__name__)
