"""The Poisson and binomial distributions, from uniform random numbers.

For a small mean, exponential waiting times are summed and the events within the interval counted. For a larger mean,
transformed rejection (W. Hoermann 1993) proposes numbers for all elements until each has accepted one. The host reads
the smallest and the largest mean, and after each proposal whether an element still lacks a number: all wait for the
device.
"""
from math import log, pi

import numpy

from mindtorch._core.tensor.dtype import float32, float64
from mindtorch._ops.decompositions.tables import by_element, table
from mindtorch._ops.operators import ops

_SMALL = 10         # smaller means do not use rejection
_MAX_EVENTS = 50    # a Poisson variable of a small mean exceeds this with a probability below 10**-17
_TRIALS = 32        # up to so many trials are drawn one by one


def _in_float(x):
    return x if x.dtype is float64 else x.to(float32)


def _uniform(like, *more, generator):
    """Uniform numbers from [0, 1), in the shape (*like.shape, *more)."""
    return like.new_empty((*like.shape, *more)).uniform_(generator=generator)


def _waiting_times(like, generator):
    """_MAX_EVENTS exponential waiting times of rate 1 for each element."""
    return -(-_uniform(like, _MAX_EVENTS, generator=generator)).log1p()


def poisson(rate, generator):
    """Samples of the Poisson distribution with the mean `rate`."""
    return _poisson(_in_float(rate), generator)


@by_element(_MAX_EVENTS)
def _poisson(rate, generator):
    if not rate.min().item() >= 0:
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    times = _waiting_times(rate, generator).cumsum(-1)
    found = (times < rate.unsqueeze(-1)).sum(-1, dtype=rate.dtype)
    if rate.max().item() < _SMALL:
        return found
    mean = ops.where(rate.isfinite(), rate, float(_SMALL)).clamp(min=_SMALL)
    return ops.where(rate >= _SMALL, _poisson_by_rejection(mean, generator), found)


def binomial(trials, prob, generator):
    """How many of `trials` succeed, each with probability `prob`."""
    trials = _in_float(trials)
    return _binomial(trials, prob.to(trials.dtype), generator)


def _trial_numbers(wide):
    return numpy.arange(1.0, _TRIALS + 1)


@by_element(_MAX_EVENTS)
def _binomial(trials, prob, generator):
    trials, prob = trials.clamp(min=0), prob.clamp(0, 1)
    if trials.max().item() <= _TRIALS:
        succeeds = _uniform(trials, _TRIALS, generator=generator) < prob.unsqueeze(-1)
        taken = table(trials, _trial_numbers) <= trials.unsqueeze(-1)
        return (succeeds & taken).sum(-1, dtype=trials.dtype) + trials * prob * 0          # NaN of either
    rare = ops.minimum(prob, 1 - prob)
    # The number of trials from one success to the next is geometric: an exponential waiting time, rounded up.
    waits = (_waiting_times(trials, generator) / -(-rare).log1p().unsqueeze(-1)).ceil().clamp(min=1)
    found = (waits.cumsum(-1) <= trials.unsqueeze(-1)).sum(-1, dtype=trials.dtype)
    mean = trials * rare
    if not mean.max().item() < _SMALL:
        many = mean >= _SMALL
        drawn = _binomial_by_rejection(ops.where(many, trials, 4.0 * _SMALL), ops.where(many, rare, 0.25), generator)
        found = ops.where(many, drawn, found)
    return found + prob.round() * (trials - 2 * found)      # `found` counts failures where prob > 1/2; NaN stays


def rejection_sample(like, propose):
    """Calls propose(), which gives (numbers, where they are accepted), until every element has an accepted number."""
    found, wanting = ops.zeros_like(like), ops.ones_like(like) != 0
    while bool(wanting.any().item()):
        numbers, accepted = propose()
        found = ops.where(wanting & accepted, numbers, found)
        wanting = wanting & ~accepted
    return found


def _open_uniform(like, generator):
    """Uniform numbers from (0, 1), of which a logarithm can be taken."""
    return _uniform(like, generator=generator).clamp(min=1e-30)


def _log_factorial_ratio(count, mean):
    """log(mean ** count * exp(-mean) / count!): from the two's difference, which large numbers leave exact."""
    count = count.clamp(min=0)
    whole = count.clamp(min=1)
    distance = (mean - whole) / whole
    stirling = whole * (distance.log1p() - distance) - 0.5 * (2 * pi * whole).log() - 1 / (12 * whole)
    exact = count * mean.log() - mean - (count + 1).lgamma()
    return ops.where(count < 64, exact, stirling)


def _poisson_by_rejection(mean, generator):
    b = 0.931 + 2.53 * mean.sqrt()
    a = -0.059 + 0.02483 * b
    squeeze, scale = 0.9277 - 3.6224 / (b - 2), 1.1239 + 1.1328 / (b - 3.4)

    def propose():
        u, v = _open_uniform(mean, generator) - 0.5, _open_uniform(mean, generator)
        edge = (0.5 - u.abs()).clamp(min=1e-7)
        count = ((2 * a / edge + b) * u + mean + 0.43).floor()
        height = (v * scale / (a / (edge * edge) + b)).log()
        inner = (edge >= 0.07) & (v <= squeeze)
        outer = (count >= 0) & ((edge >= 0.013) | (v <= edge)) & (height <= _log_factorial_ratio(count, mean))
        return count, inner | outer
    return rejection_sample(mean, propose)


def _binomial_by_rejection(count, prob, generator):
    deviation = (count * prob * (1 - prob)).sqrt()
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    squeeze, alpha = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * deviation
    odds, middle = prob / (1 - prob), ((count + 1) * prob).floor()
    top = (middle + 0.5) * ((middle + 1) / (odds * (count - middle + 1))).log() + _tail(middle) + _tail(count - middle)

    def propose():
        u, v = _open_uniform(count, generator) - 0.5, _open_uniform(count, generator)
        edge = (0.5 - u.abs()).clamp(min=1e-7)
        found = ((2 * a / edge + b) * u + count * prob + 0.5).floor()
        held = ops.minimum(found.clamp(min=0), count)
        height = (v * alpha / (a / (edge * edge) + b)).log()
        ratio = (top + (count + 1) * ((count - middle + 1) / (count - held + 1)).log()
                 + (held + 0.5) * (odds * (count - held + 1) / (held + 1)).log() - _tail(held) - _tail(count - held))
        return found, ((edge >= 0.07) & (v <= squeeze)) | ((found == held) & (height <= ratio))
    return rejection_sample(count, propose)


def _tail(number):
    """log(number!) minus Stirling's formula."""
    after = number + 1
    exact = after.lgamma() - (number + 0.5) * after.log() + after - 0.5 * log(2 * pi)
    return ops.where(number < 10, exact, (1 / 12 - (1 / 360 - 1 / 1260 / (after * after)) / (after * after)) / after)
