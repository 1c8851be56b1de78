"""torch.distributed.algorithms.model_averaging.averagers: when the ranks average their parameters."""
from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from mindtorch import distributed as dist
from mindtorch.distributed.algorithms.model_averaging.utils import average_parameters_or_parameter_groups

if TYPE_CHECKING:
    from mindtorch.distributed import ProcessGroup

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Averages parameters over a group, by default that of all ranks; `step` counts the calls.

    Arguments:
        process_group: the process group; None means all ranks

    Example:
        >>> averagers = dist.algorithms.model_averaging.averagers
        >>> issubclass(averagers.PeriodicModelAverager, averagers.ModelAverager)
        True
    """

    def __init__(self, process_group: ProcessGroup | None = None) -> None:
        self.process_group = dist.group.WORLD if process_group is None else process_group
        self.step = 0

    @abstractmethod
    def average_parameters(self, params: Any) -> None:
        """Called after each step of the optimizer, with parameters or an optimizer's groups."""


class PeriodicModelAverager(ModelAverager):
    """Averages at each `period`-th call, after `warmup_steps` calls.

    Arguments:
        period: the number of steps between two averages
        warmup_steps: the number of steps before the first average
        process_group: the process group; None means all ranks

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> averager = dist.algorithms.model_averaging.averagers.PeriodicModelAverager(period=4, warmup_steps=10)
        >>> for _ in range(20):
        ...     model(torch.ones(1, 2)).sum().backward()        # and a step of an optimizer
        ...     averager.average_parameters(model.parameters())
        >>> averager.step
        20
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: ProcessGroup | None = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn("When period is 1, no need to use model averaging because the communication cost of "
                          "all-reducing parameters will be no less than the cost of all-reducing gradients by "
                          "DistributedDataParallel in the backward pass. Therefore, only DistributedDataParallel "
                          "should be used for this case.", stacklevel=2)
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Any) -> None:
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
