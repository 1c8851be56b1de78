"""torch.optim.lr_scheduler: schedules of learning rates."""
from __future__ import annotations

import functools
import math
import types
import warnings
import weakref
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from mindtorch._tensor import Tensor
from mindtorch.optim._algorithm import check, to_scalar
from mindtorch.optim.optimizer import Optimizer

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR"]

_HOW_TO = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_OVERRIDDEN = ("Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
               f"Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. {_HOW_TO}")
_TOO_EARLY = ("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
              "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do "
              f"this will result in PyTorch skipping the first value of the learning rate schedule. {_HOW_TO}")
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose.")
_NOT_RESUMABLE = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0.\n"
    "This typically happens when:\n"
    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state\n"
    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)")


def _copy_of(value):
    """A rate that later changes of the group's do not reach."""
    return value.clone() if isinstance(value, Tensor) else value


def _rates(optimizer, key="lr"):
    return [_copy_of(group[key]) for group in optimizer.param_groups]


def _set_rate(group, value):
    """Change a group's rate; a tensor stays the same tensor."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(to_scalar(value))
    else:
        group["lr"] = value


def _check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _per_group(name, optimizer, value):
    """`value` for each group: a list that is given, or one value for all."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [_copy_of(value) for _ in range(groups)]
    check(len(value) == groups, f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
                                f"values, param_groups has {groups}.")
    return list(map(_copy_of, value))


def _note_steps(optimizer):
    """Let the optimizer remember that it has stepped, so that a schedule can warn of the wrong order."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function, alive = optimizer.step.__func__, weakref.ref(optimizer)

    @functools.wraps(function)
    def step(*args, **kwargs):
        itself = alive()
        itself._opt_called = True
        return function(itself, *args, **kwargs)
    step._wrapped_by_lr_sched = True
    optimizer.step = step


class LRScheduler:
    """Base of schedulers, which compute the learning rates of an optimizer's groups in `get_lr`.

    Example:
        >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [rate / 2 ** self.last_epoch for rate in self.base_lrs]
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = Halving(optimizer)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copy_of(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(_NOT_RESUMABLE.format(index))
        self.base_lrs = _rates(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    @contextmanager
    def _marked_(self, name):
        setattr(self, name, True)
        try:
            yield
        finally:
            setattr(self, name, False)

    def _initial_step(self):
        self._step_count = 0
        with self._marked_("_is_initial"):
            self.step()

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` of a like schedule holds."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float | Tensor]:
        """The rates that the last step has set."""
        return self._last_lr

    def get_lr(self) -> list[float | Tensor]:
        """The rates of this epoch, from those of the last one."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(_OVERRIDDEN, UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_TOO_EARLY, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        with self._marked_("_get_lr_called_within_step"):
            rates = (closed or self.get_lr)()
        self._set_rates_(rates)

    def _set_rates_(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            _set_rate(group, rate)
        self._last_lr = _rates(self.optimizer)

    def _warn_outside_of_step_(self):
        if not self._get_lr_called_within_step:
            warnings.warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                          UserWarning, stacklevel=3)

    def _multiplied_(self, factor):
        """The rates of the groups as they are, times `factor`; None leaves them."""
        if factor is None:
            return _rates(self.optimizer)
        return [group["lr"] * factor for group in self.optimizer.param_groups]


_LRScheduler = LRScheduler


class _FactorLR(LRScheduler):
    """A schedule that multiplies each rate by the same `_factor()`, and has a `_closed_factor()` of the first rate."""

    def get_lr(self) -> Any:
        self._warn_outside_of_step_()
        return self._multiplied_(self._factor_())

    def _get_closed_form_lr(self):
        factor = self._closed_factor_()
        return [rate * factor for rate in self.base_lrs]


class _FunctionLR(LRScheduler):
    """A schedule by functions of the epoch, one for each group. Objects among them are saved, functions are not."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: Any = -1) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        several = isinstance(lr_lambda, list | tuple)
        check(not several or len(lr_lambda) == groups, f"Expected {groups} lr_lambdas, but got "
                                                       f"{len(lr_lambda) if several else 1}")
        self.lr_lambdas = list(lr_lambda) if several else [lr_lambda] * groups
        self._check_functions_()
        super().__init__(optimizer, last_epoch)

    def _check_functions_(self):
        pass

    def state_dict(self) -> Any:
        state = super().state_dict()
        state["lr_lambdas"] = [None if isinstance(function, types.FunctionType) else function.__dict__.copy()
                               for function in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: Any) -> None:
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=False):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_FunctionLR):
    """The first rate times a function of the epoch.

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([1.0000, 0.5000, 0.3333, 0.2500])
    """

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_of_step_()
        return [rate * function(self.last_epoch)
                for function, rate in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_FunctionLR):
    """The last rate times a function of the epoch.

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([1.0000, 0.5000, 0.2500, 0.1250])
    """

    def _check_functions_(self):
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_of_step_()
        if self._is_initial:
            return _rates(self.optimizer)
        return [group["lr"] * function(self.last_epoch)
                for function, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)]


class StepLR(_FactorLR):
    """Times gamma every `step_size` epochs.

    Arguments:
        step_size: the epochs from one change to the next

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([1.0000, 1.0000, 0.1000, 0.1000])
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor_(self):
        return None if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma

    def _closed_factor_(self):
        return self.gamma**(self.last_epoch // self.step_size)


class MultiStepLR(_FactorLR):
    """Times gamma at each milestone.

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.1)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([1.0000, 0.1000, 0.1000, 0.0100])
    """

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1,
                 last_epoch: int = -1) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor_(self):
        passed = self.milestones.get(self.last_epoch)
        return None if passed is None else self.gamma**passed

    def _closed_factor_(self):
        return self.gamma**bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ConstantLR(_FactorLR):
    """Times `factor` for the first `total_iters` epochs.

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([0.5000, 0.5000, 1.0000, 1.0000])
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5,
                 last_epoch: int = -1) -> None:
        check(not (factor > 1.0 or factor < 0), "Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor_(self):
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _closed_factor_(self):
        return 1.0 if self.last_epoch >= self.total_iters else self.factor


class LinearLR(_FactorLR):
    """A factor that goes from one number to another in `total_iters` epochs, by equal steps.

    Arguments:
        start_factor: the first factor
        end_factor: the last factor

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([0.5000, 0.7500, 1.0000, 1.0000])
    """

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0,
                 total_iters: int = 5, last_epoch: int = -1) -> None:
        check(not (start_factor > 1.0 or start_factor <= 0),
              "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        check(not (end_factor > 1.0 or end_factor < 0),
              "Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor_(self):
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _closed_factor_(self):
        passed = min(self.total_iters, self.last_epoch) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * passed


class ExponentialLR(_FactorLR):
    """Times gamma in every epoch.

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([1.0000, 0.5000, 0.2500, 0.1250])
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor_(self):
        return None if self._is_initial else self.gamma

    def _closed_factor_(self):
        return self.gamma**self.last_epoch


class PolynomialLR(_FactorLR):
    """Down to zero in `total_iters` epochs, as a power of what is left of them.

    Arguments:
        power: the power

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2.0)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([1.0000, 0.5625, 0.2500, 0.0625])
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor_(self):
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        left, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return (left / before)**self.power

    def _closed_factor_(self):
        return (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters)**self.power


class CosineAnnealingLR(LRScheduler):
    """Between the first rate and `eta_min` along a cosine whose half takes `T_max` epochs.

    Arguments:
        T_max: the epochs from the first rate to `eta_min`

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([1.0000, 0.8536, 0.5000, 0.1464])
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _height_(self, epoch):
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_of_step_()
        if self._is_initial:
            return _rates(self.optimizer)
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        groups, epoch = self.optimizer.param_groups, self.last_epoch
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:       # just past the bottom, where a ratio would be 0 / 0
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [group["lr"] + (rate - self.eta_min) * rise
                    for rate, group in zip(self.base_lrs, groups, strict=True)]
        ratio = self._height_(epoch) / self._height_(epoch - 1)
        return [ratio * (group["lr"] - self.eta_min) + self.eta_min for group in groups]

    def _get_closed_form_lr(self):
        height = self._height_(self.last_epoch)
        return [self.eta_min + (rate - self.eta_min) * height / 2 for rate in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """A falling half of a cosine that starts anew after T_0 epochs, then after T_mult times as many, and so on.

    Arguments:
        T_0: the epochs until the first restart
        T_mult: by what the epochs until the next grow

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([1.0000, 0.5000, 1.0000, 0.5000])
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0,
                 last_epoch: int = -1) -> None:
        check(T_0 > 0 and isinstance(T_0, int), f"Expected positive integer T_0, but got {T_0}")
        check(T_mult >= 1 and isinstance(T_mult, int), f"Expected integer T_mult >= 1, but got {T_mult}")
        check(isinstance(eta_min, float | int),
              f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_of_step_()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (rate - self.eta_min) * height / 2 for rate in self.base_lrs]

    def step(self, epoch: Any = None) -> None:
        """Go on to the next epoch, or to any place, parts of epochs too."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            self._find_(epoch)
        self.last_epoch = math.floor(epoch)
        with self._marked_("_get_lr_called_within_step"):
            rates = self.get_lr()
        self._set_rates_(rates)

    def _find_(self, epoch):
        """Which restart `epoch` falls after, and how long after."""
        check(epoch >= 0, f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**restarts - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**restarts


class _Composed(LRScheduler):
    """A schedule made of others, which belong to the same optimizer."""

    def _check_schedulers_(self, optimizer, schedulers):
        name = type(self).__name__
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {index} should have `optimizer` as its attribute.")
            check(not isinstance(scheduler, ReduceLROnPlateau),
                  f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                  f"specified when calling `step`, but got one at index {index} in the given schedulers sequence.")
            check(optimizer == scheduler.optimizer,
                  f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                  f"{type(scheduler).__name__} at index {index} has {scheduler.optimizer}, which is different from "
                  f"{type(optimizer).__name__}.")

    def state_dict(self) -> Any:
        state = super().state_dict()
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: Any) -> None:
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"], strict=False):
            scheduler.load_state_dict(saved)


class SequentialLR(_Composed):
    """One schedule after the other, each from its milestone on.

    Arguments:
        milestones: the epochs at which the next schedule begins

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> warm = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
        >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, decay], milestones=[2])
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([0.1000, 0.1000, 1.0000, 0.5000])
    """

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int],
                 last_epoch: int = -1) -> None:
        check(len(schedulers) >= 1, f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check_schedulers_(optimizer, schedulers)
        check(len(milestones) == len(schedulers) - 1,
              "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
              f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
              f"{len(milestones)}")
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        # Each schedule has made its first step when it was created; only the one that begins should have.
        for group in optimizer.param_groups:
            _set_rate(group, group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the first step of `sched`, of those in it too."""
        sched = self if sched is None else sched
        members = getattr(sched, "_schedulers", None)
        if members is None:
            sched.last_epoch -= 1
        for member in members or ():
            self.recursive_undo(member)

    def step(self) -> None:
        """Advance to the next epoch, with the schedule for that epoch."""
        self.last_epoch += 1
        now = self._schedulers[bisect_right(self._milestones, self.last_epoch)]
        if self.last_epoch in self._milestones:
            now._update_lr(0)           # its turn has come
        else:
            now.step()
        self._last_lr = now.get_last_lr()


class ChainedScheduler(_Composed):
    """Several schedules at once, each of which changes what the one before has made.

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> warm = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
        >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler([warm, decay])
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([0.1000, 0.0500, 0.2500, 0.1250])
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        check(len(schedulers) >= 1,
              f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = optimizer or schedulers[0].optimizer
        self._check_schedulers_(self.optimizer, schedulers)
        self._schedulers = schedulers
        self._last_lr = _rates(self.optimizer)

    def step(self) -> None:
        """Let each schedule go on to its next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = _rates(self.optimizer)


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` where a metric has not improved for more than `patience` epochs.

    Arguments:
        mode: "min" or "max": what is better
        patience: the epochs without improvement that are allowed
        threshold: what counts as an improvement
        threshold_mode: "rel" or "abs": whether the threshold is a share of the best value
        cooldown: the epochs after a reduction in which none are counted
        min_lr: the least rate, one for all groups or a list
        eps: the least change of a rate that is made

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        >>> for loss in (3.0, 2.0, 2.0, 2.0):
        ...     optimizer.step()
        ...     scheduler.step(loss)
        >>> scheduler.get_last_lr()
        [0.1]
    """

    def __init__(self, optimizer: Optimizer, mode: Literal["min", "max"] = "min", factor: float = 0.1,
                 patience: int = 10, threshold: float = 1e-4, threshold_mode: Literal["rel", "abs"] = "rel",
                 cooldown: int = 0, min_lr: list[float] | float = 0, eps: float = 1e-8) -> None:
        check(not factor >= 1.0, "Factor should be < 1.0.")
        _check_optimizer(optimizer)
        groups, several = len(optimizer.param_groups), isinstance(min_lr, list | tuple)
        check(not several or len(min_lr) == groups,
              f"expected {groups} min_lrs, got {len(min_lr) if several else 1}")
        self.factor, self.optimizer = factor, optimizer
        self.default_min_lr = None if several else min_lr
        self.min_lrs = list(min_lr) if several else [min_lr] * groups
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch, self._last_lr = 0, _rates(optimizer)
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode, threshold, threshold_mode):
        check(mode in ("min", "max"), f"mode {mode} is unknown!")
        check(threshold_mode in ("rel", "abs"), f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode

    def _reset(self):
        """Forget what has been seen."""
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> Any:
        """Whether the last reduction is so recent that bad epochs do not count."""
        return self.cooldown_counter > 0

    def _is_better(self, a, best):
        margin = self.threshold if self.mode == "max" else -self.threshold
        bound = best * (1.0 + margin) if self.threshold_mode == "rel" else best + margin
        return a > bound if self.mode == "max" else a < bound

    def step(self, metrics: Any, epoch: Any = None) -> None:
        """Take in the metric of an epoch."""
        current = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = _rates(self.optimizer)

    def _reduce_lr(self):
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups.")
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, smallest in zip(groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            after = max(before * self.factor, smallest)
            if before - after > self.eps:
                _set_rate(group, after)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)


# Schedules that move the momentum along with the rate.

class _MomentumCycle(LRScheduler):
    """A schedule of rates and momenta; Adam's momentum is its first beta."""

    def _start_momenta_(self, optimizer, base_momentum, max_momentum, last_epoch):
        """Check that there are momenta, and set the first ones; gives those of each group, lowest and highest."""
        check("momentum" in optimizer.defaults or "betas" in optimizer.defaults,
              "optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        lowest = _per_group("base_momentum", optimizer, base_momentum)
        highest = _per_group("max_momentum", optimizer, max_momentum)
        if last_epoch == -1:
            for group, low, high in zip(optimizer.param_groups, lowest, highest, strict=True):
                self._set_momentum_(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return lowest, highest

    def _set_momentum_(self, group, value):
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_MomentumCycle):
    """Up from `base_lr` to `max_lr` and down again, while the momentum goes down and up.

    Arguments:
        base_lr: the least rate, one for all groups or a list
        step_size_up: the steps up
        step_size_down: the steps down; None means as many
        mode: "triangular", "triangular2" (each cycle half as high) or "exp_range" (gamma ** step as high)
        gamma: the base of exp_range
        scale_fn: a function for the height in place of `mode`
        scale_mode: "cycle" or "iterations": what scale_fn is called with

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CyclicLR(
        ...     optimizer, base_lr=0.1, max_lr=1.0, step_size_up=2, cycle_momentum=False)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([0.1000, 0.5500, 1.0000, 0.5500])
    """

    def __init__(self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float],
                 step_size_up: int = 2000, step_size_down: int | None = None,
                 mode: Literal["triangular", "triangular2", "exp_range"] = "triangular", gamma: float = 1.0,
                 scale_fn: Callable[[float], float] | None = None, scale_mode: Literal["cycle", "iterations"] = "cycle",
                 cycle_momentum: bool = True, base_momentum: float = 0.8, max_momentum: float = 0.9,
                 last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = _per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                _set_rate(group, rate)
        self.max_lrs = _per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        check(mode in ("triangular", "triangular2", "exp_range") or scale_fn is not None,
              "mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom, self.scale_mode = mode, gamma, scale_fn, scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._start_momenta_(optimizer, base_momentum, max_momentum,
                                                                           last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: Any) -> float:
        """How high a cycle goes: `x` counts the cycles, or the steps."""
        return (self._scale_fn_ref if self._scale_fn_custom is None else self._scale_fn_custom)(x)

    @property
    def _scale_fn_ref(self):
        """The function of the mode; None where the user gave one."""
        if self._scale_fn_custom is not None:
            return None
        if self.mode == "exp_range":
            return functools.partial(self._exp_range_scale_fn, self.gamma)
        return self._triangular_scale_fn if self.mode == "triangular" else self._triangular2_scale_fn

    @staticmethod
    def _triangular_scale_fn(x):
        return 1.0

    @staticmethod
    def _triangular2_scale_fn(x):
        return 1 / 2.0**(x - 1)

    @staticmethod
    def _exp_range_scale_fn(gamma, x):
        return gamma**x

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_of_step_()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        rising = place <= self.step_ratio
        height = place / self.step_ratio if rising else (place - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums,
                                        strict=True):
                self._set_momentum_(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale
                for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        function = state["_scale_fn_custom"]
        saved = function is not None and not isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = function.__dict__.copy() if saved else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if state_dict["_scale_fn_custom"] is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


def _phases(total, part, three):
    """The phases of one cycle: the step that ends each, and the names of what it goes between."""
    ends = [float(part * total) - 1, float(2 * part * total) - 2, total - 1] if three else [
        float(part * total) - 1, total - 1]
    rates = ["initial_lr", "max_lr", "initial_lr", "min_lr"] if three else ["initial_lr", "max_lr", "min_lr"]
    momenta = ["max_momentum", "base_momentum", "max_momentum", "max_momentum"]
    return [{"end_step": end, "start_lr": rates[i], "end_lr": rates[i + 1], "start_momentum": momenta[i],
             "end_momentum": momenta[i + 1]} for i, end in enumerate(ends)]


class OneCycleLR(_MomentumCycle):
    """Up to `max_lr` once, and down to nearly nothing, while the momentum goes down and up.

    Arguments:
        total_steps: the steps of the cycle; None means epochs * steps_per_epoch
        epochs: the epochs of the cycle
        steps_per_epoch: the steps of an epoch
        pct_start: the share of steps on the way up
        div_factor: max_lr by the first rate
        final_div_factor: the first rate by the last
        three_phase: whether the way down takes as many steps as the way up, and the last phase the rest

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(
        ...     optimizer, max_lr=1.0, total_steps=5, cycle_momentum=False)
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([0.0400, 0.9505, 0.6113, 0.1883])
    """

    def __init__(self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
                 anneal_strategy: Literal["cos", "linear"] = "cos", cycle_momentum: bool = True,
                 base_momentum: float | list[float] = 0.85, max_momentum: float | list[float] = 0.95,
                 div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = self._count_(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        check(0 <= pct_start <= 1 and isinstance(pct_start, float),
              f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        check(anneal_strategy in ("cos", "linear"),
              f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        highest = _per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"], group["max_lr"] = rate / div_factor, rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._start_momenta_(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _count_(total_steps, epochs, steps_per_epoch):
        """The number of steps in the cycle."""
        check(total_steps is not None or (epochs is not None and steps_per_epoch is not None),
              "You must define either total_steps OR (epochs AND steps_per_epoch)")
        if total_steps is not None:
            check(total_steps > 0 and isinstance(total_steps, int),
                  f"Expected positive integer total_steps, but got {total_steps}")
            return total_steps
        for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
            check(isinstance(value, int) and value > 0, f"Expected positive integer {name}, but got {value}")
        return epochs * steps_per_epoch

    def _between_(self, start, end, part):
        kind = getattr(self, "_anneal_func_type", None)
        if kind is None:                # a state_dict of before torch 2.0 has the function
            return self.anneal_func(start, end, part)
        return (self._annealing_linear if kind == "linear" else self._annealing_cos)(start, end, part)

    @staticmethod
    def _annealing_cos(start, end, pct):
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    @staticmethod
    def _annealing_linear(start, end, pct):
        return (end - start) * pct + start

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_of_step_()
        step = self.last_epoch
        check(step <= self.total_steps,
              f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        part = (step - start) / (phase["end_step"] - start)
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                self._set_momentum_(group, self._between_(group[phase["start_momentum"]], group[phase["end_momentum"]],
                                                          part))
        return [self._between_(group[phase["start_lr"]], group[phase["end_lr"]], part)
                for group in self.optimizer.param_groups]
