"""Mixins for distributions."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions.transformed_distribution import TransformedDistribution
from mindtorch.distributions.utils import lazy_property, logits_to_probs, probs_to_logits

if TYPE_CHECKING:
    from mindtorch import Tensor


class LocationMixin:
    """Distributions around `loc`."""

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc


class ProbsLogitsMixin:
    """Distributions with parameters `probs` or `logits`; each is computed from the other."""

    _is_binary_ = False

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, is_binary=self._is_binary_)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, is_binary=self._is_binary_)

    @property
    def _param(self):
        return self.__dict__["probs" if "probs" in self.__dict__ else "logits"]

    @property
    def param_shape(self) -> Any:
        return self._param.size()


class BinaryProbsLogitsMixin(ProbsLogitsMixin):
    """Those of a single event, whose `logits` are its log odds."""

    _is_binary_ = True


def inverse_of_factor(factor: Any) -> Any:
    """The inverse of a lower triangular matrix (..., n, n)."""
    identity = mindtorch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return mindtorch.linalg.solve_triangular(factor, identity, upper=False)


def factor_of_inverse(matrix: Any) -> Any:
    """The lower Cholesky factor of the inverse: reversed in both dimensions, an upper factor becomes a lower one."""
    reversed_factor = mindtorch.linalg.cholesky(matrix.flip(-2, -1))
    return inverse_of_factor(reversed_factor.flip(-2, -1).mT)


class MatrixMixin:
    """Distributions of a positive definite matrix, given by itself, its inverse or its Cholesky factor."""

    @staticmethod
    def _one_matrix_(error, **matrices):
        """The name and value of the one that is given."""
        given = {name: matrix for name, matrix in matrices.items() if matrix is not None}
        if len(given) != 1:
            raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        return next(iter(given.items()))

    def _set_scale_tril_(self, name, matrix):
        self._unbroadcasted_scale_tril = {"covariance_matrix": mindtorch.linalg.cholesky, "scale_tril": lambda it: it,
                                          "precision_matrix": factor_of_inverse}[name](matrix)

    def _square_(self, matrix):
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self) -> Any:
        return self._square_(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._square_(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        inverse = inverse_of_factor(self._unbroadcasted_scale_tril)
        return self._square_(inverse.mT @ inverse)


class HalfMixin(TransformedDistribution):
    """|X| of X symmetrical around 0, with the scale of X."""

    @property
    def scale(self) -> Any:
        return self.base_dist.scale

    @property
    def mode(self) -> Any:
        return mindtorch.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = mindtorch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        return (self.base_dist.log_prob(value) + math.log(2)).masked_fill(value < 0, -math.inf)

    def cdf(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class RelaxedMixin(TransformedDistribution):
    """For a distribution with a temperature."""

    @property
    def temperature(self) -> Any:
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        return self.base_dist.probs
