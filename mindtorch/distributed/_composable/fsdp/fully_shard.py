"""torch.distributed._composable.fsdp.fully_shard: the older name of torch.distributed.fsdp."""
from mindtorch.distributed.fsdp import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]
