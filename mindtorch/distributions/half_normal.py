from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import HalfMixin
from mindtorch.distributions.normal import Normal
from mindtorch.distributions.transforms import AbsTransform

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["HalfNormal"]


class HalfNormal(HalfMixin):
    """|X| of a normal X with mean 0 and standard deviation `scale`.

    Example:
        >>> torch.distributions.HalfNormal(torch.tensor(1.0)).mean
        tensor(0.7979)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(HalfNormal, _instance))

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
