"""Bessel functions: integrals as sums over points, series of sines, and Hankel's expansion for large arguments.

Each number of points is enough for the dtype: the first of a pair is for float32, the second for float64.
"""
from functools import cache
from math import log, nan, pi, sqrt

import numpy

from mindtorch._core.tensor.dtype import float64
from mindtorch._ops.decompositions.tables import by_element, table
from mindtorch._ops.operators import ops

_EULER = 0.5772156649015329


# --- modified Bessel functions of the first kind ---------------------------------------------------------------------

# I_0(x) is the mean of cosh(x cos(theta)) over a quarter turn, 10.32.1; I_1(x) is x times its mean with sin(theta)^2,
# 10.32.2. So many angles are enough as far as exp(x) is finite.
_ANGLES_OF_I = (17, 60)


def _cosines_of_i(wide):
    cosines = numpy.cos(numpy.linspace(0, pi / 2, _ANGLES_OF_I[wide] + 1))
    cosines[-1] = 0                                 # infinity times it is no number, as torch's result is none
    return cosines


def _means_of_i(order, wide):
    means = numpy.sin(numpy.linspace(0, pi / 2, _ANGLES_OF_I[wide] + 1)) ** (2 * order) / _ANGLES_OF_I[wide]
    means[[0, -1]] /= 2
    return numpy.maximum(means, 1e-30)              # what overflows may not meet 0


@by_element(18, 61)
def bessel_i(x, order):
    """I_order(x), of order 0 or 1."""
    terms = (x.unsqueeze(-1) * table(x, _cosines_of_i)).cosh() * table(x, _means_of_i, order)
    return terms.sum(-1) * x if order else terms.sum(-1)


# exp(-x) I_order(x) falls off as 1 / sqrt(x). So it is a sum of sines of odd multiples of the angle whose cotangent is
# sqrt(x): that is Chebyshev's series in 1 / (x + 1) but for the square root.
_SINES_OF_I, _SAMPLES = (28, 66), 128


def _odd_numbers(wide):
    return 2.0 * numpy.arange(_SINES_OF_I[wide]) + 1


@cache
def _weights_of_sines(order, wide):
    """For order 1 of what the function is beside atan(x)."""
    angles, turns = (numpy.arange(_SAMPLES) + 0.5) * pi / (2 * _SAMPLES), (numpy.arange(4096) + 0.5) * pi / 4096
    x = numpy.tan(angles) ** -2
    values = numpy.exp(numpy.outer(x, numpy.cos(turns) - 1)) @ numpy.sin(turns) ** (2 * order) / 4096
    if order:
        values *= x / numpy.arctan(x)
    return numpy.sin(numpy.outer(_odd_numbers(wide), angles)) @ values * (2 / _SAMPLES)


@by_element(28, 66)
def scaled_bessel_i(x, order):
    """exp(-|x|) I_order(x)."""
    angle = x.abs().rsqrt().atan()
    terms = (angle.unsqueeze(-1) * table(x, _odd_numbers)).sin() * table(x, _weights_of_sines, order)
    return terms.sum(-1) * x.atan() if order else terms.sum(-1)


# --- modified Bessel functions of the second kind --------------------------------------------------------------------

# exp(x) K_0(x) is the integral over v of 2 exp(-v^2) / sqrt(2 x + v^2), from 10.32.9; v = exp(t) makes its terms smooth
# for large and for tiny x alike.
_STEP_OF_K0, _LOWEST_OF_K0 = (0.28, 0.16), (-57.0, -380.0)


def _points_of_k0(wide):
    return numpy.exp(numpy.arange(_LOWEST_OF_K0[wide], 1.8, _STEP_OF_K0[wide]))


def _half_squares(wide):
    squares = _points_of_k0(wide) ** 2 / 2
    squares[0] = 0                                  # so that x = 0 gives infinity, and x < 0 no number
    return squares


def _weights_of_k0(wide):
    v = _points_of_k0(wide)
    return numpy.maximum(sqrt(2) * _STEP_OF_K0[wide] * numpy.exp(-v * v) * v, 1e-15 * v)    # infinity may not meet 0


@by_element(210, 2400)
def scaled_bessel_k0(x):
    """exp(x) K_0(x)."""
    return ((x.unsqueeze(-1) + table(x, _half_squares)).rsqrt() * table(x, _weights_of_k0)).sum(-1)


def bessel_k0(x):
    return scaled_bessel_k0(x) / x.exp()


# exp(x) K_1(x) is that of 2 v^2 exp(-v^2) sqrt(2 x + v^2) / x, from 10.32.8: roots of what stands beside 1 and 1 / x,
# over sqrt(x).
_STEP_OF_K1, _RANGE_OF_K1 = (0.22, 0.13), ((-6.0, 1.6), (-12.0, 2.0))


def _roots_of_k1(power, wide):
    v = numpy.exp(numpy.arange(*_RANGE_OF_K1[wide], _STEP_OF_K1[wide]))
    return (2 * _STEP_OF_K1[wide] * numpy.exp(-v * v) * v ** 3) ** 2 * 2 * (v * v / 2) ** power


@by_element(35, 108)
def scaled_bessel_k1(x):
    """exp(x) K_1(x)."""
    x = x + 0                                       # -0 becomes 0
    roots = table(x, _roots_of_k1, 0) + table(x, _roots_of_k1, 1) / x.unsqueeze(-1)
    return roots.sqrt().sum(-1) * x.rsqrt()


def bessel_k1(x):
    return scaled_bessel_k1(x) / x.exp()


# --- Bessel functions ------------------------------------------------------------------------------------------------

_ANGLES, _NEUMANN, _HANKEL, _EDGE = (18, 32), (17, 32), (10, 16), (12.0, 25.0)


def _angles(wide):
    return (numpy.arange(_ANGLES[wide]) + 0.5) * pi / (2 * _ANGLES[wide])


def _cosines(wide):
    return numpy.cos(_angles(wide))


def _means(power, wide):
    """Weights of a mean over the angles, of the sine's power."""
    return numpy.sin(_angles(wide)) ** power / _ANGLES[wide]


def _rest_of_y(order, wide):
    """What Y_0 has beside 2 / pi log(x) J_0: 10.8.3 in Bessel functions, each an integral as in 10.9.1; of order 1 the
    derivative.
    """
    k = numpy.arange(1, _NEUMANN[wide] + 1)
    terms = numpy.cos(numpy.outer(_angles(wide), 2 * k)) @ (1 / k)
    return (2 / pi * (_EULER - log(2)) - 4 / pi * terms) * _cosines(wide) ** order / _ANGLES[wide]


def _powers(wide):
    return -numpy.arange(_HANKEL[wide]) - 0.5


def _phases(order, second, wide):
    turns = numpy.arange(_HANKEL[wide]) / 2 - (2 * order + 1) / 4 - second / 2
    return pi * ((turns + 1) % 2 - 1)


def _coefficients(order, wide):
    k = numpy.arange(1, _HANKEL[wide])
    return sqrt(2 / pi) * numpy.cumprod([1, *(4 * order * order - (2 * k - 1) ** 2) / (8 * k)])


def _for_large(x, order, second):
    """Hankel's expansion, 10.17.3 and 10.17.4, each term a cosine; `second`: of Y."""
    x = x.unsqueeze(-1)
    waves = (x + table(x, _phases, order, second)).cos()
    return (waves * x.pow(table(x, _powers)) * table(x, _coefficients, order)).sum(-1)


def _is_large(x):
    return x > _EDGE[x.dtype is float64]


@by_element(18, 32)
def bessel_j(x, order):
    """J_order(x), of order 0 or 1."""
    size = x.abs()
    small = ((size.unsqueeze(-1) * table(x, _cosines)).cos() * table(x, _means, 2 * order)).sum(-1)     # 10.9.4
    if not order:
        return ops.where(_is_large(size), _for_large(size, 0, False), small)
    return ops.where(_is_large(size), _for_large(size, 1, False) * x.sign(), small * x)


@by_element(18, 32)
def bessel_y0(x):
    means = table(x, _rest_of_y, 0) + x.log().unsqueeze(-1) * (2 / pi) * table(x, _means, 0)
    small = ((x.unsqueeze(-1) * table(x, _cosines)).cos() * means).sum(-1)
    return ops.where(_is_large(x), _for_large(x, 0, True), small)


@by_element(18, 32)
def bessel_y1(x):
    """For small x the derivative of -Y_0."""
    column, cosines, means = x.unsqueeze(-1), table(x, _cosines), table(x, _means, 0)
    slopes = column * table(x, _rest_of_y, 1) + ops.xlogy(column, column) * (2 / pi) * cosines * means
    terms = (column * cosines).sin() * slopes - (column * cosines).cos() * (2 / pi) * means
    return ops.where(_is_large(x), _for_large(x, 1, True), terms.sum(-1) / x.abs())


def spherical_bessel_j0(x):
    """sin(x) / x."""
    return ops.where(x.isinf(), 0.0, ops.where(x == 0, 1.0, x.sin() / x))


# --- Airy's function -------------------------------------------------------------------------------------------------

_STEP_OF_AIRY, _TERMS_OF_AIRY = 0.125, 12


def _points_of_airy(wide):
    return numpy.arange(56) * _STEP_OF_AIRY


def _weights_of_airy(turn, part, wide):
    """Of the integral 9.5.8 for Ai(size turn^6), |turn| = 1: the real or the imaginary part."""
    t = _points_of_airy(wide)
    values = numpy.exp(-turn ** 3 * t * t) * _STEP_OF_AIRY / pi
    values[0] /= 2
    return numpy.imag(values) if part else numpy.real(values)


def _coefficients_of_airy(slope, wide):
    """9.4.1: of the powers of x^3 that begin with Ai(0), or with x times the derivative there."""
    k = 3 * numpy.arange(1, _TERMS_OF_AIRY)
    first = (0.355028053887817239, -0.258819403792806798)[slope]
    return first / numpy.cumprod([1, *(k * (k + 1) if slope else (k - 1) * k)])


def _cubes(wide):
    return numpy.arange(_TERMS_OF_AIRY) * 1.0


@by_element(56)
def airy_ai(x):
    """Near 0 a series; on the right an integral; on the left, by 9.2.14, twice its real part on a ray."""
    powers = (x * x * x).clamp(-1, 1).unsqueeze(-1).pow(table(x, _cubes))
    near = (powers * table(x, _coefficients_of_airy, 0)).sum(-1)
    near = near + (powers * table(x, _coefficients_of_airy, 1)).sum(-1) * x
    size = ops.where(x.isfinite(), x.abs().clamp(min=1), 1.0)
    root = size.sqrt()
    quarter, turn = root.rsqrt(), numpy.exp(1j * pi / 18)
    waves = ((quarter.unsqueeze(-1) * table(x, _points_of_airy)).pow(3) / 3).cos()
    right = (waves * table(x, _weights_of_airy, 1.0, 0)).sum(-1) * (size * root * (-2 / 3)).exp()
    angle = pi / 3 - size * root * (2 / 3)
    real, imag = ((waves * table(x, _weights_of_airy, turn, part)).sum(-1) for part in (0, 1))
    left = (angle.cos() * real - angle.sin() * imag) * 2
    value = ops.where(x.abs() <= 1, near, ops.where(x > 0, right, left) * quarter)
    return ops.where(x.isfinite(), value, nan)
