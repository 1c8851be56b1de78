"""Images made larger."""
from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch.nn import functional as F
from mindtorch.nn.modules.function_layer import FunctionLayer

if TYPE_CHECKING:
    from mindtorch.nn.common_types import _ratio_2_t, _ratio_any_t, _size_2_t, _size_any_t

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(FunctionLayer):
    """functional.interpolate with these arguments.

    Arguments:
        mode: as of functional.interpolate
        align_corners: whether the corners keep their places
        recompute_scale_factor: whether the factor is found again from the rounded size

    Example:
        >>> nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
        tensor([[[1., 1., 2., 2.]]])
    """

    name: str
    size: _size_any_t | None
    scale_factor: _ratio_any_t | None
    mode: str
    align_corners: bool | None
    recompute_scale_factor: bool | None

    _function_ = staticmethod(F.interpolate)

    def __init__(self, size: _size_any_t | None = None, scale_factor: _ratio_any_t | None = None, mode: str = "nearest",
                 align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> None:
        if isinstance(scale_factor, tuple):
            scale_factor = tuple(map(float, scale_factor))
        else:
            scale_factor = float(scale_factor) if scale_factor else None
        self._store_(locals())
        self.name = type(self).__name__

    def extra_repr(self) -> str:
        name = "size" if self.scale_factor is None else "scale_factor"
        return f"{name}={getattr(self, name)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Each pixel repeated.

    Example:
        >>> nn.UpsamplingNearest2d(scale_factor=2)(torch.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """

    def __init__(self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Bilinear interpolation that keeps the corners.

    Example:
        >>> nn.UpsamplingBilinear2d(scale_factor=2)(torch.ones(1, 1, 2, 2)).shape
        torch.Size([1, 1, 4, 4])
    """

    def __init__(self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
