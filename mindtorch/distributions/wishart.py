from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions._mixins import MatrixMixin
from mindtorch.distributions.chi2 import Chi2
from mindtorch.distributions.exp_family import ExponentialFamily
from mindtorch.distributions.utils import standard_normal

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import Number

__all__ = ["Wishart"]


class Wishart(MatrixMixin, ExponentialFamily):
    """X^T X of `df` normal vectors with the covariance given (..., p, p): by itself, its inverse or Cholesky factor.

    Arguments:
        covariance_matrix: the scale matrix (*, n, n); give one of the three
        precision_matrix: its inverse; give one of the three
        scale_tril: its lower Cholesky factor; give one of the three

    Example:
        >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, df: Tensor | Number, covariance_matrix: Tensor | None = None,
                 precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        name, matrix = self._one_matrix_(AssertionError, covariance_matrix=covariance_matrix,
                                         precision_matrix=precision_matrix, scale_tril=scale_tril)
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        self.df = df if isinstance(df, mindtorch.Tensor) else mindtorch.tensor(
            df, dtype=matrix.dtype, device=matrix.device)
        batch = mindtorch.broadcast_shapes(self.df.shape, matrix.shape[:-2])
        if (self.df <= matrix.shape[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {matrix.shape[-1] - 1}.")
        self.df = self.df.expand(batch)
        vars(self)[name] = matrix.expand(batch + matrix.shape[-2:])
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        self._set_scale_tril_(name, matrix)

    @property
    def arg_constraints(self) -> Any:
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self._event_shape[-1] - 1)}

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Wishart, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        new._event_shape = self._event_shape
        return super().expand(batch_shape, new)

    def _as_matrices_(self, number):
        return number.reshape((*number.shape, 1, 1))

    @property
    def mean(self) -> Tensor:
        return self._as_matrices_(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return self._as_matrices_(factor.masked_fill(factor <= 0, math.nan)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        own = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        return self._as_matrices_(self.df) * (self.covariance_matrix.pow(2) + own.unsqueeze(-1) * own.unsqueeze(-2))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """By Bartlett's decomposition: a triangle of normal numbers with square roots of Chi2 on its diagonal."""
        less = mindtorch.arange(self._event_shape[-1], dtype=self.df.dtype, device=self.df.device)
        diagonal = Chi2(self.df.unsqueeze(-1) - less, validate_args=False).rsample(sample_shape).sqrt()
        triangle = standard_normal(self._extended_shape(sample_shape), diagonal).tril(-1)
        root = self._unbroadcasted_scale_tril @ (triangle + mindtorch.diag_embed(diagonal))
        return root @ root.mT

    def _half_log_det_(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        df, p = self.df, self._event_shape[-1]
        trace = mindtorch.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (-df * (p * math.log(2) / 2 + self._half_log_det_()) - mindtorch.mvlgamma(df / 2, p)
                + (df - p - 1) / 2 * mindtorch.linalg.slogdet(value).logabsdet - trace / 2)

    def entropy(self) -> Tensor:
        df, p = self.df, self._event_shape[-1]
        steps = mindtorch.arange(p, dtype=df.dtype, device=df.device)
        digammas = mindtorch.digamma((df.unsqueeze(-1) - steps) / 2).sum(-1)
        return ((p + 1) * (p * math.log(2) / 2 + self._half_log_det_()) + mindtorch.mvlgamma(df / 2, p)
                - (df - p - 1) / 2 * digammas + df * p / 2)

    @property
    def _natural_params(self):
        return -0.5 * self.precision_matrix, 0.5 * (self.df - self._event_shape[-1] - 1)

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        half = y + 0.5 * (p + 1)
        return mindtorch.mvlgamma(half, p) - half * mindtorch.linalg.slogdet(-x).logabsdet
