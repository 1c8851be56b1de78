"""torch.optim.rmsprop: RMSprop."""
from mindtorch.optim._algorithm import Algorithm, check, check_rate, like
from mindtorch.optim._foreach import average_, average_squares_, scaled_add_, scaled_addcdiv_
from mindtorch.optim._step_counters import column

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(Algorithm):
    """Gradients scaled by the average of their squares, or by their variance."""

    _tensors = ("square_avg",)

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
        super()._start(state, param, group)
        if group["momentum"] > 0:
            state["momentum_buffer"] = like(param)
        if group["centered"]:
            state["grad_avg"] = like(param)

    def _update(self, ops, group, lr, params, grads, states, counts):
        alpha = group["alpha"]
        squares = column(states, "square_avg")
        average_squares_(ops, squares, grads, alpha)
        if group["centered"]:
            averages = column(states, "grad_avg")
            average_(ops, averages, grads, alpha)
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


def rmsprop(params, grads, square_avgs, grad_avgs, momentum_buffer_list, state_steps, foreach=None, maximize=False,
            differentiable=False, capturable=False, has_complex=False, *, lr, alpha, eps, weight_decay, momentum,
            centered):
    """One step of RMSprop for all parameters of a list, in place; the counters in `state_steps` go on."""
    columns = {"step": state_steps, "square_avg": square_avgs, "momentum_buffer": momentum_buffer_list,
               "grad_avg": grad_avgs}
    group = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
             "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
             "differentiable": differentiable}
    RMSprop._call(params, grads, columns, group)
