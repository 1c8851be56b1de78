from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch.distributions import constraints
from mindtorch.distributions.normal import Normal
from mindtorch.distributions.transformed_distribution import TransformedDistribution
from mindtorch.distributions.transforms import StickBreakingTransform

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.distributions.independent import Independent

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Vectors of shares, n + 1 of them, broken off by the logistic of n normal numbers.

    Example:
        >>> shares = torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2)).sample()
        >>> shares.shape, shares.sum()
        (torch.Size([3]), tensor(1.))
    """

    base_dist: Independent[Normal]

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(),
                         validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(LogisticNormal, _instance))

    @property
    def loc(self) -> Tensor:
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        return self.base_dist.base_dist.scale
