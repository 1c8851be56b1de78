from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch.distributions import constraints
from mindtorch.distributions.exponential import Exponential
from mindtorch.distributions.transformed_distribution import TransformedDistribution
from mindtorch.distributions.transforms import AffineTransform, ExpTransform
from mindtorch.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.distributions.constraints import Constraint
    from mindtorch.types import _size

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """Numbers from `scale` on, whose density falls with the power alpha + 1.

    Arguments:
        alpha: the shape of the density, positive

    Example:
        >>> torch.distributions.Pareto(torch.tensor([1.0]), torch.tensor([3.0])).mean
        tensor([1.5000])
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(Exponential(self.alpha, validate_args=validate_args),
                         [ExpTransform(), AffineTransform(loc=0, scale=self.scale)], validate_args=validate_args)

    def expand(self, batch_shape: _size, _instance: Pareto | None = None) -> Pareto:
        new = self._get_checked_instance(Pareto, _instance)
        new.scale, new.alpha = self.scale.expand(batch_shape), self.alpha.expand(batch_shape)
        return super().expand(batch_shape, new)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Constraint:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)         # at 1 the quotient is infinite
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
