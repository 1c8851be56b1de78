"""Error functions, entropy and incomplete gamma functions: integrals as sums over points.

The first of a pair is for float32, the second for float64.
"""
from itertools import count, islice
from math import factorial, inf, nan, pi, sqrt

import numpy

from mindtorch._core.tensor.dtype import float64, int64
from mindtorch._ops.decompositions.tables import by_element, on_one_device, table
from mindtorch._ops.operators import ops

# --- error functions -------------------------------------------------------------------------------------------------

# exp(x^2) erfc(x) is the integral over all t of x / pi exp(-t^2) / (x^2 + t^2), for x > 0: 7.7.1. A sum over t at equal
# distances is right to exp(-(pi / step)^2), if what the pole at i x adds to it is subtracted: Chiarella and Reichl, On
# the Evaluation of Integrals Related to the Error Function, 1968.
_STEP = 0.5


def _squares(wide):
    return (numpy.arange(1.0, 14) * _STEP) ** 2


def _weights(wide):
    return 2 * numpy.exp(-_squares(wide))


def _exp_of_square(x):
    """exp(x^2) for x >= 0, with the rounding of x^2 made good."""
    high = (x.clamp(max=30) * 16).floor() / 16          # at 30 it is infinite
    return (high * high).exp() * ((x - high) * (x + high)).exp()


@by_element(13)
def erfcx_by_points(x):
    """exp(x^2) erfc(x)."""
    size = x.abs()
    a = size.clamp(min=1)           # nearer to 0 the two parts cancel
    column = a.unsqueeze(-1)
    integral = (table(x, _weights) / (column + table(x, _squares) / column)).sum(-1) + 1 / a
    pole = ops.where(a < 6, 2 * (a * (a - 2 * pi / _STEP)).exp() / -(a * (-2 * pi / _STEP)).expm1(), 0)
    right = ops.where(size < 1, (size * size).exp() * size.erfc(), integral * (_STEP / pi) - pole)
    return ops.where(x < 0, 2 * _exp_of_square(size) - right, right)


def log_ndtr_by_erfcx(x):
    """log of the normal distribution function, also where that is 0."""
    left = (ops.special_erfcx(x * -sqrt(0.5)) / 2).log() - x * x / 2
    return ops.where(x < -1, left, ((x * sqrt(0.5)).erfc() * -0.5).log1p())


def erfinv_by_steps(x):
    """Halley's method for erf(z) = |x|, with erfc in the place of erf, which is 1 for most z. The first z is
    Winitzki's, whose error of 0.002 two steps raise to the ninth power.
    """
    size = x.abs()
    rest = 1 - size
    log = ops.where(size < 0.5, (-x * x).log1p(), (rest * (1 + size)).log())
    middle, square = 2 / (pi * 0.147) + log / 2, log / -0.147
    root = (middle * middle + square).sqrt()
    z = ops.where(middle > 0, square / (root + middle), root - middle).sqrt()       # equal; neither may cancel
    for _ in range(2):
        difference = ops.where(size < 0.5, z.erf() - size, rest - z.erfc())
        step = difference * (z * z).exp() * (sqrt(pi) / 2)
        z = z - step / (1 + z * step)
    return ops.copysign(ops.where(size < 1, z, ops.where(size == 1, inf, nan)), x)


def entr_by_xlogy(x):
    """-x log(x), 0 at 0 and -infinity below."""
    return ops.where(x < 0, -inf, -ops.xlogy(x, x))


# --- incomplete gamma functions --------------------------------------------------------------------------------------

_STEP_OF_GAMMA, _RANGE_OF_GAMMA = (0.22, 0.12), ((-20.0, 5.0), (-36.0, 6.0))


def _points_of_gamma(wide):
    return numpy.exp(numpy.arange(*_RANGE_OF_GAMMA[wide], _STEP_OF_GAMMA[wide]))


def _rest_of_exp(y):
    """exp(y) - 1 - y, by its series where that is small beside y."""
    series = 1
    for n in range(10, 2, -1):
        series = 1 + y / n * series
    return ops.where(y.abs() < 0.1, y * y / 2 * series, y.expm1() - y)


def _log_of_front(a, x):
    """log(x^a exp(-x) / gamma(a)). Of a large `a` by 5.11.1, without the large terms, which cancel."""
    inverse = 1 / (a * a)
    small = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / a
    large = (a / (2 * pi)).log() / 2 - small - a * _rest_of_exp(((x - a) / a).log1p())
    return ops.where(a < 16, a * x.log() - x - a.lgamma(), large)


@by_element(114, 350)
def incomplete_gamma(a, x, upper):
    """The regularised incomplete gamma function, the lower one P(a, x) or the upper one Q(a, x).

    8.2.1 and 8.2.2 with the variable x exp(y): x^a times the integral over y of exp(a y - x exp(y)), from minus
    infinity to 0 where x < a + 1, else from 0 on. That is P, or Q. The scale of y goes by a, or by x, and points at
    equal ratios serve all slopes: their weights are the step times y. NaN beside 0 or infinity is any number, as in
    torch.
    """
    a = ops.where(a.isnan() & ((x == 0) | x.isinf()), 1, a)
    x = ops.where(x.isnan() & a.isinf(), 1, x)
    left = x < a + 1
    scale = ops.maximum(a + 1, x).sqrt() / ops.where(left, -a, x)
    y = scale.unsqueeze(-1) * table(x, _points_of_gamma)
    front, a_, x_ = (column.unsqueeze(-1) for column in (_log_of_front(a, x), a, x))
    # The two are equal; the one rounds little at small y, the other at large y.
    exponents = ops.where(y.abs() < 0.1, (a_ - x_) * y - x_ * _rest_of_exp(y), a_ * y - x_ * y.expm1())
    integral = ((exponents + front).exp() * y).sum(-1) * _STEP_OF_GAMMA[x.dtype is float64]      # -P on the left
    value = ops.where(left, 1 + integral, integral) if upper else ops.where(left, -integral, 1 - integral)
    # 0 or 1 where one of the two is 0 or infinite; NaN where both are, or where one is negative.
    ratio = a.log() - x.log() if upper else x.log() - a.log()
    return ops.where(ratio.isfinite(), value, ratio.clamp(0, 1))


# --- Hurwitz zeta and polygamma functions ----------------------------------------------------------------------------

_TERMS = 32             # at least, of the series
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30)


def _offsets(count, wide):
    return numpy.arange(float(count))


def _series(s, q, count):
    """The sum of (k + q)^-s for so many k, and the remainder 25.11.5, for which q + count must be large."""
    end = q + count
    result = (q.unsqueeze(-1) + table(q, _offsets, count)).pow(-s.unsqueeze(-1)).sum(-1)
    result = result + end.pow(1 - s) / (s - 1) + end.pow(-s) / 2
    factor = s * end.pow(-1 - s)
    for k, number in enumerate(_BERNOULLI, 1):
        result = result + factor * (number / factorial(2 * k))
        factor = factor * (s + (2 * k - 1)) * (s + 2 * k) / (end * end)
    return result


def _number_of_terms(lowest):
    """How many terms reach beyond k + q = 0; a power of 2 times _TERMS, so that few tables are made."""
    count = _TERMS
    while count < _TERMS + 1 - lowest:
        count *= 2
    return count


def hurwitz_zeta(s, q):
    """The sum of (k + q)^-s over k >= 0. The host reads the least q."""
    pole = (q <= 0) & (q == q.floor())
    count = _number_of_terms(ops.where((q < 0) & ~pole, q, 0.0).min().item())
    s, q, pole = on_one_device(s, ops.where(pole, 1.0, q), pole)
    s = s.clamp(max=1e30)                               # infinity * 0 would be NaN
    value = ops.where(q == inf, nan, by_element(count)(_series)(s, q, count))
    return ops.where(s < 1, nan, ops.where(pole | (s == 1), inf, value))


def _trigamma(x):
    """25.11.12, by reflection on the left."""
    left = x < 0.5
    value = by_element(_TERMS)(_series)(x.new_full((), 2), ops.where(left, 1 - x, x), _TERMS)
    # The sine's argument is the distance from a whole number: pi * x itself would lose what stands behind the point.
    # At a pole it is what pi in float32 is off by, not 0, but for x = 0: as in torch, the value there is a number, and
    # the gradient of what a mask leaves out is 0.
    apart = x - x.round()
    sine = (ops.where(apart == 0, x * 2.8e-8, apart) * pi).sin()
    return ops.where(left, pi * pi / (sine * sine) - value, value)


def polygamma_by_zeta(n, x):
    """The n-th derivative of digamma."""
    if n == 0:
        return ops.digamma(x)
    if n == 1:
        return _trigamma(x)
    factor = float(factorial(n)) if n <= 170 else inf
    return hurwitz_zeta(x.new_full((), n + 1), x) * (factor if n % 2 else -factor)


# --- orthogonal polynomials: section 18.9 of dlmf.nist.gov -----------------------------------------------------------
# Degrees are truncated to integers; a negative degree gives 0. For a tensor of degrees, the recurrence runs up to the
# highest, which the host reads, and each element takes its own.

_HIGHEST_DEGREE = 2**20


def _check_degree(degree):
    if degree > _HIGHEST_DEGREE:
        raise RuntimeError(f"polynomials of a degree above {_HIGHEST_DEGREE} are not computed, but got {degree}")


def _all_degrees(x, slope, start, coefficients):
    """p_0 = 1, p_1 = slope x + start and p_{k+1} = ((a x + b) p_k - c p_{k-1}) / d with a, b, c, d = coefficients(k).

    They are integers: fractions would be rounded, which one divides out again at 0.
    """
    before, now = ops.ones_like(x), x * slope + start
    yield before
    for k in count(1):
        yield now
        a, b, c, d = coefficients(k)
        before, now = now, (x * a + b) * now - before * c
        now = now if d == 1 else now / d


def _polynomial(x, n, slope, start, coefficients):
    if n.numel() == 1:
        degree = n.item()
        _check_degree(degree)
        degree = int(degree) if degree > -1 else -1
        if degree < 0:
            return ops.zeros_like(x)
        return next(islice(_all_degrees(x, slope, start, coefficients), degree, None))
    x, n = x.to(n.device), ops.where(n.isfinite(), n, -1).to(int64)
    result = x.new_zeros(())
    highest = n.max().item()
    _check_degree(highest)
    for k, value in enumerate(islice(_all_degrees(x, slope, start, coefficients), max(highest + 1, 0))):
        result = ops.where(n == k, value, result)
    return result


def chebyshev(x, n, slope, start, shifted):
    """Of the first kind for slope 1, of the others for slope 2 and start 0, -1, 1; of 2 x - 1 where `shifted`."""
    return _polynomial(x * 2 - 1 if shifted else x, n, slope, start, lambda k: (2, 0, 1, 1))


def hermite_h(x, n):
    return _polynomial(x, n, 2, 0, lambda k: (2, 0, 2 * k, 1))


def hermite_he(x, n):
    return _polynomial(x, n, 1, 0, lambda k: (1, 0, k, 1))


def laguerre(x, n):
    return _polynomial(x, n, -1, 1, lambda k: (-1, 2 * k + 1, k, k + 1))


def legendre(x, n):
    return _polynomial(x, n, 1, 0, lambda k: (2 * k + 1, 0, k, k + 1))
