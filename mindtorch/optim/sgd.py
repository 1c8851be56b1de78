"""torch.optim.sgd: stochastic gradient descent."""
from __future__ import annotations

from typing import TYPE_CHECKING

import mindtorch
from mindtorch.optim._algorithm import Algorithm, check, check_single
from mindtorch.optim._foreach import scaled_add_
from mindtorch.optim._step_counters import column

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["SGD", "sgd"]


class SGD(Algorithm):
    """Stochastic gradient descent with optional momentum.

    Arguments:
        dampening: the share of the gradient that does not enter the momentum

    Example:
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([ 0.8000, -1.6000])
    """

    _counters_ = {}
    _complex_as_real_ = False        # every operator is linear

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None) -> None:
        check_single(lr, "lr")
        check(not lr < 0.0, f"Invalid learning rate: {lr}")
        check(not momentum < 0.0, f"Invalid momentum value: {momentum}")
        check(not weight_decay < 0.0, f"Invalid weight_decay value: {weight_decay}")
        check(not nesterov or (momentum > 0 and dampening == 0),
              "Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused})
        self._refuse_what_fused_lacks_(fused, foreach, differentiable)

    def _check_sparse_(self, group):
        if group["fused"]:
            raise RuntimeError("`_fused_sgd` does not support sparse gradients")

    def _states_(self, group, params):
        # Without momentum nothing is kept, not even empty states.
        return [self.state[param] for param in params] if group["momentum"] != 0 else [{}] * len(params)

    def _update_(self, ops, group, lr, params, grads, states, counts):
        momentum = group["momentum"]
        if momentum != 0:
            buffers = self._momenta_(ops, group, grads, states)
            grads = ops.add(grads, buffers, alpha=momentum) if group["nesterov"] else buffers
        scaled_add_(ops, params, grads, -lr)

    @staticmethod
    def _momenta_(ops, group, grads, states):
        """The momenta after this step; a parameter's first one is its gradient."""
        seen = [index for index, state in enumerate(states) if state.get("momentum_buffer") is not None]
        if seen:
            buffers = [states[index]["momentum_buffer"] for index in seen]
            ops.mul_(buffers, group["momentum"])
            ops.add_(buffers, [grads[index] for index in seen], alpha=1 - group["dampening"])
        if len(seen) < len(states):
            for state, grad in zip(states, grads, strict=True):
                if state.get("momentum_buffer") is None:
                    state["momentum_buffer"] = grad.detach().clone()
        return column(states, "momentum_buffer")

    def _fused_update_(self, group, params, grads, states, counts):
        buffers, first = [], False
        if group["momentum"] != 0:
            first = all(state.get("momentum_buffer") is None for state in states)
            if first:
                for state, grad in zip(states, grads, strict=True):
                    state["momentum_buffer"] = mindtorch.empty_like(grad)
            buffers = column(states, "momentum_buffer")
        mindtorch._fused_sgd_(
            params, grads, buffers, weight_decay=group["weight_decay"], momentum=group["momentum"], lr=group["lr"],
            dampening=group["dampening"], nesterov=group["nesterov"], maximize=group["maximize"], is_first_step=first,
            grad_scale=getattr(self, "grad_scale", None), found_inf=getattr(self, "found_inf", None))


def sgd(params: list[Tensor], d_p_list: list[Tensor], momentum_buffer_list: list[Tensor | None],
        has_sparse_grad: bool = False, foreach: bool | None = None, fused: bool | None = None,
        grad_scale: Tensor | None = None, found_inf: Tensor | None = None, *, weight_decay: float, momentum: float,
        lr: float, dampening: float, nesterov: bool, maximize: bool) -> None:
    """One step of SGD for all parameters of a list, in place; missing momenta are filled in.

    Arguments:
        d_p_list: the gradients
        dampening: the share of the gradient that the average leaves out

    Example:
        >>> p = torch.ones(1)
        >>> torch.optim.sgd.sgd([p], [torch.ones(1)], [None], weight_decay=0, momentum=0, lr=0.1, dampening=0,
        ...                     nesterov=False, maximize=False)
        >>> p
        tensor([0.9000])
    """
    columns = {"momentum_buffer": momentum_buffer_list}
    group = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
             "maximize": maximize, "foreach": foreach, "differentiable": False, "fused": fused}
    SGD._call_(params, d_p_list, columns, group, grad_scale, found_inf)
