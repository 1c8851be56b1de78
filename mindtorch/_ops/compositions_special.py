"""Formulas of special functions that ACLNN lacks: error functions, gamma functions and zeta. See compositions.py."""
from math import factorial, inf, nan, pi, sqrt

import numpy

from mindtorch._core._gen import direct as run
from mindtorch._core.constants import constant
from mindtorch._core.dtype import float64
from mindtorch._core.scratch import column, room, room_for_truth, total
from mindtorch._ops.compositions import full, put
from mindtorch._ops.compositions_bessel import combined, of_right_half, series
from mindtorch._ops.compositions_tables import alike, in_pieces, is_wide, tables
from mindtorch._ops.derivatives import ops

# --- error functions -------------------------------------------------------------------------------------------------


def _erfcx(x, u):
    """exp(x^2) erfc(x), by 7.7.1 with t = exp(s - exp(-s)), over what it is like for large x."""
    s = numpy.arange(-4.0, 3.0, 0.02)
    t = numpy.exp(s - numpy.exp(-s))
    return numpy.exp(-t * t - 2 * numpy.outer(x, t)) @ (t * (1 + numpy.exp(-s))) * (0.04 / sqrt(pi)) / u


_COUNTS = (15, 28)
_SERIES = series(_erfcx, _COUNTS)


def _right_of_erfcx(size, out):
    root = run.add_Scalar(size, 1, 1, room(size))
    run.rsqrt(root, root)
    of_right_half(_SERIES, is_wide(size), root, out)
    return run.mul_Tensor(run.mul_Tensor(out, root, out), root, out)


def _scaled_erfc(out, x):
    """2 exp(x^2) less the value of -x where x is negative."""
    left, size = run.mul_Tensor(x, x, room(x)), run.abs(x, room(x))
    _right_of_erfcx(size, out)
    run.mul_Scalar(run.exp(left, left), 2, left)
    run.sub_Tensor(left, out, 1, left)
    return run.where_self(run.lt_Scalar(x, 0, room_for_truth(x)), left, out, out)


def scaled_erfc(x, out):
    return in_pieces(_COUNTS[is_wide(x)], _scaled_erfc, out, x)


def _log_normal_distribution(out, x):
    size = run.abs(x, room(x))
    run.mul_Scalar(size, sqrt(0.5), size)
    _right_of_erfcx(size, out)
    run.log(run.mul_Scalar(out, 0.5, out), out)
    run.addcmul(out, size, size, -1, out)
    run.mul_Scalar(run.erfc(size, size), -0.5, size)
    return run.where_self(run.lt_Scalar(x, 0, room_for_truth(x)), out, run.log1p(size, size), out)


def log_normal_distribution(x, out):
    """log of the normal distribution function, also where that is 0."""
    return in_pieces(_COUNTS[is_wide(x)], _log_normal_distribution, out, x)


def entropy(self, out):
    """-x log(x), 0 at 0 and -infinity below."""
    run.neg(run.xlogy_Tensor(self, self, out), out)
    return put(out, run.lt_Scalar(self, 0, room_for_truth(self)), -inf)


# --- zeta and the derivatives of digamma -----------------------------------------------------------------------------

_TERMS = 32         # of the series, before the remainder
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30)


def _numbers(count):
    return numpy.arange(count)


def _remainder():
    """Bernoulli's numbers over factorials, beside the products of two more factors each."""
    weights = numpy.zeros(2 * len(_BERNOULLI) - 1)
    weights[::2] = [number / factorial(2 * k) for k, number in enumerate(_BERNOULLI, 1)]
    return weights


def hurwitz_zeta(s, q, out):
    """The sum over k of (k + q)^-s for 32 terms and what is below 0, then the remainder 25.11.5.

    Waits for the smallest q.
    """
    s, q = alike(out, s.clamp(max=1e30), q)         # as good as infinity, which times 0 is no number
    rest = q - q.floor()
    poles = (q > 0).logical_or_(rest > 0).logical_not_()        # nothing, whole numbers and no numbers
    inside = put(q.clone(), poles, 1)
    count = _TERMS + max(0, int(-inside.min().item()) + 1)

    def compute(out, s, q):
        power, after = s.neg(), q + count
        terms = column(q) + constant(q, _numbers, count)
        total(terms.pow_(column(power)), None, out)
        tail = after.pow(power)
        factors = (column(s) + constant(q, _numbers, 2 * len(_BERNOULLI) - 1)).div_(column(after))
        factors.select(-1, 0).mul_(tail)
        out.add_(total(factors.cumprod(-1), constant(q, _remainder), room(q))).add_(tail, alpha=0.5)
        return out.add_(after.div_(s - 1).mul_(tail))
    in_pieces(count, compute, out, s, inside)
    put(out, poles, inf).add_(rest.mul_(0))
    return put(put(out, s < 1, nan), s == 1, inf)


def derivative_of_digamma(n, x, out):
    """The n-th one: 25.11.12; the first also on the left, by reflection."""
    if n == 0:
        return ops.digamma(x, out=out)
    if n > 1:
        return hurwitz_zeta(full(x, n + 1), x, out).mul_((-1.0) ** (n + 1) * factorial(n))
    mirrored = x < 0.5
    right = hurwitz_zeta(full(x, 2), ops.where(mirrored, 1 - x, x), out)
    # The sine's argument is the distance from a whole number: pi * x itself would lose what stands behind the point.
    value = ops.where(mirrored, (pi / ((x - x.round()) * pi).sin()).square() - right, right)
    return put(value, x == inf, 0)


# --- incomplete gamma functions --------------------------------------------------------------------------------------

# 8.2.1 and 8.2.2 with the variable x exp(y): x^a exp(-x) times the integral over y of exp(a y - x (exp(y) - 1)), from
# minus infinity or to infinity. The scale of y goes by a, or by x, and points at equal ratios serve all slopes.

_STEP, _FROM, _TO = (0.22, 0.12), (-20.0, -36.0), (5.0, 6.0)


def _points(wide):
    return numpy.exp(numpy.arange(_FROM[wide], _TO[wide], _STEP[wide]))


_WIDTH = [len(_points(wide)) for wide in (0, 1)]


def _weights(wide):
    return _STEP[wide] * _points(wide)


_POINTS, _WEIGHTS = tables(_points), tables(_weights)


def _exponential_less_1(y):
    if y.dtype is not float64:
        return run.expm1(y, room(y))
    half = (y * 0.5).clamp_(min=-40)        # aclnnExpm1 takes no float64
    return half.sinh().mul_(2).mul_(half.exp_())


def _integral(a, x, scale, wide, out):
    """P(a, x) where `scale` is negative, else Q(a, x)."""
    y, each = combined(run.mul_Tensor, scale, _POINTS[wide].on(x)), column(x)
    exponent = _exponential_less_1(y)
    run.mul_Tensor(exponent, each, exponent)
    run.sub_Tensor(run.mul_Tensor(y, column(a), y), exponent, 1, y)
    total(run.exp(y, y), _WEIGHTS[wide].on(x), out)
    factor = run.log(x, room(x))
    run.sub_Tensor(run.mul_Tensor(factor, a, factor), x, 1, factor)
    run.sub_Tensor(factor, run.lgamma(a, room(x)), 1, factor)
    run.mul_Tensor(run.mul_Tensor(out, scale, out), run.exp(factor, factor), out)
    return run.abs(out, out)


def _incomplete_gamma(out, a, x, upper, wide):
    lower, scale = room_for_truth(a), run.add_Scalar(a, 1, 1, room(a))
    run.lt_Tensor(x, scale, lower)
    run.where_self(lower, run.neg(a, scale), x, scale)
    size = run.abs(scale, room(a))
    run.add_Scalar(run.sqrt(size, size), 1, 1, size)
    value = _integral(a, x, run.div_Tensor(size, scale, size), wide, scale)
    rest = run.rsub_Scalar(value, 1, 1, size)
    run.where_self(lower, rest if upper else value, value if upper else rest, value)
    # Where a or x is 0 or infinite P is 0 or 1, and not defined for two of these or below 0.
    ratio = run.div_Tensor(run.sqrt(x, rest), run.sqrt(a, room(a)), rest)
    run.abs(ratio, ratio)
    finite = run.lt_Scalar(ratio, inf, room_for_truth(a))
    inside = run.logical_and(run.gt_Scalar(ratio, 0, lower), finite, lower)
    run.clamp(ratio, None, 1, ratio)
    return run.where_self(inside, value, run.rsub_Scalar(ratio, 1, 1, ratio) if upper else ratio, out)


def incomplete_gamma(a, x, upper, out):
    """The regularised incomplete gamma function, the lower or the upper one."""
    wide = is_wide(x)
    return in_pieces(_WIDTH[wide], lambda out, a, x: _incomplete_gamma(out, a, x, upper, wide), out, *alike(out, a, x))
