from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.exp_family import ExponentialFamily

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """The beta distribution of numbers from 0 to 1.

    Example:
        >>> share = torch.distributions.Beta(torch.tensor([2.0]), torch.tensor([6.0]))
        >>> share.mean, share.variance
        (tensor([0.2500]), tensor([0.0208]))
        >>> share.rsample((4,)).shape
        torch.Size([4, 1])
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Tensor | float, concentration0: Tensor | float,
                 validate_args: bool | None = None) -> None:
        self._broadcast_(validate_args, concentration1=concentration1, concentration0=concentration0)

    @property
    def total_concentration(self) -> Any:
        return self.concentration1 + self.concentration0

    @property
    def mean(self) -> Tensor:
        return self.concentration1 / self.total_concentration

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        inner = (a - 1) / (a + b - 2)
        # With one concentration below 1 the density grows towards an end; with both it does towards both, and has none.
        ends = mindtorch.where(a < b, mindtorch.zeros_like(a), mindtorch.ones_like(a))
        ends = ends.masked_fill(((a < 1) & (b < 1)) | ((a == 1) & (b == 1)), float("nan"))
        return mindtorch.where((a >= 1) & (b >= 1) & ~((a == 1) & (b == 1)), inner, ends)

    @property
    def variance(self) -> Tensor:
        total = self.total_concentration
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        both = mindtorch.stack([self.concentration1, self.concentration0], -1)
        return mindtorch._sample_dirichlet(both.expand(*self._extended_shape(sample_shape), 2))[..., 0]

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (mindtorch.xlogy(self.concentration1 - 1, value)
                + mindtorch.xlogy(self.concentration0 - 1, 1 - value) - self._log_norm_())

    def _log_norm_(self):
        return (mindtorch.lgamma(self.concentration1) + mindtorch.lgamma(self.concentration0)
                - mindtorch.lgamma(self.total_concentration))

    def entropy(self) -> Tensor:
        a, b, total = self.concentration1, self.concentration0, self.total_concentration
        return (self._log_norm_() - (a - 1) * mindtorch.digamma(a) - (b - 1) * mindtorch.digamma(b)
                + (total - 2) * mindtorch.digamma(total))

    @property
    def _natural_params(self):
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x, y):
        return mindtorch.lgamma(x) + mindtorch.lgamma(y) - mindtorch.lgamma(x + y)
