"""Operators on lists of tensors, in three forms that an algorithm can be run with.

FOREACH is one operator call for a list. PLAIN calls the operator of each tensor. DIFFERENTIABLE does so for steps that
are recorded: what an operator saves is a copy, since the next step writes to the states again.
"""
from __future__ import annotations

from itertools import repeat
from types import SimpleNamespace
from typing import Any

import mindtorch
from mindtorch._tensor import Tensor

_NAMES = ("abs", "add", "add_", "copy_", "div", "div_", "lerp", "lerp_", "maximum_", "mul", "mul_", "neg", "sign",
          "sqrt", "sqrt_", "sub", "addcdiv_", "addcmul", "addcmul_")
_VALUED = ("addcdiv_", "addcmul", "addcmul_")       # torch takes their last operand by its name only


def _copy(operand):
    return operand.clone() if isinstance(operand, Tensor) else operand


def _maximum_(tensor, other):
    return mindtorch.maximum(tensor, other, out=tensor)


def _recorded_maximum_(tensor, other):
    return tensor.copy_(mindtorch.maximum(tensor.clone(), other))


def _method(name, recorded):
    if name == "maximum_":
        return _recorded_maximum_ if recorded else _maximum_
    method = getattr(Tensor, name)
    if name not in _VALUED:
        return method
    return lambda tensor, first, second, value=1: method(tensor, first, second, value=value)


def _each(name, recorded):
    """The operator on one tensor after the other; an operand is a list, or one for all."""
    method, written = _method(name, recorded), name.endswith("_")

    def run(tensors, *operands, **options):
        rows = zip(tensors, *[operand if isinstance(operand, list | tuple) else repeat(operand)
                              for operand in operands], strict=False)
        if not recorded:
            return [method(*row, **options) for row in rows]
        if written:
            return [method(row[0], *map(_copy, row[1:]), **options) for row in rows]
        return [method(*map(_copy, row), **options).clone() for row in rows]
    return run


def _form(recorded):
    return SimpleNamespace(**{name: _each(name, recorded) for name in _NAMES})


PLAIN = _form(recorded=False)
DIFFERENTIABLE = _form(recorded=True)
FOREACH = SimpleNamespace(**{name: getattr(mindtorch, f"_foreach_{name}") for name in _NAMES})


def average_(ops: Any, averages: Any, values: Any, beta: Any) -> None:
    """averages = beta * averages + (1 - beta) * values."""
    if isinstance(beta, Tensor):
        ops.mul_(averages, beta)
        ops.add_(averages, ops.mul(values, 1 - beta))
    elif averages[0].dtype is mindtorch.float64 and averages[0].device.type == "npu":
        # CANN's lerp stops at float32.
        ops.mul_(averages, beta)
        ops.add_(averages, values, alpha=1 - beta)
    else:
        ops.lerp_(averages, values, 1 - beta)


def average_squares_(ops: Any, averages: Any, values: Any, beta: Any) -> None:
    """averages = beta * averages + (1 - beta) * values * values."""
    ops.mul_(averages, beta)
    if isinstance(beta, Tensor):
        ops.addcmul_(averages, ops.mul(values, 1 - beta), values)
    else:
        ops.addcmul_(averages, values, values, 1 - beta)


def scaled_add_(ops: Any, tensors: Any, others: Any, alpha: Any) -> None:
    """tensors += alpha * others, where `alpha` may be a number, or a tensor that must not be read on the host."""
    if isinstance(alpha, Tensor):
        ops.add_(tensors, ops.mul(others, alpha))
    else:
        ops.add_(tensors, others, alpha=alpha)


def scaled_addcdiv_(ops: Any, tensors: Any, numerators: Any, denominators: Any, values: Any) -> None:
    """tensors += values * numerators / denominators; `values` are numbers, or tensors as above, one each."""
    if isinstance(values[0], Tensor):
        ops.addcdiv_(tensors, ops.mul(numerators, values), denominators)
    else:
        ops.addcdiv_(tensors, numerators, denominators, values)
