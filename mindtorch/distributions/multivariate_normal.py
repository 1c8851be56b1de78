import math

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.utils import lazy_property, standard_normal

__all__ = ["MultivariateNormal"]


class MultivariateNormal(Distribution):
    """The normal distribution of vectors with mean `loc` (..., n).

    One of covariance_matrix, precision_matrix, its inverse, and scale_tril, its Cholesky factor, is given (..., n, n).
    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {name: matrix for name, matrix in (
            ("covariance_matrix", covariance_matrix), ("precision_matrix", precision_matrix),
            ("scale_tril", scale_tril)) if matrix is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        (name, matrix), = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch = mindtorch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand(batch + loc.shape[-1:])
        vars(self)[name] = matrix.expand(batch + matrix.shape[-2:])
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = {"covariance_matrix": mindtorch.linalg.cholesky, "scale_tril": lambda it: it,
                                          "precision_matrix": _factor_of_inverse}[name](matrix)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MultivariateNormal, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return super().expand(batch_shape, new)

    def _square(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        return self._square(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        return self._square(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self):
        inverse = _inverse_of_factor(self._unbroadcasted_scale_tril)
        return self._square(inverse.mT @ inverse)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=()):
        eps = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ eps.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def entropy(self):
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return found.expand(self._batch_shape)


def mahalanobis(factor, difference):
    """|L^-1 d|^2 for a lower triangular `factor` L (..., n, n) and vectors d (..., n)."""
    solved = mindtorch.linalg.solve_triangular(factor, difference.unsqueeze(-1), upper=False)
    return solved.squeeze(-1).pow(2).sum(-1)


def _inverse_of_factor(factor):
    identity = mindtorch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return mindtorch.linalg.solve_triangular(factor, identity, upper=False)


def _factor_of_inverse(matrix):
    """The lower Cholesky factor of the inverse: reversed in both dimensions, an upper factor becomes a lower one."""
    reversed_factor = mindtorch.linalg.cholesky(matrix.flip(-2, -1))
    return _inverse_of_factor(reversed_factor.flip(-2, -1).mT)
