from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import LocationMixin
from mindtorch.distributions.distribution import Distribution

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import _size

__all__ = ["Laplace"]


class Laplace(LocationMixin, Distribution):
    """Density that falls exponentially to both sides of `loc`.

    Example:
        >>> torch.distributions.Laplace(torch.tensor(0.0), torch.tensor(1.0)).cdf(torch.tensor([0.0, 1.0]))
        tensor([0.5000, 0.8161])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self._broadcast_(validate_args, loc=loc, scale=scale)

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2 ** 0.5 * self.scale

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = self.loc.new_empty(shape).uniform_(mindtorch.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * mindtorch.log1p(-u.abs())

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -mindtorch.log(2 * self.scale) - mindtorch.abs(value - self.loc) / self.scale

    def cdf(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * mindtorch.expm1(-away.abs() / self.scale)

    def icdf(self, value: Any) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * mindtorch.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + mindtorch.log(2 * self.scale)
