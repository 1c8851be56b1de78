from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import mindtorch
from mindtorch.distributions import constraints
from mindtorch.distributions.beta import Beta
from mindtorch.distributions.distribution import Distribution
from mindtorch.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of dim x dim correlation matrices M, whose density is det(M) ** (concentration - 1).

    Arguments:
        dim: the number of rows of the matrices

    Example:
        >>> factor = torch.distributions.LKJCholesky(3, 0.5).sample()
        >>> torch.allclose((factor @ factor.mT).diagonal(), torch.ones(3))
        True
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        self.concentration, = broadcast_all(concentration)
        super().__init__(self.concentration.size(), mindtorch.Size((dim, dim)), validate_args)
        # The square of the length of each row without its diagonal element (Lewandowski, Kurowicka and Joe 2009).
        place = mindtorch.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        place = mindtorch.cat([place.new_zeros((1,)), place])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(place + 0.5, marginal.unsqueeze(-1) - 0.5 * place)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = mindtorch.Size(batch_shape)
        new.dim, new._beta = self.dim, self._beta.expand((*batch_shape, self.dim))
        return super().expand(batch_shape, new)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """By the onion method: each row is a random direction of a length drawn from a Beta distribution."""
        with mindtorch.no_grad():
            lengths = self._beta.sample(sample_shape).unsqueeze(-1)
            shape, like = self._extended_shape(sample_shape), self.concentration
            direction = mindtorch.randn(shape, dtype=like.dtype, device=like.device).tril(-1)
            norm = direction.norm(dim=-1, keepdim=True)
            row = lengths.sqrt() * (direction / norm.masked_fill(norm == 0, 1.0))
            tiny = mindtorch.finfo(row.dtype).tiny
            return row + mindtorch.diag_embed((1 - row.square().sum(-1)).clamp(min=tiny).sqrt())

    def log_prob(self, value: Any) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rows = mindtorch.arange(2, self.dim + 1, device=self.concentration.device)
        power = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        found = (power * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        return found - (0.5 * less * math.log(math.pi) + mindtorch.mvlgamma(alpha - 0.5, less)
                        - less * mindtorch.lgamma(alpha))
