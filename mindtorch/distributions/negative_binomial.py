from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import BinaryProbsLogitsMixin
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.gamma import Gamma
from mindtorch.distributions.utils import broadcast_all
from mindtorch.nn.functional import logsigmoid

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["NegativeBinomial"]


class NegativeBinomial(BinaryProbsLogitsMixin, Distribution):
    """How many successes of the probability `probs`, or with the log odds `logits`, precede `total_count` failures.

    Arguments:
        total_count: the number of failures to stop at
        probs: the probability of a success; give this or logits

    Example:
        >>> torch.distributions.NegativeBinomial(torch.tensor([3.0]), torch.tensor([0.5])).mean
        tensor([3.])
    """

    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Tensor | float, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        name, value = self._either_of_(probs, logits)
        self.total_count, value = broadcast_all(total_count, value)
        self.total_count = self.total_count.type_as(value)
        vars(self)[name] = value
        super().__init__(value.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / mindtorch.sigmoid(-self.logits)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with mindtorch.no_grad():
            rate = Gamma(self.total_count, (-self.logits).exp(), validate_args=False).sample(sample_shape)
            return mindtorch.poisson(rate)

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        ways = (mindtorch.lgamma(self.total_count + value) - mindtorch.lgamma(1.0 + value)
                - mindtorch.lgamma(self.total_count))
        ways = ways.masked_fill(self.total_count + value == 0.0, 0.0)
        return ways + self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
