from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import LocationMixin, MatrixMixin, factor_of_inverse
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.utils import standard_normal

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import _size

__all__ = ["MultivariateNormal"]

_precision_to_scale_tril = factor_of_inverse         # packages call it by torch's name


class MultivariateNormal(MatrixMixin, LocationMixin, Distribution):
    """The normal distribution of vectors with mean `loc` (..., n).

    One of covariance_matrix, precision_matrix, its inverse, and scale_tril, its Cholesky factor, is given (..., n, n).

    Arguments:
        covariance_matrix: the covariance (*, n, n); give one of the three
        precision_matrix: the inverse of the covariance; give one of the three
        scale_tril: the lower Cholesky factor of the covariance; give one of the three

    Example:
        >>> normal = torch.distributions.MultivariateNormal(torch.zeros(2), torch.tensor([[2.0, 0.0], [0.0, 0.5]]))
        >>> normal.log_prob(torch.zeros(2)), normal.variance
        (tensor(-1.8379), tensor([2.0000, 0.5000]))
        >>> normal.rsample((3,)).shape
        torch.Size([3, 2])
    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = self._one_matrix_(ValueError, covariance_matrix=covariance_matrix,
                                         precision_matrix=precision_matrix, scale_tril=scale_tril)
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch = mindtorch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand(batch + loc.shape[-1:])
        vars(self)[name] = matrix.expand(batch + matrix.shape[-2:])
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._set_scale_tril_(name, matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(MultivariateNormal, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return super().expand(batch_shape, new)

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        eps = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det_()

    def _half_log_det_(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def entropy(self) -> Tensor:
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det_()
        return found.expand(self._batch_shape)


def _batch_mv(matrix: Any, vector: Any) -> Any:
    """The products of matrices (..., n, m) and vectors (..., m)."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Any, difference: Any) -> Any:
    """|L^-1 d|^2 for a lower triangular `factor` L (..., n, n) and vectors d (..., n)."""
    solved = mindtorch.linalg.solve_triangular(factor, difference.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)
