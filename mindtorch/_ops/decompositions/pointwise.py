"""Operators on each element, or on two."""
from math import copysign, inf, pi

from mindtorch._core.tensor.dtype import complex128, float32, float64, int16, int32, int64
from mindtorch._core.tensor.tensor import TensorBase
from mindtorch._ops.operators import ops


def fill_by_cast(self, value):
    """The number in a dtype that CANN casts to and does not fill: floats of 8 bits."""
    return self.new_full(self.shape, value, dtype=float32).to(self.dtype)


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
    """tanh of a complex number, from the tanh of its real and the tan of its imaginary part."""
    if self.is_complex():
        real, imag = ops.tanh(ops.real(self)), ops.tan(ops.imag(self))
        return ops.complex(real, imag) / ops.complex(ops.ones_like(real), real * imag)
    part = (self.abs() * -2).expm1()
    return ops.sign(self) * (-part / (part + 2))


def elu_by_expm1(self, alpha, scale, input_scale):
    return ops.where(self > 0, self * scale, (self * input_scale).expm1() * (alpha * scale))


def clamp_by_extremes(self, min, max):
    limited = self if min is None else ops.maximum(self, min)
    return limited if max is None else ops.minimum(limited, max)


def lcm_by_gcd(self, other):
    """|a| / gcd(a, b) |b|; 0 where either is. As in C, narrow integers are multiplied in int32."""
    dtype = self.dtype
    if dtype.itemsize < 4:
        self, other = self.to(int32), other.to(int32)
    divisor = ops.gcd(self, other).clamp(min=1)
    return (ops.div(self, divisor, rounding_mode="trunc") * other).abs().to(dtype)


def ldexp_by_exp2(self, other):
    """self times 2 ** other. Of an integer by halves: the whole may be beyond the dtype where the result is not."""
    if other.is_floating_point() or other.is_complex():
        return self * (other.to(self.dtype) if self.dtype in (float64, complex128) else other).exp2()
    other = other.to(int32)
    half = other >> 1
    return self * half.exp2() * (other - half).exp2()


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
    """isclose of dtypes that aclnnIsClose lacks: complex numbers and unsigned integers."""
    close = ops.eq(self, other)
    if not self.is_complex() and not self.is_floating_point():
        self, other = self.to(float64), other.to(float64)
    if equal_nan:
        close = close | (self.isnan() & other.isnan())
    distance = (self - other).abs()
    return close | (ops.isfinite(distance) & (distance <= other.abs() * rtol + atol))


def logaddexp_by_exp(self, other):
    """log(exp(self) + exp(other)), from the one with the larger real part."""
    is_larger = ops.real(self) >= ops.real(other) if self.is_complex() else (self >= other) | self.isnan()
    high, low = ops.where(is_larger, self, other), ops.where(is_larger, other, self)
    return ops.where(high == low, high + ops.log(ops.full_like(high, 2)), high + (low - high).exp().log1p())


def addcmul_by_mul(self, tensor1, tensor2, value):
    """addcmul of integers uses the whole part of `value`."""
    return self + tensor1 * tensor2 * (value if self.is_complex() else int(value))


def lerp_by_where(self, end, weight):
    """Computes from the nearer end, so that weights 0 and 1 give the ends exactly."""
    step = end - self
    if isinstance(weight, (int, float, complex)):
        return self + step * weight if abs(weight) < 0.5 else end - step * (1 - weight)
    return ops.where(weight.abs() < 0.5, self + step * weight, end - step * (1 - weight))


def nan_to_num_by_where(self, nan, posinf, neginf):
    if self.is_complex():
        return by_parts(ops.nan_to_num, self, nan, posinf, neginf)
    largest = 1.7976931348623157e308        # of float64, the only real dtype that comes here
    finite = ops.where(self.isnan(), 0.0 if nan is None else nan, self)
    finite = ops.where(finite == inf, largest if posinf is None else posinf, finite)
    return ops.where(finite == -inf, -largest if neginf is None else neginf, finite)


def angle_by_atan2(self):
    """The angle of a complex number. A real number has 0 or, if it is negative, pi; NaN gives NaN."""
    if self.is_complex():
        return ops.atan2(ops.imag(self), ops.real(self))
    return ops.where(self.isnan(), self, (self < 0).to(self.dtype) * pi)


# --- complex numbers -------------------------------------------------------------------------------------------------

def compared_wider(function, *operands):
    """A comparison of small unsigned integers as int64, and of small floats as float32."""
    return function(*[x.to(float32 if x.is_floating_point() else int64) if isinstance(x, TensorBase) else x
                      for x in operands])


def by_parts(function, self, *arguments):
    """The function of the real parts and the function of the imaginary parts, as one complex tensor."""
    real, imag = ([part(x) if isinstance(x, TensorBase) and x.is_complex() else x for x in (self, *arguments)]
                  for part in (ops.real, ops.imag))
    return ops.complex(function(*real), function(*imag))


# Inverse functions after Kahan, "Branch cuts for complex elementary functions": each part by functions of real numbers.
# Real numbers come here in float32 for 16-bit dtypes.

def _roots(self):
    """The parts of sqrt(1 - z) and of sqrt(1 + z). On a cut the sign of an imaginary part of 0 chooses the side."""
    x, y = ops.real(self), ops.imag(self)
    roots = ops.complex(1 - x, -y).sqrt(), ops.complex(1 + x, y).sqrt()
    return [(ops.real(root), ops.imag(root)) for root in roots]


def _times_i(self):
    """i z."""
    return ops.complex(-ops.imag(self), ops.real(self))


def asin_by_parts(self):
    if not self.is_complex():
        return ops.asin(self)
    (a, b), (c, d) = _roots(self)
    return ops.complex(ops.atan2(ops.real(self), a * c - b * d), ops.asinh(a * d - b * c))


def acos_by_parts(self):
    if not self.is_complex():
        return ops.acos(self)
    (a, b), (c, d) = _roots(self)
    return ops.complex(ops.atan2(a, c) * 2, ops.asinh(b * c - a * d))


def acosh_by_parts(self):
    if not self.is_complex():
        return ops.acosh(self)
    x, y = ops.real(self), ops.imag(self)
    low, high = ops.complex(x - 1, y).sqrt(), ops.complex(x + 1, y).sqrt()
    product = ops.real(low) * ops.real(high) + ops.imag(low) * ops.imag(high)
    return ops.complex(ops.asinh(product), ops.atan2(ops.imag(low), ops.real(high)) * 2)


def asinh_by_parts(self):
    return -_times_i(asin_by_parts(_times_i(self))) if self.is_complex() else ops.asinh(self)


def atanh_by_parts(self):
    if not self.is_complex():
        return ops.atanh(self)
    x, y = ops.real(self), ops.imag(self)
    size = x.abs()          # below 0 the logarithm would lose digits
    real = (size * 4 / ((1 - size) * (1 - size) + y * y)).log1p() / 4
    angle = ops.atan2(y * 2, (1 - x) * (1 + x) - y * y) / 2
    largest = 1e19 if x.dtype is float32 else 1e154                     # of which the square is no infinity
    far = x.isinf() | y.isinf() | ((size + y.abs()) > largest)
    angle = ops.where(far & ~y.isnan(), ops.full_like(y, pi / 2).copysign(y), angle)
    return ops.complex(ops.where(far | (x == 0), 0.0, real).copysign(x), angle)


def atan_by_parts(self):
    return -_times_i(atanh_by_parts(_times_i(self))) if self.is_complex() else ops.atan(self)


def log1p_by_parts(self):
    x, y = ops.real(self), ops.imag(self)
    return ops.complex((x * (x + 2) + y * y).log1p() / 2, ops.atan2(y, x + 1))


def cosh_by_parts(self):
    if not self.is_complex():
        return ops.cosh(self)
    x, y = ops.real(self), ops.imag(self)
    return ops.complex(x.cosh() * y.cos(), x.sinh() * y.sin())


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


_INTEGERS = {2: int16, 4: int32, 8: int64}


def nextafter_by_bits(self, other, out):
    """The next number of the dtype of `out`: neighbours have bits that differ by one."""
    self, other = self.to(out), other.to(out)
    integer = _INTEGERS[out.itemsize]
    least = ops.where(other > 0, 1, 1 - 2 ** (8 * out.itemsize - 1)).to(integer)        # that of the sign of `other`
    step = ops.where((other > self) == (self > 0), 1, -1).to(integer)
    beside = ops.where(self == 0, least, self.view(integer) + step).view(out.dtype)
    return ops.where(self == other, other, ops.where(self.isnan() | other.isnan(), self + other, beside))
