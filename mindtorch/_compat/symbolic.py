"""torch.SymInt, torch.sym_int and the like. mindtorch traces nothing, so every number is a Python number."""
from __future__ import annotations

import math
from typing import Any

from mindtorch._core.python.torch_function import publish

__all__ = ["SymBool", "SymFloat", "SymInt", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not",
           "sym_sqrt", "sym_sum"]


class SymInt:
    """The type of traced integers. It has no instances.

    Example:
        >>> isinstance(torch.ones(3).shape[0], torch.SymInt)
        False
    """


class SymFloat:
    """The type of traced floats. It has no instances.

    Example:
        >>> isinstance(1.5, torch.SymFloat)
        False
    """


class SymBool:
    """The type of traced truth values. It has no instances.

    Example:
        >>> isinstance(True, torch.SymBool)
        False
    """


for _class in (SymInt, SymFloat, SymBool):
    _class.__module__ = "mindtorch"


def sym_int(a: Any) -> Any:
    """`a` as an int, without its fraction."""
    return math.trunc(a)


def sym_float(a: Any) -> Any:
    """`a` as a float."""
    return float(a)


def sym_not(a: Any) -> Any:
    """The opposite of a truth value."""
    return not a


def _common(a, b, chosen):
    return float(chosen) if isinstance(a, float) or isinstance(b, float) else chosen


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a float where one of them is a float."""
    return _common(a, b, max(a, b))


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float where one of them is a float."""
    return _common(a, b, min(a, b))


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t` where `b` is true, else `f`."""
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_sum(args: Any) -> Any:
    """The sum of numbers."""
    return sum(args)


def sym_sqrt(a: Any) -> Any:
    """The square root, as a float."""
    return math.sqrt(a)


publish(globals(), module="torch", in_python=True)
