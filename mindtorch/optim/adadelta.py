"""torch.optim.adadelta: Adadelta."""
from mindtorch.optim._algorithm import Algorithm, check, check_rate, like
from mindtorch.optim._counters import column, scalar_state
from mindtorch.optim._lists import scaled_add_

__all__ = ["Adadelta"]


class Adadelta(Algorithm):
    """Gradients scaled by the average of squared changes over that of squared gradients."""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False,
                 maximize=False, differentiable=False):
        check_rate(lr)
        check(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def _start(self, state, param, group):
        state["step"] = scalar_state(0, param, group)
        state["square_avg"] = like(param)
        state["acc_delta"] = like(param)

    def _update(self, ops, group, params, grads, states, counts):
        lr, rho, eps = self._rate(group), group["rho"], group["eps"]
        grads = self._gradients(ops, group, params, grads, lr)
        squares, changes = column(states, "square_avg"), column(states, "acc_delta")
        ops.mul_(squares, rho)
        ops.addcmul_(squares, grads, grads, 1 - rho)
        delta = ops.sqrt(ops.add(changes, eps))
        ops.div_(delta, ops.sqrt(ops.add(squares, eps)))
        ops.mul_(delta, grads)
        ops.mul_(changes, rho)
        ops.addcmul_(changes, delta, delta, 1 - rho)
        scaled_add_(ops, params, delta, -lr)
