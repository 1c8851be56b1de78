"""torch.nn.parallel.distributed: for programs that ask whether a module is trained by several processes. None is."""
from mindtorch._compat.absent_device import abstract_class

__all__ = ["DistributedDataParallel"]

DistributedDataParallel = abstract_class(
    "torch.nn.parallel.distributed", "DistributedDataParallel",
    "mindtorch has no DistributedDataParallel. Reduce the gradients with torch.distributed.all_reduce")
