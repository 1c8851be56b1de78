"""torch.optim.rprop: resilient propagation."""
from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch
from mindtorch.optim._algorithm import Algorithm, check, check_rate
from mindtorch.optim._step_counters import column

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["Rprop", "rprop"]


class Rprop(Algorithm):
    """Steps that follow the signs of gradients: longer while a sign stays, shorter when it turns.

    Arguments:
        lr: the first step
        etas: the factors of a step that shrinks and of one that grows
        step_sizes: the least and the largest step

    Example:
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.Rprop([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([ 0.9000, -1.9000])
    """

    _tensors_ = ("prev",)

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_rate(lr)
        check(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable})

    def _start_(self, state, param, group):
        lr = float(group["lr"])
        super()._start_(state, param, group)
        state["step_size"] = mindtorch.full_like(param, complex(lr, lr) if param.is_complex() else lr,
                                                 requires_grad=False)

    def _update_(self, ops, group, lr, params, grads, states, counts):
        before, sizes = column(states, "prev"), column(states, "step_size")
        signs = ops.sign(ops.mul(grads, before))
        ops.mul_(sizes, [_factor(sign, *group["etas"]) for sign in signs])
        for size in sizes:
            size.clamp_(*group["step_sizes"])
        # Where the sign has turned, this step does nothing and the next one finds no sign to compare with.
        grads = [mindtorch.where(sign < 0, 0.0, grad) for sign, grad in zip(signs, grads, strict=True)]
        ops.addcmul_(params, ops.sign(grads), sizes, -1)
        ops.copy_(before, grads)


def _factor(sign, shorter, longer):
    """The factor of the step size."""
    factor = mindtorch.where(sign > 0, longer, sign)
    factor = mindtorch.where(sign < 0, shorter, factor)
    return mindtorch.where(sign == 0, 1.0, factor)


def rprop(params: list[Tensor], grads: list[Tensor], prevs: list[Tensor], step_sizes: list[Tensor],
          state_steps: list[Tensor], foreach: bool | None = None, capturable: bool = False, maximize: bool = False,
          differentiable: bool = False, has_complex: bool = False, *, step_size_min: float, step_size_max: float,
          etaminus: float, etaplus: float) -> None:
    """One step of Rprop for all parameters of a list, in place; the counters in `state_steps` go on.

    Arguments:
        prevs: the gradients of the step before, which are updated
        step_sizes: the sizes of steps, which are updated
        step_size_min: the least step
        step_size_max: the largest step
        etaminus: the factor of a step where the sign of the gradient changes
        etaplus: the factor of a step where it stays

    Example:
        >>> p = torch.ones(1)
        >>> torch.optim.rprop.rprop([p], [torch.ones(1)], [torch.zeros(1)], [torch.full((1,), 0.1)],
        ...                         [torch.tensor(0.0)], step_size_min=1e-6, step_size_max=50, etaminus=0.5,
        ...                         etaplus=1.2)
        >>> p
        tensor([0.9000])
    """
    columns = {"step": state_steps, "prev": prevs, "step_size": step_sizes}
    group = {"lr": 0.0, "etas": (etaminus, etaplus), "step_sizes": (step_size_min, step_size_max), "foreach": foreach,
             "maximize": maximize, "differentiable": differentiable, "capturable": capturable}
    Rprop._call_(params, grads, columns, group)
