"""torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook: gradients as products of two thin matrices.

PowerSGD (Vogels et al., 2019): a gradient M of n x m is replaced by P Q^T, P of n x r and Q of m x r. A step is one
step of a power iteration: P is the sum of M Q over the ranks, with its columns made orthogonal, and Q is the mean of
M^T P. What is lost is added to the next gradient.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

import mindtorch
from mindtorch import distributed as dist
from mindtorch.distributed.algorithms.ddp_comm_hooks.default_hooks import mean_of_ranks

if TYPE_CHECKING:
    from mindtorch.distributed import ProcessGroup
    from mindtorch.distributed._reducer import GradBucket
    from mindtorch.futures import Future

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """The settings, and what a step keeps for the next: the errors and the matrices Q.

    Arguments:
        process_group: the process group; None means all ranks
        matrix_approximation_rank: the rank of the two factors that stand for a matrix
        start_powerSGD_iter: the step from which on gradients are compressed
        min_compression_rate: the least rate for which a matrix is compressed
        use_error_feedback: whether what compression loses is added to the next gradient
        warm_start: whether factors begin as those of the step before
        orthogonalization_epsilon: a small number that avoids a division by zero
        random_seed: the seed of the first factors

    Example:
        >>> hooks = dist.algorithms.ddp_comm_hooks.powerSGD_hook
        >>> state = hooks.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=10)
        >>> state.compresses((100, 100)), state.compresses((2, 100))
        (True, False)
    """

    def __init__(self, process_group: ProcessGroup | None, matrix_approximation_rank: int = 1,
                 start_powerSGD_iter: int = 1000, min_compression_rate: float = 2, use_error_feedback: bool = True,
                 warm_start: bool = True, orthogonalization_epsilon: float = 0, random_seed: int = 0) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError("Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, "
                             "because PowerSGD can only be applied after the first two iterations in DDP.")
        self.process_group, self.matrix_approximation_rank = process_group, matrix_approximation_rank
        self.start_powerSGD_iter, self.min_compression_rate = start_powerSGD_iter, min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.generator = mindtorch.Generator().manual_seed(random_seed)     # the same numbers on all ranks
        self.iter = 0
        self.error_dict: dict[int, mindtorch.Tensor] = {}
        self.q_memory_dict: dict[int, list[mindtorch.Tensor]] = {}

    def compresses(self, shape: tuple[int, int]) -> bool:
        """Whether a matrix of this shape takes that much less as a product."""
        rows, columns = shape
        rank = min(rows, columns, self.matrix_approximation_rank)
        return (rows + columns) * rank * self.min_compression_rate < rows * columns


def _orthogonal(matrix, epsilon):
    """The matrix with orthogonal columns of length 1 (Gram and Schmidt).

    Twice, since what is left of a column that depends on the others is no more than rounding at first.
    """
    columns = []
    for column in matrix.unbind(1):
        for _ in range(2):
            for other in columns:
                column = column - (other @ column) * other      # noqa: PLW2901 - less of it each time
            column = column / (column.norm() + epsilon).clamp_min(1e-30)        # noqa: PLW2901
        columns.append(column)
    return mindtorch.stack(columns, 1)


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """The mean of the ranks, each matrix as its best product of two thin ones; vectors and small matrices whole.

    Arguments:
        state: the state that the hook gets on each call
        bucket: the GradBucket

    Example:
        >>> hooks = dist.algorithms.ddp_comm_hooks.powerSGD_hook
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(20, 20))
        >>> model.register_comm_hook(hooks.PowerSGDState(None, start_powerSGD_iter=2), hooks.powerSGD_hook)
        >>> model(torch.ones(1, 20)).sum().backward()
    """
    views = [view.view(view.shape[0], -1) if view.dim() else view.view(1, 1) for view in bucket.gradients()]
    matrices = [view for view in views if state.compresses(view.shape)]
    return _compressed_mean(state, bucket, matrices, [view for view in views if not state.compresses(view.shape)])


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """The mean of the ranks, the whole bucket as a square matrix: faster, and further from the mean.

    Arguments:
        state: the state that the hook gets on each call
        bucket: the GradBucket

    Example:
        >>> hooks = dist.algorithms.ddp_comm_hooks.powerSGD_hook
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(20, 20))
        >>> model.register_comm_hook(hooks.PowerSGDState(None, start_powerSGD_iter=2), hooks.batched_powerSGD_hook)
        >>> model(torch.ones(1, 20)).sum().backward()
    """
    buffer = bucket.buffer()
    side = math.isqrt(buffer.numel() - 1) + 1
    square = buffer.new_zeros(side * side)
    return _compressed_mean(state, bucket, [square.view(side, side)], [], square[:buffer.numel()])


def _compressed_mean(state, bucket, matrices, whole, copied=None):
    """The mean of `matrices` as products, and of `whole`. They are views of the buffer, or of a copy."""
    group, buffer, index = state.process_group, bucket.buffer(), bucket.index()
    iteration = state.iter
    state.iter += bucket.is_last()
    if iteration < state.start_powerSGD_iter:
        return mean_of_ranks(buffer, group)
    if state.use_error_feedback:
        error = state.error_dict.get(index)
        if error is not None and error.shape == buffer.shape:
            buffer.add_(error)
        before = buffer.clone()
    if copied is not None:
        copied.copy_(buffer)
    size = dist.get_world_size(group)
    exact = _flatten(whole) if whole else None
    work = dist.all_reduce(exact, group=group, async_op=True) if whole else None
    known = state.q_memory_dict.get(index)
    if not state.warm_start or known is None or [q.shape[0] for q in known] != [m.shape[1] for m in matrices]:
        known = [mindtorch.randn(matrix.shape[1], min(*matrix.shape, state.matrix_approximation_rank),
                                 generator=state.generator).to(matrix) for matrix in matrices]
    known = [_orthogonal(q, state.orthogonalization_epsilon) for q in known]
    left = _all_reduce_flat([matrix @ q for matrix, q in zip(matrices, known, strict=True)], group)
    left = [_orthogonal(p, state.orthogonalization_epsilon) for p in left]
    right = _all_reduce_flat([matrix.t() @ p for matrix, p in zip(matrices, left, strict=True)], group)
    state.q_memory_dict[index] = right = [q / size for q in right]
    for matrix, p, q in zip(matrices, left, right, strict=True):
        matrix.copy_(p @ q.t())
    if copied is not None:
        buffer.copy_(copied)
    if state.use_error_feedback:
        state.error_dict[index] = before - buffer       # 0 for what is reduced whole, which is still as it was
    if whole:
        work.wait()
        _unflatten_into(exact / size, whole)
    done = mindtorch.futures.Future()
    done.set_result(buffer)
    return done


def _flatten(tensors):
    return mindtorch.cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_into(flat, tensors):
    for tensor, part in zip(tensors, flat.split([each.numel() for each in tensors]), strict=True):
        tensor.copy_(part.view(tensor.shape))


def _all_reduce_flat(tensors, group):
    """The sums of tensors over the ranks."""
    if tensors:
        flat = _flatten(tensors)
        dist.all_reduce(flat, group=group)
        _unflatten_into(flat, tensors)
    return tensors
