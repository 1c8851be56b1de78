"""torch.optim.radam: Adam with a rectified adaptive rate."""
from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch
from mindtorch.optim._algorithm import Algorithm, check_adaptive, corrections
from mindtorch.optim._foreach import average_, average_squares_, scaled_addcdiv_
from mindtorch.optim._step_counters import column

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["RAdam", "radam"]


class RAdam(Algorithm):
    """Adam that scales by squared gradients only once their variance is tractable.

    Example:
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.RAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([ 0.8000, -1.6000])
    """

    _tensors_ = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        check_adaptive(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable})

    def _update_(self, ops, group, lr, params, grads, states, counts):
        beta1, beta2 = group["betas"]
        averages, squares = column(states, "exp_avg"), column(states, "exp_avg_sq")
        average_(ops, averages, grads, beta1)
        average_squares_(ops, squares, grads, beta2)
        rates = [-lr / correction for correction in corrections(beta1, counts)]
        limit = 2 / (1 - beta2) - 1
        lengths = [limit - 2 * count * beta2**count / correction
                   for count, correction in zip(counts, corrections(beta2, counts), strict=True)]
        scales = [_rectified(length, limit) * correction**0.5 if group["capturable"] or length > 5.0 else None
                  for length, correction in zip(lengths, corrections(beta2, counts), strict=True)]
        if group["capturable"]:
            self._update_captured_(ops, group, params, averages, squares, rates, lengths, scales)
            return
        adaptive = [row for row in zip(params, averages, squares, rates, scales, strict=True) if row[4] is not None]
        if adaptive:
            some, means, roots, their_rates, scales = map(list, zip(*adaptive, strict=True))
            roots = ops.sqrt(roots)
            ops.add_(roots, group["eps"])
            scaled_addcdiv_(ops, some, means, roots, [a * b for a, b in zip(their_rates, scales, strict=True)])
        early = [row for row in zip(params, averages, rates, lengths, strict=True) if row[3] <= 5.0]
        if early:
            some, means, their_rates, _ = map(list, zip(*early, strict=True))
            ops.add_(some, ops.mul(means, their_rates))

    @staticmethod
    def _update_captured_(ops, group, params, averages, squares, rates, lengths, scales):
        """The step where the host does not know which parameters are rectified: the device chooses."""
        roots = ops.sqrt(squares)
        ops.add_(roots, group["eps"])
        factors = [mindtorch.where(length > 5.0, scale / root, 1.0)
                   for length, scale, root in zip(lengths, scales, roots, strict=True)]
        ops.add_(params, ops.mul(ops.mul(averages, rates), factors))


def _rectified(length, limit):
    """How much of the adaptive rate the length of the moving average, out of at most `limit`, allows for."""
    return ((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))**0.5


def radam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
          state_steps: list[Tensor], decoupled_weight_decay: bool = False, foreach: bool | None = None,
          differentiable: bool = False, capturable: bool = False, has_complex: bool = False, maximize: bool = False, *,
          beta1: float, beta2: float, lr: float, weight_decay: float, eps: float) -> None:
    """One step of RAdam for all parameters of a list, in place; the counters in `state_steps` go on.

    Example:
        >>> p = torch.ones(1)
        >>> torch.optim.radam.radam([p], [torch.ones(1)], [torch.zeros(1)], [torch.zeros(1)], [torch.tensor(0.0)],
        ...                         beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0, eps=1e-8)
        >>> p
        tensor([0.9000])
    """
    columns = {"step": state_steps, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs}
    group = {"lr": lr, "betas": (beta1, beta2), "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
             "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
             "differentiable": differentiable}
    RAdam._call_(params, grads, columns, group)
