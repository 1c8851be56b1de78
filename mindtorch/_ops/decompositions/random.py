"""Random numbers of other distributions from uniform ones."""
from math import log1p, pi, sqrt

from mindtorch._core.tensor.dtype import float32, float64, int64, uint8
from mindtorch._ops.decompositions.poisson import rejection_sample
from mindtorch._ops.operators import ops

_LEAST = 2.0 ** -26         # below half the spacing of uniform float32 numbers: added to one, it stays below 1


def uniform_by_parts(self, from_, to, generator):
    """Complex numbers: both parts are uniform."""
    ops.view_as_real(self).uniform_(from_, to, generator=generator)
    return self


def normal_by_parts(self, mean, std, generator):
    """Complex numbers, whose variance is the sum of that of both parts."""
    ops.view_as_real(self).normal_(0, std / sqrt(2), generator=generator)
    return self.add_(mean)


def random_by_int64(self, from_, to, generator):
    """Integers of 16 to 64 bits without a sign; `to` is empty where it is not given."""
    drawn = ops.empty_like(self, dtype=int64)
    if not to and self.itemsize < 8:
        to = (1 << 8 * self.itemsize,)
    return drawn.random_(from_, to[0] if to else None, generator=generator)


def geometric_by_uniform(self, p, generator):
    """How many trials the first success takes, if one succeeds with probability p."""
    even = self if self.is_floating_point() else ops.empty_like(self, dtype=float32)
    return (even.uniform_(_LEAST, 1, generator=generator).log() / log1p(-p)).ceil()


def cauchy_by_uniform(self, median, sigma, generator):
    return self.uniform_(-pi / 2, pi / 2, generator=generator).tan_().mul_(sigma).add_(median)


def _uniform_like(self, generator):
    """Uniform float64 numbers from [0, 1), in the shape of `self`."""
    return ops.empty(self.shape, dtype=float64, device=self.device).uniform_(generator=generator)


def bernoulli_by_uniform(self, p, generator):
    return _uniform_like(self, generator) < p


def exponential_by_uniform(self, lambd, generator):
    return (-_uniform_like(self, generator)).log1p() / -lambd


def dropout_by_bits(self, mask, p):
    """The elements whose bits of the mask are 1, the lowest of a byte first, over 1 - p; zeros for the others."""
    bits = (mask.unsqueeze(-1) >> ops.arange(8, dtype=uint8, device=mask.device)) & 1
    return self * (bits.flatten()[:self.numel()].reshape(self.shape) * (1 / (1 - p) if p < 1 else 0))


def rrelu_by_uniform(self, noise, lower, upper, generator):
    return self * noise.uniform_(lower, upper, generator=generator).masked_fill_(ops.logical_not(self <= 0), 1)


# --- gamma distribution: Marsaglia and Tsang 2000 --------------------------------------------------------------------

def standard_gamma(self, generator):
    """Samples of the gamma distribution with the shape `self` and the rate 1."""
    return log_standard_gamma(self, generator).exp()


def log_standard_gamma(shape, generator=None):
    """The logarithms of such numbers: they are finite where the numbers are not. Waits for the device.

    d * v, with v the cube of a normal number, is accepted with a known probability where the shape is at least 1; a
    number of a smaller shape is one of a shape larger by 1, scaled.
    """
    larger = ops.where(shape < 1, shape + 1, shape)
    d = larger - 1 / 3

    def propose():
        normal = ops.empty_like(larger).normal_(generator=generator)
        cube = (1 + normal / (9 * d).sqrt()) ** 3
        log_cube = cube.clamp(min=1e-30).log()
        bound = 0.5 * normal ** 2 + d - d * cube + d * log_cube
        return d.log() + log_cube, (cube > 0) & (_log_uniform(larger, generator) < bound)
    drawn = rejection_sample(larger, propose)
    return ops.where(shape < 1, drawn + _log_uniform(larger, generator) / shape, drawn)


def sample_dirichlet(self, generator):
    """Gamma-distributed numbers divided by their sums along the last dimension."""
    least, gap = (2.0 ** -1022, 2.0 ** -53) if self.dtype is float64 else (2.0 ** -126, 2.0 ** -24)
    return log_standard_gamma(self, generator).softmax(-1).clamp(least, 1 - gap)


def _log_uniform(like, generator):
    return ops.log1p(-ops.empty_like(like).uniform_(generator=generator))
