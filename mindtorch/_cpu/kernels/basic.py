"""CPU kernels of operators that are no single NumPy expression.

Arrays come in the compute dtype (float32 for half and bfloat16). NumPy's warnings are silenced by the caller.
"""
import numpy as np


def _is_integral(array) -> bool:
    return array.dtype.kind in "iub"


def divide(a, b, rounding_mode):
    """torch.div with rounding_mode "trunc" or "floor"; integers stay integers."""
    if _is_integral(a) and _is_integral(np.asarray(b)):
        if np.any(np.equal(b, 0)):
            raise RuntimeError("ZeroDivisionError")
        quotient = np.floor_divide(a, b)
        if rounding_mode == "floor":
            return quotient
        # Towards zero: one more where floor went below an inexact quotient.
        return quotient + ((np.remainder(a, b) != 0) & ((a < 0) != (np.asarray(b) < 0)))
    if rounding_mode == "trunc":
        return np.trunc(np.divide(a, b))
    return np.where(np.equal(b, 0), np.divide(a, b), np.floor_divide(a, b))


def remainder(a, b):
    if _is_integral(np.asarray(a)) and np.any(np.equal(b, 0)):
        raise RuntimeError("ZeroDivisionError")
    return np.remainder(a, b)


def power(base, exponent):
    """Integers to negative powers: 1 and -1 have an exact result, everything else is 0, as in torch."""
    base, exponent = np.asarray(base), np.asarray(exponent)
    if base.dtype.kind == "c" or exponent.dtype.kind == "c":
        return _complex_power(base, exponent)
    if not _is_integral(exponent) or base.dtype.kind == "b":
        return np.logical_or(base, np.logical_not(exponent)) if base.dtype.kind == "b" else np.power(base, exponent)
    negative = exponent < 0
    result = np.power(base, np.where(negative, 0, exponent))
    odd = np.where(exponent % 2 == 0, 1, -1)
    inverse = np.where(base == 1, 1, np.where(base == -1, odd, 0))
    return np.where(negative, inverse, result)


def _complex_power(base, exponent):
    """NumPy multiplies and divides for small whole exponents: that overflows though the power is 0."""
    result = np.power(base, exponent)
    lost = np.isnan(result) & (exponent.real < 0)
    return np.where(lost, np.exp(exponent * np.log(base, dtype=result.dtype)), result) if lost.any() else result


_POWERS = {0.5: np.sqrt, -0.5: lambda x: np.divide(1, np.sqrt(x)), -1: lambda x: np.divide(1, x),
           -2: lambda x: np.divide(1, x * x)}


def power_by_number(base, exponent):
    """torch's roots and reciprocals of complex numbers are no powers, and so have other infinities."""
    special = _POWERS.get(complex(exponent)) if base.dtype.kind == "c" else None
    return special(base) if special else power(base, exponent)


def ldexp(x, exponent):
    """x times 2 to that power, which may be beyond the dtype where it is an integer."""
    whole = x.dtype.kind == "f" and (_is_integral(exponent) or exponent.dtype.kind == "b")
    if whole:
        return np.ldexp(x, exponent.astype(np.int64))
    return x * np.exp2(exponent.astype(np.result_type(x, exponent)) if x.dtype.char in "dD" else exponent)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def clamp(x, low, high):
    """Bounds of None are open; NaN in the input or in a bound wins."""
    if low is not None:
        x = np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def mean(x, dim, keepdim):
    count = x.size if dim is None else np.prod([x.shape[d] for d in dim] if x.ndim else [1], dtype=np.int64)
    return np.divide(np.sum(x, axis=dim if x.ndim else None, keepdims=keepdim), x.dtype.type(count))


def index_of(x, dim, keepdim, find):
    """argmax and argmin: the first index of the extremum; NaN is the extremum of all."""
    if x.ndim == 0:
        return 0
    return find(x, axis=None if dim is None else dim[0], keepdims=keepdim)


def extremum(x, dim, keepdim, find):
    """Values and first indices along one dimension."""
    if x.ndim == 0:
        return x, 0
    indices = np.expand_dims(find(x, axis=dim), dim)
    values = np.take_along_axis(x, indices, dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def extrema(x, dim, keepdim):
    """The smallest and the largest elements along one dimension, or of all."""
    return tuple(find(x, axis=dim, keepdims=keepdim) for find in (np.min, np.max))


def addmm(x, a, b, beta, alpha):
    """beta = 0 ignores x, NaN and all."""
    product = np.matmul(a, b) * alpha
    return product if beta == 0 else product + x * beta


def _shifted(x, dim):
    return x - np.max(x, axis=dim, keepdims=True)


def softmax(x, dim):
    if x.ndim == 0:
        return np.ones_like(x)
    exponentials = np.exp(_shifted(x, dim))
    return exponentials / np.sum(exponentials, axis=dim, keepdims=True)


def log_softmax(x, dim):
    if x.ndim == 0:
        return np.zeros_like(x)
    shifted = _shifted(x, dim)
    return shifted - np.log(np.sum(np.exp(shifted), axis=dim, keepdims=True))


def cat(tensors, dim):
    """Empty 1-d tensors are skipped, whatever the rank of the others."""
    kept = [t for t in tensors if t.ndim != 1 or t.size]
    return np.concatenate(kept, axis=dim)


def filled(out, value):
    return np.broadcast_to(np.asarray(value).astype(out.dtype), out.shape)


def arange(start, step, out):
    """start + i * step, computed in float64 for floating results, as torch does."""
    index = np.arange(out.size)
    return start + index * step


def linspace(start, end, out):
    """Counted from the start in the first half, from the end in the second; in the result's precision, as in torch.

    Real numbers are rounded once, after the sum: torch's processors multiply and add in one instruction.
    """
    real = out.dtype if np.can_cast(out.dtype, np.complex128) and out.dtype.kind in "fc" else np.dtype(np.float64)
    start, end = np.asarray([start, end]).astype(real)
    steps = max(out.size - 1, 1)
    index = np.arange(out.size)
    step = (end - start) / real.type(steps)
    wide = {"float32": np.float64, "float64": np.longdouble}.get(real.name, real)
    start, end, step = (number.astype(wide) for number in (start, end, step))
    return np.where(index < out.size // 2 + (out.size == 1), start + step * index.astype(wide),
                    end - step * (steps - index).astype(wide)).astype(real)
