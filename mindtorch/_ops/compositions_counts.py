"""Formulas of the counting distributions, Poisson and binomial, where means are not small (compositions_arrivals.pyx):
transformed rejection (W. Hoermann 1993), for all elements at once until each has been accepted, which waits for the
device.
"""
from math import log, pi

from mindtorch._ops.derivatives import ops

SMALL = 10          # means below are counted out


def _uniform(like, generator):
    """In (0, 1): a logarithm is taken of it."""
    return ops.empty_like(like).uniform_(generator=generator).clamp(min=1e-30)


def _accepted(like, propose):
    """`propose` gives numbers and where they are accepted; it is asked until all places have one."""
    found, wanting = ops.zeros_like(like), ops.ones_like(like) != 0
    while bool(wanting.any().item()):
        numbers, accepted = propose()
        found = ops.where(wanting & accepted, numbers, found)
        wanting = wanting & ~accepted
    return found


def _log_factorial_ratio(count, mean):
    """log(mean ** count * exp(-mean) / count!): from the two's difference, which large numbers leave exact."""
    count = count.clamp(min=0)
    whole = count.clamp(min=1)
    distance = (mean - whole) / whole
    stirling = whole * (distance.log1p() - distance) - 0.5 * (2 * pi * whole).log() - 1 / (12 * whole)
    exact = count * mean.log() - mean - (count + 1).lgamma()
    return ops.where(count < 64, exact, stirling)


def replace_large(rate, generator, out):
    """A Poisson distribution's numbers where the mean is not small."""
    mean = ops.where(rate.isfinite(), rate, SMALL).clamp(min=SMALL)
    ops.where(rate >= SMALL, _poisson_by_rejection(mean, generator), out, out=out)


def replace_many(count, prob, generator, out):
    """A binomial distribution's numbers, of the rarer event, where the mean is not small."""
    trials, prob = count.clamp(min=0), prob.clamp(0, 1)
    rare = ops.minimum(prob, 1 - prob)
    many = trials * rare >= SMALL
    trials, rare = ops.where(many, trials, 4 * SMALL), ops.where(many, rare, 0.25)
    ops.where(many, _binomial_by_rejection(trials, rare, generator), out, out=out)


def _poisson_by_rejection(mean, generator):
    b = 0.931 + 2.53 * mean.sqrt()
    a = -0.059 + 0.02483 * b
    squeeze, scale = 0.9277 - 3.6224 / (b - 2), 1.1239 + 1.1328 / (b - 3.4)

    def propose():
        u, v = _uniform(mean, generator) - 0.5, _uniform(mean, generator)
        edge = (0.5 - u.abs()).clamp(min=1e-7)
        count = ((2 * a / edge + b) * u + mean + 0.43).floor()
        height = (v * scale / (a / (edge * edge) + b)).log()
        inner = (edge >= 0.07) & (v <= squeeze)
        outer = (count >= 0) & ((edge >= 0.013) | (v <= edge)) & (height <= _log_factorial_ratio(count, mean))
        return count, inner | outer
    return _accepted(mean, propose)


def _binomial_by_rejection(count, prob, generator):
    deviation = (count * prob * (1 - prob)).sqrt()
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    squeeze, alpha = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * deviation
    odds, middle = prob / (1 - prob), ((count + 1) * prob).floor()
    top = (middle + 0.5) * ((middle + 1) / (odds * (count - middle + 1))).log() + _tail(middle) + _tail(count - middle)

    def propose():
        u, v = _uniform(count, generator) - 0.5, _uniform(count, generator)
        edge = (0.5 - u.abs()).clamp(min=1e-7)
        found = ((2 * a / edge + b) * u + count * prob + 0.5).floor()
        held = ops.minimum(found.clamp(min=0), count)
        height = (v * alpha / (a / (edge * edge) + b)).log()
        ratio = (top + (count + 1) * ((count - middle + 1) / (count - held + 1)).log()
                 + (held + 0.5) * (odds * (count - held + 1) / (held + 1)).log() - _tail(held) - _tail(count - held))
        return found, ((edge >= 0.07) & (v <= squeeze)) | ((found == held) & (height <= ratio))
    return _accepted(count, propose)


def _tail(number):
    """What Stirling's formula leaves out of log(number!)."""
    after = number + 1
    exact = after.lgamma() - (number + 0.5) * after.log() + after - 0.5 * log(2 * pi)
    return ops.where(number < 10, exact, (1 / 12 - (1 / 360 - 1 / 1260 / (after * after)) / (after * after)) / after)
