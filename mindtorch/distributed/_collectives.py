"""The collectives of torch.distributed on tensors: they check, turn global ranks into the group's, and wait."""
from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from mindtorch import device, view_as_real
from mindtorch._core.python.torch_function import published
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch.distributed import _options as options
from mindtorch.distributed._options import ReduceOp
from mindtorch.distributed._world import (
    GroupMember,
    _canonicalize_group_rank,
    _check_not_self_rank,
    _check_valid_timeout,
    _get_default_group,
    _group_or_default_group,
    _rank_not_in_group,
    _warn_not_in_group,
    _world,
    get_backend,
    get_global_rank,
    get_rank,
)

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.distributed._process_group import ProcessGroup
    from mindtorch.distributed._work import Work

__all__ = ["P2POp", "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_single", "all_reduce",
           "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast",
           "gather", "irecv", "isend", "monitored_barrier", "recv", "reduce", "reduce_scatter", "reduce_scatter_single",
           "reduce_scatter_tensor", "scatter", "send", "supports_complex"]

_NOT_FOR_COMPLEX = (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Whether a reduction of complex numbers is that of their parts.

    Arguments:
        reduceOp: a ReduceOp

    Example:
        >>> dist.supports_complex(dist.ReduceOp.SUM), dist.supports_complex(dist.ReduceOp.MAX)
        (True, False)
    """
    return reduceOp not in _NOT_FOR_COMPLEX


def _check_single_tensor(param, param_name):
    if not isinstance(param, TensorBase):
        raise TypeError(f"Invalid function argument. Expected parameter `{param_name}` of type torch.Tensor\n"
                        f"             but got {type(param)} instead.")


def _check_tensor_list(param, param_name):
    if not isinstance(param, list):
        raise TypeError(f"Invalid function argument. Expected parameter `{param_name}` of type List[torch.Tensor]\n"
                        f"             but got {type(param)} instead.")
    if not all(isinstance(tensor, TensorBase) for tensor in param):
        raise TypeError(f"Invalid function argument. Expected parameter `{param_name}` of type List[torch.Tensor]\n"
                        f"             but got {type(param)} with elements of type {[type(p) for p in param]}.")


def _ensure_all_tensors_same_dtype(*tensors):
    dtype = None
    for tensor in itertools.chain.from_iterable([each] if isinstance(each, TensorBase) else each for each in tensors):
        dtype = dtype or tensor.dtype
        if tensor.dtype != dtype:
            raise ValueError("Invalid usage of tensors with different dtypes"
                             f"Found {dtype} and  {tensor.dtype}")


def _real(tensor):
    """A complex tensor as the real one of its parts."""
    return view_as_real(tensor) if tensor.is_complex() else tensor


def _all_real(tensors):
    return [_real(tensor) for tensor in tensors]


def _check_complex(op, tensor, name="all_reduce"):
    if tensor.is_complex() and not supports_complex(op):
        raise ValueError(f"{name} does not support {op} on complex tensors")


def _wait(work):
    """None, once the Work is done."""
    work.wait()


def _group_of_call(group, name):
    """The group of a call; None, with a warning, where this process is not in it."""
    if group is None:
        return _world.default_pg or _get_default_group()
    if group is not GroupMember.NON_GROUP_MEMBER:
        return group
    _warn_not_in_group(name)
    return None


# One tensor

def broadcast(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, async_op: bool = False,
              group_src: int | None = None) -> Work | None:
    """Give every rank the tensor of rank `src`, a global rank, or `group_src`, one of the group.

    Example:
        >>> x = torch.ones(2) if dist.get_rank() == 0 else torch.empty(2)
        >>> dist.broadcast(x, src=0)
        >>> x
        tensor([1., 1.])
    """
    pg = _group_of_call(group, "broadcast")
    if pg is None:
        return None
    _check_single_tensor(tensor, "tensor")
    root = _canonicalize_group_rank(pg, src, group_src)
    work = pg.broadcast([_real(tensor)], options.BroadcastOptions(async_op, root))
    return work if async_op else _wait(work)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None,
               async_op: bool = False) -> Work | None:
    """Reduce the tensors of all ranks, in place, to the same result everywhere.

    Example:
        >>> x = torch.ones(2)
        >>> dist.all_reduce(x)
        >>> x == dist.get_world_size()
        tensor([True, True])
        >>> work = dist.all_reduce(x, dist.ReduceOp.MAX, async_op=True)
        >>> work.wait()
        True
    """
    _check_single_tensor(tensor, "tensor")
    pg = _group_of_call(group, "all_reduce")
    if pg is None:
        return None
    if tensor.is_complex():
        _check_complex(op, tensor)
        tensor = view_as_real(tensor)
    if pg in _world.pg_coalesce_state:
        return _recorded(pg, all_reduce, tensor, None, op)
    work = pg.allreduce([tensor], options.AllreduceOptions(async_op, op))
    return work if async_op else _wait(work)


def all_reduce_coalesced(tensors: Any, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None,
                         async_op: bool = False) -> Work | None:
    """all_reduce of several tensors at once.

    Arguments:
        tensors: the tensors

    Example:
        >>> x, y = torch.ones(2), torch.ones(3)
        >>> dist.all_reduce_coalesced([x, y])
        >>> x, y                        # of one rank
        (tensor([1., 1.]), tensor([1., 1., 1.]))
    """
    tensors = [tensors] if isinstance(tensors, TensorBase) else tensors
    _check_tensor_list(tensors, "tensor")
    _ensure_all_tensors_same_dtype(tensors)
    pg = _group_of_call(group, "all_reduce_coalesced")
    if pg is None:
        return None
    for tensor in tensors:
        _check_complex(op, tensor)
    opts = options.AllreduceCoalescedOptions(async_op, op)
    work = pg.allreduce_coalesced(_all_real(tensors), opts)
    return work if async_op else _wait(work)


def reduce(tensor: Tensor, dst: int | None = None, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None,
           async_op: bool = False, group_dst: int | None = None) -> Work | None:
    """Reduce the tensors of all ranks to that of rank `dst`, in place.

    Example:
        >>> x = torch.ones(2)
        >>> dist.reduce(x, dst=0, op=dist.ReduceOp.SUM)
        >>> x                           # of one rank
        tensor([1., 1.])
    """
    pg = _group_of_call(group, "reduce")
    if pg is None:
        return None
    _check_single_tensor(tensor, "tensor")
    _check_complex(op, tensor, "reduce")
    root = _canonicalize_group_rank(pg, dst, group_dst)
    opts = options.ReduceOptions(async_op, root, reduceOp=op)
    work = pg.reduce([_real(tensor)], opts)
    return work if async_op else _wait(work)


# From and to all

def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: ProcessGroup | None = None,
               async_op: bool = False) -> Work | None:
    """Write the tensor of each rank to its place in every rank's list.

    Arguments:
        tensor_list: the tensors that the results are written to, one for each rank

    Example:
        >>> x = torch.tensor([dist.get_rank()])
        >>> parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        >>> dist.all_gather(parts, x)
        >>> parts                       # of one rank
        [tensor([0])]
    """
    _check_tensor_list(tensor_list, "tensor_list")
    _check_single_tensor(tensor, "tensor")
    _ensure_all_tensors_same_dtype(tensor_list, tensor)
    pg = _group_of_call(group, "all_gather")
    if pg is None:
        return None
    opts = options.AllgatherOptions(async_op)
    work = pg.allgather([_all_real(tensor_list)], [_real(tensor)], opts)
    return work if async_op else _wait(work)


def all_gather_single(output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None,
                      async_op: bool = False) -> Work | None:
    """Write the tensors of all ranks to one, behind each other along its first dimension or along a new one.

    Arguments:
        output_tensor: the tensor that the result is written to
        input_tensor: the tensor that this rank sends

    Example:
        >>> x = torch.tensor([1.0, 2.0])
        >>> whole = torch.empty(2 * dist.get_world_size())
        >>> dist.all_gather_into_tensor(whole, x)
        >>> whole                       # of one rank
        tensor([1., 2.])
    """
    _check_single_tensor(input_tensor, "input_tensor")
    _check_single_tensor(output_tensor, "output_tensor")
    pg = _group_of_call(group, "all_gather_single")
    if pg is None:
        return None
    if input_tensor.is_complex():
        output_tensor, input_tensor = _real(output_tensor), _real(input_tensor)
    if pg in _world.pg_coalesce_state:
        return _recorded(pg, all_gather_single, input_tensor, output_tensor)
    opts = options.AllgatherOptions(async_op)
    work = pg._allgather_base(output_tensor, input_tensor, opts)
    return work if async_op else _wait(work)


def all_gather_coalesced(output_tensor_lists: Any, input_tensor_list: Any, group: ProcessGroup | None = None,
                         async_op: bool = False) -> Work | None:
    """all_gather of several tensors at once: for each rank there is a list of outputs.

    Arguments:
        output_tensor_lists: for each input tensor a list of tensors for the results, one for each rank

    Example:
        >>> x, y = torch.ones(1), torch.zeros(2)
        >>> parts = [[torch.empty(1), torch.empty(2)] for _ in range(dist.get_world_size())]
        >>> dist.all_gather_coalesced(parts, [x, y])
        >>> parts                       # of one rank
        [[tensor([1.]), tensor([0., 0.])]]
    """
    pg = _group_of_call(group, "all_gather_coalesced")
    if pg is None:
        return None
    _check_tensor_list(input_tensor_list, "input_tensor_list")
    _ensure_all_tensors_same_dtype(input_tensor_list)
    if not isinstance(output_tensor_lists, list):
        raise TypeError("Invalid function argument: output_tensor_lists should be a list")
    for outputs in output_tensor_lists:
        _check_tensor_list(outputs, "output_tensor_lists")
        _ensure_all_tensors_same_dtype(outputs)
    outputs = [_all_real(each) for each in output_tensor_lists]
    opts = options.AllgatherOptions(async_op)
    work = pg.allgather_coalesced(outputs, _all_real(input_tensor_list), opts)
    return work if async_op else _wait(work)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM,
                   group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Reduce the lists of all ranks, and write to each rank's `output` what stands in its place.

    Example:
        >>> own = torch.empty(2)
        >>> dist.reduce_scatter(own, [torch.ones(2) for _ in range(dist.get_world_size())])
        >>> own                         # of one rank
        tensor([1., 1.])
    """
    _check_single_tensor(output, "output")
    _check_tensor_list(input_list, "input_list")
    _ensure_all_tensors_same_dtype(output, input_list)
    pg = _group_of_call(group, "reduce_scatter")
    if pg is None:
        return None
    _check_complex(op, output, "reduce_scatter")
    opts = options.ReduceScatterOptions(async_op, op)
    work = pg.reduce_scatter([_real(output)], [_all_real(input_list)], opts)
    return work if async_op else _wait(work)


def reduce_scatter_single(output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None,
                          async_op: bool = False) -> Work | None:
    """Reduce the tensors of all ranks, and write to each rank's `output` its share along the first dimension.

    Example:
        >>> own = torch.empty(2)
        >>> dist.reduce_scatter_tensor(own, torch.ones(2 * dist.get_world_size()))
        >>> own                         # of one rank
        tensor([1., 1.])
    """
    _check_single_tensor(output, "output")
    _check_single_tensor(input, "input")
    pg = _group_of_call(group, "reduce_scatter_single")
    if pg is None:
        return None
    if input.is_complex():
        _check_complex(op, input, "reduce_scatter")
        output, input = _real(output), _real(input)
    if pg in _world.pg_coalesce_state:
        return _recorded(pg, reduce_scatter_single, input, output, op)
    opts = options.ReduceScatterOptions(async_op, op)
    work = pg._reduce_scatter_base(output, input, opts)
    return work if async_op else _wait(work)


# Names that torch 2.13 has as deprecated ones, and that programs use.
all_gather_into_tensor = _all_gather_base = all_gather_single
reduce_scatter_tensor = _reduce_scatter_base = reduce_scatter_single


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: list[int] | None = None,
                      input_split_sizes: list[int] | None = None, group: ProcessGroup | None = None,
                      async_op: bool = False) -> Work | None:
    """Send each rank its rows of `input` and receive its rows of `output`: equally many unless the sizes are given.

    Example:
        >>> x = torch.arange(2.0 * dist.get_world_size())
        >>> y = torch.empty_like(x)
        >>> dist.all_to_all_single(y, x)
        >>> y                           # of one rank
        tensor([0., 1.])
    """
    pg = _group_of_call(group, "all_to_all_single")
    if pg is None:
        return None
    _check_single_tensor(output, "output")
    _check_single_tensor(input, "input")
    _ensure_all_tensors_same_dtype(output, input)
    opts = options.AllToAllOptions(async_op)
    work = pg.alltoall_base(_real(output), _real(input), output_split_sizes or [], input_split_sizes or [], opts)
    return work if async_op else _wait(work)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor],
               group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Send each rank its tensor of the one list and receive its tensor in the other.

    Example:
        >>> outputs = [torch.empty(1) for _ in range(dist.get_world_size())]
        >>> dist.all_to_all(outputs, [torch.full((1,), float(rank)) for rank in range(dist.get_world_size())])
        >>> outputs                     # of one rank
        [tensor([0.])]
    """
    pg = _group_of_call(group, "all_to_all")
    if pg is None:
        return None
    _check_tensor_list(output_tensor_list, "output_tensor_list")
    _check_tensor_list(input_tensor_list, "input_tensor_list")
    _ensure_all_tensors_same_dtype(output_tensor_list, input_tensor_list)
    opts = options.AllToAllOptions(async_op)
    work = pg.alltoall(_all_real(output_tensor_list), _all_real(input_tensor_list), opts)
    return work if async_op else _wait(work)


# From and to one

def gather(tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int | None = None,
           group: ProcessGroup | None = None, async_op: bool = False, group_dst: int | None = None) -> Work | None:
    """Write the tensor of each rank to its place in the list of rank `dst`, 0 unless it is said.

    Arguments:
        gather_list: the tensors that the results are written to, on the rank that receives

    Example:
        >>> x = torch.tensor([dist.get_rank()])
        >>> parts = [torch.empty_like(x) for _ in range(dist.get_world_size())] if dist.get_rank() == 0 else None
        >>> dist.gather(x, parts, dst=0)
        >>> parts                       # of one rank
        [tensor([0])]
    """
    _check_single_tensor(tensor, "tensor")
    gather_list = gather_list or []
    _check_tensor_list(gather_list, "gather_list")
    _ensure_all_tensors_same_dtype(tensor, gather_list)
    pg = _group_of_call(group, "gather")
    if pg is None:
        return None
    root = _root(pg, dst, group_dst)
    if pg.rank() == root and not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if pg.rank() != root and gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    outputs = [_all_real(gather_list)] if gather_list else []
    work = pg.gather(outputs, [_real(tensor)], options.GatherOptions(async_op, root))
    return work if async_op else _wait(work)


def scatter(tensor: Tensor, scatter_list: list[Tensor] | None = None, src: int | None = None,
            group: ProcessGroup | None = None, async_op: bool = False, group_src: int | None = None) -> Work | None:
    """Write to the tensor of each rank what stands in its place in the list of rank `src`, 0 unless it is said.

    Arguments:
        scatter_list: a tensor for each rank, on the rank that sends

    Example:
        >>> own = torch.empty(1)
        >>> parts = [torch.full((1,), float(rank)) for rank in range(dist.get_world_size())]
        >>> dist.scatter(own, parts if dist.get_rank() == 0 else None, src=0)
        >>> own == dist.get_rank()
        tensor([True])
    """
    _check_single_tensor(tensor, "tensor")
    scatter_list = scatter_list or []
    _check_tensor_list(scatter_list, "scatter_list")
    _ensure_all_tensors_same_dtype(tensor, scatter_list)
    pg = _group_of_call(group, "scatter")
    if pg is None:
        return None
    root = _root(pg, src, group_src)
    if pg.rank() == root and not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    if pg.rank() != root and scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    inputs = [_all_real(scatter_list)] if scatter_list else []
    work = pg.scatter([_real(tensor)], inputs, options.ScatterOptions(async_op, root))
    return work if async_op else _wait(work)


def _root(pg, global_rank, group_rank):
    """The rank of the group that is given as either; where neither is, that of global rank 0."""
    return _canonicalize_group_rank(pg, 0 if global_rank is None and group_rank is None else global_rank, group_rank)


# Between two

def isend(tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None, tag: int = 0,
          group_dst: int | None = None) -> Work | None:
    """Begin to send a tensor, which must not be changed until the Work has ended.

    Example:
        >>> x = torch.ones(2)
        >>> if dist.get_world_size() > 1 and dist.get_rank() == 0:
        ...     dist.isend(x, dst=1).wait()
    """
    pg = _group_of_call(group, "isend")
    if pg is None:
        return None
    _check_single_tensor(tensor, "tensor")
    return pg.send([_real(tensor)], _canonicalize_group_rank(pg, dst, group_dst), tag)


def irecv(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, tag: int = 0,
          group_src: int | None = None) -> Work | None:
    """Begin to receive a tensor, from any rank unless one is given.

    Example:
        >>> x = torch.zeros(2)
        >>> if dist.get_world_size() > 1 and dist.get_rank() == 1:
        ...     dist.irecv(x, src=0).wait()
    """
    pg = _group_of_call(group, "irecv")
    if pg is None:
        return None
    _check_single_tensor(tensor, "tensor")
    if src is None and group_src is None:
        return pg.recv_anysource([_real(tensor)], tag)
    return pg.recv([_real(tensor)], _canonicalize_group_rank(pg, src, group_src), tag)


def send(tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None, tag: int = 0,
         group_dst: int | None = None) -> None:
    """Send a tensor, until it may be changed again.

    Example:
        >>> x = torch.ones(2)
        >>> if dist.get_world_size() > 1 and dist.get_rank() == 0:
        ...     dist.send(x, dst=1)
    """
    pg = _group_or_default_group(group)
    if not _rank_not_in_group(pg):
        _check_not_self_rank(pg, _canonicalize_group_rank(pg, dst, group_dst), "destination")
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None, tag: int = 0,
         group_src: int | None = None) -> int:
    """Receive a tensor, from any rank unless one is given. The global rank that sent it, or -1 out of the group.

    Example:
        >>> x = torch.zeros(2)
        >>> if dist.get_world_size() > 1 and dist.get_rank() == 1:
        ...     print("from rank", dist.recv(x, src=0))
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    if src is not None:
        return src
    return get_global_rank(_group_or_default_group(group), work._source_rank() if group_src is None else group_src)


def _check_op(op):
    if op not in (isend, irecv):
        raise ValueError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                         "``torch.distributed.irecv``.")


class P2POp:
    """A send or a receive for `batch_isend_irecv`; `op` is isend or irecv.

    Arguments:
        op: torch.distributed.isend or irecv
        tensor: the tensor that is sent, or received into
        peer: the global rank of the other side
        group_peer: the rank within the group of the other side, in place of peer

    Example:
        >>> x, y = torch.ones(2), torch.zeros(2)
        >>> if dist.get_world_size() > 1:           # to the next rank, from the one before
        ...     rank, size = dist.get_rank(), dist.get_world_size()
        ...     send = dist.P2POp(dist.isend, x, (rank + 1) % size)
        ...     receive = dist.P2POp(dist.irecv, y, (rank - 1) % size)
        ...     for work in dist.batch_isend_irecv([send, receive]):
        ...         work.wait()
    """

    def __init__(self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None,
                 group: ProcessGroup | None = None, tag: int = 0, group_peer: int | None = None) -> None:
        _check_op(op)
        _check_single_tensor(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = _group_or_default_group(group)
        self.peer = _canonicalize_group_rank(self.group, peer, group_peer, return_global=True)
        self.group_peer = _canonicalize_group_rank(self.group, peer, group_peer)

    def __repr__(self) -> str:
        ends = get_rank(self.group), self.group_peer
        source, target = ends if self.op is isend else ends[::-1]
        return (f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={source}, group_dst={target},  "
                f"{self.tensor.shape}, {self.tensor.dtype})")


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start all sends and receives of a list, in any order among the ranks. The Works to wait for.

    Arguments:
        p2p_op_list: a list of P2POp

    Example:
        >>> x, y = torch.ones(2), torch.zeros(2)
        >>> if dist.get_world_size() > 1:           # to the next rank, from the one before
        ...     rank, size = dist.get_rank(), dist.get_world_size()
        ...     send = dist.P2POp(dist.isend, x, (rank + 1) % size)
        ...     receive = dist.P2POp(dist.irecv, y, (rank - 1) % size)
        ...     for work in dist.batch_isend_irecv([send, receive]):
        ...         work.wait()
    """
    if not isinstance(p2p_op_list, list) or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    pg = p2p_op_list[0].group
    if any(each.group is not pg for each in p2p_op_list):
        raise ValueError("All ops need to use the same group.")
    place = p2p_op_list[0].tensor.device

    def start(each):
        name = "group_dst" if each.op is isend else "group_src"
        return each.op(each.tensor, group=each.group, tag=each.tag, **{name: each.group_peer})

    if pg._get_backend(place).supports_coalescing:
        with _coalescing_manager(pg, place, async_ops=True) as manager:
            for each in p2p_op_list:
                start(each)
        return manager.works
    return [work for work in map(start, p2p_op_list) if work is not None]


# Several at once

class _IllegalWork:
    """What a collective returns within a _coalescing_manager: the manager's Work is the one to wait for."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("is_success", "exception", "wait", "source_rank", "_source_rank", "result", "synchronize"):
            raise ValueError(f"Illegal to call {name} on IllegalWork object")
        return object.__getattribute__(self, name)


def _recorded(pg, op, tensor, output, reduce_op=None):
    """Keep a collective for the end of the _coalescing_manager."""
    _world.pg_coalesce_state[pg].append((op, tensor, output, reduce_op))
    return _IllegalWork()


class _CoalescingManager:
    """The Works of what was started together."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None = None) -> None:
        """Add a Work."""
        if work:
            self.works.append(work)

    def wait(self) -> None:
        """Wait for all."""
        for work in self.works:
            work.wait()


@contextmanager
def _coalescing_manager(group: ProcessGroup | None = None, device: device | None = None,
                        async_ops: bool = False) -> Iterator[_CoalescingManager]:
    """Start the collectives of one kind that are called within as one, at the end, or with `device` as the engine
    groups them. With `async_ops` wait for the manager."""
    pg = _group_or_default_group(group)
    if _world.pg_coalesce_state.setdefault(pg, []):
        raise ValueError("ProcessGroup has non-empty op list at the start of coalescing")
    if device is not None:
        pg._start_coalescing(device)
    manager = _CoalescingManager()
    try:
        yield manager
    except BaseException:
        _world.pg_coalesce_state.pop(pg)
        raise
    records = _world.pg_coalesce_state.pop(pg)
    if records:
        kinds = {record[0] for record in records}
        if len(kinds) > 1:
            raise RuntimeError("Coalescing manager requires all collectives to be the same type, but got mixed types: "
                               f"{ {kind.__name__ for kind in kinds} }")
        _ops, inputs, outputs, reductions = zip(*records, strict=True)
        manager.append(_coalesced(pg, kinds.pop(), list(inputs), list(outputs), reductions[0], async_ops))
    if device is not None:
        manager.append(pg._end_coalescing(device))
    if not async_ops:
        manager.wait()


def _coalesced(pg, kind, inputs, outputs, op, async_op):
    if kind is all_reduce:
        return pg.allreduce_coalesced(inputs, options.AllreduceCoalescedOptions(async_op, op))
    if kind is all_gather_single:
        return pg.allgather_into_tensor_coalesced(outputs, inputs, options.AllgatherOptions(async_op))
    opts = options.ReduceScatterOptions(async_op, op)
    return pg.reduce_scatter_tensor_coalesced(outputs, inputs, opts)


# Waiting for each other

def barrier(group: ProcessGroup | None = None, async_op: bool = False, device_ids: list[int] | None = None,
            timeout: timedelta | None = None) -> Work | None:
    """Wait until all ranks of the group have called this.

    Example:
        >>> dist.barrier()
    """
    group = group or GroupMember.WORLD
    pg = _group_of_call(group, "barrier")
    if pg is None:
        return None
    opts = options.BarrierOptions(async_op)
    if timeout is not None:
        opts.timeout = timeout
    if isinstance(device_ids, list):
        opts.device_ids = device_ids
        npu = device("npu", device_ids[0])
        opts.device = npu if npu.type in [kind.type for kind in pg._device_types] else None
    elif device_ids is not None:
        raise TypeError("Invalid function argument: device_ids type should be List[int]")
    elif pg.bound_device_id is not None:
        opts.device = pg.bound_device_id
    work = pg.barrier(opts)
    return work if async_op else _wait(work)


def monitored_barrier(group: ProcessGroup | None = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """A barrier on the CPU after whose time-out rank 0 names the first rank that has not come, or with
    `wait_all_ranks` all of them.

    Arguments:
        wait_all_ranks: whether the error names every missing rank, not the first alone

    Example:
        >>> from datetime import timedelta
        >>> dist.monitored_barrier(timeout=timedelta(seconds=30))
    """
    group = group or GroupMember.WORLD
    pg = _group_of_call(group, "monitored_barrier")
    if pg is None:
        return
    if "cpu" not in [kind.type for kind in pg._device_types]:
        raise ValueError(f"monitored_barrier is only implemented for engines of the CPU, not for {get_backend(pg)}.")
    if isinstance(timeout, float):
        warnings.warn(f"Please specify timeout arg as a timedelta. Converting current value of {timeout} assuming it "
                      "represents seconds", stacklevel=2)
        timeout = timedelta(seconds=timeout)
    if timeout is not None:
        _check_valid_timeout(timeout)
    pg.monitored_barrier(timeout, wait_all_ranks=wait_all_ranks)


# Those that handlers of __torch_function__ see.
OVERRIDABLE = ("broadcast", "all_reduce", "reduce", "all_reduce_coalesced", "all_gather", "all_gather_single",
               "all_gather_coalesced", "gather", "scatter", "reduce_scatter", "reduce_scatter_single",
               "all_to_all_single", "all_to_all", "isend", "irecv", "send", "recv")
for _name in OVERRIDABLE:
    globals()[_name] = published(globals()[_name], __name__, _name, "torch.distributed.distributed_c10d",
                                 in_python=True)
