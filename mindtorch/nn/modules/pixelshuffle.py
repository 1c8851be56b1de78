"""Channels become pixels, and back."""
from mindtorch.nn import functional as F
from mindtorch.nn.modules.function_layer import FunctionLayer

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(FunctionLayer):
    """(*, C * r * r, H, W) to (*, C, H * r, W * r)."""

    _function = staticmethod(F.pixel_shuffle)

    def __init__(self, upscale_factor):
        self._keep(locals())


class PixelUnshuffle(FunctionLayer):
    """(*, C, H * r, W * r) to (*, C * r * r, H, W)."""

    _function = staticmethod(F.pixel_unshuffle)

    def __init__(self, downscale_factor):
        self._keep(locals())
