"""The reverse of maximum pooling."""


from mindtorch import Tensor
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._ops.composite.common import _require_tensors
from mindtorch._ops.composite.conv_pool import pool_sizes
from mindtorch.nn.common_types import _size_any_t

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]


def _output_size(input, kernel, stride, padding, output_size):
    """The output size: the one given, or the smallest possible."""
    dims = len(kernel)
    least = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-dims:], stride, kernel, padding, strict=True)]
    if output_size is None:
        return least
    sizes = list(output_size)
    sizes = sizes[2:] if len(sizes) == dims + 2 else sizes
    if len(sizes) != dims:
        raise ValueError(f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a "
                         f"length of '{len(sizes)}'")
    for i, (size, middle, step) in enumerate(zip(sizes, least, stride, strict=True)):
        if not middle - step < size < middle + step:
            raise ValueError(f'invalid output_size "{sizes}" (dim {i} must be between {middle - step} and '
                             f"{middle + step})")
    return sizes


def _max_unpool(dims, input, indices, kernel_size, stride, padding, output_size):
    function = f"max_unpool{dims}d"
    _require_tensors(function, input=input, indices=indices)
    kernel = pool_sizes(kernel_size, dims, function, "kernel_size")
    stride = kernel if stride is None else pool_sizes(stride, dims, function, "stride")
    padding = pool_sizes(padding, dims, function, "padding")
    sizes = _output_size(input, kernel, stride, padding, output_size)
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
