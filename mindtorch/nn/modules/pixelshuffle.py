"""Channels become pixels, and back."""
from mindtorch.nn import functional as F
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import described

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """(*, C * r * r, H, W) to (*, C, H * r, W * r)."""

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self):
        return described(self, "upscale_factor")


class PixelUnshuffle(Module):
    """(*, C, H * r, W * r) to (*, C * r * r, H, W)."""

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self):
        return described(self, "downscale_factor")
