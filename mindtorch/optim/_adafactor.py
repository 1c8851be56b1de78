"""torch.optim.Adafactor: squared gradients kept as a row and a column."""
from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch
from mindtorch.optim._algorithm import Algorithm, check, check_single

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["Adafactor", "adafactor"]


class Adafactor(Algorithm):
    """Gradients scaled by the average of their squares, of which only means by row and by column are kept.

    Arguments:
        lr: the largest relative step
        weight_decay: the factor by which the rate times the parameter is taken off it
        beta2_decay: the power of the step by which the decay of the squares approaches 1
        eps: the least squared gradient, None for that of the dtype, and the least scale of a parameter
        d: the bound of an update's root mean square

    Example:
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.Adafactor([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([ 0.8419, -1.8419])
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach: bool | None = None, maximize: bool = False) -> None:
        check_single(lr, "lr")
        check(lr >= 0.0, f"Learning rate should be >= 0 but is: {lr}")
        check(beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        check(eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}")
        check(eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}")
        check(d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}")
        check(weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
                                  "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize})

    def _gradients_(self, ops, group, params, grads, lr):
        # The weights decay later: how large they were sets the rate.
        return ops.neg(grads) if group["maximize"] else grads

    @staticmethod
    def _takes_foreach_(group, kinds):
        # One parameter at a time saves memory; either form reads the norms on the host.
        return False

    def _start_(self, state, param, group):
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        super()._start_(state, param, group)
        if param.dim() > 1:
            state["row_var"] = param.new_zeros([*param.shape[:-1], 1])
            state["col_var"] = param.new_zeros([*param.shape[:-2], 1, param.shape[-1]])
        else:
            state["variance"] = mindtorch.zeros_like(param)

    def _update_(self, ops, group, lr, params, grads, states, counts):
        for param, grad, state, count in zip(params, grads, states, counts, strict=True):
            smallest = mindtorch.finfo(param.dtype).eps if group["eps"][0] is None else group["eps"][0]
            size = max(group["eps"][1], param.norm(2).item() / param.numel()**0.5)
            rate = size * min(lr, 1 / count**0.5)
            if group["weight_decay"] != 0:
                param.mul_(1 - lr * group["weight_decay"])
            update = _variance(grad, state, count**group["beta2_decay"], smallest)
            update.clamp_(min=smallest * smallest).rsqrt_().mul_(grad)
            excess = max(1.0, update.norm(2).item() / (update.numel()**0.5 * group["d"]))
            param.add_(update, alpha=-rate / excess)


def _variance(grad, state, weight, smallest):
    """The running average of squared gradients, updated by `weight`."""
    if grad.dim() <= 1:
        return state["variance"].lerp_(grad * grad, weight).clone()
    for name, dim in (("row_var", -1), ("col_var", -2)):
        state[name].lerp_(grad.norm(dim=dim, keepdim=True).square_().div_(grad.size(dim)), weight)
    rows = state["row_var"]
    return (rows @ state["col_var"]).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=smallest))


def adafactor(params: list[Tensor], grads: list[Tensor], row_vars: list[Tensor | None], col_vars: list[Tensor | None],
              variances: list[Tensor | None], state_steps: list[Tensor], foreach: bool | None = None,
              grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_complex: bool = False, *, d: float,
              lr: float | Tensor, beta2_decay: float, weight_decay: float, eps1: float, eps2: float,
              maximize: bool) -> None:
    """One step of Adafactor for all parameters of a list, in place; the counters in `state_steps` go on."""
    columns = {"step": state_steps, "row_var": row_vars, "col_var": col_vars, "variance": variances}
    group = {"lr": lr, "beta2_decay": beta2_decay, "eps": (eps1, eps2), "d": d, "weight_decay": weight_decay,
             "foreach": foreach, "maximize": maximize}
    Adafactor._call_(params, grads, columns, group, grad_scale, found_inf)
