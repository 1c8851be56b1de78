"""Error functions, entropy and incomplete gamma functions: integrals as sums over points.

The first of a pair is for float32, the second for float64.
"""
from math import exp, inf, pi, sqrt

import numpy

from mindtorch._core.dtype import float64
from mindtorch._ops.decompositions.tables import by_element, table
from mindtorch._ops.derivatives import ops

# --- error functions -------------------------------------------------------------------------------------------------

# exp(x^2) erfc(x) is the integral over t of 2 / sqrt(pi) exp(-t^2 - 2 x t), for x < 0, too: from 7.7.1. The points
# stand at equal ratios for small t, which large x take, and at equal distances for large t. The first one counts for
# all before it.
_RATIO, _STEP, _ENDS = (0.5, 0.33), (0.6, 0.5), ((-86.0, 13.5), (-708.0, 34.0))


def _places(wide):
    first, last = _ENDS[wide]
    return numpy.arange(first, last / _STEP[wide] * _RATIO[wide], _RATIO[wide])


def _points(wide):
    points = _STEP[wide] / _RATIO[wide] * numpy.log1p(numpy.exp(_places(wide)))
    points[0] /= 1 + exp(-_RATIO[wide])
    return points


def _minus_squares(wide):
    return -_points(wide) ** 2


def _slopes(factor, wide):
    return factor * _points(wide)


def _weights(factor, wide):
    weights = factor * _STEP[wide] / (1 + numpy.exp(-_places(wide)))
    weights[0] /= 1 - exp(-_RATIO[wide])
    return weights


def _log_weights(factor, wide):
    return numpy.log(_weights(factor, wide))


@by_element(200, 2300)
def erfcx_by_points(x):
    """exp(x^2) erfc(x)."""
    exponents = table(x, _minus_squares) + x.unsqueeze(-1) * table(x, _slopes, -2.0)
    return (exponents.exp() * table(x, _weights, 2 / sqrt(pi))).sum(-1)


@by_element(200, 2300)
def log_ndtr_by_points(x):
    """log of the normal distribution function, also where that is 0."""
    exponents = table(x, _minus_squares) + table(x, _log_weights, 1 / sqrt(pi))
    left = (exponents + x.unsqueeze(-1) * table(x, _slopes, sqrt(2))).exp().sum(-1).log() - x * x / 2
    return ops.where(x < 0, left, ((x * sqrt(0.5)).erfc() * -0.5).log1p())


def entr_by_xlogy(x):
    """-x log(x), 0 at 0 and -infinity below."""
    return ops.where(x < 0, -inf, -ops.xlogy(x, x))


# --- incomplete gamma functions --------------------------------------------------------------------------------------

_STEP_OF_GAMMA, _RANGE_OF_GAMMA = (0.22, 0.12), ((-20.0, 5.0), (-36.0, 6.0))


def _points_of_gamma(wide):
    return numpy.exp(numpy.arange(*_RANGE_OF_GAMMA[wide], _STEP_OF_GAMMA[wide]))


@by_element(114, 350)
def incomplete_gamma(a, x, upper):
    """The regularised incomplete gamma function, the lower one P(a, x) or the upper one Q(a, x).

    8.2.1 and 8.2.2 with the variable x exp(y): x^a times the integral over y of exp(a y - x exp(y)), from minus
    infinity to 0 where x < a + 1, else from 0 on. That is P, or Q. The scale of y goes by a, or by x, and points at
    equal ratios serve all slopes: their weights are the step times y.
    """
    left = x < a + 1
    scale = ops.maximum(a + 1, x).sqrt() / ops.where(left, -a, x)
    y = scale.unsqueeze(-1) * table(x, _points_of_gamma)
    exponents = a.unsqueeze(-1) * y - x.unsqueeze(-1) * y.exp() + (a * x.log() - a.lgamma()).unsqueeze(-1)
    integral = (exponents.exp() * y).sum(-1) * _STEP_OF_GAMMA[x.dtype is float64]      # -P on the left
    value = ops.where(left, 1 + integral, integral) if upper else ops.where(left, -integral, 1 - integral)
    # 0 or 1 where one of the two is 0 or infinite; no number where both are, or one is below 0.
    ratio = a.log() - x.log() if upper else x.log() - a.log()
    return ops.where(ratio.isfinite(), value, ratio.clamp(0, 1))
