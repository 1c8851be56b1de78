"""An optimizer that works on other parameters and on another state for a while."""
from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.optim.optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]

_NAME = "swap_in_optimizer_params_and_state"


def _check(allowed, message):
    if not allowed:
        raise RuntimeError(message)


def _check_groups(optimizer, state_dict):
    state, groups = state_dict.get("state"), state_dict.get("param_groups")
    _check(isinstance(state, dict), f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed "
                                    f"parameter ids to per-param state dicts, got {type(state).__name__}.")
    _check(isinstance(groups, list), f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of "
                                     f"param-group dicts, got {type(groups).__name__}.")
    _check(len(groups) == len(optimizer.param_groups),
           "swapin_optim_state has a different number of parameter groups than the live optimizer.")
    for index, (group, live) in enumerate(zip(groups, optimizer.param_groups, strict=True)):
        _check(len(group["params"]) == len(live["params"]),
               f"swapin_optim_state param group {index} has a different number of params than the live optimizer "
               "param group.")
    return groups


def _swapped(optimizer, parameters, state_dict):
    """The groups and the state that the given parameters and state dict make up."""
    groups = _check_groups(optimizer, state_dict)
    ids = [number for group in groups for number in group["params"]]
    extra = [number for number in state_dict["state"] if number not in ids]
    _check(not extra, f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids from "
                      f"param_groups[*]['params']; got extra keys {extra}.")
    _check(len(parameters) >= len(ids),
           f"{_NAME} requires the explicit parameter state to match optimizer.param_groups ordering.")
    places = dict(zip(ids, parameters, strict=False))
    state = defaultdict(dict)
    for number, param in places.items():
        state[param] = dict(state_dict["state"].get(number, {}))
    return [{**group, "params": [places[number] for number in group["params"]]} for group in groups], state


@contextmanager
def swap_in_optimizer_params_and_state(optimizer: Optimizer, swapin_parameters: dict[str, Tensor],
                                       swapin_optim_state: dict[str, Any]) -> Any:
    """Within it, the optimizer has the tensors of the first dict, in its groups' order, as parameters, and the state
    and options of a state dict. What is written to those tensors stays; the optimizer is afterwards as it was before.

    Arguments:
        swapin_parameters: the parameters that take the place of its own
        swapin_optim_state: the state that takes the place of its own

    Example:
        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = torch.optim.Adam([w], lr=0.1)
        >>> other = torch.tensor([5.0], requires_grad=True)
        >>> w.grad = other.grad = torch.ones(1)
        >>> optimizer.step()
        >>> with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"w": other}, optimizer.state_dict()):
        ...     optimizer.step()
        >>> w.detach(), other.detach()
        (tensor([0.9000]), tensor([4.9000]))
    """
    _check(bool(optimizer.state), f"{_NAME} requires initialized optimizer state.")
    groups, state = _swapped(optimizer, list(swapin_parameters.values()), swapin_optim_state)
    live, live_state, live_groups = optimizer.param_groups, optimizer.state, list(optimizer.param_groups)
    options = [dict(group) for group in live]
    try:
        for group, swapped in zip(live, groups, strict=True):
            group.clear()
            group.update(swapped)
        optimizer.state, optimizer._gathers_ = state, False      # its counters are to be those given
        yield
    finally:
        for group, before in zip(live_groups, options, strict=True):
            group.clear()
            group.update(before)
        live[:] = live_groups
        optimizer.param_groups, optimizer.state = live, live_state
        del optimizer._gathers_
