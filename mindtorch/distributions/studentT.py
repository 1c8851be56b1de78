import math

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.chi2 import Chi2
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.utils import standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution with `df` degrees of freedom, scaled and moved. Samples carry no gradients."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self._broadcast(validate_args, df=df, loc=loc, scale=scale)

    @property
    def mean(self):
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        found = self.scale.pow(2) * self.df / (self.df - 2)
        return found.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with mindtorch.no_grad():
            spread = (Chi2(self.df, validate_args=False).sample(sample_shape) / self.df).rsqrt()
            return self.loc + self.scale * standard_normal(shape, self.df) * spread

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        norm = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + mindtorch.lgamma(0.5 * self.df)
                - mindtorch.lgamma(0.5 * (self.df + 1.0)))
        return -0.5 * (self.df + 1.0) * mindtorch.log1p(y ** 2.0 / self.df) - norm

    def entropy(self):
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = mindtorch.lgamma(half) + math.lgamma(0.5) - mindtorch.lgamma(more)
        return (self.scale.log() + more * (mindtorch.digamma(more) - mindtorch.digamma(half)) + 0.5 * self.df.log()
                + log_beta)
