"""torch._VF and torch._C._VariableFunctions: the operators of the torch namespace, and those of Python as functions."""
from __future__ import annotations

import operator
from typing import Any

import mindtorch


def _of_python(name):
    """torch.__and__ and the like, which Python's operators are."""
    def function(input, other):
        return getattr(operator, name)(input, other)
    function.__name__ = name
    return function


FUNCTIONS = {name: _of_python(name) for name in ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__")}
globals().update(FUNCTIONS)


def __getattr__(name: str) -> Any:
    if not name.startswith("__") and callable(found := getattr(mindtorch, name)):
        return found
    raise AttributeError(f"module 'torch._VF' has no attribute '{name}'")
