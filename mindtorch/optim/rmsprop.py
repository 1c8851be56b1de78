"""torch.optim.rmsprop: RMSprop."""
from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch.optim._algorithm import Algorithm, check, check_rate, like
from mindtorch.optim._foreach import average_, average_squares_, scaled_add_, scaled_addcdiv_
from mindtorch.optim._step_counters import column

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(Algorithm):
    """Gradients scaled by the average of their squares, or by their variance.

    Arguments:
        alpha: the decay of the average of squares
        centered: whether the gradients' mean is taken off: the variance

    Example:
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.RMSprop([w], lr=0.05)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([ 0.5000, -1.5000])
    """

    _tensors_ = ("square_avg",)

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None:
        check_rate(lr)
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        check(alpha >= 0.0, f"Invalid alpha value: {alpha}")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable})

    def _start_(self, state, param, group):
        super()._start_(state, param, group)
        if group["momentum"] > 0:
            state["momentum_buffer"] = like(param)
        if group["centered"]:
            state["grad_avg"] = like(param)

    def _update_(self, ops, group, lr, params, grads, states, counts):
        alpha = group["alpha"]
        squares = column(states, "square_avg")
        average_squares_(ops, squares, grads, alpha)
        if group["centered"]:
            averages = column(states, "grad_avg")
            average_(ops, averages, grads, alpha)
            squares = ops.addcmul(squares, averages, averages, -1)
        roots = ops.sqrt(squares)
        ops.add_(roots, group["eps"])
        if group["momentum"] > 0:
            buffers = column(states, "momentum_buffer")
            ops.mul_(buffers, group["momentum"])
            ops.addcdiv_(buffers, grads, roots)
            scaled_add_(ops, params, buffers, -lr)
        else:
            scaled_addcdiv_(ops, params, grads, roots, [-lr] * len(params))


def rmsprop(params: list[Tensor], grads: list[Tensor], square_avgs: list[Tensor], grad_avgs: list[Tensor],
            momentum_buffer_list: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None,
            maximize: bool = False, differentiable: bool = False, capturable: bool = False, has_complex: bool = False,
            *, lr: float, alpha: float, eps: float, weight_decay: float, momentum: float, centered: bool) -> None:
    """One step of RMSprop for all parameters of a list, in place; the counters in `state_steps` go on.

    Arguments:
        grad_avgs: the averages of gradients, which are updated
        alpha: the decay of the average of squares
        centered: whether the average of gradients is subtracted

    Example:
        >>> p = torch.ones(1)
        >>> torch.optim.rmsprop.rmsprop([p], [torch.ones(1)], [torch.zeros(1)], [], [], [torch.tensor(0.0)],
        ...                             lr=0.01, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False)
        >>> p
        tensor([0.9000])
    """
    columns = {"step": state_steps, "square_avg": square_avgs, "momentum_buffer": momentum_buffer_list,
               "grad_avg": grad_avgs}
    group = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
             "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
             "differentiable": differentiable}
    RMSprop._call_(params, grads, columns, group)
