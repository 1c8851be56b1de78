"""torch.distributed.tensor.parallel.loss: cross_entropy of logits that are cut by classes."""
from mindtorch.distributed.tensor._dispatch import implicit_replication

__all__ = ["loss_parallel"]


class loss_parallel(implicit_replication):
    """Within it `cross_entropy` of DTensors takes plain targets and weights, which every rank has whole.

    Logits that are cut by classes are nowhere gathered, within it or not.
    """
