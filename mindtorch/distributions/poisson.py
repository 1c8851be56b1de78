from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.exp_family import ExponentialFamily

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import Number

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """How many events there are, where `rate` are expected.

    Example:
        >>> torch.distributions.Poisson(torch.tensor([2.0])).log_prob(torch.tensor([0.0]))
        tensor([-2.])
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Tensor | Number, validate_args: bool | None = None) -> None:
        self._broadcast_(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with mindtorch.no_grad():
            return mindtorch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return value.xlogy(self.rate) - self.rate - (value + 1).lgamma()

    @property
    def _natural_params(self):
        return (self.rate.log(),)

    def _log_normalizer(self, x):
        return x.exp()

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError       # E[-log(x!)] has no closed form, and so the entropy has none
