"""torch.distributed.collective_utils: what one rank or all compute, for all; if it fails on one, it fails on all."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mindtorch import distributed as dist

__all__ = ["SyncPayload", "all_gather", "all_gather_object_enforce_type", "broadcast"]


@dataclass
class SyncPayload:
    """What a rank has computed for a stage, or its exception.

    Arguments:
        stage_name: the name of the stage, for messages; None if it has none
        success: whether there is a result
        payload: the result
        exception: what was raised instead

    Example:
        >>> from mindtorch.distributed.collective_utils import SyncPayload
        >>> SyncPayload("count", success=True, payload=3)
        SyncPayload(stage_name='count', success=True, payload=3, exception=None)
    """

    stage_name: str | None
    success: bool
    payload: Any
    exception: Exception | None = None


def _computed(data_or_fn, stage_name, success=True):
    if not callable(data_or_fn):
        return SyncPayload(stage_name, success, data_or_fn)
    try:
        return SyncPayload(stage_name, success, data_or_fn())
    except Exception as error:      # noqa: BLE001 - whatever it is, the other ranks raise it as well
        return SyncPayload(stage_name, False, None, error)


def broadcast(data_or_fn: Any, *, success: bool = True, stage_name: str | None = None, rank: int = 0,
              pg: Any = None) -> Any:
    """What rank `rank` passes, or what its function returns there.

    Arguments:
        data_or_fn: the value, or a function that gives it
        success: whether the step has gone well on this rank
        stage_name: the name of the step, for messages
        rank: the rank that gives the value
        pg: the process group; None means the value is returned as it is

    Example:
        >>> from mindtorch.distributed.collective_utils import broadcast
        >>> broadcast(lambda: 1 + 1, rank=0)
        2
    """
    if not success and data_or_fn is not None:
        raise AssertionError("Data or Function is expected to be None if not successful")
    payload = SyncPayload(stage_name, success, None)
    if pg is None or pg.rank() == rank:
        payload = _computed(data_or_fn, stage_name, success)
    if pg is not None:
        shared = [payload]
        dist.broadcast_object_list(shared, src=dist.get_global_rank(pg, rank), group=pg)
        payload = shared[0]
    if not payload.success:
        where = "" if stage_name is None else f": stage {stage_name}"
        raise RuntimeError(f"Rank {rank} failed{where}: {payload.exception}") from payload.exception
    return payload.payload


def all_gather(data_or_fn: Any, stage_name: str | None = None, pg: Any = None) -> list[Any]:
    """What each rank passes, or what its function returns.

    Arguments:
        data_or_fn: the value, or a function that gives it
        stage_name: the name of the step, for messages
        pg: the process group; None means the value is returned as it is

    Example:
        >>> from mindtorch.distributed.collective_utils import all_gather
        >>> all_gather(dist.get_rank)
        [0]
    """
    payload = _computed(data_or_fn, stage_name)
    if pg is None:
        found = [payload]
    else:
        found = [None] * dist.get_world_size(pg)
        dist.all_gather_object(found, payload, pg)
    failures = [(rank, each) for rank, each in enumerate(found) if not each.success]
    if failures:
        where = "" if stage_name is None else f" stage {stage_name}"
        text = ", ".join(f"rank {rank}: {each.exception!r}" for rank, each in failures)
        raise RuntimeError(f"all_gather failed with exceptions{where}: {text}") from failures[0][1].exception
    return [each.payload for each in found]


def all_gather_object_enforce_type(pg: Any, object_list: list[Any], obj: Any, type_checker: Callable[[Any, Any], bool] =
                                   lambda x, y: type(x) is type(y)) -> None:
    """all_gather_object, with a TypeError where the objects' types differ.

    Arguments:
        pg: the process group
        object_list: a list as long as the group, which takes the objects
        obj: the object of this rank
        type_checker: whether the objects of two neighbouring ranks agree

    Example:
        >>> from mindtorch.distributed.collective_utils import all_gather_object_enforce_type
        >>> found = [None]
        >>> all_gather_object_enforce_type(dist.group.WORLD, found, "a")
        >>> found
        ['a']
    """
    dist.all_gather_object(object_list, obj, pg)
    for first, second in itertools.pairwise(object_list):
        if not type_checker(first, second):
            raise TypeError(f"Object type at index 0 is {type(first)}, and at another rank {type(second)}")
