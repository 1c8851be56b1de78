"""Elements and channels set to zero at random while training."""
from mindtorch.nn import functional as F
from mindtorch.nn.modules.function_layer import FunctionLayer

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(FunctionLayer):
    _passed = ("p", "training", "inplace")

    def __init__(self, p=0.5, inplace=False):
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self._keep(locals())

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Elements are zero with probability `p`, the others divided by 1 - p."""

    _function = staticmethod(F.dropout)


class Dropout1d(_DropoutNd):
    """Whole channels (N, C, L) are zero with probability `p`."""

    _function = staticmethod(F.dropout1d)


class Dropout2d(_DropoutNd):
    """Whole channels (N, C, H, W) are zero with probability `p`."""

    _function = staticmethod(F.dropout2d)


class Dropout3d(_DropoutNd):
    """Whole channels (N, C, D, H, W) are zero with probability `p`."""

    _function = staticmethod(F.dropout3d)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance of what SELU gives."""

    _function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels."""

    _function = staticmethod(F.feature_alpha_dropout)
