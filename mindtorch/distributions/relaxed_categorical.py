from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import RelaxedMixin
from mindtorch.distributions.categorical import Categorical
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.transforms import ExpTransform
from mindtorch.distributions.utils import broadcast_all, clamp_probs

if TYPE_CHECKING:
    from mindtorch import Size, Tensor
    from mindtorch.types import _size

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(Distribution):
    """The logarithms of RelaxedOneHotCategorical.

    Arguments:
        temperature: the closer to 0, the closer samples are to 0 and 1
        probs: probabilities; give these or logits
        logits: logarithms of probabilities, or log-odds; give these or probs
        validate_args: whether parameters and values are checked; None means by __debug__

    Example:
        >>> relaxed = torch.distributions.relaxed_categorical
        >>> relaxed.ExpRelaxedCategorical(torch.tensor(0.5), probs=torch.ones(3)).sample().exp().sum()
        tensor(1.0000)
    """

    arg_constraints = Categorical.arg_constraints
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature: Tensor, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:],
                         validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(ExpRelaxedCategorical, _instance)
        new.temperature, new._categorical = self.temperature, self._categorical.expand(batch_shape)
        return super().expand(batch_shape, new)

    @property
    def param_shape(self) -> Size:
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = clamp_probs(mindtorch.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-drawn.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Any) -> Tensor:
        count = self._categorical._num_events
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        temperature = mindtorch.as_tensor(self.temperature, dtype=logits.dtype, device=logits.device)
        score = logits - value * temperature
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + mindtorch.lgamma(mindtorch.full_like(temperature, float(count))) + (
            count - 1) * temperature.log()


class RelaxedOneHotCategorical(RelaxedMixin):
    """Vectors of shares, the nearer to a single 1 the lower the temperature; samples carry gradients.

    Example:
        >>> classes = torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([0.25, 0.75]))
        >>> classes.rsample().sum()
        tensor(1.)
    """

    arg_constraints = Categorical.arg_constraints
    support = constraints.simplex
    has_rsample = True

    def __init__(self, temperature: Tensor, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args),
                         ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(RelaxedOneHotCategorical, _instance))
