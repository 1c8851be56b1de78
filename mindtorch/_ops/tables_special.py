"""Tables of numbers for the formulas of special functions: made once, on the host in float64.

Equations are those of dlmf.nist.gov. Tables come in pairs, for float32 and for float64; `wide` is 0 for the one and 1
for the other.
"""
from math import exp, factorial, log, pi, sqrt

import numpy

from mindtorch._ops.compositions_tables import tables

_EULER = 0.5772156649015329


def _constant(value, wide):
    return numpy.array(value)


# --- series of sines -------------------------------------------------------------------------------------------------

# A function of x >= 0 that falls off as 1 / sqrt(x) is a sum of sines of odd multiples of the angle whose cotangent is
# sqrt(x): that is Chebyshev's series in 1 / (x + 1) but for the square root, and each sine is as exact as it is small.

_MOST = 128


def _odd_numbers(counts, wide):
    return 2.0 * numpy.arange(counts[wide]) + 1


def _of_sines(function, counts, wide):
    angles = (numpy.arange(_MOST) + 0.5) * pi / (2 * _MOST)
    values = function(numpy.tan(angles) ** -2)
    return numpy.sin(numpy.outer(_odd_numbers(counts, wide), angles)) @ values * (2 / _MOST)


def _scaled_i0(x):
    """exp(-x) I_0(x): 10.32.3."""
    angles = (numpy.arange(4096) + 0.5) * pi / 4096
    return numpy.exp(numpy.outer(x, numpy.cos(angles) - 1)).mean(1)


def _scaled_i1(x):
    """exp(-x) I_1(x): 10.32.2, over what it is like for small x."""
    angles = (numpy.arange(4096) + 0.5) * pi / 4096
    return numpy.exp(numpy.outer(x, numpy.cos(angles) - 1)) @ numpy.sin(angles) ** 2 / 4096 * (x / numpy.arctan(x))


_COUNTS_OF_I = (28, 66)
ODD_OF_I = tables(_odd_numbers, _COUNTS_OF_I)
SINES_OF_I = [tables(_of_sines, function, _COUNTS_OF_I) for function in (_scaled_i0, _scaled_i1)]


# --- error functions -------------------------------------------------------------------------------------------------

# exp(x^2) erfc(x) is the integral over t of 2 / sqrt(pi) exp(-t^2 - 2 x t), for x < 0, too: from 7.7.1. The points
# stand at equal ratios for small t, which large x take, and at equal distances for large t. The first one counts for
# all before it.

_RATIO_OF_ERFC, _STEP_OF_ERFC, _ENDS_OF_ERFC = (0.5, 0.33), (0.6, 0.5), ((-86.0, 13.5), (-708.0, 34.0))


def _places_of_erfc(wide):
    (first, last), ratio, step = _ENDS_OF_ERFC[wide], _RATIO_OF_ERFC[wide], _STEP_OF_ERFC[wide]
    return numpy.arange(first, last / step * ratio, ratio)


def _points_of_erfc(wide):
    points = _STEP_OF_ERFC[wide] / _RATIO_OF_ERFC[wide] * numpy.log1p(numpy.exp(_places_of_erfc(wide)))
    points[0] /= 1 + exp(-_RATIO_OF_ERFC[wide])
    return points


def _squares_of_erfc(wide):
    return -_points_of_erfc(wide) ** 2


def _slopes_of_erfc(factor, wide):
    return factor * _points_of_erfc(wide)


def _weights_of_erfc(factor, wide):
    weights = factor * _STEP_OF_ERFC[wide] / (1 + numpy.exp(-_places_of_erfc(wide)))
    weights[0] /= 1 - exp(-_RATIO_OF_ERFC[wide])
    return weights


def _logs_of_normal(wide):
    """Of what exp(-x^2 / 2) leaves of the normal distribution function: its logarithm forgives weights in exponents."""
    return _squares_of_erfc(wide) + numpy.log(_weights_of_erfc(1 / sqrt(pi), wide))


SQUARES_OF_ERFC = tables(_squares_of_erfc)
SLOPES_OF_ERFC, WEIGHTS_OF_ERFC = tables(_slopes_of_erfc, -2.0), tables(_weights_of_erfc, 2 / sqrt(pi))
SLOPES_OF_NORMAL, LOGS_OF_NORMAL = tables(_slopes_of_erfc, sqrt(2)), tables(_logs_of_normal)


# --- modified Bessel functions of the first kind ---------------------------------------------------------------------

# I_0(x) is the mean of cosh(x cos(theta)) over a quarter turn: 10.32.1. I_1(x) is x times its mean with sin(theta)^2:
# 10.32.2. So many angles are enough as far as exp(x) is finite. The last cosine is 0: infinity gives no number, as in
# torch.

_ANGLES_OF_I = (17, 60)


def _angles_of_i(wide):
    return numpy.linspace(0, pi / 2, _ANGLES_OF_I[wide] + 1)


def _cosines_of_i(wide):
    cosines = numpy.cos(_angles_of_i(wide))
    cosines[-1] = 0
    return cosines


def _means_of_i(order, wide):
    means = numpy.sin(_angles_of_i(wide)) ** (2 * order) / _ANGLES_OF_I[wide]
    means[[0, -1]] /= 2
    return numpy.maximum(means, 1e-30)              # what overflows may not meet 0


COSINES_OF_I, MEANS_OF_I = tables(_cosines_of_i), [tables(_means_of_i, order) for order in (0, 1)]


# --- modified Bessel functions of the second kind --------------------------------------------------------------------

# exp(x) K_0(x) is the integral over v of 2 exp(-v^2) / sqrt(2 x + v^2), from 10.32.9; v = exp(t) makes its terms smooth
# for large and for tiny x alike. The first counts as 0, so that x = 0 gives infinity, and x < 0 no number.

_STEP_OF_K0, _LOWEST_OF_K0 = (0.28, 0.16), (-57.0, -380.0)


def _points_of_k0(wide):
    return numpy.exp(numpy.arange(_LOWEST_OF_K0[wide], 1.8, _STEP_OF_K0[wide]))


def _half_squares(wide):
    squares = _points_of_k0(wide) ** 2 / 2
    squares[0] = 0
    return squares


def _weights_of_k0(wide):
    v = _points_of_k0(wide)
    weights = sqrt(2) * _STEP_OF_K0[wide] * numpy.exp(-v * v) * v
    return numpy.maximum(weights, 1e-15 * v)        # nothing that is 0 in float32 may meet the infinite


# For K_0 itself, which is 0 where x is large, weights stand under the root: beside 1 and beside x. The latter are times
# the scale, which the device multiplies by: alone float32 would not reach so far.

SCALE_OF_K0 = (2.0 ** 40, 2.0 ** 84)


def _far_of_k0(wide):
    inverse = 1 / _weights_of_k0(wide)
    return inverse / SCALE_OF_K0[wide] * inverse


def _near_of_k0(wide):
    ratios = _points_of_k0(wide) / _weights_of_k0(wide)
    ratios[0] = 0
    return ratios ** 2 / 2


# exp(x) K_1(x) is that of 2 v^2 exp(-v^2) sqrt(2 x + v^2) / x, from 10.32.8: roots of what stands beside 1 and 1 / x,
# over sqrt(x).

_STEP_OF_K1, _LOWEST_OF_K1 = (0.22, 0.13), (-6.0, -12.0)


def _roots_of_k1(power, wide):
    v = numpy.exp(numpy.arange(_LOWEST_OF_K1[wide], 2.0 if wide else 1.6, _STEP_OF_K1[wide]))
    return (2 * _STEP_OF_K1[wide] * numpy.exp(-v * v) * v ** 3) ** 2 * 2 * (v * v / 2) ** power


HALF_SQUARES, WEIGHTS_OF_K0 = tables(_half_squares), tables(_weights_of_k0)
FAR_OF_K0, NEAR_OF_K0 = tables(_far_of_k0), tables(_near_of_k0)
FAR_OF_K1, NEAR_OF_K1 = tables(_roots_of_k1, 0), tables(_roots_of_k1, 1)


# --- Bessel functions ------------------------------------------------------------------------------------------------

# Angles in a quarter turn, Bessel functions in Neumann's series, terms of Hankel's: a table has columns for small
# arguments, whose angles are x cos(theta), and for large ones, whose angles are x + phase. Both hold around EDGE. With
# share = (max(x, edge) / edge)^-_FALL the small ones count for that share, the large ones for 1 - share: two columns.
_ANGLES, _NEUMANN, _HANKEL = (18, 32), (17, 32), (10, 16)
EDGE, _FALL = (12.0, 25.0), (16.0, 44.0)


def _angles(wide):
    return (numpy.arange(_ANGLES[wide]) + 0.5) * pi / (2 * _ANGLES[wide])


def _cosines(wide):
    return numpy.cos(_angles(wide))


def _means(power, wide):
    """10.9.1, for power 1 its derivative."""
    return _cosines(wide) ** power / _ANGLES[wide]


def _rest_of_y(power, wide):
    """What Y_0 has beside 2 / pi log(x) J_0: 10.8.3 in Bessel functions, each an integral as in 10.9.1; `power` 1 for
    the derivative.
    """
    k = numpy.arange(1, _NEUMANN[wide] + 1)
    terms = numpy.cos(numpy.outer(_angles(wide), 2 * k)) @ (1 / k)
    return (2 / pi * (_EULER - log(2)) - 4 / pi * terms) * _means(power, wide)


# For J_0, J_1 over x, Y_0 and Y_1 times x: order, 1 for Y, the power of x beside the function, angles in columns.
_FUNCTIONS = ((0, 0, 0, 1), (1, 0, -1, 1), (0, 1, 0, 1), (1, 1, 1, 2))


def _shifts(function, wide):
    """10.17.3 and 10.17.4, each term a cosine; Y_1 takes sines of small arguments as well."""
    order, second, _, times = function
    turns = numpy.arange(_HANKEL[wide]) / 2 - (2 * order + 1) / 4 - second / 2
    phases = pi * ((turns + 1) % 2 - 1)
    near = numpy.zeros(_ANGLES[wide])
    return numpy.concatenate([*[near - pi / 2] * (times - 1), near, phases, phases])


def _slopes(function, wide):
    return numpy.concatenate([*[_cosines(wide)] * function[3], numpy.ones(2 * _HANKEL[wide])])


def _powers(function, wide):
    far = function[2] - numpy.arange(_HANKEL[wide]) - 0.5
    return numpy.concatenate([numpy.full(function[3] * _ANGLES[wide], -_FALL[wide]), far, far - _FALL[wide]])


def _weights(function, wide):
    """Those of Y for small arguments depend on x."""
    order, second, _, times = function
    k = numpy.arange(1, _HANKEL[wide])
    ratios = (4 * order * order - (2 * k - 1) ** 2) / (8 * k)
    hankel = sqrt(2 / pi) * numpy.concatenate([[1], numpy.cumprod(ratios)])
    near = numpy.ones(times * _ANGLES[wide]) if second else numpy.sin(_angles(wide)) ** (2 * order) / _ANGLES[wide]
    full = EDGE[wide] ** _FALL[wide]
    return numpy.concatenate([near * full, hankel, -hankel * full])


def _beside(first, second, wide):
    """The numbers of two rows."""
    return numpy.concatenate([make(*key, wide) for make, *key in (first, second)])


def _times(factor, power, wide):
    return factor * _means(power, wide)


SHIFTS, SLOPES, POWERS, WEIGHTS = ([tables(make, function) for function in _FUNCTIONS]
                                   for make in (_shifts, _slopes, _powers, _weights))
REST_OF_Y0, LOG_OF_Y0 = tables(_rest_of_y, 0), tables(_times, 2 / pi, 0)
# Y_1 times x: its numbers stand beside x, x log(x) and 1, first those of sines, then those of cosines.
X_OF_Y1 = tables(_beside, (_rest_of_y, 1), (_times, 0, 0))
LOG_OF_Y1 = tables(_beside, (_times, 2 / pi, 1), (_times, 0, 0))
ONE_OF_Y1 = tables(_beside, (_times, 0, 0), (_times, -2 / pi, 0))


# --- incomplete gamma functions --------------------------------------------------------------------------------------

STEP_OF_GAMMA = (0.22, 0.12)
_FROM, _TO = (-20.0, -36.0), (5.0, 6.0)


def _points_of_gamma(wide):
    return numpy.exp(numpy.arange(_FROM[wide], _TO[wide], STEP_OF_GAMMA[wide]))


POINTS_OF_GAMMA = tables(_points_of_gamma)


# --- zeta ------------------------------------------------------------------------------------------------------------

# Of `count` terms and the remainder. For an s that the host knows this consists of powers of k + q, too.

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30)


def _over_factorials():
    return [number / factorial(2 * k) for k, number in enumerate(_BERNOULLI, 1)]


def offsets_of_zeta(count):
    return numpy.concatenate([numpy.arange(count), numpy.full(2 + len(_BERNOULLI), count)])


def exponents_of_zeta(s, count):
    return -numpy.concatenate([numpy.full(count, s), [s - 1, s], s + 1 + 2 * numpy.arange(len(_BERNOULLI))])


def weights_of_zeta(s, factor, count):
    products = numpy.cumprod(s + numpy.arange(2.0 * len(_BERNOULLI)))[::2]
    return factor * numpy.concatenate([numpy.ones(count), [1 / (s - 1), 0.5], _over_factorials() * products])


# For other s it consists of products: of tail / ((s - 1) / a), of (s - 1) / a, s / a, (s + 1) / a and so on.

def terms_of_zeta(count):
    """One more, with which the remainder begins."""
    return numpy.arange(count + 1)


def _factors_of_zeta(wide):
    """Beside s; the first is the place of the tail."""
    return numpy.arange(-2.0, 2 * len(_BERNOULLI) - 1)


def shares_of_zeta(count):
    rest = numpy.zeros(2 * len(_BERNOULLI) + 1)
    rest[:2] = 1, 0.5
    rest[2::2] = _over_factorials()
    return numpy.concatenate([numpy.ones(count), [0], rest])


FACTORS_OF_ZETA, ONE = tables(_factors_of_zeta), tables(_constant, 1.0)
