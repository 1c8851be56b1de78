"""torch.distributed.checkpoint.metadata: what `.metadata` says. Its pickle names these classes and their fields."""
from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import mindtorch
from mindtorch import Size, Tensor

__all__ = ["BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta",
           "TensorProperties", "TensorStorageMetadata"]

STATE_DICT_TYPE = dict[str, Any]


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor: where it begins, and how large it is, in each dimension.

    Arguments:
        offsets: where the part begins in the whole tensor, for each dimension
        sizes: the sizes of the part

    Example:
        >>> dist.checkpoint.ChunkStorageMetadata(offsets=torch.Size([0]), sizes=torch.Size([2])).sizes
        torch.Size([2])
    """

    offsets: Size
    sizes: Size


class _MEM_FORMAT_ENCODING(Enum):
    """Memory formats, as pickles name them."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


_FORMATS = {_MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT: mindtorch.contiguous_format,
            _MEM_FORMAT_ENCODING.TORCH_CHANNELS_LAST: mindtorch.channels_last,
            _MEM_FORMAT_ENCODING.TORCH_PRESERVE_FORMAT: mindtorch.preserve_format}


@dataclass
class TensorProperties:
    """The dtype of a tensor; torch has deprecated the rest, but files have it.

    Arguments:
        dtype: the dtype
        layout: the layout
        requires_grad: whether autograd records operators on it
        memory_format: the order of the elements in memory
        pin_memory: whether it lies in pinned memory

    Example:
        >>> dist.checkpoint.metadata.TensorProperties.create_from_tensor(torch.ones(2, dtype=torch.float16)).dtype
        torch.float16
    """

    dtype: Any = field(default_factory=mindtorch.get_default_dtype)
    layout: Any = field(default=mindtorch.strided)
    requires_grad: bool = False
    memory_format: Any = field(default=mindtorch.contiguous_format)
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        for code, memory_format in _FORMATS.items():
            if memory_format == self.memory_format:
                return self.dtype, self.layout, self.requires_grad, code, self.pin_memory
        raise RuntimeError(f"Invalid torch.memory_format: {self.memory_format}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, code, self.pin_memory = state
        if code not in _FORMATS:
            raise RuntimeError(f"Invalid torch.memory_format encoding: {code}")
        self.memory_format = _FORMATS[code]

    @staticmethod
    def create_from_tensor(tensor: Tensor) -> TensorProperties:
        """Those of a tensor."""
        return TensorProperties(tensor.dtype, tensor.layout, tensor.requires_grad, pin_memory=tensor.is_pinned())


@dataclass
class TensorStorageMetadata:
    """A tensor, and the parts in which it is stored.

    Arguments:
        properties: a TensorProperties
        size: the sizes of the whole tensor
        chunks: the parts that are stored

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = dist.checkpoint.save({"x": torch.ones(2)}, checkpoint_id=folder)
        >>> len(written.state_dict_metadata["x"].chunks)
        1
    """

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """An object that is no tensor.

    Example:
        >>> dist.checkpoint.BytesStorageMetadata()
        BytesStorageMetadata()
    """


STORAGE_TYPES = TensorStorageMetadata | BytesStorageMetadata


@dataclass
class StorageMeta:
    """Which checkpoint it is, and which save and load.

    Arguments:
        checkpoint_id: where the checkpoint is: a folder; None leaves it to reader or writer
        save_id: a name for this save
        load_id: a name for this load
        modules: the modules that wrote it

    Example:
        >>> dist.checkpoint.metadata.StorageMeta("step_100").checkpoint_id
        'step_100'
    """

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """What a checkpoint holds: name -> what it is; and what planner and storage add.

    Arguments:
        state_dict_metadata: what is known of each name
        planner_data: what the planner keeps of it
        storage_data: what the storage keeps of it
        storage_meta: a StorageMeta
        version: the version of the format

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = dist.checkpoint.save({"x": torch.ones(2)}, checkpoint_id=folder)
        >>> written.state_dict_metadata["x"].size
        torch.Size([2])
    """

    state_dict_metadata: dict[str, STORAGE_TYPES]
    planner_data: Any = None            # name -> path in the nested dict
    storage_data: Any = None            # MetadataIndex -> where it lies
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """The key of an object or of the part of a tensor; `index` says at which place to look for it first.

    Arguments:
        fqn: the name in the state dict
        offset: where the part begins; None for a whole value
        index: the number of the part, as a hint

    Example:
        >>> index = dist.checkpoint.metadata.MetadataIndex("weight", offset=[4, 0])
        >>> index.fqn, index.offset
        ('weight', torch.Size([4, 0]))
    """

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None) -> None:
        vars(self).update(fqn=fqn, index=index)
        if offset is not None:
            vars(self)["offset"] = Size(offset)
