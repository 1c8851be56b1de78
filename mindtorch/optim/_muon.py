"""torch.optim.Muon: momentum made orthogonal."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mindtorch.optim._algorithm import Algorithm, check, check_single
from mindtorch.optim._foreach import average_
from mindtorch.optim._step_counters import column

if TYPE_CHECKING:
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["Muon"]


class Muon(Algorithm):
    """Matrices that follow their momentum with all its singular values brought near one.

    Arguments:
        weight_decay: the factor by which the rate times the parameter is taken off it
        ns_coefficients: the coefficients of the polynomial that moves the singular values
        ns_steps: how often it is applied
        adjust_lr_fn: "original" or "match_rms_adamw": how the rate follows the shape of a matrix; None means the first
        params: matrices: parameters of two dimensions, or groups of them

    Example:
        >>> w = torch.eye(2).requires_grad_()
        >>> optimizer = torch.optim.Muon([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([[0.8775, 0.0000],
                [0.0000, 0.8775]])
    """

    _counters_ = {}
    _tensors_ = ("momentum_buffer",)

    def __init__(self, params: ParamsT, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
                 nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
                 eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None) -> None:
        check_single(lr, "lr")
        check(lr >= 0.0, f"Learning rate should be >= 0 but is: {lr}")
        check(momentum >= 0.0, f"momentum should be >= 0 but is: {momentum}")
        check(weight_decay >= 0.0, f"weight decay should be >= 0 but is: {weight_decay}")
        check(adjust_lr_fn in (None, "original", "match_rms_adamw"),
              f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn})
        for group in self.param_groups:
            for param in group["params"]:
                check(param.ndim == 2,
                      f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}")

    def _gradients_(self, ops, group, params, grads, lr):
        ops.mul_(params, 1 - lr * group["weight_decay"])
        return grads

    @staticmethod
    def _takes_foreach_(group, kinds):
        return False

    def _start_(self, state, param, group):
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        super()._start_(state, param, group)

    def _update_(self, ops, group, lr, params, grads, states, counts):
        momentum = group["momentum"]
        buffers = column(states, "momentum_buffer")
        average_(ops, buffers, grads, momentum)
        for param, update in zip(params, ops.lerp(grads, buffers, momentum) if group["nesterov"] else buffers,
                                 strict=True):
            param.add_(_orthogonal(update, group), alpha=-lr * _ratio(group["adjust_lr_fn"], *param.shape))


def _orthogonal(matrix, group):
    """The matrix with its singular values near one, by Newton-Schulz iterations of fifth order in bfloat16."""
    check(group["ns_steps"] < 100, "Number of steps must be less than 100 for computational efficiency")
    check(len(group["ns_coefficients"]) == 3, "Coefficients must be a tuple of exactly 3 values")
    a, b, c = group["ns_coefficients"]
    high = matrix.size(0) > matrix.size(1)
    result = matrix.bfloat16()
    result = result.T if high else result
    result = result / result.norm().clamp(min=group["eps"])
    for _ in range(group["ns_steps"]):
        gram = result @ result.T
        result = result.addmm(gram.addmm(gram, gram, beta=b, alpha=c), result, beta=a)
    return result.T if high else result


def _ratio(adjust, rows, columns):
    """The factor of the learning rate for a matrix of this shape."""
    if adjust == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))
