import math

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import HalfMixin
from mindtorch.distributions.cauchy import Cauchy
from mindtorch.distributions.transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(HalfMixin):
    """|X| of a Cauchy X around 0; it has no mean."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale, validate_args=None):
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(HalfCauchy, _instance))

    @property
    def mean(self):
        return mindtorch.full_like(self.scale, math.inf)

    @property
    def variance(self):
        return self.base_dist.variance
