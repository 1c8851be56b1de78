from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import HalfMixin
from mindtorch.distributions.cauchy import Cauchy
from mindtorch.distributions.transforms import AbsTransform

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["HalfCauchy"]


class HalfCauchy(HalfMixin):
    """|X| of a Cauchy X around 0; it has no mean.

    Example:
        >>> torch.distributions.HalfCauchy(torch.tensor(2.0)).cdf(torch.tensor(2.0))
        tensor(0.5000)
    """

    base_dist: Cauchy

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(HalfCauchy, _instance))

    @property
    def mean(self) -> Tensor:
        return mindtorch.full_like(self.scale, math.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
