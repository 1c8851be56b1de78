"""The gamma distribution (Marsaglia and Tsang 2000), for all elements at once until each is accepted."""
from mindtorch._ops.decompositions.poisson import _accepted
from mindtorch._ops.derivatives import ops


def standard_gamma(self, generator):
    """Numbers drawn with the shape `self` and the rate 1."""
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
    drawn = _accepted(larger, propose)
    return ops.where(shape < 1, drawn + _log_uniform(larger, generator) / shape, drawn)


def _log_uniform(like, generator):
    return ops.log1p(-ops.empty_like(like).uniform_(generator=generator))
