"""torch.distributed.checkpoint.hf_storage: checkpoints in Hugging Face's safetensors files.

A file has the length of its header, eight bytes, the header, which is JSON, and the bytes of its tensors. Where ranks
save their shards, the header says where in the whole tensor each begins.
"""
from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import Size, Tensor
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.distributed.checkpoint.filesystem import (
    CURRENT_DCP_VERSION,
    FileSystemReader,
    FileSystemWriter,
    _done,
    _StorageInfo,
    _StoragePrefix,
)
from mindtorch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from mindtorch.distributed.checkpoint.planner import SavePlan, SavePlanner, WriteItemType
from mindtorch.distributed.checkpoint.storage import WriteResult

if TYPE_CHECKING:
    from mindtorch.futures import Future

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

SUFFIX = ".safetensors"
INDEX = "model.safetensors.index.json"
_SHARDS = "DCP_SHARDING_INFO"        # in the header of files with shards: where each begins
_CODES = {"F64": mindtorch.float64, "F32": mindtorch.float32, "F16": mindtorch.float16, "BF16": mindtorch.bfloat16,
          "I64": mindtorch.int64, "I32": mindtorch.int32, "I16": mindtorch.int16, "I8": mindtorch.int8,
          "U64": mindtorch.uint64, "U32": mindtorch.uint32, "U16": mindtorch.uint16, "U8": mindtorch.uint8,
          "BOOL": mindtorch.bool, "F8_E4M3": mindtorch.float8_e4m3fn, "F8_E5M2": mindtorch.float8_e5m2}
_CODE_OF = {dtype: code for code, dtype in _CODES.items()}


@dataclass
class _Stored(_StorageInfo):
    """Where a tensor's bytes lie, and what they are."""

    dtype: Any = None
    shape: Sequence[int] = ()


def _header(file):
    """What a file says of its tensors, and where their bytes begin."""
    length = int.from_bytes(file.read(8), "little")
    return json.loads(file.read(length)), 8 + length


class HuggingFaceStorageReader(FileSystemReader):
    """Reads the safetensors files of a folder, whole models or the shards of ranks. `thread_count` changes nothing.

    Arguments:
        thread_count: not read

    Example:
        >>> import tempfile
        >>> from mindtorch.distributed.checkpoint import HuggingFaceStorageReader, HuggingFaceStorageWriter
        >>> state = {"x": torch.zeros(2)}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = dist.checkpoint.save({"x": torch.ones(2)}, storage_writer=HuggingFaceStorageWriter(folder))
        ...     dist.checkpoint.load(state, storage_reader=HuggingFaceStorageReader(folder))
        >>> state
        {'x': tensor([1., 1.])}
    """

    def __init__(self, path: str | os.PathLike[str], thread_count: int = 1) -> None:
        super().__init__(path)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        described: dict[str, Any] = {}
        places: dict[MetadataIndex, _StorageInfo] = {}
        for path in sorted(self.path.glob(f"*{SUFFIX}")):
            with open(path, "rb") as file:
                header, begin = _header(file)
            shards = json.loads(header.pop("__metadata__", {}).get(_SHARDS, "{}"))
            for name, entry in header.items():
                shape, dtype = Size(entry["shape"]), _CODES[entry["dtype"]]
                offsets = Size(shards[name]["saved_offsets"] if name in shards else [0] * len(shape))
                known = described.setdefault(name, TensorStorageMetadata(TensorProperties(dtype), shape, []))
                known.size = Size(max(length, offset + part) for length, offset, part
                                  in zip(known.size, offsets, shape, strict=True))
                known.chunks.append(ChunkStorageMetadata(offsets, shape))
                first, end = entry["data_offsets"]
                places[MetadataIndex(name, offsets)] = _Stored(
                    path.name, begin + first, end - first, dtype=dtype, shape=shape)
        return Metadata(described, storage_data=places, storage_meta=StorageMeta(load_id=self.load_id))

    def _tensor(self, data: bytes, place: _Stored) -> Tensor:
        whole = mindtorch.frombuffer(bytearray(data), dtype=place.dtype) if data else mindtorch.empty(0)
        return whole.to(place.dtype).reshape(place.shape)


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes safetensors files to a folder.

    `fqn_to_index_mapping` says into which of the files each tensor goes, from 1 on. Ranks that have shards write files
    of their own (`save_distributed`), which the reader puts together. `thread_count` changes nothing.

    Arguments:
        thread_count: not read
        fqn_to_index_mapping: the number of the file of each tensor, by name
        save_distributed: whether each rank writes a file of its own
        enable_consolidation: whether these files are joined to whole ones at the end
        thread_count_consolidation: not read

    Example:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     writer = dist.checkpoint.HuggingFaceStorageWriter(folder)
        ...     written = dist.checkpoint.save({"x": torch.ones(2)}, storage_writer=writer)
        ...     sorted(os.listdir(folder))
        ['model-00001-of-00001.safetensors', 'model.safetensors.index.json']
    """

    def __init__(self, path: str | os.PathLike[str], fqn_to_index_mapping: dict[str, int] | None = None,
                 thread_count: int = 1, save_distributed: bool = False, enable_consolidation: bool = False,
                 thread_count_consolidation: int = 1) -> None:
        if enable_consolidation:
            raise NotImplementedError("HuggingFaceStorageWriter does not join the files of ranks. Load the checkpoint "
                                      "in one process, and save what it holds")
        super().__init__(path)
        self.fqn_to_index_mapping, self.save_distributed = fqn_to_index_mapping, save_distributed

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        return [replace(plan, storage_data=_StoragePrefix(f"shard-{rank + 1:05d}-" if self.save_distributed else ""))
                for rank, plan in enumerate(plans)]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        numbers = self.fqn_to_index_mapping or {}
        files: dict[int, list[Any]] = {}
        for item in plan.items:
            if item.type == WriteItemType.BYTE_IO:
                raise ValueError(f"{item.index.fqn} is no tensor, and safetensors files have nothing else")
            files.setdefault(numbers.get(item.index.fqn, 1), []).append(item)
        results = []
        for number, items in files.items():
            name = f"{plan.storage_data.prefix}model-{number:05d}-of-{max(numbers.values(), default=1):05d}{SUFFIX}"
            results += self._write_tensors(name, items, planner)
        return _done(results)

    def _write_tensors(self, name, items, planner):
        header: dict[str, Any] = {"__metadata__": {"format": "pt", "DCP_VERSION": CURRENT_DCP_VERSION}}
        if self.save_distributed:
            header["__metadata__"][_SHARDS] = json.dumps(
                {item.index.fqn: {"saved_offsets": list(item.tensor_data.chunk.offsets)} for item in items})
        tensors, end, results = [], 0, []
        for item in items:
            tensor = planner.resolve_data(item).detach().cpu().contiguous()
            tensors.append(tensor)
            place = _StorageInfo(name, end, tensor.nbytes)
            end += tensor.nbytes
            header[item.index.fqn] = {"dtype": _CODE_OF[tensor.dtype], "shape": list(tensor.shape),
                                      "data_offsets": [place.offset, end]}
            results.append(WriteResult(item.index, tensor.nbytes, place))
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(self.path / name, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for tensor in tensors:
                file.write(tensor.flatten().resolve_conj().resolve_neg().view(mindtorch.uint8).numpy().tobytes())
            self._to_disk(file)
        return results

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        if self.save_distributed:
            return
        written = [each for results_of_rank in results for each in results_of_rank]
        index = {"metadata": {"total_size": sum(each.size_in_bytes for each in written)},
                 "weight_map": {each.index.fqn: each.storage_data.relative_path for each in written}}
        (self.path / INDEX).write_text(json.dumps(index, indent=2), encoding="utf-8")


_complete_docstrings(globals(), "distributed.checkpoint")
