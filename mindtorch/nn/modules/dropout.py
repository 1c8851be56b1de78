"""Elements and channels set to zero at random while training."""
from __future__ import annotations

from mindtorch.nn import functional as F
from mindtorch.nn.modules.function_layer import FunctionLayer

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(FunctionLayer):
    _passed_ = ("p", "training", "inplace")

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self._store_(locals())

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Elements are zero with probability `p`, the others divided by 1 - p.

    Example:
        >>> nn.Dropout(0.5).eval()(torch.ones(2))
        tensor([1., 1.])
    """

    _function_ = staticmethod(F.dropout)


class Dropout1d(_DropoutNd):
    """Whole channels (N, C, L) are zero with probability `p`.

    Example:
        >>> nn.Dropout1d(0.5).eval()(torch.ones(1, 2, 1)).shape
        torch.Size([1, 2, 1])
    """

    _function_ = staticmethod(F.dropout1d)


class Dropout2d(_DropoutNd):
    """Whole channels (N, C, H, W) are zero with probability `p`.

    Example:
        >>> nn.Dropout2d(0.5).eval()(torch.ones(1, 2, 1, 1)).shape
        torch.Size([1, 2, 1, 1])
    """

    _function_ = staticmethod(F.dropout2d)


class Dropout3d(_DropoutNd):
    """Whole channels (N, C, D, H, W) are zero with probability `p`.

    Example:
        >>> nn.Dropout3d(0.5).eval()(torch.ones(1, 2, 1, 1, 1)).shape
        torch.Size([1, 2, 1, 1, 1])
    """

    _function_ = staticmethod(F.dropout3d)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance of what SELU gives.

    Example:
        >>> nn.AlphaDropout(0.5).eval()(torch.ones(2))
        tensor([1., 1.])
    """

    _function_ = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels.

    Example:
        >>> nn.FeatureAlphaDropout(0.5).eval()(torch.ones(1, 2, 1)).shape
        torch.Size([1, 2, 1])
    """

    _function_ = staticmethod(F.feature_alpha_dropout)
