"""The step counters of a group's parameters, which are elements of one tensor.

Each parameter's state has its counter, as torch keeps them. An operator on each would cost more than all the rest of a
step on the host, so the counters of the parameters that step together are the elements of one tensor.
"""
from __future__ import annotations

from typing import Any

import mindtorch
from mindtorch._core.operators.operator import common_base
from mindtorch._core.tensor.torch_dispatch import is_dispatched
from mindtorch._tensor import Tensor


def scalar_dtype(fused: bool = False) -> Any:
    """The dtype of counters."""
    double = not fused and mindtorch.get_default_dtype() is mindtorch.float64
    return mindtorch.float64 if double else mindtorch.float32


def scalar_state(value: Any, param: Any, group: Any) -> Any:
    """A counter: on the host, where launching costs more than counting, unless the step must not wait for it."""
    fused = group.get("fused")
    device = param.device if group.get("capturable") or fused else "cpu"
    return mindtorch.tensor(float(value), dtype=scalar_dtype(fused), device=device)


def column(states: Any, name: str) -> Any:
    """The states called `name`, one of each parameter."""
    return [state[name] for state in states]


def gather(states: Any, name: str) -> Any:
    """The counters called `name` and the tensor whose elements they are, made here where there was none.

    None in its place where they are not alike, or are one.
    """
    counters = column(states, name)
    base = common_base(counters)
    if base is not None or len(counters) == 1:
        return counters, base
    if is_dispatched(counters[0]):              # a FakeTensorMode knows the value of a number, but not of a list
        return counters, None
    if len({(counter.device, counter.dtype, counter.shape) for counter in counters}) > 1 or counters[0].dim():
        return counters, None
    base = mindtorch.stack(counters)
    counters = list(base.unbind())
    for state, counter in zip(states, counters, strict=True):
        state[name] = counter
    return counters, base


def increment(states: Any, gathers: Any) -> Any:
    """Count a step of the parameters that `states` are of; return their counters, and what has them as its elements.

    Separate counters are gathered into one tensor if `gathers`.
    """
    steps = column(states, "step")
    base = common_base(steps)
    if base is None and gathers:
        steps, base = gather(states, "step")
    if base is None:
        mindtorch._foreach_add_(steps, 1)
    else:
        base.add_(1)
    return steps, base


def multiply_(counters: Any, factors: Any) -> None:
    """Multiply each counter by its factor, a number or a tensor."""
    base = common_base(counters)
    if base is None:
        for counter, factor in zip(counters, factors, strict=True):
            counter.mul_(factor)
    elif isinstance(factors[0], Tensor):
        base.mul_(mindtorch.stack(factors))
    else:
        base.mul_(mindtorch.tensor(factors, dtype=base.dtype, device=base.device))


def counter_values(counters: Any, base: Any, capturable: Any) -> Any:
    """The values of counters: numbers, or tensors where the step must not wait for the device."""
    if base is None:
        return [counter.clone() if capturable else counter.item() for counter in counters]
    return list(base.clone().unbind()) if capturable else base.tolist()


def of_each(function: Any, counts: Any) -> Any:
    """`function` of each count; called once, with the tensor of all, where they are the elements of one tensor."""
    base = common_base(counts) if isinstance(counts[0], Tensor) and len(counts) > 1 else None
    return [function(count) for count in counts] if base is None else list(function(base).unbind())


def decrement(steps: Any, found_inf: Any) -> None:
    """Take back a step that the optimizer has left out: `found_inf` is 1 then, else 0."""
    base = common_base(steps)
    if base is None:
        mindtorch._foreach_sub_(steps, [found_inf] * len(steps))
    else:
        base.sub_(found_inf)
