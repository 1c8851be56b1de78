"""Derivatives of pointwise operators."""
import math

from mindtorch._ops.operators import ops

# --- pointwise -------------------------------------------------------------------------------------------------------

def abs_backward(grad, self):
    """The gradient with the sign of self."""
    return grad * self.sgn()


def acosh_backward(grad, self):
    """A real number below -1, for which there is no acosh, has the slope of its magnitude nevertheless, as in torch."""
    if self.is_complex():
        return grad * ((self - 1).rsqrt() * (self + 1).rsqrt()).conj()
    return grad * (self * self - 1).rsqrt()


def pow_backward_self(grad, self, exponent):
    """exponent * self ** (exponent - 1), and 0 where the exponent is 0."""
    if isinstance(exponent, (int, float, complex)):
        if exponent == 0:
            return ops.zeros_like(grad)
        return grad * (exponent * self.pow(exponent - 1)).conj()
    slope = exponent * self.pow(exponent - 1)
    return ops.where(exponent == 0, ops.zeros_like(slope), grad * slope.conj())


def _is_not_negative(exponent):
    return (exponent.real >= 0) & (exponent.imag == 0) if exponent.is_complex() else exponent >= 0


def pow_backward_exponent(grad, self, exponent, result):
    """result * log(self), and 0 where self is 0 and the exponent is real and not negative."""
    if isinstance(self, (int, float, complex)):
        if self == 0:
            return ops.where(_is_not_negative(exponent), ops.zeros_like(grad), grad * (result * float("-inf")))
        from cmath import log
        slope = log(self)
        if not isinstance(self, complex) and not exponent.is_complex():
            slope = slope.real if self > 0 else math.nan
        return grad * (result * slope).conj()
    slope = result * self.to(result.dtype).log()         # of integers too, whose log would be float32
    return ops.where((self == 0) & _is_not_negative(exponent), ops.zeros_like(slope), grad * slope.conj())


def extremum_backward(grad, self, other, loses):
    """The gradient of maximum and minimum: none where self loses, half of it where both are equal, else all of it."""
    return ops.where(self == other, grad / 2, ops.where(loses, ops.zeros_like(grad), grad))


def clamp_backward(grad, self, min, max):
    """The gradient where self is within the bounds."""
    inside = None
    if min is not None:
        inside = self >= min
    if max is not None:
        inside = self <= max if inside is None else inside & (self <= max)
    return ops.where(inside, grad, ops.zeros_like(grad))


def clamp_backward_min(grad, self, min, max):
    """The gradient where the lower bound took self's position."""
    hit = self < min
    if max is not None:
        hit = hit & (min < max)
    return ops.where(hit, grad, ops.zeros_like(grad))


def clamp_backward_max(grad, self, min, max):
    """The gradient where the upper bound took self's position."""
    hit = self > max
    if min is not None:
        hit = hit | (max < min)
    return ops.where(hit, grad, ops.zeros_like(grad))


def _zero_where(condition, value):
    """`value`, and 0 where the condition holds, whatever the value is there."""
    return ops.where(condition, ops.zeros_like(value), value)


def sinc_backward(grad, self):
    """(cos(pi x) - sinc(x)) / x, and 0 at 0."""
    slope = ((self * math.pi).cos() - self.sinc()) / self
    return grad * _zero_where(self == 0, slope).conj()


def sgn_backward(grad, self, result):
    """0 for real numbers; the part of the gradient across the direction for complex ones."""
    if not self.is_complex():
        return ops.zeros_like(grad)
    along = ops.real(grad * result.conj())
    return _zero_where(self == 0, (grad - along * result) / self.abs())


def angle_backward(grad, self):
    """0 for real numbers."""
    if not self.is_complex():
        return ops.zeros_like(grad)
    size = self.abs()
    return _zero_where(size == 0, grad * self * 1j / (size * size))


def xlogy_backward_self(grad, self, other):
    """grad * log(other), and 0 where the product is held at 0 or nothing flows back."""
    return _zero_where((self == 0) & (other <= 0), ops.xlogy(grad, other))


def inverse_of_squares(a, b):
    """1 / (a * a + b * b), and 0 where both are 0: there atan2 has no slope, and is given none."""
    squares = a * a + b * b
    return _zero_where(squares == 0, squares.reciprocal())


def copysign_backward(grad, self, result):
    """The gradient with the sign that was changed, and 0 where self is 0."""
    return grad * _zero_where(self == 0, result / self)


def logit_double_backward(grad, self, eps):
    """By self, of 1 / (x (1 - x)), whose other values are constant."""
    spread = self * (1 - self)
    low = 0.0 if eps is None else eps
    return _zero_where((self < low) | (self > 1 - low), grad * (2 * self - 1) / (spread * spread))


def xlog1py_backward_self(grad, self, other):
    """grad * log(1 + other), and 0 where the product is held at 0 or nothing flows back."""
    return _zero_where((self == 0) & (other <= -1), ops.special_xlog1py(grad, other))


def i1_derivative(i0, self, i1):
    """The derivative of I_1: I_0(x) - I_1(x) / x, and 1/2 at 0; both scaled alike."""
    is_zero = self == 0             # there the quotient's own derivative would be NaN
    return ops.where(is_zero, ops.full_like(i0, 0.5), i0 - i1 / ops.where(is_zero, ops.ones_like(self), self))


def igamma_backward(grad, self, other):
    """x^(a - 1) exp(-x) / gamma(a)."""
    return grad * ((self - 1) * other.log() - other - self.lgamma()).exp()


def no_derivative(name, grads=None):
    """Raises torch's error for an operator whose derivative torch lacks, too; `grads` is not used."""
    raise NotImplementedError(f"the derivative for '{name}' is not implemented.")


def no_derivative_registered(name, grads=None):
    """The derivative of an operator that has none in torch: raises torch's error; `grads` is not used."""
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


def real_part(grad):
    """The gradient of `real` in complex and polar."""
    return ops.real(grad)


def imaginary_part(grad):
    """The same for `imag`."""
    return ops.imag(grad)
