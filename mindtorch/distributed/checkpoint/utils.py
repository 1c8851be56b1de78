"""torch.distributed.checkpoint.utils: steps that all ranks take together, and how parts of tensors are found."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mindtorch import Size, Tensor
from mindtorch import distributed as dist
from mindtorch.distributed.checkpoint.api import CheckpointException, _is_wrapped_exception, _wrap_exception

if TYPE_CHECKING:
    from mindtorch.distributed.checkpoint.metadata import MetadataIndex

__all__ = ["find_state_dict_object", "find_tensor_shard"]


def _attempt(function, *args):
    """What a function returns, or its error, which goes to the other ranks: none shall wait for this one."""
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - every rank raises it
        return _wrap_exception(error)


def _failures(results):
    """Rank -> error, of a list with the results of all ranks."""
    return {rank: result for rank, result in enumerate(results) if _is_wrapped_exception(result)}


def _checked(result):
    if isinstance(result, CheckpointException):
        raise result
    return result


class _DistWrapper:
    """The ranks of a group, or this process alone. An error in one rank is a CheckpointException in all."""

    def __init__(self, group: Any, use_dist: bool, coordinator_rank: int) -> None:
        self.group, self.use_dist, self.coordinator_rank = group, use_dist, coordinator_rank
        self.rank = dist.get_rank(group) if use_dist else 0
        self.is_coordinator = not use_dist or self.rank == coordinator_rank

    def get_rank(self) -> int:
        return self.rank

    def get_world_size(self) -> int:
        return dist.get_world_size(self.group) if self.use_dist else 1

    def broadcast_object(self, object: Any) -> Any:
        """The coordinator's object."""
        objects = [object]
        if self.use_dist:
            dist.broadcast_object_list(objects, group=self.group, group_src=self.coordinator_rank)
        return objects[0]

    def gather_object(self, object: Any) -> list[Any] | None:
        """The objects of all ranks in the coordinator, None elsewhere."""
        if not self.use_dist:
            return [object]
        objects = [None] * self.get_world_size() if self.is_coordinator else None
        dist.gather_object(object, objects, group=self.group, group_dst=self.coordinator_rank)
        return objects

    def all_gather_object(self, object: Any) -> list[Any]:
        """The objects of all ranks."""
        if not self.use_dist:
            return [object]
        objects = [None] * self.get_world_size()
        dist.all_gather_object(objects, object, group=self.group)
        return objects

    def scatter_object(self, object_list: list[Any] | None) -> Any:
        """This rank's object of the coordinator's list."""
        if not self.use_dist:
            return object_list[0]
        received = [None]
        dist.scatter_object_list(received, object_list, group=self.group, group_src=self.coordinator_rank)
        return received[0]

    def _reduced(self, step, map_fun, reduce_fun):
        """In the coordinator what `reduce_fun` makes of all ranks' results, or a CheckpointException; else None."""
        results = self.gather_object(_attempt(map_fun))
        if not self.is_coordinator:
            return None
        failures = _failures(results)
        if not failures:
            result = _attempt(reduce_fun, results)
            if not _is_wrapped_exception(result):
                return result
            failures[self.rank] = result
        return CheckpointException(step, failures)

    def reduce_scatter(self, step: str, map_fun: Callable[[], Any],
                       reduce_fun: Callable[[list[Any]], list[Any]]) -> Any:
        """Each rank's part of what `reduce_fun` makes in the coordinator of the results of `map_fun`."""
        result = self._reduced(step, map_fun, reduce_fun)
        if isinstance(result, CheckpointException):
            result = [result] * self.get_world_size()
        return _checked(self.scatter_object(result))

    def all_reduce(self, step: str, map_fun: Callable[[], Any], reduce_fun: Callable[[list[Any]], Any]) -> Any:
        """What `reduce_fun` makes in the coordinator of the results of `map_fun`."""
        return _checked(self.broadcast_object(self._reduced(step, map_fun, reduce_fun)))

    def all_gather(self, step: str, map_fun: Callable[[], Any]) -> list[Any]:
        """The results of all ranks."""
        results = self.all_gather_object(_attempt(map_fun))
        failures = _failures(results)
        if failures:
            raise CheckpointException(step, failures)
        return results

    def broadcast(self, step: str, map_fun: Callable[[], Any]) -> Any:
        """What `map_fun` returns in the coordinator."""
        result = _attempt(map_fun) if self.is_coordinator else None
        if _is_wrapped_exception(result):
            result = CheckpointException(step, {self.rank: result})
        return _checked(self.broadcast_object(result))

    def barrier(self) -> None:
        """Wait for all ranks."""
        if self.use_dist:
            dist.barrier(group=self.group)


def find_tensor_shard(tensor: Tensor, index: MetadataIndex) -> Tensor:
    """The part of a tensor that an index means: one of a tensor's shards, or a plain tensor as a whole.

    Arguments:
        tensor: the tensor
        index: a MetadataIndex

    Example:
        >>> index = dist.checkpoint.metadata.MetadataIndex("weight")
        >>> dist.checkpoint.utils.find_tensor_shard(torch.ones(2), index)
        tensor([1., 1.])
    """
    if hasattr(tensor, "__get_tensor_shard__"):
        return tensor.__get_tensor_shard__(index)
    if index.offset is not None and index.offset != Size([0] * tensor.dim()):
        raise ValueError(f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: '{index.offset}'")
    return tensor


def find_state_dict_object(state_dict: dict[str, Any], index: MetadataIndex) -> Any:
    """The object of a flat state dict that an index means.

    Arguments:
        state_dict: the tensors and other values by name; `load` writes to the tensors in place
        index: a MetadataIndex

    Example:
        >>> index = dist.checkpoint.metadata.MetadataIndex("weight")
        >>> dist.checkpoint.utils.find_state_dict_object({"weight": torch.ones(2)}, index)
        tensor([1., 1.])
    """
    if index.fqn not in state_dict:
        raise ValueError(f"Could not find FQN: '{index.fqn}'")
    found = state_dict[index.fqn]
    if isinstance(found, Tensor):
        return find_tensor_shard(found, index)
    if index.offset is not None:
        raise ValueError(f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: '{index.offset}'")
    return found
