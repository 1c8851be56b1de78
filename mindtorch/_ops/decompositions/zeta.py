"""Hurwitz's zeta function and the derivatives of digamma."""
from math import factorial, inf, nan, pi

import numpy

from mindtorch._ops.decompositions.tables import by_element, on_one_device, table
from mindtorch._ops.derivatives import ops

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
    """One of a few numbers, since each has a table."""
    count = _TERMS
    while count < _TERMS + 1 - lowest:
        count *= 2
    return count


def hurwitz_zeta(s, q):
    """The sum of (k + q)^-s over k >= 0. How many terms are below 0 is asked of q: of a number on the host at once."""
    pole = (q <= 0) & (q == q.floor())
    count = _number_of_terms(ops.where((q < 0) & ~pole, q, 0.0).min().item())
    s, q, pole = on_one_device(s, ops.where(pole, 1.0, q), pole)
    s = s.clamp(max=1e30)                               # infinity times 0 would be no number
    value = ops.where(q == inf, nan, by_element(count)(_series)(s, q, count))
    return ops.where(s < 1, nan, ops.where(pole | (s == 1), inf, value))


def _trigamma(x):
    """25.11.12, by reflection on the left."""
    left = x < 0.5
    value = by_element(_TERMS)(_series)(x.new_full((), 2), ops.where(left, 1 - x, x), _TERMS)
    # The sine's argument is the distance from a whole number: pi * x itself would lose what stands behind the point.
    sine = ((x - x.round()) * pi).sin()
    return ops.where(left, pi * pi / (sine * sine) - value, value)


def polygamma_by_zeta(n, x):
    """The n-th derivative of digamma."""
    if n == 0:
        return ops.digamma(x)
    if n == 1:
        return _trigamma(x)
    factor = float(factorial(n)) if n <= 170 else inf
    return hurwitz_zeta(x.new_full((), n + 1), x) * (factor if n % 2 else -factor)
