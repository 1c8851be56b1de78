"""Pooling over windows, fixed and adaptive."""

from math import prod
from typing import Any

from mindtorch import Tensor
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core.operators.autocast import with_autocast_policy
from mindtorch._ops.composite import conv_pool as _vision
from mindtorch._ops.composite.conv_pool import adaptive_avg_pool1d, adaptive_sizes, avg_pool1d
from mindtorch.nn.common_types import _size_any_opt_t, _size_any_t

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
           "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
           "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d",
           "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d",
           "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices"]


def _max_pool(dims):
    def pooled(input: Tensor, kernel_size: _size_any_t, stride: _size_any_t | None = None, padding: _size_any_t = 0,
               dilation: _size_any_t = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
        """The maximum of each window of the last dimensions; with `return_indices` also their indices."""
        if return_indices:
            return _vision.max_pool(dims, input, kernel_size, stride, padding, dilation, ceil_mode)
        return largest(input, kernel_size, stride, padding, dilation, ceil_mode)
    largest = getattr(_vision, f"max_pool{dims}d")
    pooled.__name__ = pooled.__qualname__ = f"max_pool{dims}d"
    return pooled


def _max_pool_with_indices(dims):
    def pooled(input: Tensor, kernel_size: _size_any_t, stride: _size_any_t | None = None, padding: _size_any_t = 0,
               dilation: _size_any_t = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> tuple[Tensor, Tensor]:
        """The maximum of each window of the last dimensions, and its flat index in the image."""
        return _vision.max_pool(dims, input, kernel_size, stride, padding, dilation, ceil_mode)
    pooled.__name__ = pooled.__qualname__ = f"max_pool{dims}d_with_indices"
    return pooled


max_pool1d, max_pool2d, max_pool3d = map(_max_pool, (1, 2, 3))
max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = map(_max_pool_with_indices, (1, 2, 3))


def avg_pool2d(input: Tensor, kernel_size: _size_any_t, stride: _size_any_t | None = None, padding: _size_any_t = 0,
               ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None) -> Any:
    """The average of each window of the last two dimensions."""
    return _vision.avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(input: Tensor, kernel_size: _size_any_t, stride: _size_any_t | None = None, padding: _size_any_t = 0,
               ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None) -> Any:
    """The average of each window of the last three dimensions."""
    return _vision.avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool2d(input: Tensor, output_size: _size_any_opt_t) -> Tensor:
    """Averages over windows of nearly equal sizes that cover the image; None keeps a size."""
    return _vision.adaptive_avg_pool(2, input, output_size)


@with_autocast_policy("adaptive_avg_pool3d")
def adaptive_avg_pool3d(input: Tensor, output_size: _size_any_opt_t) -> Tensor:
    """Averages over windows of nearly equal sizes that cover the volume; None keeps a size."""
    return _vision.adaptive_avg_pool(3, input, output_size)


def adaptive_max_pool1d_with_indices(input: Tensor, output_size: _size_any_opt_t,
                                     return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """Maxima over windows of nearly equal sizes, and their indices."""
    return _vision.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool2d_with_indices(input: Tensor, output_size: _size_any_opt_t,
                                     return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """Maxima over windows of nearly equal sizes that cover the image, and their flat indices."""
    return _ATEN["adaptive_max_pool2d"](input, adaptive_sizes("adaptive_max_pool2d", 2, input, output_size))


def adaptive_max_pool3d_with_indices(input: Tensor, output_size: _size_any_opt_t,
                                     return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """Maxima over windows of nearly equal sizes that cover the volume, and their flat indices."""
    return _ATEN["adaptive_max_pool3d"](input, adaptive_sizes("adaptive_max_pool3d", 3, input, output_size))


def adaptive_max_pool1d(input: Tensor, output_size: _size_any_opt_t, return_indices: bool = False) -> Tensor:
    """Maxima over windows of nearly equal sizes; with `return_indices` also their indices."""
    results = adaptive_max_pool1d_with_indices(input, output_size)
    return results if return_indices else results[0]


def adaptive_max_pool2d(input: Tensor, output_size: _size_any_opt_t, return_indices: bool = False) -> Tensor:
    """Maxima over windows of nearly equal sizes; with `return_indices` also their indices."""
    results = adaptive_max_pool2d_with_indices(input, output_size)
    return results if return_indices else results[0]


def adaptive_max_pool3d(input: Tensor, output_size: _size_any_opt_t, return_indices: bool = False) -> Tensor:
    """Maxima over windows of nearly equal sizes; with `return_indices` also their indices."""
    results = adaptive_max_pool3d_with_indices(input, output_size)
    return results if return_indices else results[0]


def _lp_pool(dims):
    def pooled(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        """The sum of input ** norm_type in each window of the last dimensions, to the power of 1 / norm_type."""
        average = _AVERAGES[dims](input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        count = kernel_size ** dims if isinstance(kernel_size, int) else prod(kernel_size)
        return (average.sign() * average.abs().relu() * count).pow(1.0 / norm_type)
    pooled.__name__ = pooled.__qualname__ = f"lp_pool{dims}d"
    return pooled


_AVERAGES = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}
lp_pool1d, lp_pool2d, lp_pool3d = map(_lp_pool, (1, 2, 3))
