"""torch.fx.experimental.symbolic_shapes: questions about sizes. Sizes are numbers here, so each has its answer at once.

What stands for sizes that are symbols, which torch's compiler reasons with, is refused when it is used.
"""
from __future__ import annotations

from typing import Any

from mindtorch._submodules import module_getattr

__all__ = ["ShapeEnv", "free_symbols", "free_unbacked_symbols", "guard_or_false", "guard_or_true",
           "guard_size_oblivious", "has_free_symbols", "is_concrete_bool", "is_concrete_int",
           "is_symbolic", "statically_known_true"]


class ShapeEnv:
    """Settings of a FakeTensorMode about sizes that elements decide.

    The mode makes fake tensors with `static_shapes=True` alone, as there are no sizes that are symbols.

    Arguments:
        should_record_events: not read
        tracked_fakes: not read
        **settings: attributes of the environment, as allow_dynamic_output_shape_ops

    Example:
        >>> from mindtorch.fx.experimental.symbolic_shapes import ShapeEnv
        >>> ShapeEnv(allow_dynamic_output_shape_ops=False).allow_dynamic_output_shape_ops
        False
    """

    def __init__(self, *, should_record_events: bool | None = None, tracked_fakes: Any = None,
                 **settings: Any) -> None:
        self.allow_scalar_outputs = self.allow_dynamic_output_shape_ops = True
        self.__dict__.update(settings)


def statically_known_true(x: Any) -> bool:
    """Whether a condition on sizes holds.

    Arguments:
        x: the condition

    Example:
        >>> from mindtorch.fx.experimental.symbolic_shapes import statically_known_true
        >>> statically_known_true(torch.ones(2, 3).shape[0] == 2)
        True
    """
    return bool(x)


def guard_or_true(a: Any) -> bool:
    """Whether a condition on sizes holds.

    Arguments:
        a: the condition

    Example:
        >>> from mindtorch.fx.experimental.symbolic_shapes import guard_or_true
        >>> guard_or_true(torch.ones(2, 3).shape[0] == 2)
        True
    """
    return bool(a)


def guard_or_false(a: Any) -> bool:
    """Whether a condition on sizes holds.

    Arguments:
        a: the condition

    Example:
        >>> from mindtorch.fx.experimental.symbolic_shapes import guard_or_false
        >>> guard_or_false(torch.ones(2, 3).shape[0] == 3)
        False
    """
    return bool(a)


def guard_size_oblivious(expr: Any) -> bool:
    """Whether a condition on sizes holds.

    Arguments:
        expr: the condition

    Example:
        >>> from mindtorch.fx.experimental.symbolic_shapes import guard_size_oblivious
        >>> guard_size_oblivious(torch.ones(2, 3).shape[0] != 0)
        True
    """
    return bool(expr)


def is_symbolic(val: Any) -> bool:
    """Whether a size is a symbol: False of any number.

    Arguments:
        val: the size

    Example:
        >>> from mindtorch.fx.experimental.symbolic_shapes import is_symbolic
        >>> is_symbolic(torch.ones(2, 3).shape[0])
        False
    """
    return False


def is_concrete_int(a: int) -> bool:
    """Whether a size is a number: True.

    Arguments:
        a: the size

    Example:
        >>> from mindtorch.fx.experimental.symbolic_shapes import is_concrete_int
        >>> is_concrete_int(torch.ones(2, 3).shape[0])
        True
    """
    return True


def is_concrete_bool(a: bool) -> bool:
    """Whether a condition is a bool: True.

    Arguments:
        a: the condition

    Example:
        >>> from mindtorch.fx.experimental.symbolic_shapes import is_concrete_bool
        >>> is_concrete_bool(torch.ones(2, 3).shape[0] == 2)
        True
    """
    return True


def free_symbols(val: Any) -> set[Any]:
    """The symbols in sizes: none.

    Arguments:
        val: a size, a tensor, or a list of these

    Example:
        >>> from mindtorch.fx.experimental.symbolic_shapes import free_symbols
        >>> free_symbols(torch.ones(2, 3))
        set()
    """
    return set()


def free_unbacked_symbols(x: Any) -> set[Any]:
    """The symbols in sizes that elements decide: none.

    Arguments:
        x: a size, a tensor, or a list of these

    Example:
        >>> from mindtorch.fx.experimental.symbolic_shapes import free_unbacked_symbols
        >>> free_unbacked_symbols(torch.ones(2, 3))
        set()
    """
    return set()


def has_free_symbols(val: Any) -> bool:
    """Whether there are symbols in sizes: False.

    Arguments:
        val: a size, a tensor, or a list of these

    Example:
        >>> from mindtorch.fx.experimental.symbolic_shapes import has_free_symbols
        >>> has_free_symbols(torch.ones(2, 3))
        False
    """
    return False


__getattr__ = module_getattr(__name__)
