from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import LocationMixin
from mindtorch.distributions.exp_family import ExponentialFamily
from mindtorch.distributions.utils import standard_normal

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import _size

__all__ = ["Normal"]


class Normal(LocationMixin, ExponentialFamily):
    """The normal distribution with mean `loc` and standard deviation `scale`.

    Example:
        >>> normal = torch.distributions.Normal(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))
        >>> normal.log_prob(torch.tensor([0.0, 1.0])), normal.entropy()
        (tensor([-0.9189, -1.6121]), tensor([1.4189, 2.1121]))
        >>> normal.sample((3,)).shape
        torch.Size([3, 2])
        >>> mean = torch.zeros(1, requires_grad=True)           # rsample passes gradients to the parameters
        >>> torch.distributions.Normal(mean, 1.0).rsample().backward()
        >>> mean.grad
        tensor([1.])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self._broadcast_(validate_args, loc=loc, scale=scale)

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with mindtorch.no_grad():
            return mindtorch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        return self.loc + standard_normal(self._extended_shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.scale ** 2) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + mindtorch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value: Any) -> Tensor:
        return self.loc + self.scale * mindtorch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + mindtorch.log(self.scale)

    @property
    def _natural_params(self):
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(-2)

    def _log_normalizer(self, x, y):
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()
