from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.categorical import Categorical
from mindtorch.distributions.distribution import Distribution

if TYPE_CHECKING:
    from mindtorch import Size, Tensor
    from mindtorch.types import _size

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """The classes of Categorical as vectors of K elements, one of which is 1.

    Example:
        >>> classes = torch.distributions.OneHotCategorical(torch.tensor([0.25, 0.75]))
        >>> classes.log_prob(torch.tensor([0.0, 1.0])), classes.sample().sum()
        (tensor(-0.2877), tensor(1.))
    """

    arg_constraints = Categorical.arg_constraints
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(OneHotCategorical, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        return super().expand(batch_shape, new)

    @property
    def _param(self):
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return mindtorch.nn.functional.one_hot(self.probs.argmax(dim=-1), self._event_shape[0]).to(self.probs)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        classes = self._categorical.sample(sample_shape)
        return mindtorch.nn.functional.one_hot(classes, self._event_shape[0]).to(self.probs)

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        n = self.event_shape[0]
        values = mindtorch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose samples pass gradients to the probabilities as if they were these.

    Example:
        >>> probs = torch.tensor([0.25, 0.75], requires_grad=True)
        >>> sample = torch.distributions.OneHotCategoricalStraightThrough(probs).rsample()
        >>> sample.sum(), sample.requires_grad
        (tensor(1., grad_fn=<SumBackward0>), True)
    """

    has_rsample = True

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
