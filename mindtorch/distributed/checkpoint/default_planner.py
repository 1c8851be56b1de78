"""torch.distributed.checkpoint.default_planner: one rank writes what several have; each rank reads what it needs."""
from __future__ import annotations

import io
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import Tensor
from mindtorch import distributed as dist
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.distributed.checkpoint._nested_dict import flatten_state_dict, set_element
from mindtorch.distributed.checkpoint.metadata import (
    STATE_DICT_TYPE,
    BytesStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from mindtorch.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from mindtorch.distributed.checkpoint.planner_helpers import _create_read_items, _create_write_items, _overlap
from mindtorch.distributed.checkpoint.utils import find_state_dict_object

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner", "create_default_global_load_plan",
           "create_default_global_save_plan", "create_default_local_load_plan", "create_default_local_save_plan"]


class DefaultSavePlanner(SavePlanner):
    """Nested dicts become flat. What several ranks have is written by the one with the least to write, or the lowest.

    `flatten_sharded_tensors`, `dedup_replicated_tensors` and `enable_plan_caching` change nothing: there are no
    ShardedTensors here, replicas are never written twice, and plans are always made anew.

    Arguments:
        dedup_replicated_tensors: deprecated, not read
        dedup_save_to_lowest_rank: whether the lowest rank writes what several have, in place of spreading the work
        enable_plan_caching: not read

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     planner = dist.checkpoint.DefaultSavePlanner(dedup_save_to_lowest_rank=True)
        ...     written = dist.checkpoint.save({"x": torch.ones(2)}, checkpoint_id=folder, planner=planner)
        >>> list(written.state_dict_metadata)
        ['x']
    """

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
                 dedup_replicated_tensors: bool | None = None, dedup_save_to_lowest_rank: bool = False,
                 enable_plan_caching: bool = False) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.mappings: dict[str, tuple[str | int, ...]] = {}

    def set_up_planner(self, state_dict: STATE_DICT_TYPE, storage_meta: StorageMeta | None = None,
                       is_coordinator: bool = False) -> None:
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        self.plan = replace(plan, planner_data=self.mappings) if self.flatten_state_dict else plan
        return self.plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        plans, metadata = create_default_global_save_plan(_without_replicas(all_plans, self.dedup_save_to_lowest_rank))
        if self.flatten_state_dict:
            metadata.planner_data = {name: path for plan in reversed(plans) for name, path in plan.planner_data.items()}
        errors = _validate_global_plan(plans, metadata)
        if errors:
            summary = "; ".join(errors)
            raise ValueError("Failed to validate global plan: "
                             + (summary if len(summary) <= 500 else summary[:500] + "... (truncated)"))
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """The object of an index, for planners that derive from this one."""
        return find_state_dict_object(self.state_dict, index)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """What is written of an object, for planners that derive from this one."""
        if write_item.type != WriteItemType.BYTE_IO:
            return object
        data = io.BytesIO()
        mindtorch.save(object, data)
        return data


class DefaultLoadPlanner(LoadPlanner):
    """Nested dicts become flat. A name that the checkpoint lacks is an error unless `allow_partial_load`.

    Arguments:
        allow_partial_load: whether a name that the checkpoint lacks keeps its value

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = dist.checkpoint.save({"x": torch.ones(2)}, checkpoint_id=folder)
        ...     state = {"x": torch.zeros(2), "new": torch.zeros(1)}
        ...     planner = dist.checkpoint.DefaultLoadPlanner(allow_partial_load=True)
        ...     dist.checkpoint.load(state, checkpoint_id=folder, planner=planner)
        >>> state
        {'x': tensor([1., 1.]), 'new': tensor([0.])}
    """

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
                 allow_partial_load: bool = False) -> None:
        self.flatten_state_dict, self.allow_partial_load = flatten_state_dict, allow_partial_load
        self.original_state_dict: STATE_DICT_TYPE = {}
        self.mappings: dict[str, tuple[str | int, ...]] = {}

    def set_up_planner(self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None,
                       is_coordinator: bool = False) -> None:
        self.original_state_dict = self.state_dict = state_dict
        if self.flatten_state_dict:
            self.state_dict, self.mappings = flatten_state_dict(state_dict)
        self.metadata, self.is_coordinator = metadata, is_coordinator
        for name, value in self.state_dict.items():
            if isinstance(value, Tensor) and value.is_meta:
                self._replace_object(name, mindtorch.empty_like(value, device=_place()))

    def _replace_object(self, name, value):
        """Replaces an object, in the dict of the caller as well."""
        self.state_dict[name] = value
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], value)

    def create_local_plan(self) -> LoadPlan:
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, new_plan: LoadPlan) -> LoadPlan:
        return new_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        self._replace_object(read_item.dest_index.fqn, mindtorch.load(value, weights_only=False))

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        pass        # it was filled in place

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        """The tensor of an index, for planners that derive from this one."""
        return find_state_dict_object(self.state_dict, index)

    def transform_tensor(self, read_item: ReadItem, tensor: Tensor) -> Tensor:
        """What is filled of a tensor, for planners that derive from this one."""
        return _narrowed(tensor, read_item.dest_offsets, read_item.lengths)


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Fills an empty dict with all that a checkpoint holds, or with the objects and dicts that `keys` names."""

    def __init__(self, keys: Container[str] | None = None, *args: Any, **kwargs: Any) -> None:
        self.keys = keys
        super().__init__(*args, **kwargs)

    def set_up_planner(self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None,
                       is_coordinator: bool = False) -> None:
        assert not state_dict, "the state dict must be empty"
        paths = metadata.planner_data or {}
        for name, described in metadata.state_dict_metadata.items():
            path = paths.get(name, (name,))
            names = {name, *(".".join(map(str, path[:count])) for count in range(1, len(path) + 1))}
            if self.keys is None or any(each in self.keys for each in names):
                is_tensor = isinstance(described, TensorStorageMetadata)
                set_element(state_dict, path, mindtorch.empty(described.size, dtype=described.properties.dtype)
                            if is_tensor else described)
        super().set_up_planner(state_dict, metadata, is_coordinator)


def _place():
    """Where tensors go that are on no device yet."""
    return dist.distributed_c10d._get_pg_default_device() if dist.is_initialized() else "cpu"


def _narrowed(tensor, offsets, lengths):
    for dim, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        tensor = tensor.narrow(dim, offset, length)
    return tensor


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """All that this rank could write.

    Arguments:
        is_coordinator: not read

    Example:
        >>> planner = dist.checkpoint.default_planner
        >>> plan = planner.create_default_local_save_plan({"weight": torch.ones(2), "epoch": 3}, is_coordinator=True)
        >>> [item.index.fqn for item in plan.items]
        ['weight', 'epoch']
    """
    return SavePlan([item for name, value in state_dict.items() for item in _create_write_items(name, value)])


def _without_replicas(plans, to_lowest_rank):
    """The plans, with each item in one of them."""
    owners: dict[MetadataIndex, list[int]] = {}
    sizes = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            owners.setdefault(item.index, []).append(rank)
            sizes[item.index] = item.tensor_storage_size() or 1
    load, chosen = [0] * len(plans), {}
    for index, ranks in owners.items():
        chosen[index] = ranks[0] if to_lowest_rank else min(ranks, key=load.__getitem__)
        load[chosen[index]] += sizes[index]
    return [replace(plan, items=[item for item in plan.items if chosen[item.index] == rank])
            for rank, plan in enumerate(plans)]


def create_default_global_save_plan(all_plans: list[SavePlan],
                                    rewrite_index_hints: bool = True) -> tuple[list[SavePlan], Metadata]:
    """(the plans, where each item knows its place in the metadata; the metadata).

    Arguments:
        rewrite_index_hints: whether each MetadataIndex tells the place of its part

    Example:
        >>> planner = dist.checkpoint.default_planner
        >>> plan = planner.create_default_local_save_plan({"weight": torch.ones(2)}, is_coordinator=True)
        >>> plans, metadata = planner.create_default_global_save_plan([plan])
        >>> metadata.state_dict_metadata["weight"].size
        torch.Size([2])
    """
    described: dict[str, Any] = {}
    plans = []
    for plan in all_plans:
        items = []
        for planned in plan.items:
            item, name = planned, planned.index.fqn
            assert item.type == WriteItemType.SHARD or name not in described, f"{name} would be written twice"
            if item.type == WriteItemType.BYTE_IO:
                described[name] = BytesStorageMetadata()
            else:
                data = item.tensor_data
                chunks = described.setdefault(name, TensorStorageMetadata(data.properties, data.size, [])).chunks
                if rewrite_index_hints:
                    item = replace(item, index=replace(item.index, index=len(chunks)))
                chunks.append(data.chunk)
            items.append(item)
        plans.append(replace(plan, items=items))
    return plans, Metadata(described)


def _validate_global_plan(plans, metadata):
    """What is wrong with the parts of tensors: they must lie inside, not overlap, and be all of the tensor."""
    errors = []
    for name, described in metadata.state_dict_metadata.items():
        if isinstance(described, BytesStorageMetadata) or not described.size:
            continue
        size, chunks = described.size, described.chunks
        errors += [f"key:{name} has out of bounds chunk: tensor-size:{size} chunk: {chunk}" for chunk in chunks
                   if any(offset < 0 or length < 0 or offset + length > extent for offset, length, extent
                          in zip(chunk.offsets, chunk.sizes, size, strict=True))]
        errors += [f"key:{name} has overlapping chunks: {chunk} {other}" for chunk, other in _overlapping(size, chunks)]
        volume = sum(prod(chunk.sizes) for chunk in chunks)
        if len(plans) > 1 and volume != prod(size):
            errors.append(f"key:{name} invalid fill tensor-volume: {prod(size)} chunks-volume: {volume}")
    return errors


def _overlapping(size, chunks):
    """Pairs of chunks with common elements."""
    dim = max(range(len(size)), key=size.__getitem__)
    ordered = sorted(chunks, key=lambda chunk: chunk.offsets[dim])
    for place, chunk in enumerate(ordered):
        end = chunk.offsets[dim] + chunk.sizes[dim]
        for later in range(place + 1, len(ordered)):
            if ordered[later].offsets[dim] >= end:
                break
            if _overlap(chunk, ordered[later]) is not None:
                yield chunk, ordered[later]


def create_default_local_load_plan(state_dict: dict[str, Any], metadata: Metadata, strict: bool = True) -> LoadPlan:
    """What this rank reads, of however many parts each tensor was saved in.

    Arguments:
        metadata: the Metadata of the checkpoint
        strict: whether each name has to be in the checkpoint

    Example:
        >>> planner = dist.checkpoint.default_planner
        >>> state = {"weight": torch.ones(2)}
        >>> plan = planner.create_default_local_save_plan(state, is_coordinator=True)
        >>> _, metadata = planner.create_default_global_save_plan([plan])
        >>> [item.storage_index.fqn for item in planner.create_default_local_load_plan(state, metadata).items]
        ['weight']
    """
    items = []
    for name, value in state_dict.items():
        if name not in metadata.state_dict_metadata:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            continue
        described = metadata.state_dict_metadata[name]
        is_tensor = isinstance(described, TensorStorageMetadata) and isinstance(value, Tensor)
        if is_tensor and described.size != value.size():
            raise ValueError(f"Size mismatch between saved {described.size} and current: {value.size()} for {name}")
        items += _create_read_items(name, described, value)
    return LoadPlan(items)


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """The plans as they are: each rank reads on its own.

    Example:
        >>> dist.checkpoint.default_planner.create_default_global_load_plan([])
        []
    """
    return all_plans


_complete_docstrings(globals(), "distributed.checkpoint")
