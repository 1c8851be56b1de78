"""torch.optim.sparse_adam: Adam for gradients that are sparse tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch.optim._algorithm import check, check_single, evaluate
from mindtorch.optim.optimizer import Optimizer

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import ParamsT

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients alone, as torch's; a dense gradient is refused, and there are no others here."""

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, maximize: bool = False) -> None:
        check_single(lr, "lr")
        check(lr > 0.0, f"Invalid learning rate: {lr}")
        check(eps > 0.0, f"Invalid epsilon value: {eps}")
        for index in (0, 1):
            check(0.0 <= betas[index] < 1.0, f"Invalid beta parameter at index {index}: {betas[index]}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def step(self, closure: Any = None) -> Any:
        """Change the parameters that have gradients; RuntimeError for a gradient that is dense."""
        loss = evaluate(closure)
        if any(param.grad is not None for group in self.param_groups for param in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return loss
