"""Formulas of the counting distributions, Poisson and binomial: small means count arrivals, others use transformed
rejection (W. Hoermann 1993), for all elements at once until each has been accepted, which waits for the device.
"""
from math import log, nan, pi

from mindtorch._core.dtype import float64
from mindtorch._core.scratch import column
from mindtorch._ops.compositions import put
from mindtorch._ops.compositions_tables import in_pieces
from mindtorch._ops.derivatives import ops

_SMALL = 10         # means below are counted out
_ARRIVALS = 50      # more than that a mean below 10 brings less than once in 10**17


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


def _gaps(like, generator):
    """Times between arrivals, one of which comes in a unit of time; a row of them for each element."""
    table = ops.empty((*like.shape, _ARRIVALS), dtype=like.dtype, device=like.device)
    if table.dtype == float64:          # the generator of exponential numbers does not make these
        return table.uniform_(generator=generator).neg_().log1p_().neg_()
    return table.exponential_(generator=generator)


def poisson(self, generator, out):
    """How often what happens `self` times on average happens."""
    def arrivals(rate, out):
        return ops.sum(_gaps(rate, generator).cumsum(-1).lt_(column(rate)), -1, out=out)
    rate = self.to(out.dtype)
    in_pieces(_ARRIVALS, arrivals, out, rate)
    large = rate >= _SMALL
    if bool(large.any().item()):
        mean = ops.where(rate.isfinite(), rate, _SMALL).clamp(min=_SMALL)
        ops.where(large, _poisson_by_rejection(mean, generator), out, out=out)
    return out


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


def binomial(count, prob, generator, out):
    """How many of `count` trials succeed, each with probability `prob`."""
    count, prob = ops.broadcast_tensors(count.to(out.dtype), prob.to(out.dtype))
    trials = count.clamp(min=0)
    likely = prob > 0.5
    rare = ops.where(likely, 1 - prob, prob)
    sure = (rare > 0).logical_and_(trials > 0).logical_not_()       # and where the probability is no number

    def successes(rare, trials, out):
        """A success after how many trials: between arrivals lie less than so many."""
        table = _gaps(rare, generator).div_(column((-rare).log1p_().neg_())).ceil_().clamp_(min=1)
        return ops.sum(table.cumsum(-1).le_(column(trials)), -1, out=out)
    few = in_pieces(_ARRIVALS, successes, out, rare, trials)
    many = (trials * rare >= _SMALL).logical_and_(sure.logical_not())
    if bool(many.any().item()):
        few = ops.where(many, _binomial_by_rejection(ops.where(many, trials, 4 * _SMALL),
                                                     ops.where(many, rare, 0.25), generator), few)
    few = ops.where(sure, ops.zeros_like(few), few)
    found = ops.where(likely, trials - few, few)
    return put(found, (count + prob).isnan(), nan)


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
