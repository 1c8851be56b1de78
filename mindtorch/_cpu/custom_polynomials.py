"""Orthogonal polynomials by their recurrences, dlmf.nist.gov section 18.9, in float64. Degrees below 0 give 0."""
import numpy as np


def _by_recurrence(x, n, first, following):
    """p_0 = 1, p_1 = first(x), p_{k+1} = following(k, x, p_k, p_{k-1}); n is cut to an integer."""
    x, n = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(n))
    degree = n.astype(np.int64)
    before, now = np.ones_like(x), first(x)
    result = np.where(degree == 0, 1.0, np.where(degree == 1, now, 0.0))
    for k in range(1, int(np.max(degree, initial=0))):
        before, now = now, following(k, x, now, before)
        result = np.where(degree == k + 1, now, result)
    return result


def _chebyshev(x, n, first):
    return _by_recurrence(x, n, first, lambda k, x, now, before: 2 * x * now - before)


def chebyshev_t(x, n):
    return _chebyshev(x, n, lambda x: x)


def chebyshev_u(x, n):
    return _chebyshev(x, n, lambda x: 2 * x)


def chebyshev_v(x, n):
    return _chebyshev(x, n, lambda x: 2 * x - 1)


def chebyshev_w(x, n):
    return _chebyshev(x, n, lambda x: 2 * x + 1)


def _shifted(x):
    return 2 * np.asarray(x, dtype=np.float64) - 1


def shifted_chebyshev_t(x, n):
    return chebyshev_t(_shifted(x), n)


def shifted_chebyshev_u(x, n):
    return chebyshev_u(_shifted(x), n)


def shifted_chebyshev_v(x, n):
    return chebyshev_v(_shifted(x), n)


def shifted_chebyshev_w(x, n):
    return chebyshev_w(_shifted(x), n)


def hermite_h(x, n):
    return _by_recurrence(x, n, lambda x: 2 * x, lambda k, x, now, before: 2 * (x * now - k * before))


def hermite_he(x, n):
    return _by_recurrence(x, n, lambda x: x, lambda k, x, now, before: x * now - k * before)


def laguerre(x, n):
    return _by_recurrence(x, n, lambda x: 1 - x,
                          lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1))


def legendre(x, n):
    return _by_recurrence(x, n, lambda x: x, lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1))
