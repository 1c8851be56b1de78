"""torch.optim.swa_utils: averages of a model's parameters over training, and the rates that go with them."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal

import mindtorch
from mindtorch.autograd.grad_mode import no_grad
from mindtorch.nn import Module
from mindtorch.nn.modules.batchnorm import _BatchNorm
from mindtorch.optim._algorithm import check
from mindtorch.optim._foreach import FOREACH, average_
from mindtorch.optim.lr_scheduler import LRScheduler, _per_group, _rates

if TYPE_CHECKING:
    from mindtorch import Tensor, device
    from mindtorch.optim.optimizer import Optimizer

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn",
           "get_swa_multi_avg_fn", "update_bn"]


def _check_decay(decay):
    check(0.0 <= decay <= 1.0, f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _is_smooth(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def get_ema_avg_fn(decay: float = 0.999) -> Any:
    """A function of (average, value, count): the average moved towards the value by 1 - `decay`.

    Arguments:
        decay: the share of the old average

    Example:
        >>> average = torch.optim.swa_utils.get_ema_avg_fn(decay=0.9)
        >>> average(torch.tensor(1.0), torch.tensor(2.0), 5)
        tensor(1.1000)
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param
    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Any:
    """The same on lists of one dtype, in place.

    Arguments:
        decay: the share of the old average

    Example:
        >>> average = torch.optim.swa_utils.get_ema_multi_avg_fn(decay=0.9)
        >>> averages = [torch.tensor(1.0)]
        >>> average(averages, [torch.tensor(2.0)], 5)
        >>> averages
        [tensor(1.1000)]
    """
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list, current_param_list, _):
        if _is_smooth(ema_param_list[0]):
            average_(FOREACH, ema_param_list, current_param_list, decay)
        else:
            for average, value in zip(ema_param_list, current_param_list, strict=True):
                average.copy_(average * decay + value * (1 - decay))
    return ema_update


def get_swa_avg_fn() -> Any:
    """A function of (average of `count` values, another one, count): the average of all of them.

    Example:
        >>> average = torch.optim.swa_utils.get_swa_avg_fn()
        >>> average(torch.tensor(1.0), torch.tensor(4.0), 2)
        tensor(2.)
    """
    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)
    return swa_update


def get_swa_multi_avg_fn() -> Any:
    """The same on lists of one dtype, in place; the dtype is not one of whole numbers.

    Example:
        >>> average = torch.optim.swa_utils.get_swa_multi_avg_fn()
        >>> averages = [torch.tensor(1.0)]
        >>> average(averages, [torch.tensor(4.0)], 2)
        >>> averages
        [tensor(2.)]
    """
    @no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        count = float(num_averaged)
        if _is_smooth(averaged_param_list[0]):
            average_(FOREACH, averaged_param_list, current_param_list, count / (count + 1))
        else:
            distances = mindtorch._foreach_sub(current_param_list, averaged_param_list)
            ones = [mindtorch.full_like(average, count + 1) for average in averaged_param_list]
            mindtorch._foreach_addcdiv_(averaged_param_list, distances, ones)
    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages, equal ones or those of a function, of the ones it is shown.

    Buffers are averaged with `use_buffers`, else they are the last model's.

    Arguments:
        model: the model, a Module
        device: where the averages are; None means where the model is
        avg_fn: a function of average, value and count; None means equal averages
        multi_avg_fn: the same on lists, in place
        use_buffers: whether buffers are averaged, too

    Example:
        >>> net = nn.Linear(1, 1, bias=False)
        >>> averaged = torch.optim.swa_utils.AveragedModel(net)
        >>> for value in (1.0, 2.0):
        ...     _ = nn.init.constant_(net.weight, value)
        ...     averaged.update_parameters(net)
        >>> averaged.module.weight.item()
        1.5
    """

    n_averaged: Tensor

    def __init__(self, model: Module, device: int | device | None = None,
                 avg_fn: Callable[[Tensor, Tensor, Tensor | int], Tensor] | None = None, multi_avg_fn: Any = None,
                 use_buffers: bool = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", mindtorch.tensor(0, dtype=mindtorch.long, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take what `model` has now into the averages; the first time they become equal to it."""
        averages, values = list(self.module.parameters()), list(model.parameters())
        buffers, theirs = list(self.module.buffers()), list(model.buffers())
        if self.use_buffers:
            averages, values = averages + buffers, values + theirs
        averages = [average.detach() for average in averages]
        values = [value.detach().to(average.device) for value, average in zip(values, averages, strict=True)]
        if self.n_averaged == 0:
            for average, value in zip(averages, values, strict=True):
                average.copy_(value)
        elif averages:
            self._average_(averages, values)
        if not self.use_buffers:
            for buffer, value in zip(buffers, theirs, strict=True):
                buffer.copy_(value.detach().to(buffer.device))
        self.n_averaged += 1

    def _average_(self, averages, values):
        if self.avg_fn is not None:
            self._average_each_(self.avg_fn, averages, values)
            return
        kinds = {}
        for average, value in zip(averages, values, strict=True):
            kinds.setdefault((average.device, average.dtype), []).append((average, value))
        # Whole numbers first: a function may refuse them, and then nothing has changed.
        for rows in sorted(kinds.values(), key=lambda rows: _is_smooth(rows[0][0])):
            averages, values = map(list, zip(*rows, strict=True))
            if self.multi_avg_fn is not None:
                self.multi_avg_fn(averages, values, self.n_averaged.to(averages[0].device))
            elif _is_smooth(averages[0]):
                get_swa_multi_avg_fn()(averages, values, self.n_averaged)
            else:
                self._average_each_(get_swa_avg_fn(), averages, values)

    def _average_each_(self, function, averages, values):
        for average, value in zip(averages, values, strict=True):
            average.copy_(function(average, value, self.n_averaged.to(average.device)))


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: int | device | None = None) -> None:
    """Compute the running statistics of a model's batch norms anew, from one pass over the batches of `loader`.

    Of a batch that is a list or a tuple, the first item is the input.

    Arguments:
        loader: what gives the batches
        model: the model
        device: where batches are moved to; None leaves them

    Example:
        >>> net = nn.BatchNorm1d(1)
        >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], net)
        >>> net.running_mean
        tensor([2.])
    """
    norms = {module: module.momentum for module in model.modules() if isinstance(module, _BatchNorm)}
    if not norms:
        return
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None        # equal weights
    for batch in loader:
        inputs = batch[0] if isinstance(batch, list | tuple) else batch
        model(inputs if device is None else inputs.to(device))
    for norm, momentum in norms.items():
        norm.momentum = momentum
    model.train(was_training)


_ANNEALING = {"cos": lambda t: (1 - math.cos(math.pi * t)) / 2, "linear": lambda t: t}


class SWALR(LRScheduler):
    """Anneals each rate to `swa_lr` in `anneal_epochs`, along a line or a cosine, and leaves it there.

    Arguments:
        swa_lr: the rate at the end, one for all groups or a list
        anneal_epochs: the epochs until then

    Example:
        >>> optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        >>> scheduler = torch.optim.swa_utils.SWALR(
        ...     optimizer, swa_lr=0.2, anneal_epochs=2, anneal_strategy="linear")
        >>> rates = []
        >>> for epoch in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     optimizer.step()
        ...     scheduler.step()
        >>> torch.tensor(rates)
        tensor([1.0000, 0.6000, 0.2000, 0.2000])
    """

    def __init__(self, optimizer: Optimizer, swa_lr: float, anneal_epochs: float = 10,
                 anneal_strategy: Literal["cos", "linear"] = "cos", last_epoch: Any = -1) -> None:
        for rate, group in zip(_per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        check(anneal_strategy in _ANNEALING,
              f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        check(isinstance(anneal_epochs, int) and anneal_epochs >= 0,
              f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share_(self, step):
        """How much of the way is done after a number of steps."""
        return _ANNEALING[self._anneal_strategy](max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> Any:
        self._warn_outside_of_step_()
        step = max(self._step_count - 1, 0 if self.anneal_epochs else 1)
        before, now = self._share_(step - 1), self._share_(step)
        if before == 1:
            return _rates(self.optimizer, "swa_lr")
        # Where the way began is told by the rate as it is, which another schedule may have set.
        return [group["swa_lr"] * now + (group["lr"] - group["swa_lr"] * before) / (1 - before) * (1 - now)
                for group in self.optimizer.param_groups]
