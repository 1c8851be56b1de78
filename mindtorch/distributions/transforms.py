"""torch.distributions.transforms: invertible functions that know how they stretch volume."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._joined_transforms import CatTransform, StackTransform
from mindtorch.distributions._transform import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    _InverseTransform,  # noqa: F401 - torch has it here
    identity_transform,
)
from mindtorch.distributions.utils import broadcast_all, sum_rightmost
from mindtorch.nn.functional import softplus

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.distributions.constraints import Constraint
    from mindtorch.distributions.distribution import Distribution

__all__ = ["AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
           "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
           "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
           "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
           "identity_transform"]


class _Plain(Transform):
    """A transform without parameters: all are equal."""

    def __eq__(self, other: Any) -> bool:
        return type(other) is type(self)

    __hash__ = Transform.__hash__


class _Rising(_Plain):
    """A rising function of all real numbers."""

    domain = constraints.real
    bijective = True
    sign = +1


class ExpTransform(_Rising):
    """exp(x).

    Example:
        >>> transform = torch.distributions.ExpTransform()
        >>> x = torch.tensor([0.0, 1.0])
        >>> transform(x), transform.log_abs_det_jacobian(x, transform(x))
        (tensor([1.0000, 2.7183]), tensor([0., 1.]))
    """

    codomain = constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


def _clipped_sigmoid(x):
    """sigmoid(x), kept from the ends 0 and 1 where the logarithm of its derivative is infinite."""
    info = mindtorch.finfo(x.dtype)
    return mindtorch.sigmoid(x).clamp(min=info.tiny, max=1.0 - info.eps)


class SigmoidTransform(_Rising):
    """1 / (1 + exp(-x)).

    Example:
        >>> torch.distributions.SigmoidTransform()(torch.zeros(2))
        tensor([0.5000, 0.5000])
    """

    codomain = constraints.unit_interval

    def _call(self, x):
        return _clipped_sigmoid(x)

    def _inverse(self, y):
        info = mindtorch.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Rising):
    """log(1 + exp(x)).

    Example:
        >>> torch.distributions.SoftplusTransform()(torch.zeros(1))
        tensor([0.6931])
    """

    codomain = constraints.positive

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -softplus(-x)


class TanhTransform(_Rising):
    """tanh(x).

    Example:
        >>> torch.distributions.TanhTransform()(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return mindtorch.atanh(y)       # infinite at the ends; cache_size=1 hands back the exact argument

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(_Plain):
    """|x|; the inverse of y is y.

    Example:
        >>> torch.distributions.AbsTransform()(torch.tensor([-1.0, 2.0]))
        tensor([1., 2.])
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class PowerTransform(Transform):
    """x ** exponent of positive numbers.

    Arguments:
        exponent: the exponent

    Example:
        >>> torch.distributions.PowerTransform(torch.tensor(2.0))(torch.tensor([3.0]))
        tensor([9.])
    """

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.exponent, = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> int:
        return self.exponent.sign()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = Transform.__hash__

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return mindtorch.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


class AffineTransform(Transform):
    """loc + scale * x, on values of `event_dim` dimensions.

    Arguments:
        loc: what is added
        scale: the factor
        event_dim: how many of the last dimensions form an event

    Example:
        >>> transform = torch.distributions.AffineTransform(loc=1.0, scale=2.0)
        >>> transform(torch.tensor([3.0])), transform.inv(torch.tensor([7.0]))
        (tensor([7.]), tensor([3.]))
    """

    bijective = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, AffineTransform) and all(
            bool(mindtorch.as_tensor(one == two).all()) for one, two in ((self.loc, other.loc),
                                                                         (self.scale, other.scale)))

    __hash__ = Transform.__hash__

    @property
    def sign(self) -> Tensor | int:
        if isinstance(self.scale, mindtorch.Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if isinstance(self.scale, mindtorch.Tensor):
            each = self.scale.abs().log()
        else:
            each = mindtorch.full_like(x, math.log(abs(self.scale)))
        cut = len(x.shape) - self.event_dim
        return sum_rightmost(each.expand(x.shape), self.event_dim).expand(x.shape[:cut])

    def forward_shape(self, shape: Any) -> Any:
        return mindtorch.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class SoftmaxTransform(_Plain):
    """softmax over the last dimension; the logarithm is an inverse, of which there are many.

    Example:
        >>> torch.distributions.SoftmaxTransform()(torch.zeros(4))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()

    def _checked_(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    def forward_shape(self, shape: Any) -> Any:
        return self._checked_(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._checked_(shape)


class StickBreakingTransform(_Plain):
    """n real numbers to n + 1 that are positive and sum to 1: each takes its share of what those before it left.

    Example:
        >>> torch.distributions.StickBreakingTransform()(torch.zeros(2))
        tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _offset_(self, value, more):
        """log of how many are left at each place, so that 0 gives equal shares."""
        return (value.shape[-1] + more - value.new_ones(value.shape[-1]).cumsum(-1)).log()

    def _call(self, x):
        z = SigmoidTransform()(x - self._offset_(x, 1))
        left = (1 - z).cumprod(-1)
        return mindtorch.cat([z, mindtorch.ones_like(z[..., :1])], -1) * mindtorch.cat(
            [mindtorch.ones_like(z[..., :1]), left], -1)

    def _inverse(self, y):
        shares = y[..., :-1]
        left = (1 - shares.cumsum(-1)).clamp(min=mindtorch.finfo(y.dtype).tiny)
        return shares.log() - left.log() + self._offset_(shares, 1)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._offset_(x, 1)
        return (-x + mindtorch.nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(_Plain):
    """A square matrix to a lower triangular one whose diagonal is positive.

    Example:
        >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + mindtorch.diag_embed(x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y):
        return y.tril(-1) + mindtorch.diag_embed(y.diagonal(dim1=-2, dim2=-1).log())


class CorrCholeskyTransform(_Plain):
    """D * (D - 1) / 2 real numbers to the Cholesky factor of a D x D correlation matrix, row by row.

    The tanh of a number is its element's share of what those before it in the row have left of the row's length 1.

    Example:
        >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(3))
        tensor([[1., 0., 0.],
                [0., 1., 0.],
                [0., 0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        eps, size = mindtorch.finfo(x.dtype).eps, self.forward_shape(x.shape)[-1]
        shares = _below_diagonal(x.tanh().clamp(-1 + eps, 1 - eps), size)
        left = (1 - shares.square()).sqrt().cumprod(-1)
        before = mindtorch.cat([mindtorch.ones_like(left[..., :1]), left[..., :-1]], -1)
        return (shares + mindtorch.eye(size, dtype=x.dtype, device=x.device)) * before

    def _left_(self, y):
        """The square of what the elements up to each one have left of the row's length."""
        return 1 - y.square().cumsum(-1)

    def _inverse(self, y):
        left = self._left_(y)
        before = mindtorch.cat([mindtorch.ones_like(left[..., :1]), left[..., :-1]], -1)
        shares = _flattened(y, -1) / _flattened(before, -1).sqrt()
        return (shares.log1p() - (-shares).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        stretched = 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return 0.5 * _flattened(self._left_(y), -2).log().sum(-1) - stretched

    def forward_shape(self, shape: Any) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], size, size)

    def inverse_shape(self, shape: Any) -> Any:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


def _flattened(matrix, diagonal):
    """The elements of a square matrix up to that diagonal, row by row."""
    rows, columns = mindtorch.tril_indices(matrix.shape[-1], matrix.shape[-1], diagonal, device=matrix.device)
    return matrix[..., rows, columns]


def _below_diagonal(values, size):
    """The matrix whose elements below the diagonal are `values`, row by row; the others are 0."""
    rows, columns = mindtorch.tril_indices(size, size, -1, device=values.device)
    matrix = values.new_zeros((*values.shape[:-1], size, size))
    matrix[..., rows, columns] = values
    return matrix


class PositiveDefiniteTransform(_Plain):
    """A square matrix to a positive definite one: L L^T of what LowerCholeskyTransform makes of it.

    Example:
        >>> torch.distributions.PositiveDefiniteTransform()(torch.tensor([[0.0, 5.0], [2.0, 0.0]]))
        tensor([[1., 2.],
                [2., 5.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(mindtorch.linalg.cholesky(y))


class CumulativeDistributionTransform(Transform):
    """The distribution's cdf: of a value that it has, the probability of at most that.

    Arguments:
        distribution: the distribution whose cdf it is

    Example:
        >>> transform = torch.distributions.CumulativeDistributionTransform(torch.distributions.Normal(0.0, 1.0))
        >>> transform(torch.zeros(2))
        tensor([0.5000, 0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Constraint | None:
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Any:
        same = self._cache_size == cache_size
        return self if same else CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
