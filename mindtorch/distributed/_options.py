"""The options of a collective beside its tensors: the reduction, the root, the time-out."""
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any

__all__ = ["UNSET_TIMEOUT", "AllToAllOptions", "AllgatherOptions", "AllreduceCoalescedOptions", "AllreduceOptions",
           "BarrierOptions", "BroadcastOptions", "GatherOptions", "OpType", "ReduceOp", "ReduceOptions",
           "ReduceScatterOptions", "ScatterOptions", "_make_nccl_premul_sum"]

UNSET_TIMEOUT = timedelta(milliseconds=-1)      # the group's time-out counts


class _IntegerEnum(Enum):
    """An enumeration: its members convert to integers but are not instances of int."""

    def __int__(self) -> int:
        return self.value

    __index__ = __int__
    __hash__ = object.__hash__      # a member is one object; the hash of Enum is a Python function

    def __repr__(self) -> str:
        return f"<{self}: {self.value}>"

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class RedOpType(_IntegerEnum):
    """The kinds of reductions."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)

    @property
    def op(self) -> RedOpType:
        """Itself: a reduction with a factor is an object that has its kind as `op`."""
        return self


class _ReduceOpMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, RedOpType) or type.__instancecheck__(cls, instance)


class ReduceOp(metaclass=_ReduceOpMeta):
    """A reduction. `ReduceOp.SUM` and the like are members of `RedOpType`; one with a factor is an instance.

    Arguments:
        op: the kind of reduction
        factor: what elements are multiplied by before the sum (PREMUL_SUM)

    Example:
        >>> x = torch.tensor([2.0])
        >>> dist.all_reduce(x, dist.ReduceOp.MAX)
        >>> x
        tensor([2.])
    """

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = RedOpType

    def __init__(self, op: RedOpType, factor: Any = None) -> None:
        self.op, self.factor = reduction(op), factor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReduceOp) and self.op is reduction(other)

    def __hash__(self) -> int:
        return self.op.value


def reduction(op: Any) -> RedOpType:
    """The kind of a reduction that is given as either."""
    try:
        return op if isinstance(op, RedOpType) else op.op
    except AttributeError:
        raise TypeError(f"op must be a ReduceOp, not {type(op).__name__}") from None


def _make_nccl_premul_sum(factor: Any) -> ReduceOp:
    """The reduction that multiplies by `factor`, a number or a tensor with one element, and adds."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor)


class OpType(_IntegerEnum):
    """The kinds of operations that a Work stands for."""

    BROADCAST = 0
    ALLREDUCE = 1
    ALLREDUCE_COALESCED = 2
    REDUCE = 3
    ALLGATHER = 4
    _ALLGATHER_BASE = 5
    ALLGATHER_COALESCED = 6
    GATHER = 7
    SCATTER = 8
    REDUCE_SCATTER = 9
    ALLTOALL_BASE = 10
    ALLTOALL = 11
    SEND = 12
    RECV = 13
    RECVANYSOURCE = 14
    BARRIER = 15
    _REDUCE_SCATTER_BASE = 16
    COALESCED = 17
    _ALLREDUCE_SPARSE = 18
    REDUCE_SCATTER_TENSOR_COALESCED = 19
    UNKNOWN = 100


@dataclass(slots=True)
class _Options:
    asyncOp: bool = True
    timeout: timedelta = field(default=UNSET_TIMEOUT, kw_only=True)


@dataclass(slots=True)
class AllgatherOptions(_Options):
    """Options of all_gather and its forms."""


@dataclass(slots=True)
class AllToAllOptions(_Options):
    """Options of all_to_all and all_to_all_single.

    Example:
        >>> options = dist.AllToAllOptions()
    """


@dataclass(slots=True)
class AllreduceOptions(_Options):
    """Options of all_reduce.

    Example:
        >>> options = dist.AllreduceOptions()
        >>> options.reduceOp = dist.ReduceOp.MAX
        >>> x = torch.ones(2)
        >>> dist.group.WORLD.allreduce([x], options).wait()
        True
        >>> x
        tensor([1., 1.])
    """

    reduceOp: Any = RedOpType.SUM


@dataclass(slots=True)
class AllreduceCoalescedOptions(AllreduceOptions):
    """Options of all_reduce_coalesced.

    Example:
        >>> options = dist.AllreduceCoalescedOptions()
        >>> options.reduceOp = dist.ReduceOp.MAX
    """


@dataclass(slots=True)
class ReduceScatterOptions(_Options):
    """Options of reduce_scatter and its forms.

    Example:
        >>> options = dist.ReduceScatterOptions()
        >>> options.reduceOp = dist.ReduceOp.MAX
    """

    reduceOp: Any = RedOpType.SUM


@dataclass(slots=True)
class BroadcastOptions(_Options):
    """Options of broadcast; the root is a rank of the group.

    Example:
        >>> options = dist.BroadcastOptions()
        >>> options.rootRank = 0
        >>> x = torch.ones(2)
        >>> dist.group.WORLD.broadcast([x], options).wait()
        True
    """

    rootRank: int = 0
    rootTensor: int = 0


@dataclass(slots=True)
class ReduceOptions(BroadcastOptions):
    """Options of reduce.

    Example:
        >>> options = dist.ReduceOptions()
        >>> options.reduceOp, options.rootRank = dist.ReduceOp.SUM, 0
    """

    reduceOp: Any = RedOpType.SUM


@dataclass(slots=True)
class GatherOptions(_Options):
    """Options of gather; the root is a rank of the group.

    Example:
        >>> options = dist.GatherOptions()
        >>> options.rootRank = 0
    """

    rootRank: int = 0


@dataclass(slots=True)
class ScatterOptions(_Options):
    """Options of scatter; the root is a rank of the group.

    Example:
        >>> options = dist.ScatterOptions()
        >>> options.rootRank = 0
    """

    rootRank: int = 0


@dataclass(slots=True)
class BarrierOptions(_Options):
    """Options of barrier.

    Arguments:
        device: the device to wait on

    Example:
        >>> dist.group.WORLD.barrier(dist.BarrierOptions()).wait()
        True
    """

    device: Any = None
    device_ids: Any = ()
