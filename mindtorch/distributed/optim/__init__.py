"""torch.distributed.optim: an optimizer that shards its state over the ranks."""
from mindtorch._refusals.modules import refused_names
from mindtorch.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]

__getattr__ = refused_names(__name__)
