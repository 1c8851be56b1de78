"""torch.distributed.checkpoint.format_utils: checkpoints from and to files of torch.save.

As a program: python -m mindtorch.distributed.checkpoint.format_utils dcp_to_torch <folder> <file>, or torch_to_dcp.
"""
from __future__ import annotations

import argparse
import os

import mindtorch
from mindtorch import Size, Tensor
from mindtorch import distributed as dist
from mindtorch.distributed.checkpoint._nested_dict import flatten_state_dict
from mindtorch.distributed.checkpoint.default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner, _narrowed
from mindtorch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter, _done, _is_folder
from mindtorch.distributed.checkpoint.metadata import (
    STATE_DICT_TYPE,
    ChunkStorageMetadata,
    Metadata,
    TensorProperties,
    TensorStorageMetadata,
)
from mindtorch.distributed.checkpoint.planner import LoadItemType, LoadPlan, LoadPlanner
from mindtorch.distributed.checkpoint.state_dict_loader import _load_state_dict
from mindtorch.distributed.checkpoint.state_dict_saver import _save_state_dict
from mindtorch.distributed.checkpoint.storage import StorageReader
from mindtorch.futures import Future

__all__ = ["BroadcastingTorchSaveReader", "DynamicMetaLoadPlanner", "dcp_to_torch_save", "torch_save_to_dcp"]


class BroadcastingTorchSaveReader(StorageReader):
    """Reads a file of torch.save, which must be one that you trust, in one rank, and gives all ranks its tensors, one
    after the other. To be used with DynamicMetaLoadPlanner.

    Arguments:
        checkpoint_id: the path of the file
        coordinator_rank: the rank that makes the global plan

    Example:
        >>> import os, tempfile
        >>> from mindtorch.distributed.checkpoint import format_utils
        >>> state = {"x": torch.zeros(2)}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "model.pt")
        ...     torch.save({"x": torch.ones(2)}, path)
        ...     dist.checkpoint.load(state, checkpoint_id=path, planner=format_utils.DynamicMetaLoadPlanner(),
        ...                          storage_reader=format_utils.BroadcastingTorchSaveReader())
        >>> state
        {'x': tensor([1., 1.])}
    """

    def __init__(self, checkpoint_id: str | os.PathLike[str] | None = None, coordinator_rank: int = 0) -> None:
        self.checkpoint_id, self.coordinator_rank = checkpoint_id, coordinator_rank

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        self.checkpoint_id = checkpoint_id

    def read_metadata(self, *args: object, **kwargs: object) -> Metadata:
        return Metadata({})             # the planner knows the tensors

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: object, **kwargs: object) -> None:
        self.is_coordinator = is_coordinator
        if self.checkpoint_id is None:
            raise AssertionError("BroadcastingTorchSaveReader needs the path of a file")
        if is_coordinator and dist.is_initialized() and dist.get_rank() != self.coordinator_rank:
            raise AssertionError(f"Coordinator rank mismatch: expected {self.coordinator_rank}, got {dist.get_rank()}")

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        state: dict[str, Tensor] = {}
        if self.is_coordinator:
            state = mindtorch.load(self.checkpoint_id, map_location="cpu", weights_only=False)
            if planner.flatten_state_dict:
                state, _ = flatten_state_dict(state)
        for item in plan.items:
            name = item.storage_index.fqn
            if item.type == LoadItemType.BYTE_IO:
                raise RuntimeError(f"{name} is no tensor, and BroadcastingTorchSaveReader reads nothing else")
            target = planner.resolve_tensor(item).detach()
            described = planner.metadata.state_dict_metadata[name]
            device = dist.distributed_c10d._get_pg_default_device() if dist.is_initialized() else "cpu"
            whole = (state[name].to(device, described.properties.dtype) if self.is_coordinator
                     else mindtorch.empty(described.size, dtype=described.properties.dtype, device=device))
            if dist.is_initialized():
                dist.broadcast(whole, self.coordinator_rank)
            target.copy_(_narrowed(whole, item.storage_offsets, item.lengths))
            planner.commit_tensor(item, target)
        return _done(None)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return _is_folder(checkpoint_id)


class DynamicMetaLoadPlanner(DefaultLoadPlanner):
    """Loads what the state dict has, for a reader that knows no metadata, as BroadcastingTorchSaveReader.

    A value that is no tensor raises RuntimeError.

    Arguments:
        flatten_state_dict: whether nested dicts become names with dots
        flatten_sharded_tensors: whether sharded tensors within sharded ones are flattened
        allow_partial_load: whether a name that the checkpoint lacks keeps its value

    Example:
        >>> import os, tempfile
        >>> from mindtorch.distributed.checkpoint import format_utils
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = os.path.join(folder.name, "model.pt")
        >>> torch.save({"weight": torch.ones(2), "bias": torch.ones(1)}, file)
        >>> state = {"weight": torch.zeros(2)}
        >>> dist.checkpoint.load(state, storage_reader=format_utils.BroadcastingTorchSaveReader(),
        ...                      planner=format_utils.DynamicMetaLoadPlanner(), checkpoint_id=file)
        >>> state
        {'weight': tensor([1., 1.])}
        >>> folder.cleanup()
    """

    def set_up_planner(self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None,
                       is_coordinator: bool = False) -> None:
        super().set_up_planner(state_dict, metadata, is_coordinator)
        described = {}
        for name, value in self.state_dict.items():
            if not isinstance(value, Tensor):
                raise RuntimeError(f"{name} is no tensor, and DynamicMetaLoadPlanner loads nothing else")
            whole = ChunkStorageMetadata(Size([0] * value.dim()), value.size())
            described[name] = TensorStorageMetadata(TensorProperties(value.dtype), value.size(), [whole])
        self.metadata = Metadata(described)


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]) -> None:
    """Write all that a checkpoint holds to one file. It must fit into the memory of this process.

    Arguments:
        dcp_checkpoint_dir: the folder of the checkpoint
        torch_save_path: the path of the file of torch.save

    Example:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> checkpoint, file = (os.path.join(folder.name, name) for name in ("checkpoint", "model.pt"))
        >>> _ = dist.checkpoint.save({"weight": torch.ones(2)}, checkpoint_id=checkpoint)
        >>> dist.checkpoint.format_utils.dcp_to_torch_save(checkpoint, file)
        >>> torch.load(file)
        {'weight': tensor([1., 1.])}
        >>> folder.cleanup()
    """
    state_dict: dict[str, object] = {}
    _load_state_dict(state_dict, FileSystemReader(dcp_checkpoint_dir), no_dist=True,
                     planner=_EmptyStateDictLoadPlanner())
    mindtorch.save(state_dict, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]) -> None:
    """Write the state dict of a file, which must be one that you trust, as a checkpoint.

    Arguments:
        torch_save_path: the path of the file of torch.save
        dcp_checkpoint_dir: the folder of the checkpoint

    Example:
        >>> import os, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> checkpoint, file = (os.path.join(folder.name, name) for name in ("checkpoint", "model.pt"))
        >>> torch.save({"weight": torch.ones(2)}, file)
        >>> dist.checkpoint.format_utils.torch_save_to_dcp(file, checkpoint)
        >>> state = {"weight": torch.zeros(2)}
        >>> dist.checkpoint.load(state, checkpoint_id=checkpoint)
        >>> state
        {'weight': tensor([1., 1.])}
        >>> folder.cleanup()
    """
    state_dict = mindtorch.load(torch_save_path, weights_only=False)
    _save_state_dict(state_dict, FileSystemWriter(dcp_checkpoint_dir), no_dist=True)


def _main():
    parser = argparse.ArgumentParser(description="Converts checkpoints from and to files of torch.save.")
    modes = {"torch_to_dcp": torch_save_to_dcp, "dcp_to_torch": dcp_to_torch_save}
    parser.add_argument("mode", choices=modes, help="what is made of what")
    parser.add_argument("src", help="the file or folder that is read")
    parser.add_argument("dst", help="the file or folder that is written")
    args = parser.parse_args()
    modes[args.mode](args.src, args.dst)

if __name__ == "__main__":
    _main()
