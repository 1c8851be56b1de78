"""torch.nn._reduction: the number of a loss's reduction, and what its two deprecated flags say."""
from __future__ import annotations

import warnings

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def is_reduction(reduction: object) -> bool:
    """Whether it is the name of a reduction."""
    return isinstance(reduction, str) and reduction in _REDUCTIONS


def get_enum(reduction: str) -> int:
    """The number by which operators know `reduction`."""
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        reduction = "mean"
    if not is_reduction(reduction):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _REDUCTIONS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that size_average and reduce name; None is True."""
    average, reduced = size_average is None or bool(size_average), reduce is None or bool(reduce)
    chosen = "none" if not reduced else "mean" if average else "sum"
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{chosen}' instead.",
                      stacklevel=4)
    return chosen


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of that reduction."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
