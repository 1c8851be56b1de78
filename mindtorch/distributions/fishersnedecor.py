from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.gamma import Gamma

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The F distribution: the quotient of two Chi2 numbers, each by its degrees of freedom.

    Arguments:
        df1: the degrees of freedom of the numerator
        df2: the degrees of freedom of the denominator

    Example:
        >>> torch.distributions.FisherSnedecor(torch.tensor(4.0), torch.tensor(6.0)).mean
        tensor(1.5000)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self._broadcast_(validate_args, df1=df1, df2=df2)

    @property
    def mean(self) -> Tensor:
        return (self.df2 / (self.df2 - 2)).masked_fill(self.df2 <= 2, float("nan"))

    @property
    def mode(self) -> Tensor:
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return found.masked_fill(self.df1 <= 2, float("nan"))

    @property
    def variance(self) -> Tensor:
        found = (2 * self.df2.pow(2) * (self.df1 + self.df2 - 2)
                 / (self.df1 * (self.df2 - 2).pow(2) * (self.df2 - 4)))
        return found.masked_fill(self.df2 <= 4, float("nan"))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        one, other = (Gamma(df / 2, df / 2, validate_args=False).rsample(sample_shape) for df in (self.df1, self.df2))
        drawn = one / other
        drawn.detach().clamp_(min=mindtorch.finfo(drawn.dtype).tiny)
        return drawn

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        return (mindtorch.lgamma(a + b) - mindtorch.lgamma(a) - mindtorch.lgamma(b) + a * ratio.log()
                + (a - 1) * value.log() - (a + b) * mindtorch.log1p(ratio * value))
