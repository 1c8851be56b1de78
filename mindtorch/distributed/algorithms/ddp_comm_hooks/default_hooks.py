"""torch.distributed.algorithms.ddp_comm_hooks.default_hooks: the mean of the ranks, in 16 bits if wanted."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch import distributed as dist

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.distributed import ProcessGroup
    from mindtorch.distributed._reducer import GradBucket
    from mindtorch.futures import Future

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
           "fp16_compress_wrapper"]


def mean_of_ranks(tensor: Tensor, group: ProcessGroup | None) -> Future:
    """A Future of the mean of a tensor, which is overwritten, over the ranks of a group."""
    work = dist.all_reduce(tensor.div_(dist.get_world_size(group)), group=group, async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future:
    """What DistributedDataParallel does without a hook.

    Arguments:
        process_group: the process group; None means all ranks
        bucket: the GradBucket

    Example:
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> model.register_comm_hook(None, dist.algorithms.ddp_comm_hooks.default_hooks.allreduce_hook)
        >>> model(torch.ones(1, 2)).sum().backward()
    """
    return mean_of_ranks(bucket.buffer(), process_group)


def compressed_mean(dtype: Any, group: ProcessGroup | None, bucket: GradBucket) -> Future:
    """The mean of a bucket, communicated in a dtype."""
    return mean_of_ranks(bucket.buffer().to(dtype), group).then(lambda done: bucket.buffer().copy_(done.value()))


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future:
    """The mean, communicated in float16.

    Arguments:
        process_group: the process group; None means all ranks
        bucket: the GradBucket

    Example:
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> model.register_comm_hook(None, dist.algorithms.ddp_comm_hooks.default_hooks.fp16_compress_hook)
        >>> model(torch.ones(1, 2)).sum().backward()
    """
    return compressed_mean(mindtorch.float16, process_group, bucket)


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future:
    """The mean, communicated in bfloat16.

    Arguments:
        process_group: the process group; None means all ranks
        bucket: the GradBucket

    Example:
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> model.register_comm_hook(None, dist.algorithms.ddp_comm_hooks.default_hooks.bf16_compress_hook)
        >>> model(torch.ones(1, 2)).sum().backward()
    """
    return compressed_mean(mindtorch.bfloat16, process_group, bucket)


def _wrapper(dtype, hook):
    def compressed(state: Any, bucket: GradBucket) -> Future:
        whole = bucket.buffer()
        bucket._buffer = whole.to(dtype)
        future = hook(state, bucket)

        def decompress(done):
            value = done.value()
            return whole.copy_(value[0] if isinstance(value, (list, tuple)) else value)
        bucket._buffer = whole
        return future.then(decompress)
    return compressed


def fp16_compress_wrapper(hook: Callable) -> Callable:
    """`hook`, on a copy of the bucket in float16.

    Arguments:
        hook: a communication hook

    Example:
        >>> hooks = dist.algorithms.ddp_comm_hooks.default_hooks
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> model.register_comm_hook(None, hooks.fp16_compress_wrapper(hooks.allreduce_hook))
        >>> model(torch.ones(1, 2)).sum().backward()
    """
    return _wrapper(mindtorch.float16, hook)


def bf16_compress_wrapper(hook: Callable) -> Callable:
    """`hook`, on a copy of the bucket in bfloat16.

    Arguments:
        hook: a communication hook

    Example:
        >>> hooks = dist.algorithms.ddp_comm_hooks.default_hooks
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> model.register_comm_hook(None, hooks.bf16_compress_wrapper(hooks.allreduce_hook))
        >>> model(torch.ones(1, 2)).sum().backward()
    """
    return _wrapper(mindtorch.bfloat16, hook)
