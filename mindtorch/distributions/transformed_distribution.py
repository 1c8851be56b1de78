from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.independent import Independent
from mindtorch.distributions.transforms import ComposeTransform, Transform
from mindtorch.distributions.utils import sum_rightmost

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import _size

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of t(X), where X has `base_distribution` and t is a transform, or a list of them in order.

    Arguments:
        transforms: a transform, or a list of them in the order in which they apply

    Example:
        >>> normal = torch.distributions.Normal(0.0, 1.0)
        >>> moved = torch.distributions.TransformedDistribution(
        ...     normal, [torch.distributions.AffineTransform(loc=1.0, scale=2.0), torch.distributions.ExpTransform()])
        >>> moved.cdf(torch.tensor(1.0).exp()), moved.support
        (tensor(0.5000), GreaterThan(lower_bound=0.0))
    """

    arg_constraints = {}

    def __init__(self, base_distribution: Distribution, transforms: Transform | list[Transform],
                 validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        transform = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < transform.domain.event_dim:
            raise ValueError(f"base_distribution needs to have shape with size at least {transform.domain.event_dim}, "
                             f"but got {shape}.")
        # A transform may widen the shape, and may look at several values of the base at once.
        base_shape = transform.inverse_shape(transform.forward_shape(shape))
        base = base_distribution.expand(base_shape[:len(base_shape) - len(base_distribution.event_shape)])
        reinterpreted = transform.domain.event_dim - len(base.event_shape)
        self.base_dist = Independent(base, reinterpreted) if reinterpreted > 0 else base
        forward_shape = transform.forward_shape(base_shape)
        event_dim = transform.codomain.event_dim + max(len(base.event_shape) - transform.domain.event_dim, 0)
        cut = len(forward_shape) - event_dim
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        shape = ComposeTransform(self.transforms).inverse_shape(mindtorch.Size(batch_shape) + self.event_shape)
        new.base_dist = self.base_dist.expand(shape[:len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        found, more = self.transforms[-1].codomain, len(self.event_shape) - self.transforms[-1].codomain.event_dim
        return constraints.independent(found, more) if more > 0 else found

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    def _transform_(self, value):
        for transform in self.transforms:
            value = transform(value)
        return value

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with mindtorch.no_grad():
            return self._transform_(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        return self._transform_(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        event_dim, found, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            found = found - sum_rightmost(transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim)
            y = x
        return found + sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _sign_(self):
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return sign

    def cdf(self, value: Any) -> Tensor:
        for transform in self.transforms[::-1]:
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._undo_sign_(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Tensor:
        return self._transform_(self.base_dist.icdf(self._undo_sign_(value)))

    def _undo_sign_(self, probability):
        """The probability as it is of the base: falling transforms turn it round."""
        sign = self._sign_()
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5
