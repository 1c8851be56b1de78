"""Formulas of Hurwitz's zeta function and the derivatives of digamma. See compositions.py."""
from math import factorial, inf, nan, pi

import numpy

from mindtorch._core.constants import constant
from mindtorch._core.scratch import column, room, total
from mindtorch._ops.compositions import full, put
from mindtorch._ops.compositions_tables import alike, in_pieces
from mindtorch._ops.derivatives import ops

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

    def compute(s, q, out):
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
