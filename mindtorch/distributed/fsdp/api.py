"""torch.distributed.fsdp.api: the settings of FullyShardedDataParallel and of state dicts."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from mindtorch.nn.modules.batchnorm import _BatchNorm

if TYPE_CHECKING:
    from mindtorch import dtype
    from mindtorch.nn import Module

__all__ = ["BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",
           "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig",
           "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig",
           "StateDictSettings", "StateDictType"]


class ShardingStrategy(Enum):
    """What each rank keeps: shards, and whole parameters from the forward to the backward or not; or all.

    FULL_SHARD frees whole parameters after the forward, SHARD_GRAD_OP keeps them for the backward, NO_SHARD cuts
    nothing. The HYBRID ones cut within a node, or along the second dimension of the mesh, and have replicas.
    """

    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5


class BackwardPrefetch(Enum):
    """When the backward gathers for the module that comes next: before the gradients of this one, or after."""

    BACKWARD_PRE = 1
    BACKWARD_POST = 2


@dataclass
class MixedPrecision:
    """The dtypes of computing: of parameters, of the reduction of gradients, of buffers; None: as they are.

    Shards and their gradients keep the dtype of the parameters. The inputs of the root are cast to `param_dtype`, with
    `cast_forward_inputs` those of all. Modules of the classes to ignore compute in float32 under an auto_wrap_policy.
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    buffer_dtype: dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[Module]] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Whether shards, their gradients and the optimizer's state lie in host memory."""

    offload_params: bool = False


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
class LocalStateDictConfig(StateDictConfig):
    """Of this rank's parts as they lie in memory."""


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
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Of this rank's parts as they lie in memory."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Of DTensors."""


@dataclass
class StateDictSettings:
    """What the state dicts of a FullyShardedDataParallel have."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig
