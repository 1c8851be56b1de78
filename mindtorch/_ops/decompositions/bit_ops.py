"""Operators on the bits of floating point numbers."""
from math import copysign

from mindtorch._core.dtype import float64, int32, int64
from mindtorch._ops.derivatives import ops


def copysign_by_signbit(self, other):
    """|self| with the sign of `other`, a tensor or a number."""
    size = self.abs()
    if isinstance(other, (int, float)):
        return -size if copysign(1.0, other) < 0 else size
    return ops.where(ops.signbit(other), -size, size)


def frexp_by_bits(self):
    """self = mantissa * 2^exponent, 0.5 <= |mantissa| < 1; 0, infinities and NaN have the exponent 0."""
    integer, digits, bias = (int64, 52, 1022) if self.dtype is float64 else (int32, 23, 126)
    small = self.abs() < 2
    scaled = ops.where(small, self * 2.0 ** 64, self * 2.0 ** -64)          # whose first digit is never 0
    field = (scaled.view(integer) & ((2 * bias + 3) << digits)) >> digits
    mantissa = scaled * ((2 * bias + 1 - field) << digits).view(self.dtype)
    exponent = field - bias - ops.where(small, 64, -64)
    regular = (self != 0) & self.isfinite()
    return ops.where(regular, mantissa, self), ops.where(regular, exponent, 0)
