"""torch.finfo and torch.iinfo, the limits of the dtypes; torch.typename."""
from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy

from mindtorch._core.tensor.dtype import bool as bool_
from mindtorch._core.tensor.dtype import complex128, float64, get_default_dtype, int64
from mindtorch._core.tensor.dtype import dtype as dtype_
from mindtorch._core.tensor.tensor import TensorBase

_PYTHON = {float: float64, int: int64, bool: bool_, complex: complex128}


def _checked_dtype(function, value):
    """The dtype itself, or that of float, int, bool or complex."""
    value = _PYTHON.get(value, value) if isinstance(value, type) else value
    if not isinstance(value, dtype_):
        raise TypeError(f"{function}(): argument 'type' (position 1) must be torch.dtype, not {type(value).__name__}")
    return value


class _Info:
    """Two are equal that describe the same dtype."""

    def __eq__(self, other: Any) -> bool:
        return self.dtype == other.dtype if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.dtype)


# Where torch says another than the distance from 1 to the next number.
_EPS = {"float8_e5m2fnuz": 0.125}


class finfo(_Info):
    """Limits of a floating point dtype: eps, max, min, tiny, smallest_normal, resolution, bits.

    Arguments:
        type: a dtype of floating point or complex numbers; None means the default dtype

    Example:
        >>> torch.finfo(torch.float16).max
        65504.0
    """

    def __init__(self, type: Any = None) -> None:
        type = _checked_dtype("finfo", get_default_dtype() if type is None else type).to_real()
        if not type.is_floating_point:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                            "'torch.finfo'")
        limits = ml_dtypes.finfo(type.numpy_dtype)
        self.dtype, self.bits = str(type).removeprefix("torch."), limits.bits
        self.eps, self.max, self.min = float(limits.eps), float(limits.max), float(limits.min)
        self.eps = _EPS.get(self.dtype, self.eps)
        self.tiny = self.smallest_normal = float(limits.smallest_normal)
        self.resolution = 10.0 ** -int(limits.nmant * math.log10(2))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name):g}" for name in ("resolution", "min", "max", "eps",
                                                                         "smallest_normal", "tiny"))
        return f"finfo({values}, dtype={self.dtype})"


class iinfo(_Info):
    """Limits of an integer dtype: max, min, bits.

    Arguments:
        type: a dtype of integers

    Example:
        >>> torch.iinfo(torch.int8).min, torch.iinfo(torch.int8).max
        (-128, 127)
    """

    def __init__(self, type: Any) -> None:
        type = _checked_dtype("iinfo", type)
        if type.is_floating_point or type.is_complex:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        limits = numpy.iinfo(type.numpy_dtype)
        self.dtype, self.bits = str(type).removeprefix("torch."), limits.bits
        self.min, self.max = int(limits.min), int(limits.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def typename(obj: Any) -> Any:
    """The name of an object's type as messages have it; for a tensor, the legacy type string.

    Arguments:
        obj: any object

    Example:
        >>> torch.typename(torch.ones(1)), torch.typename(nn.Linear(1, 1))
        ('torch.FloatTensor', 'mindtorch.nn.modules.linear.Linear')
    """
    if isinstance(obj, TensorBase):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)
    return named.__qualname__ if module in (None, "builtins") else f"{module}.{named.__qualname__}"
