"""torch._prims_common: facts about dtypes, strides and memory formats, which packages take from there."""
from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import reduce
from typing import Any

import mindtorch
from mindtorch._compat.prims_common import wrappers  # noqa: F401 - an attribute of this module, as in torch
from mindtorch._submodules import module_getattr

__all__ = ["ELEMENTWISE_TYPE_PROMOTION_KIND", "MetadataMismatchError", "check_all_strides",
           "check_significant_strides", "compare_tensor_meta",
           "corresponding_complex_dtype", "corresponding_real_dtype", "dtype_to_type", "elementwise_dtypes",
           "get_computation_dtype", "is_boolean_dtype", "is_complex_dtype", "is_float_dtype", "is_integer_dtype",
           "is_low_precision_dtype", "make_contiguous_strides_for", "suggest_memory_format"]

_COMPLEX = {mindtorch.float32: mindtorch.complex64, mindtorch.float64: mindtorch.complex128}
_REAL = {complex_: real for real, complex_ in _COMPLEX.items()}


def is_boolean_dtype(dtype: mindtorch.dtype) -> bool:
    """Whether it is torch.bool."""
    return dtype is mindtorch.bool


def is_complex_dtype(dtype: mindtorch.dtype) -> bool:
    """Whether it is of complex numbers."""
    return dtype.is_complex


def is_float_dtype(dtype: mindtorch.dtype) -> bool:
    """Whether it is of real floating-point numbers."""
    return dtype.is_floating_point


def is_integer_dtype(dtype: mindtorch.dtype) -> bool:
    """Whether it is of integers, among which torch.bool does not count."""
    return not (dtype.is_complex or dtype.is_floating_point or dtype is mindtorch.bool)


def is_low_precision_dtype(dtype: mindtorch.dtype) -> bool:
    """Whether it is a float of 16 bits."""
    return dtype in (mindtorch.float16, mindtorch.bfloat16)


def dtype_to_type(dtype: mindtorch.dtype) -> type:
    """Python's type of its numbers: bool, int, float or complex."""
    if dtype is mindtorch.bool:
        return bool
    return complex if dtype.is_complex else float if dtype.is_floating_point else int


def corresponding_complex_dtype(dtype: mindtorch.dtype) -> mindtorch.dtype:
    """The complex dtype whose parts have this one."""
    return _COMPLEX[dtype]


def corresponding_real_dtype(dtype: mindtorch.dtype) -> mindtorch.dtype:
    """The dtype of the parts of a complex one."""
    return _REAL[dtype]


def get_computation_dtype(dtype: mindtorch.dtype) -> mindtorch.dtype:
    """The dtype that an operator on elements of `dtype` computes in: float32 for floats of 16 bits."""
    return mindtorch.float32 if is_low_precision_dtype(dtype) else dtype


class ELEMENTWISE_TYPE_PROMOTION_KIND(Enum):
    """How an elementwise operator promotes the dtypes of its arguments: what elementwise_dtypes is asked with."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


def elementwise_dtypes(*args: Any, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND
                       ) -> tuple[mindtorch.dtype, mindtorch.dtype]:
    """(dtype to compute in, dtype of the result) of an elementwise operator on tensors and numbers.

    None does not count. DEFAULT computes floats of 16 bits in float32, NO_OPMATH in themselves. INT_TO_FLOAT makes
    integers floats, ALWAYS_BOOL gives bool, COMPLEX_TO_FLOAT real numbers, BOOL_TO_LONG int64 of bool.
    """
    given = [each for each in args if each is not None]
    for each in given:
        if not isinstance(each, (mindtorch.Tensor, bool, int, float, complex)):
            raise ValueError(f"Unexpected type {type(each)} when computing elementwise type promotion!")
    # Tensors with dimensions come before those without, and these before numbers: a later one counts by its kind.
    given.sort(key=lambda each: each.dim() == 0 if isinstance(each, mindtorch.Tensor) else 2)
    shaped = reduce(lambda first, second: mindtorch.empty(
        (1,) * min(1, getattr(first, "ndim", 0)), dtype=mindtorch.result_type(first, second), device="meta"), given)
    result = shaped.dtype if isinstance(shaped, mindtorch.Tensor) else mindtorch.result_type(shaped, shaped)
    kinds = ELEMENTWISE_TYPE_PROMOTION_KIND
    if type_promotion_kind is kinds.INT_TO_FLOAT and dtype_to_type(result) in (bool, int):
        result = mindtorch.get_default_dtype()
    if type_promotion_kind is kinds.BOOL_TO_LONG and result is mindtorch.bool:
        return mindtorch.int64, mindtorch.int64
    if type_promotion_kind is kinds.NO_OPMATH:
        return result, result
    computed = get_computation_dtype(result)
    if type_promotion_kind is kinds.ALWAYS_BOOL:
        return computed, mindtorch.bool
    if type_promotion_kind is kinds.COMPLEX_TO_FLOAT and result.is_complex:
        return computed, corresponding_real_dtype(result)
    return computed, result


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """The strides of a contiguous tensor of that shape; the last two dimensions change places unless `row_major`."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    strides.reverse()
    if not row_major and len(strides) > 1:
        strides[-2:] = 1, max(shape[-2], 1)
    return tuple(strides)


class MetadataMismatchError(RuntimeError):
    """Two tensors differ in what is not their elements."""


def compare_tensor_meta(a: mindtorch.Tensor, b: mindtorch.Tensor, check_sizes: bool = True,
                        check_strides: bool = False) -> None:
    """MetadataMismatchError where two tensors differ in shape, dtype or device, or where asked in strides.

    Strides of dimensions of size 1, and those of a tensor without elements, do not count.
    """
    for name, each in (("a", a), ("b", b)):
        if not isinstance(each, mindtorch.Tensor):
            raise AssertionError(f"{name} must be TensorLike, got {type(each)}")
    if check_sizes and a.shape != b.shape:
        raise MetadataMismatchError(f"Shapes {a.shape} and {b.shape} are not equal!")
    if a.dtype is not b.dtype:
        raise MetadataMismatchError(f"Dtypes {a.dtype} and {b.dtype} are not equal!")
    if a.device != b.device:
        raise MetadataMismatchError(f"Devices {a.device} and {b.device} are not equal!")
    if check_strides:
        same, place = check_significant_strides(a, b, only_cuda=False)
        if not same:
            raise MetadataMismatchError(f"Stride mismatch! Strides are {a.stride()} and {b.stride()} "
                                        f"(mismatched at {place})!")


def check_significant_strides(a: mindtorch.Tensor, b: mindtorch.Tensor, *, only_cuda: bool = True
                              ) -> tuple[bool, int | None]:
    """(whether strides are equal where the size is not 1, else the first dimension where they are not).

    With `only_cuda` the strides of other devices' tensors count as equal; so do those of tensors without elements.
    """
    return _compare_strides(a, b, only_cuda, significant=True)


def check_all_strides(a: mindtorch.Tensor, b: mindtorch.Tensor, *, only_cuda: bool = True
                      ) -> tuple[bool, int | None]:
    """check_significant_strides for all dimensions."""
    return _compare_strides(a, b, only_cuda, significant=False)


def _compare_strides(a, b, only_cuda, significant):
    if (only_cuda and "cuda" not in (a.device.type, b.device.type)) or a.numel() == 0:
        return True, None
    for place, (size, mine, its) in enumerate(zip(a.shape, a.stride(), b.stride(), strict=True)):
        if mine != its and not (significant and size == 1):
            return False, place
    return True, None


def suggest_memory_format(x: mindtorch.Tensor) -> mindtorch.memory_format:
    """The memory format that the strides of a dense tensor are of; contiguous_format where they are of none."""
    for dims, kind in ((4, mindtorch.channels_last), (5, mindtorch.channels_last_3d)):
        if x.dim() == dims and not x.is_contiguous() and x.is_contiguous(memory_format=kind):
            return kind
    return mindtorch.contiguous_format


__getattr__ = module_getattr("mindtorch._prims_common")
