from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.transformed_distribution import TransformedDistribution
from mindtorch.distributions.transforms import AffineTransform, ExpTransform
from mindtorch.distributions.uniform import Uniform
from mindtorch.distributions.utils import EULER, broadcast_all

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The largest of many numbers: loc - scale * log(-log(U)) of a uniform U.

    Example:
        >>> torch.distributions.Gumbel(torch.tensor(1.0), torch.tensor(2.0)).mean
        tensor(2.1544)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = mindtorch.finfo(self.loc.dtype)
        base = Uniform(mindtorch.full_like(self.loc, limits.tiny), mindtorch.full_like(self.loc, 1 - limits.eps),
                       validate_args=validate_args)
        minus_log = [ExpTransform().inv, AffineTransform(loc=0, scale=-mindtorch.ones_like(self.scale))]
        super().__init__(base, [*minus_log, ExpTransform().inv, AffineTransform(loc=self.loc, scale=-self.scale)],
                         validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc, new.scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        return super().expand(batch_shape, new)

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (self.loc - value) / self.scale
        return z - z.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)
