"""Max pooling over windows at random places (Graham, "Fractional Max-Pooling")."""

import math

from mindtorch import Tensor
from mindtorch._core.operators.autocast import with_autocast_policy
from mindtorch._core.tensor.attributes import drop_base
from mindtorch._core.tensor.factories import FUNCTIONS as _RANDOM
from mindtorch._ops.operators import ops as _ops
from mindtorch.nn.common_types import _ratio_any_t, _size_any_t

__all__ = ["fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
           "fractional_max_pool3d_with_indices"]

_AXES = ("time", "height", "width")


@with_autocast_policy("fractional_max_pool2d")
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: _size_any_t, output_size: _size_any_t | None = None,
                                       output_ratio: _ratio_any_t | None = None, return_indices: bool = False,
                                       _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The maximum of each window of the last two dimensions, and its flat index in the image."""
    return _pooled(2, input, kernel_size, output_size, output_ratio, _random_samples)


@with_autocast_policy("fractional_max_pool3d")
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: _size_any_t, output_size: _size_any_t | None = None,
                                       output_ratio: _ratio_any_t | None = None, return_indices: bool = False,
                                       _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The maximum of each window of the last three dimensions, and its flat index in the image."""
    return _pooled(3, input, kernel_size, output_size, output_ratio, _random_samples)


@with_autocast_policy("fractional_max_pool2d")
def fractional_max_pool2d(input: Tensor, kernel_size: _size_any_t, output_size: _size_any_t | None = None,
                          output_ratio: _ratio_any_t | None = None, return_indices: bool = False,
                          _random_samples: Tensor | None = None) -> Tensor:
    """The maximum of each window of the last two dimensions; with `return_indices` also their indices."""
    results = _pooled(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return results if return_indices else results[0]


@with_autocast_policy("fractional_max_pool3d")
def fractional_max_pool3d(input: Tensor, kernel_size: _size_any_t, output_size: _size_any_t | None = None,
                          output_ratio: _ratio_any_t | None = None, return_indices: bool = False,
                          _random_samples: Tensor | None = None) -> Tensor:
    """The maximum of each window of the last three dimensions; with `return_indices` also their indices."""
    results = _pooled(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return results if return_indices else results[0]


def _pooled(dims, input, kernel_size, output_size, output_ratio, samples):
    name = f"fractional_max_pool{dims}d"
    sizes = _output_size(name, dims, input, output_size, output_ratio)
    kernel = _list(name, "kernel_size", dims, kernel_size)
    batch = 1 if input.dim() == dims + 1 else input.size(0)
    if samples is None:
        samples = _RANDOM["rand"](batch, input.size(-dims - 1), dims, dtype=input.dtype, device=input.device)
    _check(name, dims, input, kernel, sizes, samples)
    samples = samples.narrow(0, 0, batch)
    image = input.reshape(batch, *input.shape[-dims - 1:])
    # torch gives the first number of a plane in two dimensions to the width.
    order = range(dims) if dims == 3 else (1, 0)
    places = [_window_places(samples.select(2, order[d]), image.shape[d + 2], sizes[d], kernel[d]) for d in range(dims)]
    flat = _flat_indices(places, image.shape[2:])
    flat = flat.reshape(*flat.shape[:2 + dims], math.prod(kernel))
    windows = image.flatten(2).gather(2, flat.flatten(2)).reshape(flat.shape)
    best, chosen = windows.max(-1)
    indices = flat.gather(-1, chosen.unsqueeze(-1)).squeeze(-1)
    return tuple(drop_base(t if input.dim() == dims + 2 else t.squeeze(0)) for t in (best, indices))


def _window_places(sample, size, count, width):
    """(N, C, count, width): the positions of each window along one dimension; the last window ends the image."""
    starts = _ops.full((*sample.shape, 1), size - width, dtype=_ops.arange(1).dtype, device=sample.device)
    if count > 1:
        step = (size - width) / (count - 1)
        sample = sample.unsqueeze(-1)
        numbers = _ops.arange(count - 1, dtype=sample.dtype, device=sample.device)
        regular = ((sample + numbers) * step).trunc() - (sample * step).trunc()
        starts = _ops.cat([regular.to(starts.dtype), starts], -1)
    return starts.narrow(-1, 0, count).unsqueeze(-1) + _ops.arange(width, device=sample.device)


def _flat_indices(places, sizes):
    """(N, C, *counts, *widths): where the elements of the windows stand in a flat image."""
    dims, flat = len(places), 0
    for d, place in enumerate(places):
        shape = [*place.shape[:2], *[1] * (2 * dims)]
        shape[2 + d], shape[2 + dims + d] = place.shape[2:]
        flat = flat * sizes[d] + place.reshape(shape)
    return flat


def _output_size(name, dims, input, output_size, output_ratio):
    if output_size is not None:
        return _list(name, "output_size", dims, output_size)
    if output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    ratios = (output_ratio,) * dims if isinstance(output_ratio, (int, float)) else tuple(output_ratio)
    if len(ratios) > dims:
        raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
    return tuple(int(input.size(d - dims) * ratio) for d, ratio in enumerate(ratios))


def _list(name, argument, dims, value):
    values = (value,) * dims if isinstance(value, int) else tuple(value)
    if len(values) != dims:
        raise RuntimeError(f"{name}: {argument} must either be a single Int or tuple of Ints")
    return values


def _check(name, dims, input, kernel, sizes, samples):
    for dim in range(input.dim() - dims - 1, input.dim()):
        if input.size(dim) == 0:
            raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got"
                               f"{list(input.shape)} with dimension {dim} being empty.")
    if samples.dtype is not input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.dim() != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.dim()}")
    if samples.size(0) < (1 if input.dim() == dims + 1 else input.size(0)):
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.size(1) != input.size(-dims - 1):
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.size(2) != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {samples.size(2)}.")
    for axis, size, width, count in zip(_AXES[-dims:], input.shape[-dims:], kernel, sizes, strict=True):
        if count + width - 1 > size - (dims == 3):          # as in torch: three dimensions leave one element over
            function = name if dims == 2 else f"{name}_out"
            raise RuntimeError(f"{function}(): pool {axis} {width} too large relative to input {axis} {size}")
