"""torch.distributed.fsdp.api: the settings of state dicts, which frameworks name for fully_shard, too."""
from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mindtorch._refusals.modules import refused_names

__all__ = ["FullOptimStateDictConfig", "FullStateDictConfig", "OptimStateDictConfig", "ShardedOptimStateDictConfig",
           "ShardedStateDictConfig", "StateDictConfig", "StateDictType"]

__getattr__ = refused_names(__name__)


class StateDictType(Enum):
    """What a state dict has: whole tensors, this rank's parts as they lie in memory, or DTensors."""

    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3


@dataclass
class StateDictConfig:
    """Of a module's state dict."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Of whole tensors, on all ranks or on the first."""

    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Of DTensors."""


@dataclass
class OptimStateDictConfig:
    """Of an optimizer's state dict."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Of whole tensors, on all ranks or on the first."""

    rank0_only: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Of DTensors."""
