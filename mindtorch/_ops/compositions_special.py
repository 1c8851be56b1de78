"""Formulas of special functions that ACLNN lacks: see compositions.py. Equations are those of dlmf.nist.gov.

What the CPU computes in float64 is computed here in float32 where the tensors are, so that neither a formula nor its
number of terms need be the same.
"""
from math import cos, exp, factorial, inf, nan, pi, sin, sqrt

from mindtorch._ops.compositions import full, put
from mindtorch._ops.derivatives import ops
from mindtorch._type_info import finfo

_EULER = 0.5772156649015329


# --- orthogonal polynomials, by their recurrences, section 18.9 ------------------------------------------------------

def polynomial(x, n, first, following):
    """p_0 = 1, p_1 = first, p_{k+1} = following(k, p_k, p_{k-1}); n is cut to an integer. Waits for the highest n."""
    degree = n.trunc()
    now, before = first, ops.ones_like(x)
    result = ops.where(degree == 0, before, ops.where(degree == 1, now, ops.zeros_like(x)))
    for k in range(1, int(degree.max().item())):
        now, before = following(k, now, before), now
        result = ops.where(degree == k + 1, now, result)
    return result


def chebyshev(x, n, first):
    return polynomial(x, n, first, lambda k, now, before: 2 * x * now - before)


def hermite(x, n, scale):
    """H_n for scale 2, He_n for scale 1."""
    return polynomial(x, n, scale * x, lambda k, now, before: scale * (x * now - k * before))


def laguerre(x, n):
    return polynomial(x, n, 1 - x, lambda k, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1))


def legendre(x, n):
    return polynomial(x, n, x, lambda k, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1))


# --- Bessel functions ------------------------------------------------------------------------------------------------

_FAR = 15.0


def scaled_bessel_i(order, x):
    """exp(-|x|) I_order(x): the power series 10.25.2, whose terms are all positive; far away 10.40.1."""
    size = x.abs()
    near, far = size.clamp(max=_FAR), size.clamp(min=_FAR)
    term = total = ops.ones_like(near) if order == 0 else near / 2
    for k in range(1, 45):
        term = term * (near * near / (4 * k * (k + order)))
        total = total + term
    part = series = ops.ones_like(far)
    for k in range(1, 16):
        part = part * (((2 * k - 1) ** 2 - 4 * order * order) / (8 * k)) / far
        series = series + part
    value = ops.where(size < _FAR, total * (-near).exp(), series / (2 * pi * far).sqrt())
    return value if order == 0 else ops.where(x < 0, -value, value)


def bessel_i(order, x):
    return scaled_bessel_i(order, x) * x.abs().exp()


def spherical_bessel_j0(x, out):
    """sin(x) / x."""
    largest = finfo(x.dtype).max
    return put(ops.clamp(x, -largest, largest, out=out).sin_().div_(x), x == 0, 1)


def _k_near(order, x):
    """10.31.1 and 10.31.2, for 0 < x <= 1."""
    z, log = x * x / 4, (x / 2).log()
    psi, total, term = -_EULER, ops.zeros_like(x), ops.ones_like(x)
    for k in range(12):
        following = psi + 1 / (k + 1)
        total = total + term * (psi - log if order == 0 else (log - (psi + following) / 2) * x / 2)
        psi = following
        term = term * z / ((k + 1) * (k + 1 + order))
    return total if order == 0 else 1 / x + total


def _scaled_k_far(order, x):
    """exp(x) K_order(x) for x >= 1: 10.32.9 with v = sqrt(2 x) sinh(t / 2) as its variable, by the trapezoidal rule."""
    step, total = 0.2, 0
    for place in range(34):
        v = place * step
        ratio = v * v / x
        weight = step * exp(-v * v) * (0.5 if place == 0 else 1)
        total = total + weight * (1 if order == 0 else 1 + ratio) / (1 + ratio / 2).sqrt()
    return (2 / x).sqrt() * total


def bessel_k(order, x, scaled):
    low, high = x.clamp(1e-30, 1), x.clamp(min=1)
    near, far = _k_near(order, low), _scaled_k_far(order, high)
    near, far = (near * low.exp(), far) if scaled else (near, far * (-high).exp())
    value = ops.where(x <= 1, near, ops.where(x == inf, full(x, 0), far))
    return ops.where(x > 0, value, ops.where(x == 0, full(x, inf), full(x, nan)))


_NEAR = 25.0
_ANGLES = [(i + 0.5) * pi / 96 for i in range(48)]      # a quarter turn, which stands for the whole by symmetry


def _far_pair(order, x):
    """J and Y for large x: 10.17.3 and 10.17.4."""
    term, even, odd = ops.ones_like(x), ops.ones_like(x), ops.zeros_like(x)
    for k in range(1, 16):
        term = term * ((4 * order * order - (2 * k - 1) ** 2) / (8 * k)) / x
        sign = -1 if k // 2 % 2 else 1
        even, odd = (even, odd + sign * term) if k % 2 else (even + sign * term, odd)
    angle = x - (2 * order + 1) * pi / 4
    size, sine, cosine = (2 / (x * pi)).sqrt(), angle.sin(), angle.cos()
    return size * (even * cosine - odd * sine), size * (even * sine + odd * cosine)


def _near_j(order, x):
    """10.9.4."""
    total = 0
    for angle in _ANGLES:
        total = total + (x * cos(angle)).cos() * (1 if order == 0 else sin(angle) ** 2)
    return total / 48 * (1 if order == 0 else x)


def _near_y(order, x):
    """Neumann's series of J, 10.8.3 in Bessel functions, each an integral as in 10.9.2."""
    log, rest = (x / 2).log() + _EULER, 0
    for angle in _ANGLES:
        if order == 0:
            weight = sum((-1) ** k / k * cos(2 * k * angle) for k in range(1, 33))
            rest = rest + weight / 48 * (x * sin(angle)).cos()
        else:
            weight = sum((-1) ** k * (2 * k + 1) / (k * (k + 1)) * sin((2 * k + 1) * angle) for k in range(1, 33))
            rest = rest + weight / 48 * (x * sin(angle)).sin()
    if order == 0:
        return 2 / pi * log * _near_j(0, x) - 4 / pi * rest
    return -2 / (x * pi) * _near_j(0, x) + 2 / pi * (log - 1) * _near_j(1, x) - 2 / pi * rest


def bessel_j(order, x):
    size = x.abs()
    value = ops.where(size < _NEAR, _near_j(order, size.clamp(max=_NEAR)), _far_pair(order, size.clamp(_NEAR, 1e30))[0])
    value = ops.where(size == inf, full(x, nan), value)        # torch's, where the limit would be 0
    return ops.where(x < 0, -value, value) if order else value


def bessel_y(order, x):
    inside = ops.logical_and(x > 0, x < _NEAR)
    near = _near_y(order, ops.where(inside, x, full(x, 1)))
    far = ops.where(x == inf, full(x, nan), _far_pair(order, x.clamp(_NEAR, 1e30))[1])
    value = ops.where(inside, near, far)
    return ops.where(x > 0, value, ops.where(x == 0, full(x, -inf), full(x, nan)))


# --- error functions -------------------------------------------------------------------------------------------------

def _scaled_erfc_far(x):
    """exp(x^2) erfc(x) for x >= 2: the trapezoidal rule of 7.7.1, and what its poles add."""
    step = 0.5
    total = 1 / x
    for n in range(1, 13):
        point = (n * step) ** 2
        total = total + 2 * exp(-point) / (x + point / x)
    turns = x * (2 * pi / step)
    poles = 2 * (x * x - turns).exp() / (1 - (-turns).exp())
    return total * (step / pi) - ops.where(x < pi / step, poles, full(x, 0))


def scaled_erfc(x):
    size = x.abs()
    near, far = size.clamp(max=2), size.clamp(min=2)
    right = ops.where(size < 2, (near * near).exp() * near.erfc(), _scaled_erfc_far(far))
    return ops.where(x < 0, 2 * (x * x).exp() - right, ops.where(x == inf, full(x, 0), right))


def log_normal_distribution(x):
    """log of the normal distribution function, also where that is 0."""
    low, high = x.clamp(max=-1), x.clamp(min=-1)
    left = (scaled_erfc(low * -sqrt(0.5)) / 2).log() - low * low / 2
    return ops.where(x < -1, left, (-(high * sqrt(0.5)).erfc() / 2).log1p())


# --- gamma functions and zeta ----------------------------------------------------------------------------------------

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)


def hurwitz_zeta(s, q):
    """Terms of the sum over k of (k + q)^-s until k + q > 9, then the remainder 25.11.5. Waits for the smallest q."""
    whole = q == q.floor()
    pole = ops.logical_or(s == 1, ops.logical_and(s > 1, ops.logical_and(q <= 0, whole)))
    valid = ops.logical_and(s > 1, ops.logical_or(q > 0, ops.logical_and(~whole, s == s.floor())))
    valid = ops.logical_and(valid, ops.isfinite(q))
    s, a = ops.where(valid, s, full(s, 2)), ops.where(valid, q, full(q, 1))
    total = ops.zeros_like(s + a)
    for _ in range(int(10 - a.min().item())):
        below = a <= 9
        total = ops.where(below, total + a.pow(-s), total)
        a = ops.where(below, a + 1, a)
    tail = a.pow(-s)
    total = total + a * tail / (s - 1) + tail / 2
    factor = s * tail / a
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + factor * (bernoulli / factorial(2 * k))
        factor = factor * (s + (2 * k - 1)) * (s + 2 * k) / (a * a)
    return ops.where(valid, total, ops.where(pole, full(total, inf), full(total, nan)))


def derivative_of_digamma(n, x):
    """The n-th one: 25.11.12; the first also on the left, by reflection."""
    if n == 0:
        return ops.digamma(x)
    if n > 1:
        return hurwitz_zeta(full(x, n + 1), x) * ((-1.0) ** (n + 1) * factorial(n))
    mirrored = x < 0.5
    right = hurwitz_zeta(full(x, 2), ops.where(mirrored, 1 - x, x))
    # The sine's argument is the distance from a whole number: pi * x itself would lose what stands behind the point.
    value = ops.where(mirrored, (pi / ((x - x.round()) * pi).sin()).square() - right, right)
    return ops.where(x == inf, full(x, 0), value)


def _gamma_weight(a, x):
    """x^a exp(-x) / gamma(a)."""
    return (a * x.log() - x - a.lgamma()).exp()


def _converged(k, change, limit):
    """Looked at every 16 terms: it waits for the device."""
    return k % 16 == 0 and bool((change <= limit).all().item())


def _lower_series(a, x, epsilon):
    """P(a, x) by 8.7.1, for x < a + 1."""
    term = total = 1 / a
    for k in range(1, 4096):
        term = term * x / (a + k)
        total = total + term
        if _converged(k, term, total * epsilon):
            break
    return total * _gamma_weight(a, x)


def _upper_fraction(a, x, epsilon):
    """Q(a, x) by the continued fraction 8.9.2, evaluated by Lentz's method, for x >= a + 1."""
    b = x + 1 - a
    c, d = full(x, 1e30), 1 / b
    result = d
    for k in range(1, 4096):
        numerator, b = (a - k) * k, b + 2
        d = 1 / (numerator * d + b)
        c = b + numerator / c
        result = result * (c * d)
        if _converged(k, (c * d - 1).abs(), epsilon):
            break
    return result * _gamma_weight(a, x)


def incomplete_gamma(a, x, upper):
    """The regularised incomplete gamma function, the lower or the upper one."""
    a, x = ops.broadcast_tensors(a, x)
    epsilon = 2.3e-16 if str(x.dtype) == "torch.float64" else 1.2e-7
    inside = ops.isfinite(a) & ops.isfinite(x) & (a > 0) & (x > 0)
    series = inside & (x < a + 1)
    low = _lower_series(ops.where(series, a, full(a, 1)), ops.where(series, x, full(x, 1)), epsilon)
    fraction = inside & ~series
    high = _upper_fraction(ops.where(fraction, a, full(a, 1)), ops.where(fraction, x, full(x, 3)), epsilon)
    value = ops.where(series, 1 - low, high) if upper else ops.where(series, low, 1 - high)
    outside = ops.where(a == inf, ops.where(x == inf, full(x, nan), full(x, 0)), full(x, 1))
    outside = ops.where(x == 0, full(x, 0), outside)
    undefined = (a < 0) | (x < 0) | a.isnan() | x.isnan() | ((a == 0) & (x == 0))
    outside = ops.where(undefined, full(x, nan), 1 - outside if upper else outside)
    return ops.where(inside, value, outside)


def entropy(self, out):
    """-x log(x), 0 at 0 and -infinity below."""
    return put(ops.xlogy(self, self, out=out).neg_(), self < 0, -inf)
