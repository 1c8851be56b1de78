"""torch.optim.nadam: Adam with Nesterov momentum."""
from mindtorch.optim._algorithm import Algorithm, check, check_adaptive, corrections, like
from mindtorch.optim._counters import column, scalar_state
from mindtorch.optim._lists import scaled_addcdiv_

__all__ = ["NAdam"]


class NAdam(Algorithm):
    """Adam that looks ahead along its momentum."""

    _counters = ("step", "mu_product")
    _capturable = "params, mu_products and state_steps"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False,
                 differentiable=False):
        check_adaptive(lr, betas, eps, weight_decay)
        check(momentum_decay >= 0.0, f"Invalid momentum_decay value: {momentum_decay}")
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable})

    def _start(self, state, param, group):
        state["step"] = scalar_state(0, param, group)
        state["mu_product"] = scalar_state(1, param, group)
        state["exp_avg"] = like(param)
        state["exp_avg_sq"] = like(param)

    def _update(self, ops, group, params, grads, states, counts):
        lr, (beta1, beta2) = self._rate(group), group["betas"]
        grads = self._gradients(ops, group, params, grads, lr)
        averages, squares = column(states, "exp_avg"), column(states, "exp_avg_sq")
        ops.lerp_(averages, grads, 1 - beta1)
        ops.mul_(squares, beta2)
        ops.addcmul_(squares, grads, grads, 1 - beta2)
        roots = ops.sqrt(ops.div(squares, corrections(beta2, counts)))
        ops.add_(roots, group["eps"])
        now, ahead = self._rates(group, lr, counts, column(states, "mu_product"))
        scaled_addcdiv_(ops, params, grads, roots, now)
        scaled_addcdiv_(ops, params, averages, roots, ahead)

    @staticmethod
    def _rates(group, lr, counts, products):
        """The rates of the gradients and of the averages; `products` of all momenta so far take this step's."""
        beta, decay = group["betas"][0], group["momentum_decay"]
        now, ahead = [], []
        for count, product in zip(counts, products, strict=True):
            momentum = beta * (1.0 - 0.5 * 0.96**(count * decay))
            following = beta * (1.0 - 0.5 * 0.96**((count + 1) * decay))
            product.mul_(momentum)
            value = product.clone() if group["capturable"] else product.item()
            now.append(-lr * (1.0 - momentum) / (1.0 - value))
            ahead.append(-lr * following / (1.0 - value * following))
        return now, ahead
