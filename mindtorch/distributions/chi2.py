from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch.distributions import constraints
from mindtorch.distributions.gamma import Gamma

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers.

    Example:
        >>> torch.distributions.Chi2(torch.tensor([3.0])).mean
        tensor([3.])
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Chi2, _instance)
        new.concentration, new.rate = self.concentration.expand(batch_shape), self.rate.expand(batch_shape)
        return super().expand(batch_shape, new)

    @property
    def df(self) -> Tensor:
        return self.concentration * 2
