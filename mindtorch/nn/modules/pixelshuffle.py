"""Channels become pixels, and back."""
from __future__ import annotations

from mindtorch.nn import functional as F
from mindtorch.nn.modules.function_layer import FunctionLayer

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(FunctionLayer):
    """(*, C * r * r, H, W) to (*, C, H * r, W * r).

    Arguments:
        upscale_factor: r

    Example:
        >>> nn.PixelShuffle(2)(torch.ones(1, 4, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """

    upscale_factor: int

    _function_ = staticmethod(F.pixel_shuffle)

    def __init__(self, upscale_factor: int) -> None:
        self._store_(locals())


class PixelUnshuffle(FunctionLayer):
    """(*, C, H * r, W * r) to (*, C * r * r, H, W).

    Arguments:
        downscale_factor: r

    Example:
        >>> nn.PixelUnshuffle(2)(torch.ones(1, 1, 4, 4)).shape
        torch.Size([1, 4, 2, 2])
    """

    downscale_factor: int

    _function_ = staticmethod(F.pixel_unshuffle)

    def __init__(self, downscale_factor: int) -> None:
        self._store_(locals())
