"""Error functions, gamma functions and their relatives, for float64 accuracy.

Every function takes arrays (or numbers) of any real dtype, computes in float64 and gives float64; the caller rounds.
The C library's erf and erfc have loops of float32, too. Functions marked `by_scipy` are SciPy's where it is installed:
its compiled loops are 10 to 60 times as fast.
Facts are cited from the NIST Digital Library of Mathematical Functions, dlmf.nist.gov.
"""
import functools
import math

import numpy as np

from mindtorch._cpu import backend

erf = backend.erf
erfc = backend.erfc

_ROOT_PI = math.sqrt(math.pi)
_ROOT_HALF = math.sqrt(0.5)
# Bernoulli numbers B_2, B_4, ...
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)


def _double(*values):
    arrays = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values))
    return arrays[0] if len(arrays) == 1 else arrays


@functools.cache
def scipy_special():
    """The module scipy.special, imported with the first function that is SciPy's; None where SciPy is not installed."""
    try:
        import scipy.special
    except ImportError:
        return None
    return scipy.special


def by_scipy(name):
    """Marks a function that scipy.special has as `name`: its body is for machines without SciPy.

    An example: `by_scipy("ndtri")(f)(0.5)` is `scipy.special.ndtri(0.5)`.
    """
    def mark(function):
        @functools.wraps(function)
        def chosen(*args):
            scipy = scipy_special()
            return getattr(scipy, name)(*map(_double, args)) if scipy else function(*args)
        return chosen
    return mark


def _ratio(x, numerator, denominator):
    """Two polynomials, highest power first; the denominator's leading 1 is left out."""
    return np.polyval(numerator, x) / np.polyval((1.0, *denominator), x)


# --- error functions: W. J. Cody, Rational Chebyshev Approximations for the Error Function, 1969 ---------------------

def _erf_near(x):
    """Below 0.46875."""
    return x * _ratio(x * x, (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2,
                              3.77485237685302021e2, 3.20937758913846947e3),
                      (2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3))


def _erfcx_middle(x):
    """exp(x^2) erfc(x) from 0.46875 to 4."""
    return _ratio(x, (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
                      2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
                      1.23033935479799725e3),
                  (1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
                   3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3))


def _erfcx_far(x):
    """exp(x^2) erfc(x) above 4."""
    z = 1 / (x * x)
    rest = z * _ratio(z, (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
                          1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4),
                      (2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
                       2.33520497626869185e-3))
    return (1 / _ROOT_PI - rest) / x


def _gaussian(x):
    """exp(-x^2), with the rounding of x^2 made good."""
    high = np.round(x * 16) / 16
    return np.exp(-high * high) * np.exp(-(x - high) * (x + high))


def _erfcx_positive(x):
    near = (1 - _erf_near(np.minimum(x, 0.46875))) * np.exp(np.minimum(x, 0.46875) ** 2)
    return np.where(x < 0.46875, near, np.where(x < 4, _erfcx_middle(np.minimum(x, 4)), _erfcx_far(np.maximum(x, 4))))


@by_scipy("erfcx")
def erfcx(x):
    """exp(x^2) erfc(x)."""
    x = _double(x)
    right = _erfcx_positive(np.absolute(x))
    return np.where(x < 0, np.where(np.isinf(x), np.inf, 2 / _gaussian(x)) - right, right)


def _erfc_inverse(q):
    """The t >= 0 with erfc(t) = q for 0 < q <= 1, from an approximation by elementary functions.

    Newton's method on the logarithms converges from far away, Halley's method makes the result exact.
    """
    log_term = np.log(q) + np.log(2 - q)
    half = 2 / (math.pi * 0.147) + log_term / 2
    t = np.sqrt(np.sqrt(half * half - log_term / 0.147) - half)
    for _ in range(4):
        scaled = erfcx(t)
        t = np.maximum(t + (np.log(scaled) - t * t - np.log(q)) * scaled * _ROOT_PI / 2, 0)
    error = (erfc(t) - q) / (2 / _ROOT_PI * _gaussian(t))
    return t + error / (1 + t * error)


def _erf_inverse_near(y):
    """The same for erf(t) = y, |y| <= 0.5."""
    t = y * _ROOT_PI / 2
    for _ in range(4):
        error = (erf(t) - y) / (2 / _ROOT_PI * _gaussian(t))
        t = t - error / (1 + t * error)
    return t


def erfinv(y):
    y = _double(y)
    if scipy := scipy_special():
        return np.copysign(scipy.erfinv(y), y)
    size = np.absolute(y)
    tail = np.copysign(_erfc_inverse(np.where((size > 0.5) & (size < 1), 1 - size, 0.5)), y)
    inside = np.where(size <= 0.5, _erf_inverse_near(np.where(size <= 0.5, y, 0)), tail)
    return np.where(size < 1, inside, np.where(size == 1, np.copysign(np.inf, y), np.nan))


@by_scipy("ndtri")
def ndtri(p):
    """The x with ndtr(x) = p."""
    p = _double(p)
    low = np.minimum(p, 1 - p)
    tail = np.copysign(_erfc_inverse(np.where(low > 0, 2 * low, 1)), p - 0.5) / _ROOT_HALF
    middle = _erf_inverse_near(np.where(low > 0.25, 2 * p - 1, 0)) / _ROOT_HALF
    edge = np.where(low == 0, np.copysign(np.inf, p - 0.5), np.nan)
    return np.where(low > 0, np.where(low > 0.25, middle, tail), edge)


@by_scipy("log_ndtr")
def log_ndtr(x):
    """log of the normal distribution function, also where that is 0."""
    x = _double(x)
    left = np.log(erfcx(-np.minimum(x, -1) * _ROOT_HALF) / 2) - np.minimum(x, -1) ** 2 / 2
    return np.where(x < -1, left, np.log1p(-erfc(np.maximum(x, -1) * _ROOT_HALF) / 2))


# --- gamma functions -------------------------------------------------------------------------------------------------

def _log_gamma_of(x):
    if math.isinf(x):
        return math.inf
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


_LOG_GAMMA = np.frompyfunc(_log_gamma_of, 1, 1)


def lgamma(x):
    """log |gamma(x)|."""
    if scipy := scipy_special():
        return np.where(np.isinf(x), np.inf, scipy.gammaln(_double(x)))
    return np.asarray(_LOG_GAMMA(_double(x)), dtype=np.float64)


@by_scipy("psi")
def digamma(x):
    """Upward recurrence to 10, then DLMF 5.11.2; on the left the reflection formula, DLMF 5.5.4."""
    x = _double(x)
    mirrored = x < 0
    y = np.where(mirrored, 1 - x, x)
    shift = np.zeros_like(y)
    for _ in range(10):
        below = y < 10
        shift = np.where(below, shift - 1 / y, shift)
        y = np.where(below, y + 1, y)
    z = 1 / (y * y)
    series = 0
    for k in range(7, 0, -1):           # by Horner's rule, as torch, so that both round alike beside the root
        series = z * (series + _BERNOULLI[k - 1] / (2 * k))
    result = shift + np.log(y) - 0.5 / y - series
    result = np.where(mirrored, result - math.pi / np.tan(math.pi * np.fmod(x, 1)), result)
    poles = np.where(x == 0, -np.copysign(np.inf, x), np.nan)
    return np.where((x <= 0) & (x == np.floor(x)), poles, np.where(np.isposinf(x), np.inf, result))


def zeta(s, q):
    """Hurwitz's zeta function, the sum over k of (k + q)^-s: terms until k + q > 9, then DLMF 25.11.5's remainder."""
    s, q = _double(s, q)
    if scipy := scipy_special():
        return np.where(np.isposinf(q) & (s > 1), np.nan, scipy.zeta(s, q))        # torch's, where SciPy has the limit
    valid = (s > 1) & ((q > 0) | ((q != np.floor(q)) & (s == np.floor(s)))) & np.isfinite(q)
    pole = (s == 1) | ((s > 1) & (q <= 0) & (q == np.floor(q)))
    s, a = np.where(valid, s, 2.0), np.where(valid, q, 1.0)
    total = np.zeros_like(a)
    below = a <= 9
    while np.any(below):
        total = np.where(below, total + a ** -s, total)
        a = np.where(below, a + 1, a)
        below = a <= 9
    tail = a ** -s
    total = total + a * tail / (s - 1) + tail / 2
    factor = s * tail / a
    for k, b in enumerate(_BERNOULLI, 1):
        total = total + b / math.factorial(2 * k) * factor
        factor = factor * (s + 2 * k - 1) * (s + 2 * k) / (a * a)
    return np.where(valid, total, np.where(pole, np.inf, np.nan))


def polygamma(n, x):
    """The n-th derivative of digamma: DLMF 25.11.12; for n = 1 also on the left, by reflection."""
    x = _double(x)
    if n == 0:
        return digamma(x)
    if n == 1:
        mirrored = x < 0.5
        right = zeta(2.0, np.where(mirrored, 1 - x, x))
        value = np.where(mirrored, (math.pi / np.sin(math.pi * x)) ** 2 - right, right)
        return np.where(np.isposinf(x), 0, value)
    return (-1.0) ** (n + 1) * math.gamma(n + 1) * zeta(n + 1.0, x)


_LIMIT, _EPSILON = 20000, np.finfo(np.float64).eps


def _gamma_weight(a, x):
    """x^a exp(-x) / gamma(a)."""
    return np.exp(a * np.log(x) - x - lgamma(a))


def _lower_series(a, x):
    """P(a, x) by DLMF 8.7.1, for x < a + 1."""
    term = total = 1 / a
    for k in range(1, _LIMIT):
        term = term * x / (a + k)
        total = total + term
        if np.all(term <= total * _EPSILON):
            break
    return total * _gamma_weight(a, x)


def _upper_fraction(a, x):
    """Q(a, x) by the continued fraction DLMF 8.9.2, evaluated by Lentz's method, for x >= a + 1."""
    b = x + 1 - a
    c, d = np.full_like(x, 1e300), 1 / b
    result = d
    for k in range(1, _LIMIT):
        numerator = -k * (k - a)
        b = b + 2
        d = 1 / (numerator * d + b)
        c = b + numerator / c
        result = result * (c * d)
        if np.all(np.absolute(c * d - 1) <= _EPSILON):
            break
    return result * _gamma_weight(a, x)


def _uniform_coefficients(terms=4, degree=16):
    """d[k][n] of DLMF 8.12.11, the n-th Taylor coefficient of c_k(eta), by 8.12.12 and 8.12.13."""
    alpha = [0.0, 1.0, 1 / 3]
    for n in range(3, degree + 2 * terms + 2):
        products = sum(j * alpha[j] * alpha[n + 1 - j] for j in range(2, n))
        alpha.append((alpha[n - 1] - products) / (n + 1))
    d = [[-1 / 3, *((n + 2) * alpha[n + 2] for n in range(1, degree + 2 * terms))]]
    stirling = 1.0
    for k in range(1, terms):
        stirling *= -(2 * k + 1)
        below = d[-1]
        d.append([stirling * alpha[2 * k + 1] * d[0][n] + (n + 2) * below[n + 2] for n in range(len(below) - 2)])
    return [row[degree::-1] for row in d]


_UNIFORM = _uniform_coefficients()


def _uniform(a, x, upper):
    """P or Q by DLMF 8.12.3 to 8.12.8, for a large a and an x near it, where series and fraction take sqrt(a) terms."""
    difference = (x - a) / a
    eta_squared = 2 * difference**2 * np.polyval([(-1)**k / k for k in range(20, 1, -1)], difference)
    eta = np.sign(difference) * np.sqrt(eta_squared)
    rest = sum(np.polyval(row, eta) / a**k for k, row in enumerate(_UNIFORM))
    rest = rest * np.exp(-a * eta_squared / 2) / np.sqrt(2 * math.pi * a)
    sign = 1 if upper else -1
    return erfc(sign * eta * np.sqrt(a / 2)) / 2 + sign * rest


def _incomplete_inside(a, x, upper, inside):
    near = inside & (a > 1000) & (np.absolute(x - a) < 0.1 * a)
    series = inside & ~near & (x < a + 1)
    fraction = inside & ~near & ~series
    low = _lower_series(np.where(series, a, 1.0), np.where(series, x, 1.0))
    high = _upper_fraction(np.where(fraction, a, 1.0), np.where(fraction, x, 3.0))
    result = np.where(series, 1 - low, high) if upper else np.where(series, low, 1 - high)
    if near.any():
        result[near] = _uniform(a[near], x[near], upper)
    return result


def _incomplete(a, x, upper):
    a, x = _double(a, x)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    if scipy := scipy_special():
        result = (scipy.gammaincc if upper else scipy.gammainc)(a, x)
    else:
        result = _incomplete_inside(a, x, upper, inside)
    outside = np.select([x == 0, np.isinf(a), np.isinf(x) | (a == 0)], [0.0, np.where(np.isinf(x), np.nan, 0.0), 1.0],
                        np.nan)
    undefined = (a < 0) | (x < 0) | ((a == 0) & ~(x > 0))
    return np.where(inside, result, np.where(undefined, np.nan, 1 - outside if upper else outside))


def igamma(a, x):
    """The regularised lower incomplete gamma function."""
    return _incomplete(a, x, False)


def igammac(a, x):
    """The regularised upper incomplete gamma function."""
    return _incomplete(a, x, True)


# --- logarithms ------------------------------------------------------------------------------------------------------

def logit(x, eps):
    """log(x / (1 - x)), of x between eps and 1 - eps where eps is given."""
    if eps is not None:
        x = np.clip(x, eps, 1 - eps)
    return np.log(x / (1 - x))


def logit_backward(grad, x, eps):
    """grad / (x (1 - x)); outside of eps to 1 - eps it is 0, and NaN outside of 0 to 1 without an eps."""
    without = eps is None or eps < 0
    low = 0 if without else eps
    return np.where((x >= low) & (x <= 1 - low), grad / (np.abs(x) * (1 - x)), np.nan if without else 0)


def xlog1py(x, y):
    """x * log(1 + y), 0 where x is 0 unless y is NaN."""
    return np.where(np.isnan(y), y, np.where(np.equal(x, 0), 0, np.multiply(x, np.log1p(y))))


def entr(x):
    """-x log(x), 0 at 0 and -infinity below."""
    return np.where(np.isnan(x), x, np.where(x > 0, -x * np.log(x), np.where(x == 0, 0, -np.inf)))


# --- orthogonal polynomials: section 18.9 of dlmf.nist.gov, in float64 -----------------------------------------------
# A negative degree gives 0.

def _by_recurrence(x, n, first, following):
    """p_0 = 1, p_1 = first(x), p_{k+1} = following(k, x, p_k, p_{k-1}); n is cut to an integer."""
    x, n = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(n))
    degree = np.where(np.isfinite(n), n, -1).astype(np.int64)
    highest = int(np.max(degree, initial=0))
    if highest > 2**20:
        raise RuntimeError(f"polynomials of a degree above {2**20} are not computed, but got {highest}")
    before, now = np.ones_like(x), first(x)
    result = np.where(degree == 0, 1.0, np.where(degree == 1, now, 0.0))
    for k in range(1, highest):
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
