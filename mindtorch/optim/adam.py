"""torch.optim.adam: Adam."""
from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch
from mindtorch._tensor import Tensor
from mindtorch.optim._algorithm import Algorithm, check, check_adaptive, check_single, like, to_scalar
from mindtorch.optim._foreach import average_, average_squares_, scaled_addcdiv_
from mindtorch.optim._step_counters import column, decrement, of_each

if TYPE_CHECKING:
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["Adam", "adam"]


class Adam(Algorithm):
    """Gradients averaged, and scaled by the average of their squares.

    Example:
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.Adam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([ 0.9000, -1.9000])
    """

    _instead_ = ", please consider SparseAdam instead"
    _tensors_ = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3,
                 betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
                 decoupled_weight_decay: bool = False) -> None:
        listed = foreach and not capturable
        check(not (listed and isinstance(lr, Tensor)),
              "lr as a Tensor is not supported for capturable=False and foreach=True")
        check_adaptive(lr, betas, eps, weight_decay)
        check(all(isinstance(beta, float) for beta in betas[:2]) or all(isinstance(beta, Tensor) for beta in betas[:2]),
              "betas must be either both floats or both Tensors")
        for index, beta in enumerate(betas[:2]):
            check(not (listed and isinstance(beta, Tensor)),
                  f"betas[{index}] as a Tensor is not supported for capturable=False and foreach=True")
            check_single(beta, f"betas[{index}]")
        super().__init__(params, {
            "lr": lr, "betas": tuple(map(to_scalar, betas)), "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable, "fused": fused, "decoupled_weight_decay": decoupled_weight_decay})
        self._refuse_what_fused_lacks_(fused, foreach, differentiable)

    @staticmethod
    def _takes_foreach_(group, kinds):
        foreach = Algorithm._takes_foreach_(group, kinds)
        if foreach and isinstance(group["lr"], Tensor) and not group["capturable"]:
            if group["foreach"]:
                raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
            return False
        return foreach

    def _start_(self, state, param, group):
        super()._start_(state, param, group)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = like(param)

    def _betas_(self, group):
        """The decays as numbers; as tensors where they are learnt, or must not be read on the host."""
        if not isinstance(group["betas"][0], Tensor):
            return group["betas"]
        return [beta if beta.requires_grad or group["capturable"] else beta.item() for beta in group["betas"]]

    def _update_(self, ops, group, lr, params, grads, states, counts):
        beta1, beta2 = self._betas_(group)
        averages, squares = column(states, "exp_avg"), column(states, "exp_avg_sq")
        average_(ops, averages, grads, beta1)
        average_squares_(ops, squares, grads, beta2)
        if group["amsgrad"]:
            largest = column(states, "max_exp_avg_sq")
            ops.maximum_(largest, squares)
            squares = largest
        roots = ops.sqrt(squares)
        ops.div_(roots, of_each(lambda count: (1 - beta2**count)**0.5, counts))
        ops.add_(roots, group["eps"])
        rates = of_each(lambda count: -lr / (1 - beta1**count), counts)
        scaled_addcdiv_(ops, params, averages, roots, rates)

    def _fused_update_(self, group, params, grads, states, steps):
        beta1, beta2 = map(float, group["betas"])
        found_inf = getattr(self, "found_inf", None)
        fused = mindtorch._fused_adamw_ if group["decoupled_weight_decay"] else mindtorch._fused_adam_
        fused(params, grads, column(states, "exp_avg"), column(states, "exp_avg_sq"),
              column(states, "max_exp_avg_sq") if group["amsgrad"] else [], steps, lr=group["lr"], beta1=beta1,
              beta2=beta2, weight_decay=group["weight_decay"], eps=group["eps"], amsgrad=group["amsgrad"],
              maximize=group["maximize"], grad_scale=getattr(self, "grad_scale", None), found_inf=found_inf)
        if found_inf is not None:
            decrement(steps, found_inf)


def adam(params: list[Tensor], grads: list[Tensor], exp_avgs: list[Tensor], exp_avg_sqs: list[Tensor],
         max_exp_avg_sqs: list[Tensor], state_steps: list[Tensor], foreach: bool | None = None,
         capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
         grad_scale: Tensor | None = None, found_inf: Tensor | None = None, has_complex: bool = False,
         decoupled_weight_decay: bool = False, *, amsgrad: bool, beta1: float | Tensor, beta2: float | Tensor,
         lr: float | Tensor, weight_decay: float, eps: float, maximize: bool) -> None:
    """One step of Adam for all parameters of a list, in place; the counters in `state_steps` go on.

    Example:
        >>> p = torch.ones(1)
        >>> torch.optim.adam.adam([p], [torch.ones(1)], [torch.zeros(1)], [torch.zeros(1)], [], [torch.tensor(0.0)],
        ...                       amsgrad=False, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0, eps=1e-8,
        ...                       maximize=False)
        >>> p
        tensor([0.9000])
    """
    columns = {"step": state_steps, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "max_exp_avg_sq": max_exp_avg_sqs}
    group = {"lr": lr, "betas": (beta1, beta2), "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
             "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
             "fused": fused, "decoupled_weight_decay": decoupled_weight_decay}
    Adam._call_(params, grads, columns, group, grad_scale, found_inf)
