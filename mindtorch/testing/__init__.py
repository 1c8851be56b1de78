"""torch.testing: assert_close, with torch's tolerances and messages, and random tensors for tests."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

import mindtorch
from mindtorch.testing._file_check import FileCheck
from mindtorch.testing._make_tensor import make_tensor

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]

# (rtol, atol) by dtype; all others must be equal.
_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
               "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7)}
_NUMBERS = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


class _Mismatch(Exception):
    """A difference, and the path to it within containers."""

    def __init__(self, message: Any, path: Any = ()) -> None:
        super().__init__(message)
        self.path = path


def _tolerances(*names):
    pairs = [_TOLERANCES.get(name, (0.0, 0.0)) for name in names]
    return max(rtol for rtol, _ in pairs), max(atol for _, atol in pairs)


def _name(tensor):
    return str(tensor.dtype).removeprefix("torch.")


def _allowed(limit):
    return f" (up to {limit} allowed)" if limit else ""


def _difference(actual, expected, rtol, atol):
    equality = rtol == 0 and atol == 0
    distance = abs(actual - expected)
    relative = distance / abs(expected) if expected else float("inf")
    return (f"Scalars are not {'equal' if equality else 'close'}!\n\nExpected {expected} but got {actual}.\n"
            f"Absolute difference: {distance}{_allowed(atol)}\nRelative difference: {relative}{_allowed(rtol)}")


def _unravel_index(flat_index, shape):
    """The position in each dimension of an element that is counted over all."""
    place = []
    for size in reversed(shape):
        place.append(flat_index % size)
        flat_index //= size
    return tuple(reversed(place))


def _statistics(what, actual, expected, close, rtol, atol):
    """How many elements differ, and where they differ most; `what` they are the elements of."""
    if not (actual.is_floating_point() or actual.is_complex()):
        actual, expected = actual.to(mindtorch.int64), expected.to(mindtorch.int64)
    mismatched, total = int((~close).sum().item()), actual.numel()
    distance = (actual - expected).abs().masked_fill(close, 0).reshape(-1)
    relative = (distance / expected.abs().reshape(-1)).masked_fill(close.reshape(-1), 0)
    head = "equal" if rtol == 0 and atol == 0 else "close"
    lines = [f"{what} are not {head}!", "", f"Mismatched elements: {mismatched} / {total} "
             f"({mismatched / total:.1%})"]
    for kind, values, limit in (("absolute", distance, atol), ("relative", relative, rtol)):
        worst = int(values.argmax().item())
        lines.append(f"Greatest {kind} difference: {values.select(0, worst).item()} at index "
                     f"{_unravel_index(worst, tuple(actual.shape))}{_allowed(limit)}")
    return "\n".join(lines)


def _compare_tensors(actual, expected, rtol, atol, equal_nan, checks, what="Tensor-likes"):
    for attribute in ("shape", *checks):
        one, other = getattr(actual, attribute), getattr(expected, attribute)
        if callable(one):
            one, other = one(), other()
        if one != other:
            raise _Mismatch(f"The values for attribute {attribute + '()' if attribute == 'stride' else attribute!r} "
                            f"do not match: {one} != {other}.")
    if rtol is None:
        rtol, atol = _tolerances(_name(actual), _name(expected))
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.dtype is not expected.dtype:
        common = mindtorch.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    if actual.layout is not mindtorch.strided or expected.layout is not mindtorch.strided:
        if actual.layout is expected.layout:
            return _compare_sparse(actual, expected, rtol, atol, equal_nan, checks)
        actual, expected = actual.to_dense(), expected.to_dense()
    close = mindtorch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if bool(close.all().item()):
        return None
    if actual.dim() == 0:
        raise _Mismatch(_difference(actual.item(), expected.item(), rtol, atol))
    raise _Mismatch(_statistics(what, actual, expected, close, rtol, atol))


def _compare_sparse(actual, expected, *arguments):
    """Indices, which must be equal, and values."""
    kind = str(actual.layout).removeprefix("torch.sparse_").upper()
    if actual.is_sparse:
        if actual.sparse_dim() != expected.sparse_dim():
            raise _Mismatch("The number of sparse dimensions in sparse COO tensors does not match: "
                            f"{actual.sparse_dim()} != {expected.sparse_dim()}")
        actual, expected = actual.coalesce(), expected.coalesce()
    if actual._nnz() != expected._nnz():
        raise _Mismatch(f"The number of specified values in sparse {kind} tensors does not match: {actual._nnz()} != "
                        f"{expected._nnz()}")
    names = ["indices"] if actual.is_sparse else ["crow_indices", "col_indices"]
    if actual.layout in (mindtorch.sparse_csc, mindtorch.sparse_bsc):
        names = ["ccol_indices", "row_indices"]
    for name in names:
        _compare_tensors(getattr(actual, name)(), getattr(expected, name)(), 0, 0, *arguments[2:],
                         f"Sparse {kind} {name}")
    _compare_tensors(actual.values(), expected.values(), *arguments, f"Sparse {kind} values")


def _compare_numbers(actual, expected, rtol, atol, equal_nan, checks):
    if "dtype" in checks and type(actual) is not type(expected):
        raise _Mismatch(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    if rtol is None:
        rtol, atol = _tolerances(_NUMBERS[type(actual)], _NUMBERS[type(expected)])
    both_nan = actual != actual and expected != expected
    if actual == expected or (equal_nan and both_nan) or abs(actual - expected) <= atol + rtol * abs(expected):
        return
    raise _Mismatch(_difference(actual, expected, rtol, atol))


def _compare(actual, expected, allow_subclasses, *arguments):
    if isinstance(actual, numpy.ndarray) and isinstance(expected, numpy.ndarray):
        actual, expected = mindtorch.as_tensor(actual), mindtorch.as_tensor(expected)
    if (isinstance(actual, mindtorch.Tensor) and isinstance(expected, mindtorch.Tensor)
            and (allow_subclasses or type(actual) is type(expected))):
        return _compare_tensors(actual, expected, *arguments)
    if type(actual) in _NUMBERS and type(expected) in _NUMBERS:
        return _compare_numbers(actual, expected, *arguments)
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            missing, extra = sorted(set(expected) - set(actual)), sorted(set(actual) - set(expected))
            raise _Mismatch(f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {missing}\n"
                            f"Additional keys in the actual mapping: {extra}")
        return _compare_items(((key, actual[key], expected[key]) for key in actual), (allow_subclasses, *arguments))
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise _Mismatch(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        return _compare_items(((i, *pair) for i, pair in enumerate(zip(actual, expected, strict=True))),
                              (allow_subclasses, *arguments))
    raise TypeError("No comparison pair was able to handle inputs of type "
                    f"{type(actual)} and {type(expected)}.")


def _is_sequence(value):
    return isinstance(value, Sequence) and not isinstance(value, str)


def _compare_items(items, arguments):
    for key, one, other in items:
        try:
            _compare(one, other, *arguments)
        except _Mismatch as mismatch:
            raise _Mismatch(str(mismatch), (key, *mismatch.path)) from None


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
                 check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
                 msg: str | Callable[[str], str] | None = None) -> None:
    """AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere, in nested containers too.

    Without tolerances, those of the dtype hold. Shapes must be equal; so must devices, dtypes, layouts and strides as
    far as the check_* arguments say. `msg` replaces the message, or is a function that is given it.

    Arguments:
        actual: what was found
        expected: what it should be
        allow_subclasses: whether tensors of different classes may be compared
        rtol: the relative tolerance; None means that of the dtype
        atol: the absolute tolerance; None means that of the dtype
        equal_nan: whether two NaN count as equal
        check_device: whether the devices have to be the same
        check_dtype: whether the dtypes have to be the same
        check_layout: whether the layouts have to be the same
        check_stride: whether the strides have to be the same
        msg: the message, or a function of the usual one; None means the usual one

    Example:
        >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
        >>> try:
        ...     torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([2.0]))
        ... except AssertionError as error:
        ...     print(str(error).splitlines()[0])
        Tensor-likes are not close!
    """
    if (rtol is None) != (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                         f"{'rtol' if rtol is None else 'atol'}.")
    checks = [name for name, wanted in (("device", check_device), ("dtype", check_dtype), ("layout", check_layout),
                                        ("stride", check_stride)) if wanted]
    try:
        _compare(actual, expected, allow_subclasses, rtol, atol, equal_nan, checks)
    except _Mismatch as mismatch:
        where = "".join(f"[{key!r}]" for key in mismatch.path)
        text = f"{mismatch}\n\nThe failure occurred for item {where}" if where else str(mismatch)
        raise AssertionError(msg(text) if callable(msg) else msg or text) from None


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """assert_close that compares no dtypes, as older programs call it.

    Arguments:
        actual: what was found
        expected: what it should be
        rtol: the relative tolerance; None means that of the dtype
        atol: the absolute tolerance; None means that of the dtype
        equal_nan: whether two NaN count as equal
        msg: the message, or a function of the usual one; None means the usual one

    Example:
        >>> torch.testing.assert_allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    """
    if not isinstance(actual, mindtorch.Tensor):
        actual = mindtorch.tensor(actual)
    if not isinstance(expected, mindtorch.Tensor):
        expected = mindtorch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = _tolerances(_name(actual), _name(expected))
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, check_stride=False,
                 msg=msg or None)
