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

    Example:
        >>> [strategy.name for strategy in dist.fsdp.ShardingStrategy][:3]
        ['FULL_SHARD', 'SHARD_GRAD_OP', 'NO_SHARD']
    """

    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5


class BackwardPrefetch(Enum):
    """When the backward gathers for the module that comes next: before the gradients of this one, or after.

    Example:
        >>> dist.fsdp.BackwardPrefetch.BACKWARD_PRE.name
        'BACKWARD_PRE'
    """

    BACKWARD_PRE = 1
    BACKWARD_POST = 2


@dataclass
class MixedPrecision:
    """The dtypes of computing: of parameters, of the reduction of gradients, of buffers; None: as they are.

    Shards and their gradients keep the dtype of the parameters. The inputs of the root are cast to `param_dtype`, with
    `cast_forward_inputs` those of all. Modules of the classes to ignore compute in float32 under an auto_wrap_policy.

    Arguments:
        buffer_dtype: the dtype of buffers; None leaves it
        keep_low_precision_grads: whether gradients stay in the dtype in which they were reduced
        cast_root_forward_inputs: whether the inputs of the outermost module are cast

    Example:
        >>> dtypes = dist.fsdp.MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        >>> dtypes.param_dtype, dtypes.buffer_dtype
        (torch.bfloat16, None)
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
    """Whether shards, their gradients and the optimizer's state lie in host memory.

    Arguments:
        offload_params: whether parameters lie on the CPU while they are not used

    Example:
        >>> dist.fsdp.CPUOffload(offload_params=True)
        CPUOffload(offload_params=True)
    """

    offload_params: bool = False


class StateDictType(Enum):
    """What a state dict has: whole tensors, this rank's parts as they lie in memory, or DTensors.

    Example:
        >>> dist.fsdp.StateDictType.SHARDED_STATE_DICT.name
        'SHARDED_STATE_DICT'
    """

    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3


@dataclass
class StateDictConfig:
    """Options of a module's state dict.

    Example:
        >>> dist.fsdp.StateDictConfig().offload_to_cpu
        False
    """

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Options of a state dict of whole tensors, on all ranks or on the first.

    Example:
        >>> dist.fsdp.FullStateDictConfig(offload_to_cpu=True, rank0_only=True).rank0_only
        True
    """

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Options of a state dict of this rank's parts as they lie in memory.

    Example:
        >>> dist.fsdp.LocalStateDictConfig().offload_to_cpu
        False
    """


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Options of a state dict of DTensors.

    Example:
        >>> dist.fsdp.ShardedStateDictConfig().offload_to_cpu
        False
    """


@dataclass
class OptimStateDictConfig:
    """Options of an optimizer's state dict.

    Example:
        >>> dist.fsdp.OptimStateDictConfig().offload_to_cpu
        True
    """

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Options of a state dict of whole tensors, on all ranks or on the first.

    Example:
        >>> dist.fsdp.FullOptimStateDictConfig(rank0_only=True).offload_to_cpu
        True
    """

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Options of a state dict of this rank's parts as they lie in memory.

    Example:
        >>> dist.fsdp.LocalOptimStateDictConfig().offload_to_cpu
        False
    """

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Options of a state dict of DTensors.

    Example:
        >>> dist.fsdp.ShardedOptimStateDictConfig().offload_to_cpu
        True
    """


@dataclass
class StateDictSettings:
    """What the state dicts of a FullyShardedDataParallel have.

    Arguments:
        state_dict_type: a StateDictType
        state_dict_config: a StateDictConfig
        optim_state_dict_config: an OptimStateDictConfig

    Example:
        >>> settings = dist.fsdp.StateDictSettings(dist.fsdp.StateDictType.FULL_STATE_DICT,
        ...     dist.fsdp.FullStateDictConfig(), dist.fsdp.FullOptimStateDictConfig())
        >>> settings.state_dict_type.name
        'FULL_STATE_DICT'
    """

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig
