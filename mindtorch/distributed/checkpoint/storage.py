"""torch.distributed.checkpoint.storage: the interface of what writes and reads a checkpoint."""
from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mindtorch.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta

if TYPE_CHECKING:
    from mindtorch.distributed.checkpoint.planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner
    from mindtorch.futures import Future

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


@dataclass(frozen=True)
class WriteResult:
    """Where an item was written.

    Arguments:
        index: the MetadataIndex of what was written
        size_in_bytes: the number of bytes
        storage_data: what the storage keeps of it

    Example:
        >>> index = dist.checkpoint.metadata.MetadataIndex("weight")
        >>> dist.checkpoint.storage.WriteResult(index, size_in_bytes=8, storage_data=None).size_in_bytes
        8
    """

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(ABC):
    """Writes. The methods are called in this order; prepare_global_plan and finish in the coordinator alone.

    Example:
        >>> issubclass(dist.checkpoint.FileSystemWriter, dist.checkpoint.StorageWriter)
        True
    """

    @abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Called before a checkpoint is written, to `checkpoint_id` if that is given."""

    @abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Say whether this rank is the coordinator."""

    @abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Add to this rank's plan what the storage needs."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Add to the plans of all ranks what the storage needs."""

    @abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Write what the plan says, asking the planner for each item."""

    @abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the metadata: the checkpoint is there."""

    @classmethod
    @abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether this storage takes such names."""

    def storage_meta(self) -> StorageMeta | None:
        """What the metadata says of the storage."""
        return None


class StorageReader(ABC):
    """Reads. The methods are called in this order; prepare_global_plan in the coordinator alone.

    Example:
        >>> issubclass(dist.checkpoint.FileSystemReader, dist.checkpoint.StorageReader)
        True
    """

    @abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Called before a checkpoint is read, from `checkpoint_id` if that is given."""

    @abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What the checkpoint holds."""

    @abstractmethod
    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Take the metadata, and whether this rank is the coordinator."""

    @abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Add to this rank's plan what the storage needs."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Add to the plans of all ranks what the storage needs."""

    @abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Read what the plan says into what the planner gives for each item."""

    @classmethod
    @abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether this storage takes such names."""
