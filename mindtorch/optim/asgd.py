"""torch.optim.asgd: averaged stochastic gradient descent."""
from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch
from mindtorch.optim._algorithm import Algorithm, check, check_rate, like, to_scalar
from mindtorch.optim._step_counters import column, scalar_dtype

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["ASGD", "asgd"]


class ASGD(Algorithm):
    """Gradient descent that also averages the parameters it has passed.

    Arguments:
        lambd: the decay of the parameters in each step
        alpha: the power by which the rate falls
        t0: the step from which on parameters are averaged

    Example:
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.ASGD([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([ 0.8000, -1.6000])
    """

    _counters_ = {"step": 0, "eta": None, "mu": 1}       # eta begins with the rate
    _capturable_ = "params, mus, etas, and state_steps"

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check_rate(lr)
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _start_(self, state, param, group):
        for name, value in (self._counters_ | {"eta": to_scalar(group["lr"])}).items():
            state[name] = mindtorch.full((), float(value), dtype=scalar_dtype(), device=param.device)
        state["ax"] = like(param)

    def _count_(self, group, states):
        return super()._count_({"capturable": True}, states)

    def _update_(self, ops, group, lr, params, grads, states, counts):
        # The rates are tensors beside the parameters, as in torch: read on the host they would make it wait.
        decay, start = group["lambd"], group["t0"]
        rates, weights, averages = column(states, "eta"), column(states, "mu"), column(states, "ax")
        ops.mul_(params, [1 - decay * rate for rate in rates])
        ops.addcmul_(params, grads, rates, -1)
        ops.add_(averages, ops.mul(ops.sub(params, averages), weights))
        for rate, weight, count in zip(rates, weights, counts, strict=True):
            rate.copy_(lr / (1 + decay * lr * count)**group["alpha"])
            weight.copy_(1 / (count - start).clamp(min=1))


def asgd(params: list[Tensor], grads: list[Tensor], axs: list[Tensor], mus: list[Tensor], etas: list[Tensor],
         state_steps: list[Tensor], foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
         capturable: bool = False, has_complex: bool = False, *, lambd: float, lr: float, t0: float, alpha: float,
         weight_decay: float) -> None:
    """One step of ASGD for all parameters of a list, in place; the counters in `state_steps` go on.

    Arguments:
        axs: the averages of parameters, which are updated
        mus: the weights of the average, which are updated
        etas: the rates, which are updated
        lambd: the decay of the parameters
        t0: the step from which on parameters are averaged
        alpha: the exponent with which the rate falls

    Example:
        >>> p = torch.ones(1)
        >>> torch.optim.asgd.asgd([p], [torch.ones(1)], [torch.zeros(1)], [torch.ones(1)], [torch.tensor(0.1)],
        ...                       [torch.tensor(0.0)], lambd=0, lr=0.1, t0=1e6, alpha=0.75, weight_decay=0)
        >>> p
        tensor([0.9000])
    """
    columns = {"step": state_steps, "eta": etas, "mu": mus, "ax": axs}
    group = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
             "maximize": maximize, "differentiable": differentiable, "capturable": capturable}
    ASGD._call_(params, grads, columns, group)
