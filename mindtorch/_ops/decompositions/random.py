"""Random numbers of other distributions from even ones."""
from math import log1p, pi

from mindtorch._core.dtype import float32, float64
from mindtorch._ops.derivatives import ops

_LEAST = 2.0 ** -26         # less than half the distance of even float32 numbers, which stay below 1 with this added


def geometric_by_uniform(self, p, generator):
    """How many trials the first success takes, if one succeeds with probability p."""
    even = self if self.is_floating_point() else ops.empty_like(self, dtype=float32)
    return (even.uniform_(_LEAST, 1, generator=generator).log() / log1p(-p)).ceil()


def cauchy_by_uniform(self, median, sigma, generator):
    return self.uniform_(-pi / 2, pi / 2, generator=generator).tan_().mul_(sigma).add_(median)


def _even_as(self, generator):
    """Numbers evenly from [0, 1), of as many digits as random operators of any dtype compare with."""
    return ops.empty(self.shape, dtype=float64, device=self.device).uniform_(generator=generator)


def bernoulli_by_uniform(self, p, generator):
    return _even_as(self, generator) < p


def exponential_by_uniform(self, lambd, generator):
    return (-_even_as(self, generator)).log1p() / -lambd


def rrelu_by_uniform(self, noise, lower, upper, generator):
    return self * noise.uniform_(lower, upper, generator=generator).masked_fill_(ops.logical_not(self <= 0), 1)
