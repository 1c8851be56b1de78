"""torch.distributed.algorithms.join: for ranks with different numbers of inputs.

In each iteration the ranks count how many of them still have inputs. One without goes on with the collectives of the
others' iterations, by the hooks of the objects that communicate in them, until none has inputs.
"""
from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import mindtorch
from mindtorch import distributed as dist

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a rank without inputs does: `main_hook` in each iteration of the others, `post_hook` at the end.

    Example:
        >>> class Last(dist.algorithms.join.JoinHook):
        ...     def post_hook(self, is_last_joiner):
        ...         print("joined last:", is_last_joiner)
    """

    def main_hook(self) -> None:
        """Take part in the collectives of one iteration."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when all ranks have ended; `is_last_joiner`: this one was among the last."""


@dataclass
class _JoinConfig:
    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """An object that communicates in each iteration, first by Join.notify_join_context(self).

    Example:
        >>> issubclass(torch.nn.parallel.DistributedDataParallel, dist.algorithms.join.Joinable)
        True
    """

    @abstractmethod
    def __init__(self) -> None:
        self._join_config = _JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook; `kwargs` are those of the context."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device on which the context communicates."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group in which it does."""


class Join:
    """The context of a training loop in which ranks have different numbers of inputs.

    Arguments:
        joinables: the objects that take part, such as DistributedDataParallel models
        enable: whether uneven inputs are expected; False does nothing
        throw_on_early_termination: whether all ranks raise an error once one has no more inputs
        **kwargs: options for the objects that take part

    Example:
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> with dist.algorithms.join.Join([model]):
        ...     for _ in range(1 + dist.get_rank()):
        ...         model(torch.ones(1, 2)).sum().backward()
    """

    def __init__(self, joinables: list[Joinable], enable: bool = True, throw_on_early_termination: bool = False,
                 **kwargs: Any) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables, self._enable, self._throw = joinables, enable, throw_on_early_termination
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        groups = {id(joinable.join_process_group) for joinable in joinables}
        if len(groups) != 1 or len({joinable.join_device for joinable in joinables}) != 1:
            raise ValueError("Using join context manager with multiple process groups or devices")
        self._group, self._device = joinables[0].join_process_group, joinables[0].join_device

    def __enter__(self) -> None:
        for place, joinable in enumerate(self._joinables):
            joinable._join_config = _JoinConfig(self._enable, self._throw, place == 0)

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        for joinable in self._joinables:
            joinable._join_config = _JoinConfig()
        if not self._enable or kind is not None:
            return
        iterations = 0
        while _count_with_inputs(self._group, self._device, False):
            if self._throw:
                _any_ended(self._group, self._device, True)
                raise RuntimeError(f"Rank {dist.get_rank(self._group)} exhausted all inputs.")
            if (iterations := iterations + 1) == 1000:
                warnings.warn(f"Detected uneven input skew of greater than 1000: rank {dist.get_rank(self._group)} has "
                              "so many fewer inputs than other ranks.", stacklevel=2)
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(iterations == 0)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> int | None:
        """This rank has an input: how many ranks have. None outside of a context, and for all but its first object."""
        config, group, device = joinable._join_config, joinable.join_process_group, joinable.join_device
        if not config.enable or not config.is_first_joinable:
            return None
        count = _count_with_inputs(group, device, True)
        if config.throw_on_early_termination and _any_ended(group, device, False):
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return count


def _count_with_inputs(group, device, has):
    count = mindtorch.tensor([int(has)], device=device)
    dist.all_reduce(count, group=group)
    return int(count)


def _any_ended(group, device, ended):
    flag = mindtorch.tensor([int(ended)], device=device)
    dist.all_reduce(flag, dist.ReduceOp.MAX, group=group)
    return bool(flag)
