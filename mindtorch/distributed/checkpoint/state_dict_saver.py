"""torch.distributed.checkpoint.state_dict_saver: save, at once or while training goes on."""
from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.distributed.checkpoint._storage_utils import _is_alone, _stateful_to_state_dict, _storage_setup
from mindtorch.distributed.checkpoint.default_planner import DefaultSavePlanner
from mindtorch.distributed.checkpoint.filesystem import FileSystemWriter
from mindtorch.distributed.checkpoint.staging import AsyncStager, BlockingAsyncStager
from mindtorch.distributed.checkpoint.utils import _DistWrapper

if TYPE_CHECKING:
    from mindtorch.distributed import ProcessGroup
    from mindtorch.distributed.checkpoint.metadata import Metadata
    from mindtorch.distributed.checkpoint.planner import SavePlanner
    from mindtorch.distributed.checkpoint.storage import StorageWriter

__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]


def save(state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
         storage_writer: StorageWriter | None = None, planner: SavePlanner | None = None,
         process_group: ProcessGroup | None = None, no_dist: bool = False) -> Metadata:
    """Write a checkpoint, with all ranks of the group; what it holds.

    A part of a DTensor is written by a rank that has it, any other object by one rank. Of a Stateful object its
    state is written. Without a group, or with `no_dist`, this process writes all.

    Example:
        >>> import tempfile
        >>> model = torch.nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = dist.checkpoint.save(model.state_dict(), checkpoint_id=folder)
        >>> sorted(written.state_dict_metadata)
        ['bias', 'weight']
    """
    alone = _is_alone(no_dist)
    writer = _storage_setup(storage_writer, checkpoint_id, FileSystemWriter)
    return _save_state_dict(_stateful_to_state_dict(state_dict), writer, process_group, no_dist=alone, planner=planner)


def save_state_dict(state_dict: dict[str, Any], storage_writer: StorageWriter,
                    process_group: ProcessGroup | None = None, coordinator_rank: int = 0, no_dist: bool = False,
                    planner: SavePlanner | None = None) -> Metadata:
    """The older form of save, without Stateful objects.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     writer = dist.checkpoint.FileSystemWriter(folder)
        ...     written = dist.checkpoint.save_state_dict({"x": torch.ones(2)}, writer)
        >>> list(written.state_dict_metadata)
        ['x']
    """
    storage_writer.reset()
    return _save_state_dict(state_dict, storage_writer, process_group, coordinator_rank, no_dist, planner)


def _save_state_dict(state_dict: dict[str, Any], storage_writer: StorageWriter,
                     process_group: ProcessGroup | None = None, coordinator_rank: int = 0, no_dist: bool = False,
                     planner: SavePlanner | None = None) -> Metadata:
    ranks = _DistWrapper(process_group, not no_dist, coordinator_rank)
    planner = planner or DefaultSavePlanner()
    metadata = None

    def local_plan():
        planner.set_up_planner(state_dict, storage_writer.storage_meta(), ranks.is_coordinator)
        storage_writer.set_up_storage_writer(ranks.is_coordinator)
        return storage_writer.prepare_local_plan(planner.create_local_plan())

    def global_plan(plans):
        nonlocal metadata
        plans, metadata = planner.create_global_plan(plans)
        return storage_writer.prepare_global_plan(plans)

    def write(plan):
        return storage_writer.write_data(planner.finish_plan(plan), planner).wait()

    def write_metadata(results):
        storage_writer.finish(metadata, results)
        return metadata

    plan = ranks.reduce_scatter("plan", local_plan, global_plan)
    return ranks.all_reduce("write", lambda: write(plan), write_metadata)


class AsyncCheckpointerType(Enum):
    """How async_save writes: in a thread. mindtorch does not start a process for it."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """The end of the copy, and that of the save.

    Arguments:
        staging_completion: a Future that is done when the tensors may be changed again
        upload_completion: a Future that is done when the checkpoint is written

    Example:
        >>> from concurrent.futures import Future
        >>> response = dist.checkpoint.state_dict_saver.AsyncSaveResponse(Future(), Future())
        >>> response.staging_completion.done()
        False
    """

    staging_completion: Future[None]
    upload_completion: Future[Metadata]


def async_save(state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
               storage_writer: StorageWriter | None = None, planner: SavePlanner | None = None,
               process_group: ProcessGroup | None = None,
               async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
               async_stager: AsyncStager | None = None,
               no_dist: bool = False) -> Future[Metadata] | AsyncSaveResponse:
    """Copy the state to the CPU, and save the copy in a thread; a Future of what save returns.

    The thread communicates: give it a group of its own for the CPU (`new_group(backend="cpu:mpi")`), since
    collectives of two threads in one group mix. With a stager that returns a Future, an AsyncSaveResponse.

    Arguments:
        async_checkpointer_type: an AsyncCheckpointerType: a thread or a process does the work
        async_stager: an AsyncStager, which copies the tensors before they are written

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     saving = dist.checkpoint.async_save({"x": torch.ones(2)}, checkpoint_id=folder)
        ...     list(saving.result().state_dict_metadata)       # until it is written
        ['x']
    """
    if async_checkpointer_type == AsyncCheckpointerType.PROCESS:
        raise NotImplementedError("async_save in a process: mindtorch saves in a thread, AsyncCheckpointerType.THREAD")
    if async_stager is None:
        async_stager = storage_writer if isinstance(storage_writer, AsyncStager) else BlockingAsyncStager()
    staged = async_stager.stage(_stateful_to_state_dict(state_dict))
    thread = ThreadPoolExecutor(1, thread_name_prefix="async_save")
    saved = thread.submit(lambda: save(
        staged.result() if isinstance(staged, Future) else staged, checkpoint_id=checkpoint_id,
        storage_writer=storage_writer, planner=planner, process_group=process_group, no_dist=no_dist))
    thread.shutdown(wait=False)
    if isinstance(staged, Future):
        copied: Future[None] = Future()
        staged.add_done_callback(lambda done: copied.set_exception(done.exception()) if done.exception()
                                 else copied.set_result(None))
        return AsyncSaveResponse(copied, saved)
    if async_stager.should_synchronize_after_execute:
        async_stager.synchronize_staging()
    return saved


_complete_docstrings(globals(), "distributed.checkpoint")
