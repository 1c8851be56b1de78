"""torch.distributed.checkpoint.filesystem: checkpoints in folders."""
from __future__ import annotations

import io
import os
import uuid
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import serialization
from mindtorch._submodules import module_getattr
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.distributed.checkpoint.default_planner import _narrowed
from mindtorch.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from mindtorch.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from mindtorch.distributed.checkpoint.staging import BlockingAsyncStager
from mindtorch.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from mindtorch.futures import Future

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FileSystemReader", "FileSystemWriter"]

CURRENT_DCP_VERSION = "1.0.0"
DEFAULT_SUFFIX = ".distcp"
_METADATA = ".metadata"


@dataclass
class _StorageInfo:
    """Where an item lies: the file, the byte at which it begins, and how many there are."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass
class _StoragePrefix:
    """How the names of a rank's files begin."""

    prefix: str


def _done(result):
    future: Future = Future()
    future.set_result(result)
    return future


def _is_folder(checkpoint_id):
    return isinstance(checkpoint_id, Path) or "://" not in os.fspath(checkpoint_id)


class FileSystemWriter(BlockingAsyncStager, StorageWriter):
    """Writes a checkpoint to a folder.

    Each rank writes `thread_count` files, or with `single_file_per_rank=False` one for each object. With `sync_files`
    they are on the disk when `.metadata` appears, which is written last. Where the folder has a checkpoint already it
    is written over, or with `overwrite=False` RuntimeError. `per_thread_copy_ahead` changes nothing.

    Arguments:
        single_file_per_rank: whether each rank writes one file, in place of one for each tensor
        sync_files: whether files are flushed to disk
        per_thread_copy_ahead: not read
        cache_staged_state_dict: whether the memory of the copy is kept for the next checkpoint
        overwrite: whether an existing checkpoint may be replaced

    Example:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     writer = dist.checkpoint.FileSystemWriter(folder)
        ...     written = dist.checkpoint.save({"x": torch.ones(2)}, storage_writer=writer)
        ...     sorted(os.listdir(folder))              # of one rank
        ['.metadata', '__0_0.distcp']
    """

    def __init__(self, path: str | os.PathLike[str], single_file_per_rank: bool = True, sync_files: bool = True,
                 thread_count: int = 1, per_thread_copy_ahead: int = 10_000_000,
                 cache_staged_state_dict: bool = False, overwrite: bool = True) -> None:
        super().__init__(cache_staged_state_dict)
        self.path, self.save_id = Path(path), str(uuid.uuid4())
        self.single_file_per_rank, self.sync_files = single_file_per_rank, sync_files
        self.thread_count, self.overwrite = thread_count, overwrite

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.is_coordinator = is_coordinator

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / _METADATA).exists():
            if not self.overwrite:
                raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}.")
            if self.is_coordinator:
                warnings.warn(f"Detected an existing checkpoint in {self.path}, overwriting since "
                              f"self.overwrite={self.overwrite}.", stacklevel=2)
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        return [replace(plan, storage_data=_StoragePrefix(f"__{rank}_")) for rank, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        files = (_split_evenly(plan.items, self.thread_count) if self.single_file_per_rank
                 else [[each] for each in plan.items])
        jobs = [(f"{plan.storage_data.prefix}{number}{DEFAULT_SUFFIX}", items, planner)
                for number, items in enumerate(files)]
        if self.thread_count == 1:
            written = [self._write_file(*job) for job in jobs]
        else:
            with ThreadPoolExecutor(self.thread_count) as pool:
                written = list(pool.map(lambda job: self._write_file(*job), jobs))
        return _done([result for results in written for result in results])

    def _write_file(self, name, items, planner):
        results = []
        with open(self.path / name, "wb") as file:
            for item in sorted(items, key=lambda item: item.type != WriteItemType.BYTE_IO):
                offset = file.tell()
                data = planner.resolve_data(item)
                file.write((data if item.type == WriteItemType.BYTE_IO else _saved(data)).getbuffer())
                length = file.tell() - offset
                results.append(WriteResult(item.index, length, _StorageInfo(name, offset, length)))
            self._to_disk(file)
        return results

    def _to_disk(self, file):
        file.flush()
        if self.sync_files:
            os.fsync(file.fileno())

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        metadata.version = CURRENT_DCP_VERSION
        metadata.storage_data = {each.index: each.storage_data for written in results for each in written}
        metadata.storage_meta = self.storage_meta()
        temporary = self.path / f"{_METADATA}.tmp"
        with open(temporary, "wb") as file:
            serialization._pickler(file).dump(metadata)
            self._to_disk(file)
        temporary.replace(self.path / _METADATA)

    def storage_meta(self) -> StorageMeta | None:
        return StorageMeta(checkpoint_id=self.checkpoint_id, save_id=self.save_id)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return _is_folder(checkpoint_id)


def _split_evenly(items: list[WriteItem], count: int) -> list[list[WriteItem]]:
    """The items in `count` lists with about as many bytes."""
    parts: list[list[WriteItem]] = [[] for _ in range(count)]
    sizes = [0] * count
    for item in sorted(items, key=lambda item: item.tensor_storage_size() or 0, reverse=True):
        least = sizes.index(min(sizes))
        parts[least].append(item)
        sizes[least] += item.tensor_storage_size() or 1
    return parts


def _saved(tensor):
    """The bytes that torch.save writes of a tensor, without what else its storage holds."""
    tensor = tensor.detach().cpu()
    if tensor.untyped_storage().nbytes() != tensor.nbytes:
        tensor = tensor.clone()
    data = io.BytesIO()
    mindtorch.save(tensor, data)
    return data


class FileSystemReader(StorageReader):
    """Reads a checkpoint from a folder. `.metadata` is a pickle, which can run any code: trust where it comes from.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = dist.checkpoint.save({"x": torch.ones(2)}, checkpoint_id=folder)
        ...     list(dist.checkpoint.FileSystemReader(folder).read_metadata().state_dict_metadata)
        ['x']
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.reset(path)

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        self.storage_data: dict[MetadataIndex, _StorageInfo] = {}
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.load_id = str(uuid.uuid4())

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        with open(self.path / _METADATA, "rb") as file:
            metadata = serialization._TrustingUnpickler(file, None).load()
        if getattr(metadata, "storage_meta", None) is None:
            metadata.storage_meta = StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        assert metadata.storage_data is not None, "the metadata does not say where objects lie"
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        files: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            files.setdefault(self.storage_data[item.storage_index].relative_path, []).append(item)
        for name, items in files.items():
            with open(self.path / name, "rb") as file:
                for item in items:
                    self._read(file, item, planner)
        return _done(None)

    def _read(self, file, item, planner):
        place = self.storage_data[item.storage_index]
        if getattr(place, "transform_descriptors", None):
            raise NotImplementedError(f"{item.storage_index.fqn} was written through {place.transform_descriptors}")
        file.seek(place.offset)
        data = file.read(place.length)
        if item.type == LoadItemType.BYTE_IO:
            planner.load_bytes(item, io.BytesIO(data))
            return
        saved = _narrowed(self._tensor(data, place), item.storage_offsets, item.lengths)
        target = planner.resolve_tensor(item).detach()
        if target.size() != saved.size():
            raise AssertionError(f"req {item.storage_index} mismatch sizes {target.size()} vs {saved.size()}")
        target.copy_(saved)
        planner.commit_tensor(item, target)

    def _tensor(self, data: bytes, place: _StorageInfo) -> mindtorch.Tensor:
        """The tensor that bytes of a file are."""
        return mindtorch.load(io.BytesIO(data), map_location="cpu", weights_only=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return _is_folder(checkpoint_id)


_complete_docstrings(globals(), "distributed.checkpoint")
__getattr__ = module_getattr(__name__)
