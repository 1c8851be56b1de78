from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import BinaryProbsLogitsMixin
from mindtorch.distributions.exp_family import ExponentialFamily
from mindtorch.distributions.utils import binary_entropy, broadcast_all
from mindtorch.nn.functional import binary_cross_entropy_with_logits

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import Number

__all__ = ["Bernoulli"]


class Bernoulli(BinaryProbsLogitsMixin, ExponentialFamily):
    """1 with the probability `probs`, or with the log odds `logits`; else 0.

    Example:
        >>> coin = torch.distributions.Bernoulli(torch.tensor([0.25, 0.5]))
        >>> coin.log_prob(torch.ones(2))
        tensor([-1.3863, -0.6931])
        >>> coin.sample((3,)).shape
        torch.Size([3, 2])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Tensor | Number | None = None, logits: Tensor | Number | None = None,
                 validate_args: bool | None = None) -> None:
        name, value = self._either_of_(probs, logits)
        self._broadcast_(validate_args, **{name: value})

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, float("nan"))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with mindtorch.no_grad():
            return mindtorch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_entropy(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Any:
        return self._enumerated_(mindtorch.arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        return x.exp().log1p()
