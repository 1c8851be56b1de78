from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import BinaryProbsLogitsMixin
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["Binomial"]


class Binomial(BinaryProbsLogitsMixin, Distribution):
    """How many of `total_count` events of the probability `probs`, or with the log odds `logits`, happen.

    Arguments:
        total_count: the number of trials

    Example:
        >>> throws = torch.distributions.Binomial(4, torch.tensor([0.5, 0.25]))
        >>> throws.mean, throws.log_prob(torch.tensor([2.0, 0.0]))
        (tensor([2., 1.]), tensor([-0.9808, -1.1507]))
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True

    def __init__(self, total_count: Tensor | int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        name, value = self._either_of_(probs, logits)
        self.total_count, value = broadcast_all(total_count, value)
        self.total_count = self.total_count.type_as(value)
        vars(self)[name] = value
        super().__init__(value.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with mindtorch.no_grad():
            return mindtorch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        ways = (mindtorch.lgamma(self.total_count + 1) - mindtorch.lgamma(value + 1)
                - mindtorch.lgamma(self.total_count - value + 1))
        return ways + value * self.logits - self.total_count * mindtorch.nn.functional.softplus(self.logits)

    def enumerate_support(self, expand: bool = True) -> Any:
        count = 1 + int(self.total_count.max())
        if not self.total_count.min() == count - 1:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        return self._enumerated_(mindtorch.arange(count, dtype=self._param.dtype, device=self._param.device), expand)

    def entropy(self) -> Tensor:
        logs = self.log_prob(self.enumerate_support(False))
        return -(mindtorch.exp(logs) * logs).sum(0)
