"""torch.optim.adadelta: Adadelta."""
from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch.optim._algorithm import Algorithm, check, check_rate
from mindtorch.optim._foreach import average_squares_, scaled_add_
from mindtorch.optim._step_counters import column

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["Adadelta", "adadelta"]


class Adadelta(Algorithm):
    """Gradients scaled by the average of squared changes over that of squared gradients.

    Arguments:
        lr: the factor of the changes
        rho: the decay of both averages

    Example:
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.Adadelta([w], lr=1.0)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([ 0.9968, -1.9968])
    """

    _tensors_ = ("square_avg", "acc_delta")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_rate(lr)
        check(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def _update_(self, ops, group, lr, params, grads, states, counts):
        rho, eps = group["rho"], group["eps"]
        squares, changes = column(states, "square_avg"), column(states, "acc_delta")
        average_squares_(ops, squares, grads, rho)
        delta = ops.sqrt(ops.add(changes, eps))
        ops.div_(delta, ops.sqrt(ops.add(squares, eps)))
        ops.mul_(delta, grads)
        average_squares_(ops, changes, delta, rho)
        scaled_add_(ops, params, delta, -lr)


def adadelta(params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor], acc_deltas: list[Tensor],
             state_steps: list[Tensor], capturable: bool = False, foreach: bool | None = None,
             differentiable: bool = False, has_complex: bool = False, *, lr: float, rho: float, eps: float,
             weight_decay: float, maximize: bool) -> None:
    """One step of Adadelta for all parameters of a list, in place; the counters in `state_steps` go on.

    Arguments:
        acc_deltas: the averages of the squares of steps, which are updated
        rho: the decay of the averages

    Example:
        >>> p, zero = torch.ones(1), torch.zeros(1)
        >>> torch.optim.adadelta.adadelta([p], [torch.ones(1)], [zero.clone()], [zero.clone()], [torch.tensor(0.0)],
        ...                               lr=1.0, rho=0.9, eps=1e-2, weight_decay=0, maximize=False)
        >>> p
        tensor([0.6985])
    """
    columns = {"step": state_steps, "square_avg": square_avgs, "acc_delta": acc_deltas}
    group = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
             "capturable": capturable, "foreach": foreach, "differentiable": differentiable}
    Adadelta._call_(params, grads, columns, group)
