"""torch.distributed.optim: optimizers that shard their state over ranks, or average what the ranks have learned."""
from mindtorch._submodules import module_getattr
from mindtorch.distributed.optim.apply_optimizer_in_backward import (
    _apply_optimizer_in_backward,
    _get_in_backward_optimizers,
)
from mindtorch.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from mindtorch.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer", "_apply_optimizer_in_backward",
           "_get_in_backward_optimizers"]

__getattr__ = module_getattr(__name__)
