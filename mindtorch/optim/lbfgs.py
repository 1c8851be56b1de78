"""torch.optim.lbfgs: L-BFGS, a quasi-Newton method with limited memory."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.autograd.grad_mode import enable_grad, no_grad
from mindtorch.optim._algorithm import check, check_rate, to_scalar
from mindtorch.optim._line_search import Limits, Point, lowest, strong_wolfe
from mindtorch.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["LBFGS"]

_CURVATURE = 1e-10      # a pair of differences with less says nothing about the Hessian
_KEPT = ("n_iter", "d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


def _cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """Where the cubic through two points with their slopes is lowest, for packages that search a line themselves."""
    return lowest(Point(x1, f1, None, g1), Point(x2, f2, None, g2), bounds)


def _strong_wolfe(obj_func, x, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """The search of LBFGS, for packages: obj_func(x, t, d) gives loss and gradient at x + t d; f, g and gtd those of 0.

    Loss, gradient and t of the point that it found, and how often it called obj_func.
    """
    def at(length):
        loss, grad = obj_func(x, length, d)
        return Point(length, loss, grad, grad.dot(d))
    point, calls = strong_wolfe(at, t, Point(0, f, g, gtd), d.abs().max(), max_ls, Limits(c1, c2, tolerance_change))
    return point.loss, point.grad, point.t, calls


class LBFGS(Optimizer):
    """Follows the gradient times an inverse Hessian that the last steps tell; `step` needs a closure.

    All parameters belong to one group. `line_search_fn="strong_wolfe"` chooses the length of each step.

    Arguments:
        max_iter: the iterations of a step
        max_eval: the calls of the closure in a step; None means max_iter * 5 / 4
        tolerance_grad: the largest element of the gradient at which it stops
        tolerance_change: the change of parameters or objective at which it stops
        history_size: the number of past steps that are kept
        line_search_fn: "strong_wolfe", or None for steps of length lr

    Example:
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - 3) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> _ = optimizer.step(closure)
        >>> w.detach()
        tensor([3.0000, 3.0000])
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        check_rate(lr)
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn})
        check(len(self.param_groups) == 1, "LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self):
        return self.param_groups[0]["params"]

    # The parameters as one vector.

    @staticmethod
    def _flat_(tensors):
        return mindtorch.cat([(mindtorch.view_as_real(tensor) if tensor.is_complex() else tensor).reshape(-1)
                              for tensor in tensors])

    def _flat_grad_(self):
        return self._flat_([mindtorch.zeros_like(param) if param.grad is None else param.grad
                            for param in self._params])

    def _move_(self, length, direction):
        start = 0
        for param in self._params:
            real = mindtorch.view_as_real(param) if param.is_complex() else param
            part = direction[start:start + real.numel()]
            real.add_(part.view_as(real), alpha=length)
            start += real.numel()

    # One step.

    @no_grad()
    def step(self, closure: Any) -> Any:
        """Up to `max_iter` iterations; `closure` clears the gradients, computes the loss and its gradients, anew."""
        group = self.param_groups[0]
        closure = enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        state["func_evals"] += 1
        point = Point(0, float(first_loss), self._flat_grad_())
        if bool(point.grad.abs().max() <= group["tolerance_grad"]):
            return first_loss
        memory = {name: list(value) if isinstance(value, list) else value
                  for name, value in ((name, state.get(name)) for name in _KEPT)}
        left = group["max_eval"] - 1
        for turn in range(1, group["max_iter"] + 1):
            memory["n_iter"] += 1
            point, calls, moved = self._iterate_(state, memory, closure, point, left, turn == group["max_iter"])
            left -= calls
            state["func_evals"] += calls
            if not moved or left <= 0 or self._has_converged_(group, memory, point):
                break
        state.update(memory)
        return first_loss

    @staticmethod
    def _has_converged_(group, memory, point):
        if bool(point.grad.abs().max() <= group["tolerance_grad"]):
            return True
        if bool((memory["d"] * memory["t"]).abs().max() <= group["tolerance_change"]):
            return True
        return abs(point.loss - memory["prev_loss"]) < group["tolerance_change"]

    def _iterate_(self, state, memory, closure, point, left, last):
        """One iteration: the point it leads to, how often it called the closure, and whether it went anywhere."""
        group, grad = self.param_groups[0], point.grad
        lr = to_scalar(group["lr"])
        first = memory["n_iter"] == 1
        memory["d"] = direction = grad.neg() if first else self._direction_(state, memory, grad, group["history_size"])
        if first:
            memory.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
        memory["prev_flat_grad"], memory["prev_loss"] = grad.clone(), point.loss
        memory["t"] = min(1.0, (1.0 / grad.abs().sum()).item()) * lr if first else lr
        slope = grad.dot(direction).item()
        if slope > -group["tolerance_change"]:
            return point, 0, False
        if group["line_search_fn"] is not None:
            if group["line_search_fn"] != "strong_wolfe":
                raise RuntimeError("only 'strong_wolfe' is supported")
            return *self._search_(memory, closure, point._replace(t=0, slope=slope), left), True
        self._move_(memory["t"], direction)
        if last:        # nothing would use the loss there
            return point, 0, True
        return Point(memory["t"], float(closure()), self._flat_grad_()), 1, True

    def _search_(self, memory, closure, point, left):
        """Go as far along the direction as the strong Wolfe conditions ask for."""
        direction = memory["d"]
        start = [param.clone(memory_format=mindtorch.contiguous_format) for param in self._params]

        def evaluate(length):
            self._move_(length, direction)
            loss = float(closure())
            grad = self._flat_grad_()
            for param, value in zip(self._params, start, strict=True):
                param.copy_(value)
            return Point(length, loss, grad, grad.dot(direction).item())
        point, calls = strong_wolfe(evaluate, memory["t"], point, direction.abs().max().item(), left, Limits())
        memory["t"] = point.t
        self._move_(point.t, direction)
        return point, calls

    # The memory.

    def _direction_(self, state, memory, grad, history_size):
        """Minus the gradient times the inverse Hessian."""
        self._remember_(memory, grad.sub(memory["prev_flat_grad"]), memory["d"].mul(memory["t"]), history_size)
        pairs = list(zip(memory["old_dirs"], memory["old_stps"], memory["ro"], strict=True))
        shares = state.setdefault("al", [None] * history_size)
        result = grad.neg()
        for index in reversed(range(len(pairs))):
            change, step, inverse = pairs[index]
            shares[index] = step.dot(result) * inverse
            result.addcmul_(change, shares[index], value=-1)
        result = result * memory["H_diag"]
        for (change, step, inverse), share in zip(pairs, shares, strict=False):
            result.addcmul_(step, share - change.dot(result) * inverse)
        return result

    @staticmethod
    def _remember_(memory, change, step, history_size):
        """Keep how the gradient changed with the last step, where that was along a valley."""
        curvature = change.dot(step)
        if bool(curvature <= _CURVATURE):
            return
        for name, value in (("old_dirs", change), ("old_stps", step), ("ro", 1.0 / curvature)):
            if len(memory[name]) == history_size:
                memory[name].pop(0)
            memory[name].append(value)
        memory["H_diag"] = curvature / change.dot(change)
