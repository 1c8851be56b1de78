"""torch.optim.adagrad: Adagrad."""
from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch
from mindtorch._core.tensor.tensor import any_sparse
from mindtorch._sparse.tensors import with_values
from mindtorch.optim._algorithm import Algorithm, check, check_rate
from mindtorch.optim._foreach import scaled_addcdiv_
from mindtorch.optim._step_counters import column, decrement

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["Adagrad", "adagrad"]


class Adagrad(Algorithm):
    """Gradients scaled by the sum of their squares so far.

    Arguments:
        lr_decay: by how much the rate falls with each step
        initial_accumulator_value: what the sums begin with

    Example:
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.Adagrad([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([ 0.9000, -1.9000])
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
                 maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        check_rate(lr)
        check(lr_decay >= 0.0, f"Invalid lr_decay value: {lr_decay}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        check(initial_accumulator_value >= 0.0,
              f"Invalid initial_accumulator_value value: {initial_accumulator_value}")
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused})
        self._refuse_what_fused_lacks_(fused, foreach, differentiable)
        for group in self.param_groups:
            self._states_(group, group["params"])

    def share_memory(self) -> None:
        """Moves the sums of squares to shared memory: processes that share the parameters share them, too."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _check_sparse_(self, group):
        if group["fused"]:
            raise RuntimeError("`fused` does not support sparse gradients")
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")

    def _start_(self, state, param, group):
        value = self.defaults["initial_accumulator_value"]
        super()._start_(state, param, group)
        state["sum"] = mindtorch.full_like(param, complex(value, value) if param.is_complex() else value,
                                           requires_grad=False)

    def _update_(self, ops, group, lr, params, grads, states, counts):
        decay = group["lr_decay"]
        rates = [-lr / (1 + (count - 1) * decay) for count in counts]
        sums = column(states, "sum")
        if any_sparse(grads):
            _update_rows(params[0], grads[0].coalesce(), sums[0], rates[0], group["eps"])
            return
        ops.addcmul_(sums, grads, grads, 1)
        roots = ops.sqrt(sums)
        ops.add_(roots, group["eps"])
        scaled_addcdiv_(ops, params, grads, roots, rates)

    def _fused_update_(self, group, params, grads, states, steps):
        found_inf = getattr(self, "found_inf", None)
        mindtorch._fused_adagrad_(
            params, grads, column(states, "sum"), steps, lr=float(group["lr"]), lr_decay=group["lr_decay"],
            weight_decay=group["weight_decay"], eps=group["eps"], maximize=group["maximize"],
            grad_scale=getattr(self, "grad_scale", None), found_inf=found_inf)
        if found_inf is not None:
            decrement(steps, found_inf)


def _update_rows(param, grad, squares, rate, eps):
    """The update of the elements that a sparse gradient has."""
    values = grad.values()
    squares.add_(with_values(grad, values * values))
    roots = squares.sparse_mask(grad).values().sqrt().add_(eps)
    param.add_(with_values(grad, values / roots), alpha=rate)


def adagrad(params: list[Tensor], grads: list[Tensor], state_sums: list[Tensor], state_steps: list[Tensor],
            fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
            has_sparse_grad: bool = False, foreach: bool | None = None, differentiable: bool = False,
            has_complex: bool = False, *, lr: float, weight_decay: float, lr_decay: float, eps: float,
            maximize: bool) -> None:
    """One step of Adagrad for all parameters of a list, in place; the counters in `state_steps` go on.

    Arguments:
        state_sums: the sums of the squares of gradients, which are updated
        lr_decay: how fast the rate falls

    Example:
        >>> p = torch.ones(1)
        >>> torch.optim.adagrad.adagrad([p], [torch.ones(1)], [torch.zeros(1)], [torch.tensor(0.0)],
        ...                             lr=0.1, lr_decay=0, weight_decay=0, eps=1e-10, maximize=False)
        >>> p
        tensor([0.9000])
    """
    columns = {"step": state_steps, "sum": state_sums}
    group = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
             "maximize": maximize, "differentiable": differentiable, "fused": fused}
    Adagrad._call_(params, grads, columns, group, grad_scale, found_inf)
