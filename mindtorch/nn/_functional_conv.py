"""Convolutions, and windows as columns."""

from typing import Any

from mindtorch import Tensor
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core.operators.autocast import with_autocast_policy
from mindtorch._ops.composite.common import _require_tensors
from mindtorch._ops.composite.conv_pool import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from mindtorch._ops.composite.conv_pool import pool_sizes as _sizes
from mindtorch.nn.common_types import _size_any_opt_t, _size_any_t

__all__ = ["conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "fold",
           "unfold"]


@with_autocast_policy("conv_tbc")
def conv_tbc(input: Tensor, weight: Any, bias: Any, pad: float = 0) -> Tensor:
    """conv1d of (time, batch, channels) with a weight of (width, channels, outputs); `pad` zeros at both ends."""
    _require_tensors("conv_tbc", input=input, weight=weight, bias=bias)
    if input.dim() != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.dim() != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.size(2) != weight.size(1):
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.size(2) != bias.size(0):
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    result = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return result.permute(2, 0, 1).contiguous()


def _windows(function, kernel_size, dilation, padding, stride):
    return [_sizes(value, 2, function, name) for name, value in
            (("kernel_size", kernel_size), ("dilation", dilation), ("padding", padding), ("stride", stride))]


def unfold(input: Tensor, kernel_size: _size_any_t, dilation: _size_any_t = 1, padding: _size_any_t = 0,
           stride: _size_any_t = 1) -> Tensor:
    """The windows of (N, C, H, W) or (C, H, W) as columns: (N, C * kernel elements, places)."""
    _require_tensors("unfold", input=input)
    return _ATEN["im2col"](input, *_windows("unfold", kernel_size, dilation, padding, stride))


def fold(input: Tensor, output_size: _size_any_opt_t, kernel_size: _size_any_t, dilation: _size_any_t = 1,
         padding: _size_any_t = 0, stride: _size_any_t = 1) -> Tensor:
    """The adjoint of unfold: columns added up to an image of `output_size`."""
    _require_tensors("fold", input=input)
    size = _sizes(output_size, 2, "fold", "output_size")
    return _ATEN["col2im"](input, size, *_windows("fold", kernel_size, dilation, padding, stride))
