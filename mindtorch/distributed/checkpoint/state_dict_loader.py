"""torch.distributed.checkpoint.state_dict_loader: load, into the tensors of a state dict."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.distributed.checkpoint._storage_utils import _is_alone, _stateful_to_state_dict, _storage_setup
from mindtorch.distributed.checkpoint.default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from mindtorch.distributed.checkpoint.filesystem import FileSystemReader
from mindtorch.distributed.checkpoint.stateful import Stateful
from mindtorch.distributed.checkpoint.utils import _DistWrapper

if TYPE_CHECKING:
    from mindtorch.distributed import ProcessGroup
    from mindtorch.distributed.checkpoint.planner import LoadPlanner
    from mindtorch.distributed.checkpoint.storage import StorageReader

__all__ = ["load", "load_state_dict"]


def load(state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
         storage_reader: StorageReader | None = None, planner: LoadPlanner | None = None,
         process_group: ProcessGroup | None = None, no_dist: bool = False) -> None:
    """Read a checkpoint into the tensors of a state dict, with all ranks of the group.

    Each rank reads what its tensors need, in whatever parts they were saved. Other objects are replaced; a Stateful
    object gets its state by load_state_dict. An error in one rank is a CheckpointException in all.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = dist.checkpoint.save({"x": torch.ones(2)}, checkpoint_id=folder)
        ...     state = {"x": torch.zeros(2)}
        ...     dist.checkpoint.load(state, checkpoint_id=folder)
        >>> state
        {'x': tensor([1., 1.])}
    """
    alone = _is_alone(no_dist)
    reader = _storage_setup(storage_reader, checkpoint_id, FileSystemReader)
    state_dict_keys = sorted(state_dict)
    read = _stateful_to_state_dict({key: state_dict[key] for key in state_dict_keys})
    _load_state_dict(read, reader, process_group, no_dist=alone, planner=planner)
    for key in state_dict_keys:
        if isinstance(state_dict[key], Stateful):
            state_dict[key].load_state_dict(read[key])
        else:
            state_dict[key] = read[key]


def load_state_dict(state_dict: dict[str, Any], storage_reader: StorageReader,
                    process_group: ProcessGroup | None = None, coordinator_rank: int = 0, no_dist: bool = False,
                    planner: LoadPlanner | None = None) -> None:
    """The older form of load, without Stateful objects.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = dist.checkpoint.save({"x": torch.ones(2)}, checkpoint_id=folder)
        ...     state = {"x": torch.zeros(2)}
        ...     dist.checkpoint.load_state_dict(state, dist.checkpoint.FileSystemReader(folder))
        >>> state
        {'x': tensor([1., 1.])}
    """
    storage_reader.reset()
    _load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)


def _load_state_dict(state_dict: dict[str, Any], storage_reader: StorageReader,
                     process_group: ProcessGroup | None = None, coordinator_rank: int = 0, no_dist: bool = False,
                     planner: LoadPlanner | None = None) -> None:
    ranks = _DistWrapper(process_group, not no_dist, coordinator_rank)
    planner = planner or DefaultLoadPlanner()

    def local_plan():
        metadata = storage_reader.read_metadata()
        planner.set_up_planner(state_dict, metadata, ranks.is_coordinator)
        storage_reader.set_up_storage_reader(metadata, ranks.is_coordinator)
        return storage_reader.prepare_local_plan(planner.create_local_plan())

    def global_plan(plans):
        return storage_reader.prepare_global_plan(planner.create_global_plan(plans))

    plan = ranks.reduce_scatter("plan", local_plan, global_plan)
    ranks.all_gather("read", lambda: storage_reader.read_data(planner.finish_plan(plan), planner).wait())


def _load_state_dict_from_keys(keys: set[str] | str | None = None, *,
                               checkpoint_id: str | os.PathLike[str] | None = None,
                               storage_reader: StorageReader | None = None,
                               process_group: ProcessGroup | None = None) -> dict[str, Any]:
    """What a checkpoint holds of the objects and dicts that `keys` names; all of it for None."""
    alone = _is_alone(False)
    reader = _storage_setup(storage_reader, checkpoint_id, FileSystemReader)
    read: dict[str, Any] = {}
    planner = _EmptyStateDictLoadPlanner({keys} if isinstance(keys, str) else keys)
    _load_state_dict(read, reader, process_group, no_dist=alone, planner=planner)
    return read


_complete_docstrings(globals(), "distributed.checkpoint")
