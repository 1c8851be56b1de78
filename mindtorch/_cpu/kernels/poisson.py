"""CPU kernels of the Poisson, binomial and gamma distributions: element by element, as torch's generator is asked.

A mean below 10 is drawn by multiplying uniform numbers until the product falls below exp(-mean). Larger means use
transformed rejection: W. Hoermann, The transformed rejection method for generating Poisson random variables (1993),
The generation of binomial random variates (1993).
"""
from math import ceil, cos, exp, floor, isnan, lgamma, log, log1p, pi, sin, sqrt

import numpy as np

from mindtorch._cpu.kernels.random import _with_layout_of

_BLOCK_SIZE = 256   # doubles drawn at once by `DoublesOneByOne`
_SMALL = 10         # smaller means do not use rejection
_THIRD, _SQUEEZE = float(np.float32(1 / 3)), float(np.float32(0.0331))     # torch has these in float32


class DoublesOneByOne:
    """A context in which a call gives the stream's next double, as Python's float."""

    def __init__(self, stream):
        self.stream, self.block, self.state = stream, [], None

    def __enter__(self):
        return self

    def __call__(self):
        if not self.block:
            self.state = self.stream._bits.state["state"]           # before the block is drawn
            self.block = self.stream.doubles(_BLOCK_SIZE)[::-1].tolist()
        return self.block.pop()

    def __exit__(self, *exception):
        if self.state is not None:      # what was not given goes back
            self.stream._restore(self.state)
            self.stream.doubles(_BLOCK_SIZE - len(self.block))


def _in_memory_order(array, like):
    """The elements of `array` in the order in which those of `like` lie in memory."""
    axes = sorted(range(like.ndim), key=lambda axis: -abs(like.strides[axis]))
    return np.broadcast_to(array, like.shape).transpose(axes).reshape(-1).astype(np.float64).tolist()


def poisson(rates, stream):
    """Samples of the Poisson distribution with the mean `rate`."""
    if not np.all(rates >= 0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    result = np.empty(rates.shape, rates.dtype)
    with DoublesOneByOne(stream) as uniform:
        counts = [_poisson(rate, uniform) for rate in _in_memory_order(rates, result)]
    return _with_layout_of(result, np.array(counts, np.float64))


def _poisson(rate, uniform):
    if rate >= _SMALL:
        return _poisson_by_rejection(rate, uniform)
    if rate == 0:
        return 0
    limit, product, count = exp(-rate), uniform(), 0
    while product > limit:
        product *= uniform()
        count += 1
    return count


def _poisson_by_rejection(rate, uniform):
    root = sqrt(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    squeeze, scale = 0.9277 - 3.6224 / (b - 2), 1.1239 + 1.1328 / (b - 3.4)
    while True:
        u, v = uniform() - 0.5, uniform()
        edge = 0.5 - abs(u)
        count = floor((2 * a / edge + b) * u + rate + 0.43)
        if edge >= 0.07 and v <= squeeze:
            return count
        if count < 0 or (edge < 0.013 and v > edge):
            continue
        if log(v * scale / (a / (edge * edge) + b)) <= count * log(rate) - rate - lgamma(count + 1):
            return count


def standard_gamma(shapes, stream):
    """Numbers of the gamma distribution of rate 1: Marsaglia and Tsang, A simple method for generating gamma variables
    (2000)."""
    result = np.empty(shapes.shape, shapes.dtype)
    with DoublesOneByOne(stream) as uniform:
        numbers = [_standard_gamma(shape, shapes.dtype.type, uniform, stream)
                   for shape in _in_memory_order(shapes, result)]
    return _with_layout_of(result, np.maximum(np.array(numbers).astype(result.dtype), np.finfo(result.dtype).tiny))


def sample_dirichlet(concentrations, stream):
    """Gamma numbers over their sums along the last dimension."""
    gammas = standard_gamma(concentrations.astype(np.float64), stream)
    kept = np.finfo(concentrations.dtype)
    return np.clip(gammas / gammas.sum(-1, keepdims=True), kept.tiny, 1 - kept.epsneg).astype(concentrations.dtype)


def _standard_gamma(shape, rounded, uniform, stream):
    """One number. As in torch, what comes of the shape alone is rounded to the tensor's dtype, the rest is float64."""
    scale = 1.0
    if shape < 1:
        if shape == 0:
            return 0.0
        scale, shape = (1 - uniform()) ** float(rounded(1 / shape)), float(rounded(shape + 1))
    d = float(rounded(shape - _THIRD))
    c = 1 / sqrt(9 * d)
    while True:
        x = _normal(uniform, stream)
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y                   # torch's last bit, which a power would not give
        u = 1 - uniform()
        if u < 1 - _SQUEEZE * x ** 4 or log(u) < 0.5 * x * x + d * (1 - v + log(v)):
            return scale * d * v


def _normal(uniform, stream):
    """A normal number; they come in pairs, of which the stream keeps the second."""
    kept, stream.normal = stream.normal, None
    if kept is not None:
        return kept
    angle, radius = 2 * pi * uniform(), sqrt(-2 * log1p(-uniform()))
    stream.normal = radius * sin(angle)
    return radius * cos(angle)


def binomial(counts, probs, stream):
    """How many of `count` trials succeed, each with probability `prob`."""
    result = np.empty(np.broadcast_shapes(counts.shape, probs.shape), counts.dtype)
    pairs = zip(_in_memory_order(counts, result), _in_memory_order(probs, result), strict=True)
    with DoublesOneByOne(stream) as uniform:
        found = [_binomial(count, prob, uniform) for count, prob in pairs]
    return _with_layout_of(result, np.array(found, np.float64))


def _binomial(count, prob, uniform):
    if isnan(prob) or isnan(count):
        return float("nan")
    if count <= 0 or prob <= 0:
        return 0
    if prob >= 1:
        return count
    if prob > 0.5:
        return count - _successes(count, 1 - prob, uniform)
    return _successes(count, prob, uniform)


def _successes(count, prob, uniform):
    if count * prob >= _SMALL:
        return _binomial_by_rejection(count, prob, uniform)
    trials, found, scale = 0, 0, log1p(-prob)
    while True:
        trials += ceil(log(uniform()) / scale)      # up to the next success
        if trials > count:
            return found
        found += 1


def _binomial_by_rejection(count, prob, uniform):
    deviation = sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    squeeze, odds, alpha = 0.92 - 4.2 / b, prob / (1 - prob), (2.83 + 5.1 / b) * deviation
    middle = floor((count + 1) * prob)
    while True:
        u, v = uniform() - 0.5, uniform()
        edge = 0.5 - abs(u)
        found = floor((2 * a / edge + b) * u + count * prob + 0.5)
        if edge >= 0.07 and v <= squeeze:
            return found
        if 0 <= found <= count and log(v * alpha / (a / (edge * edge) + b)) <= _log_ratio(count, odds, middle, found):
            return found


def _log_ratio(count, odds, middle, found):
    """log of the probability of `found` successes over that of `middle`."""
    return ((middle + 0.5) * log((middle + 1) / (odds * (count - middle + 1)))
            + (count + 1) * log((count - middle + 1) / (count - found + 1))
            + (found + 0.5) * log(odds * (count - found + 1) / (found + 1))
            + _tail(middle) + _tail(count - middle) - _tail(found) - _tail(count - found))


def _tail(number):
    """log(number!) minus Stirling's formula."""
    return lgamma(number + 1) - ((number + 0.5) * log(number + 1) - (number + 1) + 0.918938533204672742)
