"""Bessel and Airy functions, for float64 accuracy. Arguments, results and the mark `by_scipy` as in special.py.

Near 0 power series, far away asymptotic series, between them integrals of periodic or rapidly decreasing analytic
functions, for which the trapezoidal rule converges exponentially. Equations are those of dlmf.nist.gov.
"""
import math

import numpy as np

from mindtorch._cpu.kernels import special
from mindtorch._cpu.kernels.special import by_scipy

_TERMS = 70
# Points of the trapezoidal rule on a quarter turn, which stands for the whole by symmetry; for arguments up to 30.
_ANGLES = (np.arange(48) + 0.5) * (math.pi / 96)
_SINES, _COSINES = np.sin(_ANGLES), np.cos(_ANGLES)
_FAR = 30.0


def _double(x):
    return np.asarray(x, dtype=np.float64)


def _asymptotic(order, z, count):
    """The sum of a_k(order) z^k for k below count, equation 10.17.1."""
    total = term = np.ones_like(z)
    for k in range(1, count):
        term = term * z * (4 * order * order - (2 * k - 1) ** 2) / (8 * k)
        total = total + term
    return total


# --- modified functions ----------------------------------------------------------------------------------------------

def _scaled_i(order, x):
    """exp(-|x|) I_order(x): equation 10.25.2, whose terms are all positive, and 10.40.1."""
    size = np.absolute(x)
    near = np.minimum(size, _FAR)
    term = total = np.ones_like(near) if order == 0 else near / 2
    for k in range(1, _TERMS):
        term = term * (near * near / 4) / (k * (k + order))
        total = total + term
    far = np.maximum(size, _FAR)
    value = np.where(size < _FAR, total * np.exp(-near), _asymptotic(order, -1 / far, 20) / np.sqrt(2 * math.pi * far))
    return np.copysign(value, x) if order else value


@by_scipy("i0")
def i0(x):
    x = _double(x)
    return _scaled_i(0, x) * np.exp(np.absolute(x))


@by_scipy("i0e")
def i0e(x):
    return _scaled_i(0, _double(x))


@by_scipy("i1")
def i1(x):
    x = _double(x)
    return _scaled_i(1, x) * np.exp(np.absolute(x))


@by_scipy("i1e")
def i1e(x):
    return _scaled_i(1, _double(x))


def _k_series(order, x):
    """Equations 10.31.1 and 10.31.2, for 0 < x <= 1."""
    z, log = x * x / 4, np.log(x / 2)
    psi, total = -np.euler_gamma, np.zeros_like(x)
    term = np.ones_like(x)
    for k in range(20):
        following = psi + 1 / (k + 1)
        total = total + term * (psi - log if order == 0 else (log - (psi + following) / 2) * x / 2)
        psi = following
        term = term * z / ((k + 1) * (k + 1 + order))
    return total if order == 0 else 1 / x + total


def _scaled_k_integral(order, x):
    """exp(x) K_order(x) for x > 1: equation 10.32.9 with v = sqrt(2 x) sinh(t / 2) as its variable."""
    step = 0.2
    v = np.arange(0, 34) * step
    weight = np.where(v == 0, 0.5, 1.0) * step * np.exp(-v * v)
    ratio = v * v / x[..., None]
    factor = 1 if order == 0 else 1 + ratio
    return np.sqrt(2 / x) * np.sum(weight * factor / np.sqrt(1 + ratio / 2), axis=-1)


def _bessel_k(order, x, scaled):
    x = _double(x)
    low, high = np.clip(x, 1e-308, 1), np.maximum(x, 1)
    near = _k_series(order, low)
    far = _scaled_k_integral(order, np.where(np.isfinite(high), high, 1))
    if scaled:
        near = near * np.exp(low)
    else:
        far = far * np.exp(-high)
    value = np.where(x <= 1, near, np.where(np.isinf(x), 0, far))
    return np.where(x > 0, value, np.where(x == 0, np.inf, np.nan))


@by_scipy("k0")
def k0(x):
    return _bessel_k(0, x, False)


@by_scipy("k1")
def k1(x):
    return _bessel_k(1, x, False)


@by_scipy("k0e")
def scaled_k0(x):
    return _bessel_k(0, x, True)


@by_scipy("k1e")
def scaled_k1(x):
    return _bessel_k(1, x, True)


# --- functions of the first and second kind --------------------------------------------------------------------------

def _far_pair(order, x):
    """J and Y for large x: equations 10.17.3 and 10.17.4, their two series as one of powers of i / x."""
    wave = np.exp(1j * (x - (2 * order + 1) * math.pi / 4))
    series = _asymptotic(order, 1j / x, 24) * np.sqrt(2 / (math.pi * x)) * wave
    return series.real, series.imag


def _near_j(order, x):
    """Equation 10.9.4."""
    waves = np.cos(x[..., None] * _COSINES)
    return np.mean(waves, axis=-1) if order == 0 else x * np.mean(waves * _SINES ** 2, axis=-1)


def _near_y(order, x):
    """Neumann's series of J, equation 10.8.3 in Bessel functions; each J_n an integral as in 10.9.2."""
    kinds = np.arange(1, 41)
    log = np.log(x / 2) + np.euler_gamma
    if order == 0:
        weight = np.sum(((-1.0) ** kinds / kinds)[:, None] * np.cos(2 * kinds[:, None] * _ANGLES), axis=0)
        rest = np.mean(weight * np.cos(x[..., None] * _SINES), axis=-1)
        return 2 / math.pi * log * _near_j(0, x) - 4 / math.pi * rest
    factor = (-1.0) ** kinds * (2 * kinds + 1) / (kinds * (kinds + 1))
    weight = np.sum(factor[:, None] * np.sin((2 * kinds[:, None] + 1) * _ANGLES), axis=0)
    rest = np.mean(weight * np.sin(x[..., None] * _SINES), axis=-1)
    return -2 / (math.pi * x) * _near_j(0, x) + 2 / math.pi * (log - 1) * _near_j(1, x) - 2 / math.pi * rest


def _j(order, x):
    x = _double(x)
    size = np.absolute(x)
    far = _far_pair(order, np.where(np.isfinite(size), np.maximum(size, _FAR), _FAR))[0]
    value = np.where(size < _FAR, _near_j(order, np.minimum(size, _FAR)), far)
    value = np.where(np.isfinite(x), value, np.nan)      # torch's, where the limit would be 0
    return np.where(x < 0, -value, value) if order else value


def _y(order, x):
    x = _double(x)
    inside = (x > 0) & (x < _FAR)
    far = _far_pair(order, np.where(np.isfinite(x), np.maximum(x, _FAR), _FAR))[1]
    value = np.where(inside, _near_y(order, np.where(inside, x, 1.0)), np.where(np.isfinite(x), far, np.nan))
    return np.where(x > 0, value, np.where(x == 0, -np.inf, np.nan))


@by_scipy("j0")
def j0(x):
    return _j(0, x)


@by_scipy("j1")
def j1(x):
    return _j(1, x)


@by_scipy("y0")
def y0(x):
    return _y(0, x)


@by_scipy("y1")
def y1(x):
    return _y(1, x)


def spherical_j0(x):
    """sin(x) / x."""
    x = _double(x)
    return np.where(np.isinf(x), 0, np.where(x == 0, 1, np.sin(x) / np.where(x == 0, 1, x)))


# --- Airy's function -------------------------------------------------------------------------------------------------

_AIRY_AT_0, _AIRY_SLOPE_AT_0 = 0.355028053887817239, -0.258819403792806798      # equations 9.2.3 and 9.2.4


def _airy_series(x):
    """Equation 9.4.1, for |x| <= 1."""
    first, second = np.ones_like(x), x
    total = _AIRY_AT_0 * first + _AIRY_SLOPE_AT_0 * second
    cube = x ** 3
    for k in range(1, 12):
        first = first * cube / ((3 * k - 1) * (3 * k))
        second = second * cube / ((3 * k) * (3 * k + 1))
        total = total + _AIRY_AT_0 * first + _AIRY_SLOPE_AT_0 * second
    return total


def _airy_integral(size, turn):
    """Ai(size * turn^6) for size >= 1 and |turn| = 1: equation 9.5.8, the Gaussian's width being fixed."""
    step = 0.125
    t = np.arange(0, 56) * step
    quarter = size ** -0.25
    weight = np.where(t == 0, 0.5, 1.0) * step * np.exp(-turn ** 3 * t * t)
    integral = np.sum(weight * np.cos((t * quarter[..., None]) ** 3 / 3), axis=-1)
    return np.exp(-turn ** 9 * size ** 1.5 * (2 / 3)) / math.pi * quarter * integral


def airy_ai(x):
    """On the left by 9.2.14: twice the real part of Ai on a ray where the integral holds."""
    x = _double(x)
    if scipy := special.scipy_special():
        return np.where(np.isfinite(x), scipy.airy(np.minimum(x, 200))[0], np.nan)      # 0 from 110 on
    size = np.where(np.isfinite(x), np.maximum(np.absolute(x), 1), 1)
    turn = np.exp(1j * math.pi / 18)
    right = _airy_integral(size, 1.0)
    left = 2 * (np.exp(1j * math.pi / 3) * _airy_integral(size, turn)).real
    value = np.where(np.absolute(x) <= 1, _airy_series(np.clip(x, -1, 1)), np.where(x > 0, right, left))
    return np.where(np.isfinite(x), value, np.nan)
