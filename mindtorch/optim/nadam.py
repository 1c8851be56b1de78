"""torch.optim.nadam: Adam with Nesterov momentum."""
from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch._core.operators.operator import common_base
from mindtorch.optim._algorithm import Algorithm, check, check_adaptive, corrections
from mindtorch.optim._foreach import average_, average_squares_, scaled_addcdiv_
from mindtorch.optim._step_counters import column, counter_values, gather, multiply_

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["NAdam", "nadam"]


class NAdam(Algorithm):
    """Adam that looks ahead along its momentum.

    Arguments:
        momentum_decay: how fast the momentum grows with the steps

    Example:
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.NAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([ 0.8944, -1.8944])
    """

    _counters_ = {"step": 0, "mu_product": 1}
    _tensors_ = ("exp_avg", "exp_avg_sq")
    _capturable_ = "params, mu_products and state_steps"

    def __init__(self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False) -> None:
        check_adaptive(lr, betas, eps, weight_decay)
        check(momentum_decay >= 0.0, f"Invalid momentum_decay value: {momentum_decay}")
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable})

    def _count_(self, group, states):
        if self._gathers_:
            gather(states, "mu_product")
        return super()._count_(group, states)

    def _update_(self, ops, group, lr, params, grads, states, counts):
        beta1, beta2 = group["betas"]
        averages, squares = column(states, "exp_avg"), column(states, "exp_avg_sq")
        average_(ops, averages, grads, beta1)
        average_squares_(ops, squares, grads, beta2)
        roots = ops.sqrt(ops.div(squares, corrections(beta2, counts)))
        ops.add_(roots, group["eps"])
        now, ahead = self._rates_(group, lr, counts, column(states, "mu_product"))
        scaled_addcdiv_(ops, params, grads, roots, now)
        scaled_addcdiv_(ops, params, averages, roots, ahead)

    @staticmethod
    def _rates_(group, lr, counts, products):
        """The rates of the gradients and of the averages; `products` of all momenta so far take this step's."""
        def momentum_at(count):
            return group["betas"][0] * (1.0 - 0.5 * 0.96**(count * group["momentum_decay"]))
        momenta = [momentum_at(count) for count in counts]
        multiply_(products, momenta)
        now, ahead = [], []
        stays = group["capturable"] or group["differentiable"]      # on the device, or in the graph
        reached = counter_values(products, common_base(products), stays)
        for count, momentum, product in zip(counts, momenta, reached, strict=True):
            following = momentum_at(count + 1)
            now.append(-lr * (1.0 - momentum) / (1.0 - product))
            ahead.append(-lr * following / (1.0 - product * following))
        return now, ahead


def nadam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
          mu_products: list[Tensor], state_steps: list[Tensor], decoupled_weight_decay: bool = False,
          foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
          has_complex: bool = False, maximize: bool = False, *, beta1: float, beta2: float, lr: float,
          weight_decay: float, momentum_decay: float, eps: float) -> None:
    """One step of NAdam for all parameters of a list, in place; the counters in `state_steps` go on.

    Arguments:
        mu_products: the products of the momenta, which are updated
        momentum_decay: how fast the momentum grows

    Example:
        >>> p = torch.ones(1)
        >>> torch.optim.nadam.nadam([p], [torch.ones(1)], [torch.zeros(1)], [torch.zeros(1)], [torch.tensor(1.0)],
        ...                         [torch.tensor(0.0)], beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0,
        ...                         momentum_decay=4e-3, eps=1e-8)
        >>> p
        tensor([0.8944])
    """
    columns = {"step": state_steps, "mu_product": mu_products, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs}
    group = {"lr": lr, "betas": (beta1, beta2), "eps": eps, "weight_decay": weight_decay,
             "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize,
             "foreach": foreach, "capturable": capturable, "differentiable": differentiable}
    NAdam._call_(params, grads, columns, group)
