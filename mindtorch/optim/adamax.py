"""torch.optim.adamax: Adam with the infinity norm."""
from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch.optim._algorithm import Algorithm, check_adaptive
from mindtorch.optim._foreach import average_, scaled_addcdiv_
from mindtorch.optim._step_counters import column, of_each

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["Adamax", "adamax"]


class Adamax(Algorithm):
    """Gradients averaged, and scaled by the largest of the decayed ones.

    Example:
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.Adamax([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([ 0.9000, -1.9000])
    """

    _tensors_ = ("exp_avg", "exp_inf")

    def __init__(self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check_adaptive(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _update_(self, ops, group, lr, params, grads, states, counts):
        beta1, beta2 = group["betas"]
        averages, largest = column(states, "exp_avg"), column(states, "exp_inf")
        average_(ops, averages, grads, beta1)
        ops.mul_(largest, beta2)
        sizes = ops.abs(grads)
        ops.add_(sizes, group["eps"])
        ops.maximum_(largest, sizes)
        rates = of_each(lambda count: -lr / (1 - beta1**count), counts)
        scaled_addcdiv_(ops, params, averages, largest, rates)


def adamax(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_infs: list[Tensor],
           state_steps: list[Tensor], foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
           capturable: bool = False, has_complex: bool = False, *, eps: float, beta1: float, beta2: float, lr: float,
           weight_decay: float) -> None:
    """One step of Adamax for all parameters of a list, in place; the counters in `state_steps` go on.

    Arguments:
        exp_infs: the largest absolute gradients, which are updated

    Example:
        >>> p = torch.ones(1)
        >>> torch.optim.adamax.adamax([p], [torch.ones(1)], [torch.zeros(1)], [torch.zeros(1)], [torch.tensor(0.0)],
        ...                           eps=1e-8, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0)
        >>> p
        tensor([0.9000])
    """
    columns = {"step": state_steps, "exp_avg": exp_avgs, "exp_inf": exp_infs}
    group = {"lr": lr, "betas": (beta1, beta2), "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
             "maximize": maximize, "differentiable": differentiable, "capturable": capturable}
    Adamax._call_(params, grads, columns, group)
