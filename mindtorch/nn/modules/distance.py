"""Distances of pairs."""
from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch.nn import functional as F
from mindtorch.nn.modules.function_layer import FunctionLayer

if TYPE_CHECKING:
    from mindtorch import Tensor

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(FunctionLayer):
    """The p-norm of x1 - x2 + eps along the last dimension.

    Arguments:
        p: the exponent of the norm
        keepdim: whether the last dimension remains, with size 1

    Example:
        >>> nn.PairwiseDistance()(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """

    norm: float
    eps: float
    keepdim: bool

    def __init__(self, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> None:
        self._store_({"norm": p, "eps": eps, "keepdim": keepdim})

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(FunctionLayer):
    """The cosine of the angle between x1 and x2 along `dim`.

    Example:
        >>> nn.CosineSimilarity()(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
        tensor([0.7071])
    """

    dim: int
    eps: float

    _function_ = staticmethod(F.cosine_similarity)
    _shown_ = ()

    def __init__(self, dim: int = 1, eps: float = 1e-08) -> None:
        self._store_(locals())

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return self._apply_to_(x1, x2)
