from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import LocationMixin
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.multivariate_normal import _batch_mahalanobis
from mindtorch.distributions.utils import lazy_property, standard_normal

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import _size

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(LocationMixin, Distribution):
    """The normal distribution of vectors of the covariance W W^T + diag(D): cov_factor W (..., n, m), cov_diag D.

    Arguments:
        cov_factor: the factor W (*, n, rank) of the covariance W W^T + diag(cov_diag)
        cov_diag: the diagonal (*, n), positive

    Example:
        >>> normal = torch.distributions.LowRankMultivariateNormal(
        ...     torch.zeros(2), torch.tensor([[1.0], [2.0]]), torch.ones(2))
        >>> normal.covariance_matrix
        tensor([[2., 2.],
                [2., 5.]])
    """

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        batch = mindtorch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc, self.cov_diag = loc.expand(batch + event_shape), cov_diag.expand(batch + event_shape)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        super().__init__(batch, event_shape, validate_args=validate_args)

    @lazy_property
    def _capacitance_tril(self):
        """The Cholesky factor of I + W^T D^-1 W, by which the inverse and the determinant are known."""
        factor = self.cov_factor
        inner = factor.mT @ (factor / self.cov_diag.unsqueeze(-1))
        return mindtorch.linalg.cholesky(inner + mindtorch.eye(inner.shape[-1], dtype=inner.dtype, device=inner.device))

    def _log_det_(self):
        return (2 * self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + self.cov_diag.log().sum(-1))

    @lazy_property
    def variance(self) -> Tensor:
        return self.cov_factor.pow(2).sum(-1) + self.cov_diag

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        return self.cov_factor @ self.cov_factor.mT + mindtorch.diag_embed(self.cov_diag)

    @lazy_property
    def scale_tril(self) -> Tensor:
        return mindtorch.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        solved = mindtorch.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return mindtorch.diag_embed(self.cov_diag.reciprocal()) - solved.mT @ solved

    def rsample(self, sample_shape: _size = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        common = standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc)
        own = standard_normal(shape, self.loc)
        return self.loc + (self.cov_factor @ common.unsqueeze(-1)).squeeze(-1) + self.cov_diag.sqrt() * own

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        away = value - self.loc
        common = (self.cov_factor.mT @ (away / self.cov_diag).unsqueeze(-1)).squeeze(-1)
        distance = (away.pow(2) / self.cov_diag).sum(-1) - _batch_mahalanobis(self._capacitance_tril, common)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det_() + distance)

    def entropy(self) -> Tensor:
        return 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det_())
