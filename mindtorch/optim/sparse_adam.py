"""torch.optim.sparse_adam: Adam for gradients that are sparse tensors."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch._sparse.tensors import with_values
from mindtorch.optim._algorithm import check, check_single, evaluate
from mindtorch.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that changes, of parameters and averages, the elements that the sparse gradient has.

    Example:
        >>> embedding = nn.Embedding(3, 2, sparse=True, _weight=torch.ones(3, 2))
        >>> optimizer = torch.optim.SparseAdam(embedding.parameters(), lr=0.1)
        >>> embedding(torch.tensor([1])).sum().backward()
        >>> optimizer.step()
        >>> embedding.weight.detach()
        tensor([[1.0000, 1.0000],
                [0.9000, 0.9000],
                [1.0000, 1.0000]])
    """

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, maximize: bool = False) -> None:
        check_single(lr, "lr")
        check(lr > 0.0, f"Invalid learning rate: {lr}")
        check(eps > 0.0, f"Invalid epsilon value: {eps}")
        for index in (0, 1):
            check(0.0 <= betas[index] < 1.0, f"Invalid beta parameter at index {index}: {betas[index]}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        sparse = [[number, place] for number, group in enumerate(self.param_groups)
                  for place, param in enumerate(group["params"]) if param.is_sparse]
        check(not sparse, f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")

    @mindtorch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Change the parameters that have gradients; RuntimeError for a gradient that is dense."""
        loss = evaluate(closure)
        for group in self.param_groups:
            params = [param for param in group["params"] if param.grad is not None]
            for param in params:
                if not param.grad.is_sparse:
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
            for param in params:
                self._update_(param, self.state[param], group)
        return loss

    @staticmethod
    def _update_(param, state, group):
        if not state:
            state["step"] = 0
            state["exp_avg"], state["exp_avg_sq"] = mindtorch.zeros_like(param), mindtorch.zeros_like(param)
        state["step"] += 1
        grad = param.grad.coalesce()
        values = -grad.values() if group["maximize"] else grad.values()
        if values.numel() == 0:
            return
        averages = []
        for beta, name, new in zip(group["betas"], ("exp_avg", "exp_avg_sq"), (values, values * values), strict=True):
            before = state[name].sparse_mask(grad).values()
            change = (new - before) * (1 - beta)
            state[name].add_(with_values(grad, change))
            averages.append(before + change)
        corrections = [1 - beta ** state["step"] for beta in group["betas"]]
        rate = group["lr"] * math.sqrt(corrections[1]) / corrections[0]
        param.add_(with_values(grad, averages[0] / (averages[1].sqrt() + group["eps"]) * -rate))
