from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import LocationMixin
from mindtorch.distributions.distribution import Distribution
from mindtorch.special import i0e, i1e

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["VonMises"]


class VonMises(LocationMixin, Distribution):
    """Angles around `loc`, the nearer to it the greater `concentration`: what a normal distribution is on a circle.

    Example:
        >>> torch.distributions.VonMises(torch.tensor(0.0), torch.tensor(4.0)).mean
        tensor(0.)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor, concentration: Tensor, validate_args: bool | None = None) -> None:
        self._broadcast_(validate_args, loc=loc, concentration=concentration)

    @property
    def variance(self) -> Tensor:
        """How far the mean of the unit vectors lies from the circle, not the mean of squared distances."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        k = self.concentration
        return k * (mindtorch.cos(value - self.loc) - 1) - math.log(2 * math.pi) - i0e(k).log()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """By rejection from a wrapped Cauchy distribution (Best and Fisher 1979). Waits for the device."""
        shape = self._extended_shape(sample_shape)
        with mindtorch.no_grad():
            k = self.concentration.expand(shape)
            rho = (1 + (1 + 4 * k.square()).sqrt()).sqrt()
            rho = (rho.square() - math.sqrt(2) * rho) / (2 * k)
            r = mindtorch.where(k < 1e-4, 1 / k + k, (1 + rho.square()) / (2 * rho))
            angles, left = mindtorch.zeros_like(k), mindtorch.ones_like(k, dtype=mindtorch.bool)
            while left.any():
                z = mindtorch.cos(math.pi * mindtorch.rand_like(k))
                f = ((1 + r * z) / (r + z)).clamp(-1, 1)
                c, u = k * (r - f), mindtorch.rand_like(k)
                taken = left & ((c * (2 - c) > u) | ((c / u).log() + 1 - c >= 0))
                side = mindtorch.where(mindtorch.rand_like(k) < 0.5, -1.0, 1.0)
                angles = mindtorch.where(taken, side * f.acos(), angles)
                left = left & ~taken
            return (angles + self.loc + math.pi) % (2 * math.pi) - math.pi
