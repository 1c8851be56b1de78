"""torch.optim.adamax: Adam with the infinity norm."""
from mindtorch.optim._algorithm import Algorithm, check_adaptive, corrections, like
from mindtorch.optim._counters import column, scalar_state
from mindtorch.optim._lists import scaled_addcdiv_

__all__ = ["Adamax"]


class Adamax(Algorithm):
    """Gradients averaged, and scaled by the largest of the decayed ones."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *,
                 maximize=False, differentiable=False, capturable=False):
        check_adaptive(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def _start(self, state, param, group):
        state["step"] = scalar_state(0, param, group)
        state["exp_avg"] = like(param)
        state["exp_inf"] = like(param)

    def _update(self, ops, group, params, grads, states, counts):
        lr, (beta1, beta2) = self._rate(group), group["betas"]
        grads = self._gradients(ops, group, params, grads, lr)
        averages, largest = column(states, "exp_avg"), column(states, "exp_inf")
        ops.lerp_(averages, grads, 1 - beta1)
        ops.mul_(largest, beta2)
        sizes = ops.abs(grads)
        ops.add_(sizes, group["eps"])
        ops.maximum_(largest, sizes)
        rates = [-lr / correction for correction in corrections(beta1, counts)]
        scaled_addcdiv_(ops, params, averages, largest, rates)
