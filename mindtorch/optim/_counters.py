"""The step counters of a group's parameters: tensors of their own to whoever looks, one tensor to whoever counts.

Each parameter's state has its counter, as torch keeps them. An operator on each would cost more than all the rest of a
step on the host, so the counters of the parameters that step together are the elements of one tensor.
"""
import mindtorch
from mindtorch._core.lists import whole


def scalar_dtype(fused=False):
    """The dtype of counters."""
    double = not fused and mindtorch.get_default_dtype() is mindtorch.float64
    return mindtorch.float64 if double else mindtorch.float32


def scalar_state(value, param, group):
    """A counter: on the host, where launching costs more than counting, unless the step must not wait for it."""
    fused = group.get("fused")
    device = param.device if group.get("capturable") or fused else "cpu"
    return mindtorch.full((), float(value), dtype=scalar_dtype(fused), device=device)


def column(states, name):
    """The states called `name`, one of each parameter."""
    return [state[name] for state in states]


def gather(states):
    """Make the counters of `states` elements of one tensor, and return that; None where they are not alike."""
    steps = column(states, "step")
    if len(steps) == 1 or any(step.dim() for step in steps) or len({(step.device, step.dtype) for step in steps}) > 1:
        return None
    together = mindtorch.stack(steps)
    for state, step in zip(states, together.unbind(), strict=True):
        state["step"] = step
    return together


def count(states):
    """Count a step of the parameters that `states` are of; return their counters, and what has them as its elements."""
    steps = column(states, "step")
    together = whole(steps)
    if together is None:
        together = gather(states)
        steps = column(states, "step")
    if together is None:
        mindtorch._foreach_add_(steps, 1)
    else:
        together.add_(1)
    return steps, together


def values(steps, together, capturable):
    """The values of counters: numbers, or tensors where the step must not wait for the device."""
    if together is None:
        return [step.clone() for step in steps] if capturable else [step.item() for step in steps]
    return list(together.clone().unbind()) if capturable else together.tolist()


def uncount(steps, found_inf):
    """Take a step back where `found_inf` is one and not zero."""
    together = whole(steps)
    if together is None:
        mindtorch._foreach_sub_(steps, [found_inf] * len(steps))
    else:
        together.sub_(found_inf)
