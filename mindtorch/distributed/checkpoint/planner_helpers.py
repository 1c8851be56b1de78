"""torch.distributed.checkpoint.planner_helpers: the items of an object, and which saved parts a part of a tensor needs.

A tensor class that lies on several ranks says what this rank has by three methods:
`__create_write_items__(fqn, tensor)`, `__create_chunk_list__()` and `__get_tensor_shard__(index)`.
"""
from __future__ import annotations

from typing import Any

from mindtorch import Size, Tensor
from mindtorch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from mindtorch.distributed.checkpoint.planner import LoadItemType, ReadItem, TensorWriteData, WriteItem, WriteItemType

__all__ = ["create_read_items_for_chunk_list", "shard_item"]


def _takes_part(value):
    """Whether this rank has a part of a tensor: it may lie on a mesh of other ranks."""
    mesh = getattr(value, "device_mesh", None)
    return mesh is None or mesh.get_coordinate() is not None


def _create_write_items(fqn: str, object: Any) -> list[WriteItem]:
    """What this rank would write of an object."""
    if not _takes_part(object):
        return []
    if hasattr(object, "__create_write_items__"):
        return object.__create_write_items__(fqn, object)
    if not isinstance(object, Tensor):
        return [WriteItem(MetadataIndex(fqn), WriteItemType.BYTE_IO)]
    chunk = _whole(object)
    return [WriteItem(MetadataIndex(fqn, chunk.offsets), WriteItemType.TENSOR, tensor_data=TensorWriteData(
        chunk, TensorProperties.create_from_tensor(object), object.size()))]


def shard_item(fqn: str, chunk: ChunkStorageMetadata, part: Tensor, size: Size) -> WriteItem:
    """The item of `part`, which lies at `chunk` of a tensor of `size`.

    Arguments:
        fqn: the name in the state dict
        chunk: the part
        part: a ChunkStorageMetadata
        size: the sizes of the whole tensor

    Example:
        >>> chunk = dist.checkpoint.metadata.ChunkStorageMetadata(torch.Size([2]), torch.Size([2]))
        >>> item = dist.checkpoint.planner_helpers.shard_item("weight", chunk, torch.ones(2), torch.Size([4]))
        >>> item.index.offset, item.tensor_data.size
        (torch.Size([2]), torch.Size([4]))
    """
    return WriteItem(MetadataIndex(fqn, chunk.offsets), WriteItemType.SHARD, tensor_data=TensorWriteData(
        chunk, TensorProperties.create_from_tensor(part), size))


def _whole(tensor):
    return ChunkStorageMetadata(Size([0] * tensor.dim()), tensor.size())


def _create_chunk_list(tensor: Any) -> list[ChunkStorageMetadata]:
    """The parts of a tensor that this rank has."""
    if hasattr(tensor, "__create_chunk_list__"):
        return tensor.__create_chunk_list__()
    if isinstance(tensor, Tensor):
        return [_whole(tensor)]
    raise ValueError(f"Unsupported Type, expecting one of [Tensor, DTensor, ShardedTensor] ,but got {type(tensor)}")


def _overlap(first, second):
    """(beginnings, lengths) of the elements that two parts have in common; None where there are none."""
    starts = [max(pair) for pair in zip(first.offsets, second.offsets, strict=True)]
    ends = [min(offset + size, other + other_size) for offset, size, other, other_size
            in zip(first.offsets, first.sizes, second.offsets, second.sizes, strict=True)]
    lengths = [end - start for start, end in zip(starts, ends, strict=True)]
    return (starts, lengths) if all(length > 0 for length in lengths) else None


def create_read_items_for_chunk_list(fqn: str, checkpoint_md: TensorStorageMetadata,
                                     local_chunks: list[ChunkStorageMetadata]) -> list[ReadItem]:
    """The reads that fill `local_chunks` from the parts in which a tensor was saved.

    Arguments:
        fqn: the name in the state dict
        checkpoint_md: what the checkpoint knows of the name
        local_chunks: the parts that this rank has

    Example:
        >>> planner, helpers = dist.checkpoint.default_planner, dist.checkpoint.planner_helpers
        >>> plan = planner.create_default_local_save_plan({"weight": torch.ones(4)}, True)
        >>> _, metadata = planner.create_default_global_save_plan([plan])
        >>> half = dist.checkpoint.metadata.ChunkStorageMetadata(torch.Size([2]), torch.Size([2]))
        >>> (read,) = helpers.create_read_items_for_chunk_list("weight", metadata.state_dict_metadata["weight"], [half])
        >>> read.storage_offsets, read.lengths
        (torch.Size([2]), torch.Size([2]))
    """
    items = []
    for place, wanted in enumerate(local_chunks):
        for saved_place, saved in enumerate(checkpoint_md.chunks):
            common = _overlap(wanted, saved)
            if common is not None:
                starts, lengths = common
                items.append(ReadItem(
                    LoadItemType.TENSOR,
                    MetadataIndex(fqn, wanted.offsets, place), _relative(starts, wanted),
                    MetadataIndex(fqn, saved.offsets, saved_place), _relative(starts, saved), Size(lengths)))
    return items


def _relative(starts, chunk):
    return Size([start - offset for start, offset in zip(starts, chunk.offsets, strict=True)])


def _create_read_items(fqn: str, md: Any, obj: Any) -> list[ReadItem]:
    """What this rank reads of the object `fqn`, into `obj`."""
    if not _takes_part(obj):
        return []
    if isinstance(md, BytesStorageMetadata):
        index, nothing = MetadataIndex(fqn), Size([0])
        return [ReadItem(LoadItemType.BYTE_IO, index, nothing, index, nothing, nothing)]
    try:
        chunks = _create_chunk_list(obj)
    except ValueError as error:
        raise ValueError(f"Invalid checkpoint metadata for {fqn}, expected BytesStorageMetadata but found "
                         f"{type(md)}") from error
    return create_read_items_for_chunk_list(fqn, md, chunks)
