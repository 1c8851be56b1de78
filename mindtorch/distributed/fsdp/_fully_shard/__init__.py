"""fully_shard, and what it takes."""
from mindtorch._submodules import module_getattr
from mindtorch.distributed.fsdp._fully_shard._fully_shard import (
    FSDPModule,
    UnshardHandle,
    fully_shard,
    register_fsdp_forward_method,
)
from mindtorch.distributed.fsdp._fully_shard._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy

__all__ = ["CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle", "fully_shard",
           "register_fsdp_forward_method"]

__getattr__ = module_getattr(__name__)
