"""Operators on each element, or on two."""
from math import copysign, inf

from mindtorch._core.tensor.dtype import float64, int32, int64
from mindtorch._ops.operators import ops


def conj_by_parts(self):
    return ops.complex(ops.real(self), -ops.imag(self)) if self.is_complex() else self


def abs_by_parts(self):
    return hypot_by_abs(ops.real(self), ops.imag(self))


def isfinite_by_parts(self):
    return ops.isfinite(ops.real(self)) & ops.isfinite(ops.imag(self))


def isinf_by_parts(self):
    return ops.isinf(ops.real(self)) | ops.isinf(ops.imag(self))


def amp_unscale(self, found_inf, inv_scale):
    """The gradient times inv_scale; found_inf becomes 1 where something in it is no finite number."""
    if self.dtype is float64:       # which the operator on lists does not take
        found_inf.copy_(ops.where(ops.isfinite(self).all(), found_inf, ops.ones_like(found_inf)))
        return self.mul_(inv_scale)
    gradient = self.contiguous()
    ops._amp_foreach_non_finite_check_and_unscale_([gradient], found_inf, inv_scale)
    return gradient


def expm1_by_exp(self):
    """exp(x) - 1; the quotient by log(exp(x)) takes the rounding of exp(x) back, as Kahan found."""
    if self.is_complex():
        real, imag = ops.real(self), ops.imag(self)
        half = ops.sin(imag / 2)
        return ops.complex(ops.expm1(real) * ops.cos(imag) - half * half * 2, ops.exp(real) * ops.sin(imag))
    power = ops.exp(self)
    part = power - 1
    exact = ops.where(power == 1, self, part * self / ops.log(power))
    return ops.where((part == -1) | power.isinf(), part, exact)


def tanh_by_expm1(self):
    """Of a complex number, from the tanh of the real and the tan of the imaginary part."""
    if self.is_complex():
        real, imag = ops.tanh(ops.real(self)), ops.tan(ops.imag(self))
        return ops.complex(real, imag) / ops.complex(ops.ones_like(real), real * imag)
    part = (self.abs() * -2).expm1()
    return ops.sign(self) * (-part / (part + 2))


def elu_by_expm1(self, alpha, scale, input_scale):
    return ops.where(self > 0, self * scale, (self * input_scale).expm1() * (alpha * scale))


def lcm_by_gcd(self, other):
    """|a| / gcd(a, b) |b|; 0 where either is."""
    divisor = ops.gcd(self, other).clamp(min=1)
    return (ops.div(self, divisor, rounding_mode="trunc") * other).abs()


def hypot_by_abs(self, other):
    """The modulus of a complex number. For float64, which has none, scaled by the larger, whose square may overflow."""
    if self.dtype is not float64:
        return ops.complex(self, other).abs()
    a, b = self.abs(), other.abs()
    high = ops.maximum(a, b)
    ratio = ops.minimum(a, b) / ops.where(high == 0, 1.0, high)
    return ops.where((a == inf) | (b == inf), inf, (ratio * ratio + 1).sqrt() * high)


def round_by_floor(self, name):
    """ceil and trunc of float64, floor of 16 bits; integers are rounded already."""
    if not self.is_floating_point():
        return self
    if name == "floor":
        return self.float().floor().to(self.dtype)
    up = -(-self).floor()
    return up if name == "ceil" else ops.where(self < 0, up, self.floor())


def l1_loss_by_abs(self, target, reduction):
    """The loss of integers, whose differences wrap around as torch's do."""
    loss = (self - target).abs()
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


def fmax_by_where(self, other):
    """The larger of two, or the one that is a number."""
    if not self.is_floating_point():
        return ops.maximum(self, other)
    return ops.where((self >= other) | other.isnan(), self, other)


def fmin_by_where(self, other):
    """The smaller of two, or the one that is a number."""
    if not self.is_floating_point():
        return ops.minimum(self, other)
    return ops.where((self <= other) | other.isnan(), self, other)


def isclose_by_distance(self, other, rtol, atol, equal_nan):
    """isclose of dtypes that aclnnIsClose lacks: complex numbers."""
    close = ops.eq(self, other)
    if equal_nan:
        close = close | (self.isnan() & other.isnan())
    distance = (self - other).abs()
    return close | (ops.isfinite(distance) & (distance <= other.abs() * rtol + atol))


# --- sign and exponent of floating point numbers ---------------------------------------------------------------------

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
