"""torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks: to see what communication costs."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch.futures import Future

if TYPE_CHECKING:
    from mindtorch.distributed._reducer import GradBucket

__all__ = ["noop_hook"]


def noop_hook(_: Any, bucket: GradBucket) -> Future:
    """Leave the gradients of each rank as they are: training is wrong, and as fast as it can be.

    Arguments:
        bucket: the GradBucket

    Example:
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> model.register_comm_hook(None, dist.algorithms.ddp_comm_hooks.debugging_hooks.noop_hook)
        >>> model(torch.ones(1, 2)).sum().backward()        # the gradients of this rank alone
    """
    done = Future()
    done.set_result(bucket.buffer())
    return done
