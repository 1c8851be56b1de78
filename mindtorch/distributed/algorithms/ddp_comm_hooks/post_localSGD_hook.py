"""torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook: gradients of all ranks, later of few of them.

After that a ModelAverager averages the parameters of all ranks from time to time.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch import distributed as dist
from mindtorch.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from mindtorch.distributed.algorithms.ddp_comm_hooks.default_hooks import mean_of_ranks

if TYPE_CHECKING:
    from mindtorch.distributed import ProcessGroup
    from mindtorch.distributed._reducer import GradBucket
    from mindtorch.futures import Future

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """The group of the first `start_localSGD_iter` backwards, and that of later ones, by default a machine's.

    Without `post_local_gradient_allreduce` later gradients are not reduced at all.

    Arguments:
        process_group: the process group; None means all ranks
        subgroup: the ranks among which gradients are averaged; None means those of one node
        start_localSGD_iter: the step from which on gradients are averaged in the subgroup alone
        post_local_gradient_allreduce: whether gradients are averaged in the subgroup after that step

    Example:
        >>> hooks = dist.algorithms.ddp_comm_hooks.post_localSGD_hook
        >>> state = hooks.PostLocalSGDState(None, None, start_localSGD_iter=100)
        >>> state.start_localSGD_iter
        100
    """

    def __init__(self, process_group: ProcessGroup | None, subgroup: ProcessGroup | None, start_localSGD_iter: int,
                 post_local_gradient_allreduce: bool = True) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a backward, at its last bucket."""
        self.iter += bucket.is_last()


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future:
    """The mean of the ranks of the group that the state says.

    Arguments:
        state: the state that the hook gets on each call
        bucket: the GradBucket

    Example:
        >>> hooks = dist.algorithms.ddp_comm_hooks.post_localSGD_hook
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> model.register_comm_hook(hooks.PostLocalSGDState(None, None, 100), hooks.post_localSGD_hook)
        >>> model(torch.ones(1, 2)).sum().backward()
    """
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return mean_of_ranks(bucket.buffer(), state.process_group)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = dist.new_subgroups()
    return mean_of_ranks(bucket.buffer(), state.subgroup)
