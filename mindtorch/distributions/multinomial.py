from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.binomial import Binomial
from mindtorch.distributions.categorical import Categorical
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from mindtorch import Size, Tensor

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each class of a Categorical is drawn in `total_count` draws.

    Arguments:
        total_count: the number of trials, an int

    Example:
        >>> counts = torch.distributions.Multinomial(10, torch.tensor([0.5, 0.5]))
        >>> counts.sample().sum(), counts.log_prob(torch.tensor([5.0, 5.0]))
        (tensor(10.), tensor(-1.4020))
    """

    total_count: int

    arg_constraints = Categorical.arg_constraints

    def __init__(self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:],
                         validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Multinomial, _instance)
        batch_shape = mindtorch.Size(batch_shape)
        new.total_count, new._categorical = self.total_count, self._categorical.expand(batch_shape)
        new._binomial = Binomial(total_count=self.total_count, probs=new.probs)
        return super().expand(batch_shape, new)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self._categorical.sample(mindtorch.Size((self.total_count,)) + mindtorch.Size(sample_shape))
        places = drawn.permute(*range(1, drawn.dim()), 0)
        counts = self.probs.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add(-1, places, mindtorch.ones_like(places, dtype=counts.dtype))

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        terms = (logits * value).masked_fill((value == 0) & (logits == -float("inf")), 0)
        return mindtorch.lgamma(value.sum(-1) + 1) - mindtorch.lgamma(value + 1).sum(-1) + terms.sum(-1)

    def entropy(self) -> Tensor:
        counts = self._binomial.enumerate_support(expand=False)[1:]
        weighted = self._binomial.log_prob(counts).exp() * mindtorch.lgamma(counts + 1)
        constant = mindtorch.lgamma(self.probs.new_full((), self.total_count + 1.0))
        return self.total_count * self._categorical.entropy() - constant + weighted.sum([0, -1])
