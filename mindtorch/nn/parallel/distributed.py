"""torch.nn.parallel.distributed: for programs that ask whether a module is trained by several processes. None is."""
from mindtorch._compat.absent_device import class_without_instances

__all__ = ["DistributedDataParallel"]

DistributedDataParallel = class_without_instances(
    "torch.nn.parallel.distributed", "DistributedDataParallel",
    "mindtorch has no torch.distributed: it trains in one process")
