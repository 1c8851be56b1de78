"""torch.testing.make_tensor: random tensors for tests."""
from __future__ import annotations

import math
import warnings
from typing import Any

import mindtorch
from mindtorch import Tensor

_LOW, _HIGH = -9, {False: 10, True: 9}      # the bounds that are not given: integers end before 10


def make_tensor(*shape: Any, dtype: mindtorch.dtype, device: Any, low: float | None = None, high: float | None = None,
                requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
                memory_format: mindtorch.memory_format | None = None) -> Tensor:
    """A tensor of random numbers from `low` up to `high`, which is left out; as torch 2.13 draws them.

    ValueError for bounds that are NaN, in the wrong order or outside the dtype, for integers that require a gradient,
    and for `noncontiguous` beside `memory_format`.

    Arguments:
        shape: the sizes, one by one or in a sequence
        dtype: any dtype but the quantized ones
        device: where the tensor is made
        low: the least number; None means -9, and 0 for unsigned integers and bool
        high: no number reaches it; None means 10 for integers, 2 for bool, else 9
        requires_grad: whether autograd records what is done with the tensor
        noncontiguous: whether only every second element in memory is used
        exclude_zero: whether 1, or the smallest normal number of the dtype, stands for each zero
        memory_format: the layout in memory

    Example:
        >>> torch.testing.make_tensor((2, 3), dtype=torch.int64, device="cpu", low=4, high=5)
        tensor([[4, 4, 4],
                [4, 4, 4]])
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
                         f"noncontiguous={noncontiguous} and memory_format={memory_format}")
    inexact = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not inexact:
        raise ValueError("`requires_grad=True` is not supported for boolean and integral dtypes, but got "
                         f"dtype={dtype}")
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    if noncontiguous:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    low, high = _bounds(dtype, inexact, low, high)
    result = _drawn(sizes, dtype, device, inexact, low, high)
    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = mindtorch.finfo(dtype).tiny if inexact else 1
    return result.requires_grad_() if requires_grad and dtype.itemsize > 1 else result      # as torch


def _drawn(sizes, dtype, device, inexact, low, high):
    if not inexact:
        return mindtorch.randint(low, high, sizes, device=device, dtype=dtype)
    if dtype.itemsize == 1:
        return mindtorch.empty(sizes, device=device).uniform_(low, high).to(dtype)
    result = mindtorch.empty(sizes, device=device, dtype=dtype)
    numbers = mindtorch.view_as_real(result) if dtype.is_complex else result
    if high - low >= mindtorch.finfo(dtype).max:         # more than uniform_ can span
        numbers.uniform_(low / 2, high / 2).mul_(2)
    else:
        numbers.uniform_(low, high)
    return result


def _bounds(dtype, inexact, low, high):
    if dtype is mindtorch.bool:
        least, end, defaults = 0, 2, (0, 2)
    elif inexact:
        least, end, defaults = mindtorch.finfo(dtype).min, mindtorch.finfo(dtype).max, (_LOW, _HIGH[True])
    else:
        info = mindtorch.iinfo(dtype)       # randint's own bounds are int64
        least, end, defaults = info.min, info.max + (dtype is not mindtorch.int64), (_LOW, _HIGH[False])
    low, high = defaults[0] if low is None else low, defaults[1] if high is None else high
    if low != low or high != high:              # math.isnan refuses ints that no float holds
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and inexact:
        warnings.warn("Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated "
                      "since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.", FutureWarning,
                      stacklevel=3)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= end:
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only "
                         f"supports [{least}, {end})")
    low, high = min(max(low, least), end), min(max(high, least), end)
    return (low, high) if inexact else (math.ceil(low), math.ceil(high))
