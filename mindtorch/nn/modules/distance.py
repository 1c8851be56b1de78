"""Distances of pairs."""
from mindtorch.nn import functional as F
from mindtorch.nn.modules.function_layer import FunctionLayer

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(FunctionLayer):
    """The p-norm of x1 - x2 + eps along the last dimension."""

    def __init__(self, p=2.0, eps=1e-06, keepdim=False):
        self._keep({"norm": p, "eps": eps, "keepdim": keepdim})

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(FunctionLayer):
    """The cosine of the angle between x1 and x2 along `dim`."""

    _function = staticmethod(F.cosine_similarity)
    _shown = ()

    def __init__(self, dim=1, eps=1e-08):
        self._keep(locals())

    def forward(self, x1, x2):
        return self._apply_to(x1, x2)
