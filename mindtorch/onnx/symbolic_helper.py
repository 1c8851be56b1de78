"""torch.onnx.symbolic_helper: how functions for an exporter are marked."""

from __future__ import annotations

from typing import Any

__all__ = ["parse_args"]


def parse_args(*arg_descriptors: Any) -> Any:
    """A decorator: notes the kinds of a function's arguments on it ("v" value, "i" integer, "f" float ...).

    Arguments:
        *arg_descriptors: the kinds of the arguments

    Example:
        >>> @torch.onnx.symbolic_helper.parse_args("v", "i")
        ... def symbolic(g, x, dim):
        ...     return g.op("Concat", x, axis_i=dim)
        >>> symbolic._arg_descriptors
        ('v', 'i')
    """
    def decorator(fn):
        fn._arg_descriptors = arg_descriptors
        return fn
    return decorator
