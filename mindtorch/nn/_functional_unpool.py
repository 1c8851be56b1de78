"""The reverse of maximum pooling."""
from collections.abc import Iterable

from mindtorch import Tensor
from mindtorch._compat.settings import alert_not_deterministic
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._ops.composite.common import _require_tensors
from mindtorch.nn.common_types import _size_any_t

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def _output_size(input, kernel, stride, padding, output_size):
    """The output size: the one given, or the smallest possible."""
    dims = len(kernel)
    # As in torch, of a longer stride or padding the rest is not looked at, and a shorter one is an IndexError.
    least = [(input.shape[d - dims] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(dims)]
    if output_size is None:
        return least
    sizes = list(output_size)
    sizes = sizes[2:] if len(sizes) == dims + 2 else sizes
    if len(sizes) != dims:
        raise ValueError(f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a "
                         f"length of '{len(sizes)}'")
    for i, (size, middle, step) in enumerate(zip(sizes, least, stride, strict=False)):
        if not middle - step < size < middle + step:
            raise ValueError(f'invalid output_size "{sizes}" (dim {i} must be between {middle - step} and '
                             f"{middle + step})")
    return sizes


def _max_unpool(dims, input, indices, kernel_size, stride, padding, output_size):
    function = f"max_unpool{dims}d"
    _require_tensors(function, input=input, indices=indices)
    kernel, padding = (tuple(sizes) if isinstance(sizes, Iterable) else (sizes,) * dims
                       for sizes in (kernel_size, padding))
    stride = kernel if stride is None else tuple(stride) if isinstance(stride, Iterable) else (stride,) * dims
    sizes = _output_size(input, kernel, stride, padding, output_size)
    alert_not_deterministic(f"max_unpooling{max(dims, 2)}d_forward_out")
    if dims == 3:
        return _ATEN["max_unpool3d"](input, indices, sizes, stride, padding)
    if dims == 2:
        return _ATEN["max_unpool2d"](input, indices, sizes)
    return _ATEN["max_unpool2d"](input.unsqueeze(-1), indices.unsqueeze(-1), [*sizes, 1]).squeeze(-1)


def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: _size_any_t, stride: _size_any_t | None = None,
                 padding: _size_any_t = 0, output_size: _size_any_t | None = None) -> Tensor:
    """Zeros, with each element where max_pool1d found it."""
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: _size_any_t, stride: _size_any_t | None = None,
                 padding: _size_any_t = 0, output_size: _size_any_t | None = None) -> Tensor:
    """Zeros, with each element where max_pool2d found it."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: _size_any_t, stride: _size_any_t | None = None,
                 padding: _size_any_t = 0, output_size: _size_any_t | None = None) -> Tensor:
    """Zeros, with each element where max_pool3d found it."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)
