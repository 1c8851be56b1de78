"""Orthogonal polynomials by their recurrences: section 18.9 of dlmf.nist.gov.

Degrees are cut to integers; below 0 the result is 0. Of several degrees all up to the highest are computed, and each
element takes its own: that waits for the highest.
"""
from itertools import count, islice

from mindtorch._core.dtype import int64
from mindtorch._ops.derivatives import ops

_MOST_DEGREES = 2.0 ** 40


def _all_degrees(x, slope, start, coefficients):
    """p_0 = 1, p_1 = slope x + start and p_{k+1} = (a x + b) p_k - c p_{k-1} with a, b, c = coefficients(k), ..."""
    before, now = ops.ones_like(x), x * slope + start
    yield before
    for k in count(1):
        yield now
        a, b, c = coefficients(k)
        before, now = now, (x * a + b) * now - before * c


def _polynomial(x, n, slope, start, coefficients):
    if n.numel() == 1:
        degree = n.item()
        degree = int(degree) if abs(degree) < _MOST_DEGREES else -1
        if degree < 0:
            return ops.zeros_like(x)
        return next(islice(_all_degrees(x, slope, start, coefficients), degree, None))
    x, n = x.to(n.device), n.to(int64)
    result = x.new_zeros(())
    for k, value in enumerate(islice(_all_degrees(x, slope, start, coefficients), max(n.max().item() + 1, 0))):
        result = ops.where(n == k, value, result)
    return result


def chebyshev(x, n, slope, start, shifted):
    """Of the first kind for slope 1, of the others for slope 2 and start 0, -1, 1; of 2 x - 1 where `shifted`."""
    return _polynomial(x * 2 - 1 if shifted else x, n, slope, start, lambda k: (2, 0, 1))


def hermite_h(x, n):
    return _polynomial(x, n, 2, 0, lambda k: (2, 0, 2 * k))


def hermite_he(x, n):
    return _polynomial(x, n, 1, 0, lambda k: (1, 0, k))


def laguerre(x, n):
    return _polynomial(x, n, -1, 1, lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)))


def legendre(x, n):
    return _polynomial(x, n, 1, 0, lambda k: ((2 * k + 1) / (k + 1), 0, k / (k + 1)))
