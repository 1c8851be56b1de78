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

__all__ = ["CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle", "fully_shard",
           "register_fsdp_forward_method"]

__getattr__ = refused_names(__name__)
