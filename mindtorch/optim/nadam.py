"""torch.optim.nadam: Adam with Nesterov momentum."""
from mindtorch._core.rules.array import common_base
from mindtorch.optim._algorithm import Algorithm, check, check_adaptive, corrections
from mindtorch.optim._foreach import average_, average_squares_, scaled_addcdiv_
from mindtorch.optim._step_counters import column, gather, multiply_, values

__all__ = ["NAdam", "nadam"]


class NAdam(Algorithm):
    """Adam that looks ahead along its momentum."""

    _counters = {"step": 0, "mu_product": 1}
    _tensors = ("exp_avg", "exp_avg_sq")
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

    def _count(self, group, states):
        if self._gathers:
            gather(states, "mu_product")
        return super()._count(group, states)

    def _update(self, ops, group, lr, params, grads, states, counts):
        beta1, beta2 = group["betas"]
        averages, squares = column(states, "exp_avg"), column(states, "exp_avg_sq")
        average_(ops, averages, grads, beta1)
        average_squares_(ops, squares, grads, beta2)
        roots = ops.sqrt(ops.div(squares, corrections(beta2, counts)))
        ops.add_(roots, group["eps"])
        now, ahead = self._rates(group, lr, counts, column(states, "mu_product"))
        scaled_addcdiv_(ops, params, grads, roots, now)
        scaled_addcdiv_(ops, params, averages, roots, ahead)

    @staticmethod
    def _rates(group, lr, counts, products):
        """The rates of the gradients and of the averages; `products` of all momenta so far take this step's."""
        def momentum_at(count):
            return group["betas"][0] * (1.0 - 0.5 * 0.96**(count * group["momentum_decay"]))
        momenta = [momentum_at(count) for count in counts]
        multiply_(products, momenta)
        now, ahead = [], []
        stays = group["capturable"] or group["differentiable"]      # on the device, or in the graph
        found = values(products, common_base(products), stays)
        for count, momentum, product in zip(counts, momenta, found, strict=True):
            following = momentum_at(count + 1)
            now.append(-lr * (1.0 - momentum) / (1.0 - product))
            ahead.append(-lr * following / (1.0 - product * following))
        return now, ahead


def nadam(params, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps, decoupled_weight_decay=False, foreach=None,
          capturable=False, differentiable=False, has_complex=False, maximize=False, *, beta1, beta2, lr, weight_decay,
          momentum_decay, eps):
    """One step of NAdam for all parameters of a list, in place; the counters in `state_steps` go on."""
    columns = {"step": state_steps, "mu_product": mu_products, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs}
    group = {"lr": lr, "betas": (beta1, beta2), "eps": eps, "weight_decay": weight_decay,
             "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize,
             "foreach": foreach, "capturable": capturable, "differentiable": differentiable}
    NAdam._call(params, grads, columns, group)
