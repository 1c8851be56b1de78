from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.exp_family import ExponentialFamily

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution of shape `concentration` and of `rate`.

    Example:
        >>> gamma = torch.distributions.Gamma(torch.tensor([2.0]), torch.tensor([4.0]))
        >>> gamma.mean, gamma.log_prob(torch.tensor([0.5]))
        (tensor([0.5000]), tensor([0.0794]))
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self._broadcast_(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = mindtorch._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        drawn.detach().clamp_(min=mindtorch.finfo(drawn.dtype).tiny)
        return drawn

    def log_prob(self, value: Any) -> Tensor:
        value = mindtorch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (mindtorch.xlogy(self.concentration, self.rate) + mindtorch.xlogy(self.concentration - 1, value)
                - self.rate * value - mindtorch.lgamma(self.concentration))

    def cdf(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return mindtorch.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + mindtorch.lgamma(a) + (1.0 - a) * mindtorch.digamma(a)

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return mindtorch.lgamma(x + 1) - (x + 1) * (-y).log()
