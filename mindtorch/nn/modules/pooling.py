"""Pooling."""
from typing import Any

from mindtorch.nn import functional as F
from mindtorch.nn.modules.function_layer import FunctionLayer
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import _ntuple, _single, described

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
           "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
           "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
           "MaxUnpool3d"]


class _MaxPoolNd(FunctionLayer):
    _shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        stride = kernel_size if stride is None else stride
        self._keep(locals())


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of (N, C, L)."""

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window of (N, C, H, W)."""

    _function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window of (N, C, D, H, W)."""

    _function = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(Module):
    _dims: Any = None
    _function: Any = None

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        sizes = _ntuple(self._dims)
        self.kernel_size = sizes(kernel_size)
        self.stride = self.kernel_size if stride is None else sizes(stride)
        self.padding = sizes(padding)

    def forward(self, input, indices, output_size=None):
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return described(self, "kernel_size", "stride", "padding")


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts back what MaxPool1d found, with zeros elsewhere."""

    _dims, _function = 1, staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts back what MaxPool2d found, with zeros elsewhere."""

    _dims, _function = 2, staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts back what MaxPool3d found, with zeros elsewhere."""

    _dims, _function = 3, staticmethod(F.max_unpool3d)


class AvgPool1d(FunctionLayer):
    """The mean of each window of (N, C, L)."""

    _function = staticmethod(F.avg_pool1d)
    _shown = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        kernel_size, padding = _single(kernel_size), _single(padding)
        stride = kernel_size if stride is None else _single(stride)
        self._keep(locals())


class _AvgPoolNd(FunctionLayer):
    _shown = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                 divisor_override=None):
        stride = kernel_size if stride is None else stride
        self._keep(locals())


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of (N, C, H, W)."""

    _function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of (N, C, D, H, W)."""

    _function = staticmethod(F.avg_pool3d)


class _FractionalMaxPool(FunctionLayer):
    """Windows placed at random, so that the result has `output_size`, or `output_ratio` of the input's size."""

    _dims: Any = None
    _shown = ()

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        sizes = _ntuple(self._dims)
        ratios = None if output_ratio is None else sizes(output_ratio)
        if ratios is not None and not all(0 < ratio < 1 for ratio in ratios):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        self._keep({"kernel_size": sizes(kernel_size), "return_indices": return_indices, "output_ratio": ratios,
                    "output_size": None if output_size is None else sizes(output_size)})
        self.register_buffer("_random_samples", _random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest element of each randomly placed window of (N, C, H, W)."""

    _dims, _function = 2, staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest element of each randomly placed window of (N, C, D, H, W)."""

    _dims, _function = 3, staticmethod(F.fractional_max_pool3d)


class _LPPool(FunctionLayer):
    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        self._keep(locals())


class LPPool1d(_LPPool):
    """The p-norm of each window of (N, C, L)."""

    _function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """The p-norm of each window of (N, C, H, W)."""

    _function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """The p-norm of each window of (N, C, D, H, W)."""

    _function = staticmethod(F.lp_pool3d)


class _AdaptiveAvgPoolNd(FunctionLayer):
    def __init__(self, output_size):
        self._keep(locals())


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows that cover (N, C, L)."""

    _function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows that cover (N, C, H, W); None keeps a size."""

    _function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows that cover (N, C, D, H, W); None keeps a size."""

    _function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPoolNd(FunctionLayer):
    _shown = ("output_size",)

    def __init__(self, output_size, return_indices=False):
        self._keep(locals())


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of `output_size` windows that cover (N, C, L)."""

    _function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest elements of `output_size` windows that cover (N, C, H, W); None keeps a size."""

    _function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest elements of `output_size` windows that cover (N, C, D, H, W); None keeps a size."""

    _function = staticmethod(F.adaptive_max_pool3d)
