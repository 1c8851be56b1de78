"""torch.optim.rmsprop: RMSprop."""
from mindtorch.optim._algorithm import Algorithm, check, check_rate, like
from mindtorch.optim._counters import column, scalar_state
from mindtorch.optim._lists import scaled_add_, scaled_addcdiv_

__all__ = ["RMSprop"]


class RMSprop(Algorithm):
    """Gradients scaled by the average of their squares, or by their variance."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False,
                 capturable=False, foreach=None, maximize=False, differentiable=False):
        check_rate(lr)
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        check(alpha >= 0.0, f"Invalid alpha value: {alpha}")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable})

    def _start(self, state, param, group):
        state["step"] = scalar_state(0, param, group)
        state["square_avg"] = like(param)
        if group["momentum"] > 0:
            state["momentum_buffer"] = like(param)
        if group["centered"]:
            state["grad_avg"] = like(param)

    def _update(self, ops, group, params, grads, states, counts):
        lr, alpha = self._rate(group), group["alpha"]
        grads = self._gradients(ops, group, params, grads, lr)
        squares = column(states, "square_avg")
        ops.mul_(squares, alpha)
        ops.addcmul_(squares, grads, grads, 1 - alpha)
        if group["centered"]:
            averages = column(states, "grad_avg")
            ops.lerp_(averages, grads, 1 - alpha)
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
