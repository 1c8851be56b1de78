"""CPU kernels of pointwise operators that are no single NumPy expression. Arrays come as in basic.py."""
import ml_dtypes
import numpy as np


def _is_integral(array) -> bool:
    return np.asarray(array).dtype.kind in "iub"


def rounded(x, function):
    """floor, ceil, trunc, rint: integers are what they are."""
    return x if _is_integral(x) else function(x)


def round_decimals(x, decimals):
    """Rounding x * 10 ** decimals, half to even; a negative count of decimals divides and multiplies, as torch does."""
    power = x.dtype.type(10.0 ** abs(decimals))
    return np.rint(x * power) / power if decimals >= 0 else np.rint(x / power) * power


def sinc(x):
    """sin(pi x) / (pi x), and 1 at 0."""
    scaled = x * np.pi
    return np.where(x == 0, 1, np.sin(scaled) / np.where(x == 0, 1, scaled))


def sign(x):
    """-1, 0 or 1; 0 for NaN, as in torch."""
    return x if x.dtype.kind == "b" else (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def sgn(x):
    """sign, and x / |x| of complex numbers."""
    if x.dtype.kind != "c":
        return sign(x)
    size = np.absolute(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size))


def angle(x):
    """The argument of complex numbers; of real ones pi where they are negative, and NaN of NaN."""
    if x.dtype.kind == "c":
        return np.arctan2(x.imag, x.real)
    return np.where(np.isnan(x), x, np.where(x < 0, x.dtype.type(np.pi), x.dtype.type(0)))


def nan_to_num(x, nan, posinf, neginf, out):
    """Infinities become the largest numbers of the dtype of `out` unless told otherwise, NaN becomes 0."""
    if x.dtype.kind == "c":
        parts = [nan_to_num(part, nan, posinf, neginf, out.real) for part in (x.real, x.imag)]
        return complex_of(*parts)
    if _is_integral(x):
        return x
    limits = ml_dtypes.finfo(out.dtype)
    return np.nan_to_num(x, nan=nan or 0.0, posinf=limits.max if posinf is None else posinf,
                         neginf=limits.min if neginf is None else neginf)


def fmod(a, b):
    """The remainder with the sign of the dividend."""
    if _is_integral(a) and _is_integral(b) and np.any(np.equal(b, 0)):
        raise RuntimeError("ZeroDivisionError")
    return np.fmod(a, b)


def logaddexp(a, b):
    """log(exp(a) + exp(b)); NumPy has it for real numbers only."""
    if a.dtype.kind != "c":
        return np.logaddexp(a, b)
    larger = np.where(a.real >= b.real, a, b)
    return larger + np.log1p(np.exp(np.where(a.real >= b.real, b, a) - larger))


def xlogy(x, y):
    """x * log(y), 0 where x is 0 unless y is NaN."""
    return np.where(np.isnan(y), y, np.where(np.equal(x, 0), 0, np.multiply(x, np.log(y))))


def nextafter(a, b, out):
    """The next number of the dtype of `out`, which may be narrower than the one computed in."""
    return np.nextafter(a.astype(out.dtype), b.astype(out.dtype))


def lerp(start, end, weight):
    """From the nearer end, so that both ends are met exactly."""
    step = end - start
    return np.where(np.absolute(weight) < 0.5, start + weight * step, end - step * (1 - weight))


def _shift_count(a, b):
    """Counts that leave nothing of a number, negative ones among them, are clipped to its width less one."""
    width = a.dtype.itemsize * 8
    count = np.asarray(b).astype(np.int64)
    return np.clip(count, 0, width - 1).astype(a.dtype), (count < 0) | (count >= width)


def left_shift(a, b):
    """a * 2 ** b; 0 where nothing is left."""
    count, beyond = _shift_count(a, b)
    return np.where(beyond, 0, np.left_shift(a, count))


def right_shift(a, b):
    """floor(a / 2 ** b); where nothing is left, 0 or -1."""
    count, beyond = _shift_count(a, b)
    return np.where(beyond, np.where(a < 0, -1, 0).astype(a.dtype), np.right_shift(a, count))


def complex_of(real, imag):
    """Not real + 1j * imag, which is NaN beside infinities."""
    real, imag = np.broadcast_arrays(real, imag)
    parts = np.empty(real.shape, dtype=np.result_type(real, np.complex64))
    parts.real, parts.imag = real, imag
    return parts


def isclose(x, y, rtol, atol, equal_nan):
    """|x - y| <= atol + rtol |y|; equal infinities are close, NaNs with `equal_nan`."""
    close = x == y
    if equal_nan:
        close = close | ((x != x) & (y != y))
    if rtol == 0 and atol == 0:
        return close
    if _is_integral(x):
        x, y = x.astype(np.float64), y.astype(np.float64)
    distance = np.absolute(x - y)
    return close | (np.isfinite(distance) & (distance <= np.absolute(y) * rtol + atol))
