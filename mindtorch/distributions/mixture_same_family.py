from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.categorical import Categorical
from mindtorch.distributions.distribution import Distribution

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of the distributions along the last batch dimension of the second, chosen by the first, a Categorical.

    Arguments:
        mixture_distribution: a Categorical: the weights
        component_distribution: the components, along the last dimension of its batch

    Example:
        >>> mixture = torch.distributions.MixtureSameFamily(
        ...     torch.distributions.Categorical(torch.tensor([0.25, 0.75])),
        ...     torch.distributions.Normal(torch.tensor([-2.0, 2.0]), torch.ones(2)))
        >>> mixture.mean, mixture.log_prob(torch.tensor([2.0]))
        (tensor(1.), tensor([-1.2065]))
    """

    arg_constraints = {}

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: bool | None = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        chosen, batch = mixture_distribution.batch_shape, component_distribution.batch_shape
        for one, other in zip(reversed(chosen), reversed(batch[:-1]), strict=False):
            if one != 1 and other != 1 and one != other:
                raise ValueError(f"`mixture_distribution.batch_shape` ({chosen}) is not compatible with "
                                 f"`component_distribution.batch_shape`({batch[:-1]})")
        count = mixture_distribution.param_shape[-1]
        if count != batch[-1]:
            raise ValueError(f"`mixture_distribution component` ({count}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({batch[-1]})")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._num_component, self._event_ndims = count, len(component_distribution.event_shape)
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = mindtorch.Size(batch_shape)
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return super().expand(batch_shape, new)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        return self._component_distribution

    def _weighted_(self, values):
        """The sum over the components, by their probabilities."""
        probs = self.mixture_distribution.probs
        return (probs.reshape(probs.shape + (1,) * self._event_ndims) * values).sum(-1 - self._event_ndims)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._weighted_(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        within = self._weighted_(self.component_distribution.variance)
        return within + self._weighted_((self.component_distribution.mean - self._pad(self.mean)).pow(2.0))

    def cdf(self, x: Any) -> Tensor:
        return (self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        each = self.component_distribution.log_prob(self._pad(x))
        return mindtorch.logsumexp(each + mindtorch.log_softmax(self.mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with mindtorch.no_grad():
            chosen, dim = self.mixture_distribution.sample(sample_shape), len(sample_shape) + len(self.batch_shape)
            samples = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index = index.expand((*chosen.shape, 1, *self.event_shape))
            return samples.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
