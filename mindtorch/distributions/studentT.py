from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.chi2 import Chi2
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.utils import standard_normal

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution with `df` degrees of freedom, scaled and moved.

    Example:
        >>> torch.distributions.StudentT(torch.tensor([3.0])).variance
        tensor([3.])
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Tensor | float, loc: Tensor | float = 0.0, scale: Tensor | float = 1.0,
                 validate_args: bool | None = None) -> None:
        self._broadcast_(validate_args, df=df, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        found = self.scale.pow(2) * self.df / (self.df - 2)
        return found.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        normal = standard_normal(self._extended_shape(sample_shape), self.df)
        spread = (Chi2(self.df, validate_args=False).rsample(sample_shape) / self.df).rsqrt()
        return self.loc + self.scale * normal * spread

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        norm = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + mindtorch.lgamma(0.5 * self.df)
                - mindtorch.lgamma(0.5 * (self.df + 1.0)))
        return -0.5 * (self.df + 1.0) * mindtorch.log1p(y ** 2.0 / self.df) - norm

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = mindtorch.lgamma(half) + math.lgamma(0.5) - mindtorch.lgamma(more)
        return (self.scale.log() + more * (mindtorch.digamma(more) - mindtorch.digamma(half)) + 0.5 * self.df.log()
                + log_beta)
