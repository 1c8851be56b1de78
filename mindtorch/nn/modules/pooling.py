"""Pooling."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch.nn import functional as F
from mindtorch.nn.modules.function_layer import FunctionLayer
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import _ntuple, _single, described

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.nn.common_types import (
        _ratio_any_t,
        _size_1_t,
        _size_2_opt_t,
        _size_3_opt_t,
        _size_any_opt_t,
        _size_any_t,
    )

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
           "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
           "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
           "MaxUnpool3d"]


class _MaxPoolNd(FunctionLayer):
    _shown_ = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(self, kernel_size: _size_any_t, stride: _size_any_t | None = None, padding: _size_any_t = 0,
                 dilation: _size_any_t = 1, return_indices: bool = False, ceil_mode: bool = False) -> None:
        stride = kernel_size if stride is None else stride
        self._store_(locals())


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of (N, C, L).

    Example:
        >>> nn.MaxPool1d(2)(torch.arange(4.0).reshape(1, 1, 4))
        tensor([[[1., 3.]]])
    """

    _function_ = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window of (N, C, H, W).

    Example:
        >>> nn.MaxPool2d(2)(torch.arange(4.0).reshape(1, 1, 2, 2))
        tensor([[[[3.]]]])
    """

    _function_ = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window of (N, C, D, H, W).

    Example:
        >>> nn.MaxPool3d(2)(torch.ones(1, 1, 4, 4, 4)).shape
        torch.Size([1, 1, 2, 2, 2])
    """

    _function_ = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(Module):
    _dims_: Any = None
    _function_: Any = None

    def __init__(self, kernel_size: _size_any_t, stride: _size_any_t | None = None, padding: _size_any_t = 0) -> None:
        super().__init__()
        sizes = _ntuple(self._dims_)
        self.kernel_size = sizes(kernel_size)
        self.stride = self.kernel_size if stride is None else sizes(stride)
        self.padding = sizes(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: _size_any_t | None = None) -> Tensor:
        return self._function_(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return described(self, "kernel_size", "stride", "padding")


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts back what MaxPool1d found, with zeros elsewhere.

    Example:
        >>> nn.MaxUnpool1d(2)(torch.tensor([[[5.0]]]), torch.tensor([[[1]]]))
        tensor([[[0., 5.]]])
    """

    _dims_, _function_ = 1, staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts back what MaxPool2d found, with zeros elsewhere.

    Example:
        >>> nn.MaxUnpool2d(2)(torch.tensor([[[[5.0]]]]), torch.tensor([[[[3]]]]))
        tensor([[[[0., 0.],
                  [0., 5.]]]])
    """

    _dims_, _function_ = 2, staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts back what MaxPool3d found, with zeros elsewhere.

    Example:
        >>> nn.MaxUnpool3d(2)(torch.ones(1, 1, 1, 1, 1), torch.zeros(1, 1, 1, 1, 1, dtype=torch.int64)).shape
        torch.Size([1, 1, 2, 2, 2])
    """

    _dims_, _function_ = 3, staticmethod(F.max_unpool3d)


class AvgPool1d(FunctionLayer):
    """The mean of each window of (N, C, L).

    Example:
        >>> nn.AvgPool1d(2)(torch.arange(4.0).reshape(1, 1, 4))
        tensor([[[0.5000, 2.5000]]])
    """

    kernel_size: _size_1_t
    stride: _size_1_t
    padding: _size_1_t
    ceil_mode: bool
    count_include_pad: bool

    _function_ = staticmethod(F.avg_pool1d)
    _shown_ = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: _size_1_t, stride: _size_1_t | None = None, padding: _size_1_t = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True) -> None:
        kernel_size, padding = _single(kernel_size), _single(padding)
        stride = kernel_size if stride is None else _single(stride)
        self._store_(locals())


class _AvgPoolNd(FunctionLayer):
    _shown_ = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: _size_any_t, stride: _size_any_t | None = None, padding: _size_any_t = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None) -> None:
        stride = kernel_size if stride is None else stride
        self._store_(locals())


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of (N, C, H, W).

    Example:
        >>> nn.AvgPool2d(2)(torch.arange(4.0).reshape(1, 1, 2, 2))
        tensor([[[[1.5000]]]])
    """

    _function_ = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of (N, C, D, H, W).

    Example:
        >>> nn.AvgPool3d(2)(torch.ones(1, 1, 4, 4, 4)).shape
        torch.Size([1, 1, 2, 2, 2])
    """

    _function_ = staticmethod(F.avg_pool3d)


class _FractionalMaxPool(FunctionLayer):
    """Windows placed at random, so that the result has `output_size`, or `output_ratio` of the input's size."""

    _dims_: Any = None
    _shown_ = ()

    def __init__(self, kernel_size: _size_any_t, output_size: _size_any_t | None = None,
                 output_ratio: _ratio_any_t | None = None, return_indices: bool = False,
                 _random_samples: Any = None) -> None:
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        sizes = _ntuple(self._dims_)
        ratios = None if output_ratio is None else sizes(output_ratio)
        if ratios is not None and not all(0 < ratio < 1 for ratio in ratios):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        self._store_({"kernel_size": sizes(kernel_size), "return_indices": return_indices, "output_ratio": ratios,
                      "output_size": None if output_size is None else sizes(output_size)})
        self.register_buffer("_random_samples", _random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest element of each randomly placed window of (N, C, H, W).

    Example:
        >>> nn.FractionalMaxPool2d(2, output_size=3)(torch.ones(1, 1, 6, 6)).shape
        torch.Size([1, 1, 3, 3])
    """

    _dims_, _function_ = 2, staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest element of each randomly placed window of (N, C, D, H, W).

    Example:
        >>> nn.FractionalMaxPool3d(2, output_size=3)(torch.ones(1, 1, 6, 6, 6)).shape
        torch.Size([1, 1, 3, 3, 3])
    """

    _dims_, _function_ = 3, staticmethod(F.fractional_max_pool3d)


class _LPPool(FunctionLayer):
    def __init__(self, norm_type: float, kernel_size: _size_any_t, stride: _size_any_t | None = None,
                 ceil_mode: bool = False) -> None:
        self._store_(locals())


class LPPool1d(_LPPool):
    """The p-norm of each window of (N, C, L).

    Example:
        >>> nn.LPPool1d(2, 2)(torch.tensor([[[3.0, 4.0]]]))
        tensor([[[5.]]])
    """

    _function_ = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """The p-norm of each window of (N, C, H, W).

    Example:
        >>> nn.LPPool2d(2, 2)(torch.ones(1, 1, 4, 4)).shape
        torch.Size([1, 1, 2, 2])
    """

    _function_ = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """The p-norm of each window of (N, C, D, H, W).

    Example:
        >>> nn.LPPool3d(2, 2)(torch.ones(1, 1, 4, 4, 4)).shape
        torch.Size([1, 1, 2, 2, 2])
    """

    _function_ = staticmethod(F.lp_pool3d)


class _AdaptiveAvgPoolNd(FunctionLayer):
    def __init__(self, output_size: _size_any_opt_t) -> None:
        self._store_(locals())


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows that cover (N, C, L).

    Example:
        >>> nn.AdaptiveAvgPool1d(2)(torch.arange(4.0).reshape(1, 1, 4))
        tensor([[[0.5000, 2.5000]]])
    """

    output_size: _size_1_t

    _function_ = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows that cover (N, C, H, W); None keeps a size.

    Example:
        >>> nn.AdaptiveAvgPool2d((1, None))(torch.ones(1, 1, 4, 3)).shape
        torch.Size([1, 1, 1, 3])
    """

    output_size: _size_2_opt_t

    _function_ = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of `output_size` windows that cover (N, C, D, H, W); None keeps a size.

    Example:
        >>> nn.AdaptiveAvgPool3d(1)(torch.ones(1, 2, 4, 4, 4)).shape
        torch.Size([1, 2, 1, 1, 1])
    """

    output_size: _size_3_opt_t

    _function_ = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPoolNd(FunctionLayer):
    _shown_ = ("output_size",)

    def __init__(self, output_size: _size_any_opt_t, return_indices: bool = False) -> None:
        self._store_(locals())


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of `output_size` windows that cover (N, C, L).

    Example:
        >>> nn.AdaptiveMaxPool1d(2)(torch.arange(4.0).reshape(1, 1, 4))
        tensor([[[1., 3.]]])
    """

    output_size: _size_1_t

    _function_ = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest elements of `output_size` windows that cover (N, C, H, W); None keeps a size.

    Example:
        >>> nn.AdaptiveMaxPool2d(1)(torch.arange(4.0).reshape(1, 1, 2, 2))
        tensor([[[[3.]]]])
    """

    output_size: _size_2_opt_t

    _function_ = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest elements of `output_size` windows that cover (N, C, D, H, W); None keeps a size.

    Example:
        >>> nn.AdaptiveMaxPool3d(1)(torch.ones(1, 2, 4, 4, 4)).shape
        torch.Size([1, 2, 1, 1, 1])
    """

    output_size: _size_3_opt_t

    _function_ = staticmethod(F.adaptive_max_pool3d)
