from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import BinaryProbsLogitsMixin
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.utils import binary_entropy, broadcast_all

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import Number

__all__ = ["Geometric"]


class Geometric(BinaryProbsLogitsMixin, Distribution):
    """How often an event of probability `probs`, or with the log odds `logits`, fails before it comes.

    Example:
        >>> torch.distributions.Geometric(torch.tensor([0.25])).log_prob(torch.tensor([0.0]))
        tensor([-1.3863])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Tensor | Number | None = None, logits: Tensor | Number | None = None,
                 validate_args: bool | None = None) -> None:
        name, value = self._either_of_(probs, logits)
        self._broadcast_(validate_args, **{name: value})
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(f"Expected parameter probs ({type(self.probs).__name__} of shape "
                             f"{tuple(self.probs.shape)}) of distribution {self!r} to be positive but found invalid "
                             f"values:\n{self.probs[self.probs <= 0]}")

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return mindtorch.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape, tiny = self._extended_shape(sample_shape), mindtorch.finfo(self.probs.dtype).tiny
        with mindtorch.no_grad():
            u = self.probs.new_empty(shape).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return binary_entropy(self.logits, self.probs) / self.probs
