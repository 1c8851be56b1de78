from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.transformed_distribution import TransformedDistribution
from mindtorch.distributions.transforms import AffineTransform, PowerTransform
from mindtorch.distributions.uniform import Uniform
from mindtorch.distributions.utils import EULER, broadcast_all

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """(1 - U ** (1 / concentration0)) ** (1 / concentration1) of a uniform U: much like Beta.

    Example:
        >>> torch.distributions.Kumaraswamy(torch.tensor([1.0]), torch.tensor([1.0])).mean
        tensor([0.5000])
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Tensor | float, concentration0: Tensor | float,
                 validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(mindtorch.zeros_like(self.concentration0), mindtorch.ones_like(self.concentration0),
                       validate_args=validate_args)
        super().__init__(base, self._steps_(), validate_args=validate_args)

    def _steps_(self):
        return [PowerTransform(exponent=self.concentration0.reciprocal()), AffineTransform(loc=1.0, scale=-1.0),
                PowerTransform(exponent=self.concentration1.reciprocal())]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, new)

    def _moment_(self, n):
        """E[X ** n] = b * B(1 + n / a, b)."""
        a, b = 1 + n / self.concentration1, self.concentration0
        return b * mindtorch.exp(mindtorch.lgamma(a) + mindtorch.lgamma(b) - mindtorch.lgamma(a + b))

    @property
    def mean(self) -> Tensor:
        return self._moment_(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        found = ((a - 1) / (a * b - 1)).pow(1 / a)
        return found.masked_fill((a < 1) | (b < 1), float("nan"))

    @property
    def variance(self) -> Tensor:
        return self._moment_(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * (mindtorch.digamma(b + 1) + EULER) - a.log() - b.log()
