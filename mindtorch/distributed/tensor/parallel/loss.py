"""torch.distributed.tensor.parallel.loss: cross_entropy of logits that are cut by classes."""
from mindtorch.distributed.tensor._dispatch import implicit_replication

__all__ = ["loss_parallel"]


class loss_parallel(implicit_replication):
    """Within it `cross_entropy` of DTensors takes plain targets and weights, which every rank has whole.

    Logits that are cut by classes are nowhere gathered, within it or not.

    Example:
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> logits = dist.tensor.distribute_tensor(torch.zeros(2, 4), mesh, [dist.tensor.Shard(1)]).requires_grad_()
        >>> with dist.tensor.parallel.loss_parallel():
        ...     loss = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 3]))
        ...     loss.backward()
        >>> loss.full_tensor().item()
        1.3862943649291992
    """
