"""Which storage a call means, and what a state dict's Stateful objects have."""
from __future__ import annotations

import os
import warnings
from typing import Any

from mindtorch import distributed as dist
from mindtorch.distributed.checkpoint.stateful import Stateful

__all__ = []


def _storage_setup(storage: Any, checkpoint_id: str | os.PathLike[str] | None, kind: type) -> Any:
    """The storage, or one of class `kind`, for the checkpoint."""
    if storage is not None:
        if checkpoint_id is not None:
            storage.reset(checkpoint_id)
        return storage
    if not checkpoint_id:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
    if not kind.validate_checkpoint_id(checkpoint_id):
        raise RuntimeError("Cannot detect which StorageReader or StorageWriter to use. Please specify the "
                           "storage_reader/storage_writer.")
    return kind(checkpoint_id)


def _is_alone(no_dist: bool) -> bool:
    """Whether this process saves or loads alone."""
    if not no_dist and dist.is_initialized():
        return False
    if not no_dist:
        warnings.warn("torch.distributed is uninitialized: this process saves or loads alone.", stacklevel=3)
    return True


def _stateful_to_state_dict(state_dict: dict[str, Any]) -> dict[str, Any]:
    """The dict, with the state of each Stateful object in its place."""
    return {key: value.state_dict() if isinstance(value, Stateful) else value for key, value in state_dict.items()}
