from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import BinaryProbsLogitsMixin
from mindtorch.distributions.exp_family import ExponentialFamily
from mindtorch.distributions.utils import broadcast_all, clamp_probs, lazy_property
from mindtorch.nn.functional import binary_cross_entropy_with_logits

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import Number, _size

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(BinaryProbsLogitsMixin, ExponentialFamily):
    """Numbers x from 0 to 1 with a density in proportion to probs ** x * (1 - probs) ** (1 - x).

    Where `probs` lies within `lims`, around 1/2, the formulas divide 0 by 0 nearly: there the first terms of their
    Taylor series stand in for them. Loaiza-Ganem and Cunningham, "The continuous Bernoulli", 2019.

    Arguments:
        lims: where, around 0.5, an approximation is used

    Example:
        >>> torch.distributions.ContinuousBernoulli(torch.tensor([0.25])).mean
        tensor([0.4102])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Tensor | Number | None = None, logits: Tensor | Number | None = None,
                 lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None) -> None:
        name, value = self._either_of_(probs, logits)
        value, = broadcast_all(value)
        if name == "probs":
            if validate_args is not None and not constraints.unit_interval.check(value).all():
                raise ValueError("The parameter probs has invalid values")
            value = clamp_probs(value)
        self._lims = lims
        self._broadcast_(validate_args, **{name: value})

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(ContinuousBernoulli, _instance)
        new._lims = self._lims
        return super().expand(batch_shape, new)

    @lazy_property
    def probs(self) -> Tensor:
        return clamp_probs(super().probs)

    def _stable_(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self):
        """The probabilities, those that lie too near to 1/2 moved away so that no formula divides by 0."""
        return mindtorch.where(self._stable_(), self.probs, self._lims[0])

    def _cont_bern_log_norm(self):
        probs, x = self._cut_probs(), (self.probs - 0.5).square()
        odds, difference = (probs.log() - (-probs).log1p()).abs(), (1 - 2 * probs).abs()
        return mindtorch.where(self._stable_(), odds.log() - difference.log(),
                               math.log(2.0) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Tensor:
        probs, x = self._cut_probs(), self.probs - 0.5
        found = probs / (2 * probs - 1) + 1 / ((-probs).log1p() - probs.log())
        return mindtorch.where(self._stable_(), found, 0.5 + (1 / 3 + 16 / 45 * x.square()) * x)

    @property
    def variance(self) -> Tensor:
        probs, x = self._cut_probs(), (self.probs - 0.5).square()
        found = (probs * (probs - 1) / (1 - 2 * probs).square()
                 + 1 / ((-probs).log1p() - probs.log()).square())
        return mindtorch.where(self._stable_(), found, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(mindtorch.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return self._cont_bern_log_norm() - binary_cross_entropy_with_logits(logits, value, reduction="none")

    def cdf(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        probs = self._cut_probs()
        found = (probs ** value * (1 - probs) ** (1 - value) + probs - 1) / (2 * probs - 1)
        found = mindtorch.where(self._stable_(), found, value)
        return mindtorch.where(value <= 0, 0.0, mindtorch.where(value >= 1, 1.0, found))

    def icdf(self, value: Any) -> Tensor:
        probs = self._cut_probs()
        log_not = (-probs).log1p()
        found = ((-probs + value * (2 * probs - 1)).log1p() - log_not) / (probs.log() - log_not)
        return mindtorch.where(self._stable_(), found, value)

    def entropy(self) -> Tensor:
        log_not = (-self.probs).log1p()
        return self.mean * (log_not - self.probs.log()) - self._cont_bern_log_norm() - log_not

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        """log((e^x - 1) / x), near 0 by its series."""
        low, high = (math.log(each / (1 - each)) for each in self._lims)
        far = (x <= low) | (x > high)
        cut = mindtorch.where(far, x, low)
        return mindtorch.where(far, cut.expm1().abs().log() - cut.abs().log(), 0.5 * x + x.square() / 24.0)
