"""torch.distributed.checkpoint.planner: plans of what is written and read, and the interface of planners."""
from __future__ import annotations

import io
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
from math import prod
from typing import TYPE_CHECKING, Any

from mindtorch.distributed.checkpoint.metadata import (
    STATE_DICT_TYPE,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
)

if TYPE_CHECKING:
    from mindtorch import Size, Tensor

__all__ = ["BytesIOWriteData", "LoadItemType", "LoadPlan", "LoadPlanner", "ReadItem", "SavePlan", "SavePlanner",
           "TensorWriteData", "WriteItem", "WriteItemType"]


class WriteItemType(Enum):
    """A whole tensor, a part of one, or the bytes of another object."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """A tensor, or part of one; or the bytes of another object."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """How many bytes an object has.

    Arguments:
        nbytes: the number of bytes

    Example:
        >>> dist.checkpoint.planner.BytesIOWriteData(nbytes=12).nbytes
        12
    """

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """The part that is written, and of which tensor.

    Arguments:
        chunk: the part
        properties: a TensorProperties
        size: the sizes of the whole tensor

    Example:
        >>> plan = dist.checkpoint.default_planner.create_default_local_save_plan({"weight": torch.ones(2)}, True)
        >>> plan.items[0].tensor_data.size
        torch.Size([2])
    """

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size


@dataclass(frozen=True)
class WriteItem:
    """What is written: an object, a tensor or a part of one.

    Arguments:
        index: a MetadataIndex
        type: a WriteItemType: a tensor, a part of one, or bytes
        bytes_io_data: a BytesIOWriteData; None for tensors
        tensor_data: a TensorWriteData; None for bytes

    Example:
        >>> class Counting(dist.checkpoint.DefaultSavePlanner):
        ...     def create_local_plan(self):
        ...         plan = super().create_local_plan()
        ...         print(len(plan.items), isinstance(plan.items[0], dist.checkpoint.WriteItem))
        ...         return plan
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = dist.checkpoint.save({"x": torch.ones(2)}, checkpoint_id=folder, planner=Counting())
        1 True
    """

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """The bytes of the whole tensor; None for other objects."""
        if self.tensor_data is None:
            return None
        return prod(self.tensor_data.size) * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """What is read: from where in the checkpoint, to where in the state dict, and how much in each dimension.

    Arguments:
        type: a LoadItemType: a tensor or bytes
        dest_index: the MetadataIndex of what is read into
        dest_offsets: where in it the part begins
        storage_index: the MetadataIndex of what is read
        storage_offsets: where in it the part begins
        lengths: the sizes of the part

    Example:
        >>> class Counting(dist.checkpoint.DefaultLoadPlanner):
        ...     def create_local_plan(self):
        ...         plan = super().create_local_plan()
        ...         print(len(plan.items), isinstance(plan.items[0], dist.checkpoint.ReadItem))
        ...         return plan
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = dist.checkpoint.save({"x": torch.ones(2)}, checkpoint_id=folder)
        ...     dist.checkpoint.load({"x": torch.zeros(2)}, checkpoint_id=folder, planner=Counting())
        1 True
    """

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclass(frozen=True)
class SavePlan:
    """What a rank writes.

    Arguments:
        items: the items of the plan
        storage_data: what the storage keeps of it
        planner_data: what the planner keeps of it
        usable: whether the plan can be used as it is

    Example:
        >>> dist.checkpoint.SavePlan(items=[]).usable
        True
    """

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a rank reads.

    Arguments:
        items: the items of the plan
        storage_data: what the storage keeps of it
        planner_data: what the planner keeps of it

    Example:
        >>> dist.checkpoint.LoadPlan(items=[]).items
        []
    """

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(ABC):
    """Decides which rank writes what. The methods are called in this order, on each rank; create_global_plan on one.

    Example:
        >>> issubclass(dist.checkpoint.DefaultSavePlanner, dist.checkpoint.SavePlanner)
        True
    """

    @abstractmethod
    def set_up_planner(self, state_dict: STATE_DICT_TYPE, storage_meta: StorageMeta | None = None,
                       is_coordinator: bool = False) -> None:
        """Called when a save begins."""

    @abstractmethod
    def create_local_plan(self) -> SavePlan:
        """What this rank could write."""

    @abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """In the coordinator: what each rank writes, and what the checkpoint holds."""

    @abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """The final plan of what this rank writes."""

    @abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """The tensor, or the bytes, of an item."""


class LoadPlanner(ABC):
    """Decides which rank reads what. The methods are called in this order, on each rank; create_global_plan on one.

    Example:
        >>> issubclass(dist.checkpoint.DefaultLoadPlanner, dist.checkpoint.LoadPlanner)
        True
    """

    @abstractmethod
    def set_up_planner(self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None,
                       is_coordinator: bool = False) -> None:
        """Called when a load into the tensors of `state_dict` begins."""

    @abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """What this rank needs."""

    @abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """In the coordinator: what each rank reads."""

    @abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """The final plan of what this rank reads."""

    @abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Take the bytes of an object that is no tensor."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """The bytes that a reader fills, for planners that have them."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """The tensor that the reader fills."""

    @abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Called when the reader has filled the tensor."""
