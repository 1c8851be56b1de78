"""Pooling of dtypes that ACLNN does not pool, by windows: views of the padded images with a dimension for each step
inside of a window.
"""
from math import inf, prod

from mindtorch._ops.operators import ops


def per_dim(numbers, dims, default=None):
    """One number for each dimension of an image."""
    numbers = numbers or default
    return tuple(numbers) * dims if len(numbers) == 1 else tuple(numbers)


def padded(x, padding, lengths, fill):
    """`x` in images of these lengths, which begin `padding` before it."""
    image = x.new_full((*x.shape[:x.ndim - len(lengths)], *lengths), fill)
    sizes = x.shape[-len(lengths):]
    kept = [min(size, length - pad) for size, length, pad in zip(sizes, lengths, padding, strict=True)]
    inside = tuple(slice(pad, pad + size) for pad, size in zip(padding, kept, strict=True))
    image[(..., *inside)] = x[(..., *map(slice, kept))]
    return image


def windows(image, kernel, stride, dilation, output):
    """A view of a contiguous image: (..., windows, elements of a window)."""
    dims = len(kernel)
    lead, steps = image.stride()[:-dims], image.stride()[-dims:]
    return image.as_strided((*image.shape[:-dims], *output, *kernel),
                            (*lead, *(s * n for s, n in zip(steps, stride, strict=True)),
                             *(s * n for s, n in zip(steps, dilation, strict=True))))


def window_lengths(kernel, stride, dilation, output):
    """The lengths of the images that the windows cover."""
    return [(o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(output, stride, dilation, kernel, strict=True)]


def windows_of(x, padding, fill, *shape):
    """A copy of `x` by windows of this shape: (..., windows, elements of a window)."""
    return windows(padded(x, padding, window_lengths(*shape), fill), *shape)


def sum_of_windows(values, padding, size, kernel, stride, dilation):
    """The sums of all windows' values at each element of an image of this size: the adjoint of taking windows.

    The values have the shape (..., windows, elements of a window).
    """
    dims = len(kernel)
    shape = (kernel, stride, dilation, values.shape[-2 * dims:-dims])
    lengths = [max(length, pad + n) for length, pad, n in zip(window_lengths(*shape), padding, size, strict=True)]
    positions = windows(ops.arange(prod(lengths), device=values.device).reshape(lengths), *shape).flatten()
    lead = values.shape[:-2 * dims]
    image = values.new_zeros((*lead, prod(lengths))).index_add(-1, positions, values.flatten(-2 * dims))
    inside = tuple(slice(pad, pad + n) for pad, n in zip(padding, size, strict=True))
    return image.reshape(*lead, *lengths)[(..., *inside)]


def max_pool_by_windows(self, dims, kernel, stride, padding, dilation, out):
    """The largest of each window, and its flat index in the image."""
    kernel = per_dim(kernel, dims)
    stride, padding, dilation = per_dim(stride, dims, kernel), per_dim(padding, dims), per_dim(dilation, dims)
    output, size = out.shape[-dims:], self.shape[-dims:]
    shape = (kernel, stride, dilation, output)
    x, fill = (self, -inf) if self.is_floating_point() else (self.long(), -2 ** 63)
    found = windows_of(x, padding, fill, *shape).flatten(-dims)
    positions = ops.arange(prod(size), device=self.device).reshape(size)
    positions = windows_of(positions, padding, 0, *shape).flatten(-dims).expand(found.shape)
    values, position = found.max(-1)
    return values, positions.gather(-1, position.unsqueeze(-1)).squeeze(-1)


def _avg_windows(size, dims, kernel, stride, padding, include_pad, divisor, output, like):
    """The kernel, stride, padding and dilation of the windows, and the divisor of each window's sum."""
    kernel = per_dim(kernel, dims)
    stride, padding, ones = per_dim(stride, dims, kernel), per_dim(padding, dims), (1,) * dims
    shape = (kernel, stride, ones, output)
    if divisor is None:
        counted = like.new_ones([n + 2 * pad * include_pad for n, pad in zip(size, padding, strict=True)])
        divisor = windows_of(counted, (0,) * dims if include_pad else padding, 0, *shape).flatten(-dims).sum(-1)
    return shape, padding, divisor


def avg_pool_by_windows(self, dims, kernel, stride, padding, include_pad, divisor, out):
    """The sum of each window, divided by the number of elements that count."""
    shape, padding, divisor = _avg_windows(self.shape[-dims:], dims, kernel, stride, padding, include_pad,
                                           divisor[0] if divisor else None, out.shape[-dims:], self)
    return windows_of(self, padding, 0, *shape).flatten(-dims).sum(-1) / divisor


def avg_pool_backward_by_windows(grad, self, dims, kernel, stride, padding, include_pad, divisor):
    """The sums of the shares of all windows for each element."""
    size = self.shape[-dims:]
    shape, padding, divisor = _avg_windows(size, dims, kernel, stride, padding, include_pad,
                                           divisor[0] if divisor else None, grad.shape[-dims:], grad)
    shares = (grad / divisor)[(..., *[None] * dims)].expand(*grad.shape, *shape[0])
    return sum_of_windows(shares, padding, size, *shape[:3])


def _adaptive_windows(size, count, device):
    """The elements of each of `count` adaptive windows of a dimension; the shorter ones repeat their last element."""
    index = ops.arange(count, device=device)
    start, end = index * size // count, (index * size + size + count - 1) // count
    longest = max((-((i + 1) * size // -count) - i * size // count for i in range(count)), default=0)
    return (start[:, None] + ops.arange(longest, device=device)).minimum(end[:, None] - 1)


def adaptive_max_pool3d_by_windows(self, sizes):
    """The largest of each window, and its flat index in the image."""
    size = self.shape[-3:]
    d, h, w = (_adaptive_windows(n, count, self.device) for n, count in zip(size, sizes, strict=True))
    depth, height, width = d[:, None, None, :, None, None], h[:, None, None, :, None], w[:, None, None, :]
    values, position = self[..., depth, height, width].flatten(-3).max(-1)
    flat = ((depth * size[1] + height) * size[2] + width).flatten(-3)
    return values, flat.expand(*values.shape, -1).gather(-1, position.unsqueeze(-1)).squeeze(-1)
