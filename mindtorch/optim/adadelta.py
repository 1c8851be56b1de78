"""torch.optim.adadelta: Adadelta."""
from mindtorch.optim._algorithm import Algorithm, check, check_rate
from mindtorch.optim._foreach import average_squares_, scaled_add_
from mindtorch.optim._step_counters import column

__all__ = ["Adadelta", "adadelta"]


class Adadelta(Algorithm):
    """Gradients scaled by the average of squared changes over that of squared gradients."""

    _tensors = ("square_avg", "acc_delta")

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False,
                 maximize=False, differentiable=False):
        check_rate(lr)
        check(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        check(eps >= 0.0, f"Invalid epsilon value: {eps}")
        check(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable})

    def _update(self, ops, group, lr, params, grads, states, counts):
        rho, eps = group["rho"], group["eps"]
        squares, changes = column(states, "square_avg"), column(states, "acc_delta")
        average_squares_(ops, squares, grads, rho)
        delta = ops.sqrt(ops.add(changes, eps))
        ops.div_(delta, ops.sqrt(ops.add(squares, eps)))
        ops.mul_(delta, grads)
        average_squares_(ops, changes, delta, rho)
        scaled_add_(ops, params, delta, -lr)


def adadelta(params, grads, square_avgs, acc_deltas, state_steps, capturable=False, foreach=None, differentiable=False,
             has_complex=False, *, lr, rho, eps, weight_decay, maximize):
    """One step of Adadelta for all parameters of a list, in place; the counters in `state_steps` go on."""
    columns = {"step": state_steps, "square_avg": square_avgs, "acc_delta": acc_deltas}
    group = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
             "capturable": capturable, "foreach": foreach, "differentiable": differentiable}
    Adadelta._call(params, grads, columns, group)
