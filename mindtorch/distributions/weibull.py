from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.exponential import Exponential
from mindtorch.distributions.transformed_distribution import TransformedDistribution
from mindtorch.distributions.transforms import AffineTransform, PowerTransform
from mindtorch.distributions.utils import EULER, broadcast_all

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """scale * X ** (1 / concentration) of an exponential X.

    Example:
        >>> torch.distributions.Weibull(torch.tensor([2.0]), torch.tensor([1.0])).mean
        tensor([2.])
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        super().__init__(
            Exponential(mindtorch.ones_like(self.scale), validate_args=validate_args),
            [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)],
            validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Weibull, _instance)
        new.scale, new.concentration = self.scale.expand(batch_shape), self.concentration.expand(batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()
        base = self.base_dist.expand(batch_shape)
        transforms = [PowerTransform(exponent=new.concentration_reciprocal), AffineTransform(loc=0, scale=new.scale)]
        TransformedDistribution.__init__(new, base, transforms, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _gamma_(self, n):
        return mindtorch.lgamma(1 + n * self.concentration_reciprocal).exp()

    @property
    def mean(self) -> Tensor:
        return self.scale * self._gamma_(1)

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (self._gamma_(2) - self._gamma_(1).square())

    def entropy(self) -> Tensor:
        return (EULER * (1 - self.concentration_reciprocal)
                + mindtorch.log(self.scale * self.concentration_reciprocal) + 1)
