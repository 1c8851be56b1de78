"""torch.distributed.optim.post_localSGD_optimizer: an optimizer that averages parameters after its steps."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mindtorch.optim import Optimizer

if TYPE_CHECKING:
    from mindtorch.distributed.algorithms.model_averaging.averagers import ModelAverager

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """`optim`, after whose steps a ModelAverager averages its parameters. Its state has the averager's count.

    Arguments:
        optim: the optimizer of this rank
        averager: a ModelAverager

    Example:
        >>> from mindtorch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
        >>> averager = PeriodicModelAverager(period=4, warmup_steps=100)
        >>> sgd = torch.optim.SGD(torch.nn.Linear(2, 1).parameters(), lr=0.1)
        >>> sgd = torch.distributed.optim.PostLocalSGDOptimizer(sgd, averager)
        >>> sgd.step()
        >>> sgd.state_dict()["step"]
        1
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:
        """That of the optimizer within."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.optim.load_state_dict(state_dict)
        self.param_groups = self.optim.param_groups
        if "step" in state_dict:
            self.averager.step = state_dict["step"]
        else:
            warnings.warn("Loaded state dict does not contain a step counter for an averager. Setting step counter to "
                          "0.", stacklevel=2)
            self.averager.step = 0

    def step(self, closure: Any = None) -> Any:
        loss = self.optim.step(closure)
        self.averager.average_parameters(params=self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optim.zero_grad(set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        self.optim.add_param_group(param_group)
