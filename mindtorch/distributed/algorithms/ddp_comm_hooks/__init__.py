"""torch.distributed.algorithms.ddp_comm_hooks: how DistributedDataParallel may reduce its buckets."""
from mindtorch._refusals.modules import refused_names
from mindtorch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

__all__ = ["default_hooks", "powerSGD_hook"]

__getattr__ = refused_names(__name__)
