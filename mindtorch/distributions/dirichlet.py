from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.exp_family import ExponentialFamily

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of probabilities (..., K) that sum to 1.

    Example:
        >>> shares = torch.distributions.Dirichlet(torch.tensor([1.0, 3.0]))
        >>> shares.mean, shares.event_shape
        (tensor([0.2500, 0.7500]), torch.Size([2]))
        >>> shares.rsample().sum()
        tensor(1.)
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Tensor:
        lowered = (self.concentration - 1).clamp(min=0.0)
        found = lowered / lowered.sum(-1, keepdim=True)
        corner = mindtorch.nn.functional.one_hot(self.concentration.argmax(-1), self._event_shape[0]).to(found)
        return mindtorch.where((self.concentration < 1).all(-1, keepdim=True), corner, found)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return mindtorch._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return mindtorch.xlogy(self.concentration - 1.0, value).sum(-1) - self._log_norm_()

    def _log_norm_(self):
        return mindtorch.lgamma(self.concentration).sum(-1) - mindtorch.lgamma(self.concentration.sum(-1))

    def entropy(self) -> Tensor:
        k, total = self.concentration.size(-1), self.concentration.sum(-1)
        return (self._log_norm_() - (k - total) * mindtorch.digamma(total)
                - ((self.concentration - 1.0) * mindtorch.digamma(self.concentration)).sum(-1))

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return mindtorch.lgamma(x).sum(-1) - mindtorch.lgamma(x.sum(-1))
