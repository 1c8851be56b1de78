from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.distribution import Distribution

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """By how much a threshold `loc` is exceeded: exponential for the concentration 0, above it with a heavier tail.

    With a negative concentration no value exceeds loc - scale / concentration.

    Example:
        >>> excess = torch.distributions.GeneralizedPareto(torch.tensor(1.0), torch.tensor(2.0), torch.tensor(0.0))
        >>> excess.mean, excess.cdf(torch.tensor(3.0))
        (tensor(3.), tensor(0.6321))
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: Any = None) -> None:
        self._broadcast_(validate_args, loc=loc, scale=scale, concentration=concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, mindtorch.where(self.concentration < 0, end, float("inf")))

    def _exponential_(self):
        return mindtorch.isclose(self.concentration, mindtorch.zeros_like(self.concentration))

    def _divisor_(self):
        """The concentration, without the 0 for which there is another formula."""
        return mindtorch.where(self._exponential_(), 1.0, self.concentration)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(mindtorch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z, c = (value - self.loc) / self.scale, self._divisor_()
        return mindtorch.where(self._exponential_(), -z, -(1 + 1 / c) * (c * z).log1p()) - self.scale.log()

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of more than `value`."""
        if self._validate_args:
            self._validate_sample(value)
        z, c = (value - self.loc) / self.scale, self._divisor_()
        return mindtorch.where(self._exponential_(), -z, -(c * z).log1p() / c)

    def cdf(self, value: Any) -> Tensor:
        return -self.log_survival_function(value).expm1()

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of cdf(value)."""
        return (-self.log_survival_function(value).exp()).log1p()

    def icdf(self, value: Any) -> Tensor:
        c, left = self._divisor_(), (-value).log1p()
        return self.loc + self.scale * mindtorch.where(self._exponential_(), -left, (-c * left).expm1() / c)

    @property
    def mean(self) -> Any:
        c = self.concentration
        return mindtorch.where(c < 1, self.loc + self.scale / (1 - c), float("nan"))

    @property
    def variance(self) -> Any:
        c = self.concentration
        return mindtorch.where(c < 0.5, self.scale.square() / ((1 - c).square() * (1 - 2 * c)), float("nan"))

    @property
    def mode(self) -> Any:
        return self.loc

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)
