"""torch.distributed.fsdp: parameters, gradients and optimizer states cut over the ranks."""
from mindtorch._refusals.modules import refused_names
from mindtorch.distributed.fsdp._fully_shard import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    UnshardHandle,
    fully_shard,
    register_fsdp_forward_method,
)
from mindtorch.distributed.fsdp.api import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    StateDictConfig,
    StateDictType,
)

__all__ = ["CPUOffloadPolicy", "FSDPModule", "FullOptimStateDictConfig", "FullStateDictConfig", "MixedPrecisionPolicy",
           "OffloadPolicy", "OptimStateDictConfig", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
           "StateDictConfig", "StateDictType", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]

__getattr__ = refused_names(__name__)
