from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import BinaryProbsLogitsMixin, RelaxedMixin
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.transforms import SigmoidTransform
from mindtorch.distributions.utils import broadcast_all, clamp_probs

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import Number, _size

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(BinaryProbsLogitsMixin, Distribution):
    """The log odds of RelaxedBernoulli.

    Arguments:
        temperature: the closer to 0, the closer samples are to 0 and 1
        probs: probabilities; give these or logits
        logits: logarithms of probabilities, or log-odds; give these or probs
        validate_args: whether parameters and values are checked; None means by __debug__

    Example:
        >>> relaxed = torch.distributions.relaxed_bernoulli
        >>> relaxed.LogitRelaxedBernoulli(torch.tensor(0.5), probs=torch.tensor([0.3])).log_prob(torch.tensor([0.0]))
        tensor([-2.2538])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(self, temperature: Tensor, probs: Tensor | Number | None = None, logits: Tensor | Number | None = None,
                 validate_args: bool | None = None) -> None:
        self.temperature = temperature
        name, value = self._either_of_(probs, logits)
        vars(self)[name], = broadcast_all(value)
        super().__init__(vars(self)[name].shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LogitRelaxedBernoulli, _instance)
        new.temperature = self.temperature
        return super().expand(batch_shape, new)

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        drawn = clamp_probs(mindtorch.rand(shape, dtype=probs.dtype, device=probs.device))
        return (drawn.log() - (-drawn).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(RelaxedMixin):
    """Numbers from 0 to 1, the nearer to one of them the lower the temperature; samples carry gradients.

    Example:
        >>> coin = torch.distributions.RelaxedBernoulli(torch.tensor(0.5), torch.tensor([0.25, 0.75]))
        >>> sample = coin.rsample()
        >>> sample.shape, ((0 <= sample) & (sample <= 1)).all()
        (torch.Size([2]), tensor(True))
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, temperature: Tensor, probs: Tensor | Number | None = None, logits: Tensor | Number | None = None,
                 validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(),
                         validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(RelaxedBernoulli, _instance))
