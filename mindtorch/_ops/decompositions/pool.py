"""Pooling of dtypes that ACLNN does not pool, by windows: views of the padded images with a dimension for each step
inside of a window.
"""
from math import inf, prod

from mindtorch._ops.operators import ops


def _per_dim(numbers, dims, default=None):
    """One number for each dimension of an image."""
    numbers = numbers or default
    return tuple(numbers) * dims if len(numbers) == 1 else tuple(numbers)


def _padded(x, padding, lengths, fill):
    """`x` in images of these lengths, which begin `padding` before it."""
    image = x.new_full((*x.shape[:x.ndim - len(lengths)], *lengths), fill)
    sizes = x.shape[-len(lengths):]
    kept = [min(size, length - pad) for size, length, pad in zip(sizes, lengths, padding, strict=True)]
    inside = tuple(slice(pad, pad + size) for pad, size in zip(padding, kept, strict=True))
    image[(..., *inside)] = x[(..., *map(slice, kept))]
    return image


def _windows(image, kernel, stride, dilation, output):
    """A view of a contiguous image: (..., windows, elements of a window)."""
    dims = len(kernel)
    lead, steps = image.stride()[:-dims], image.stride()[-dims:]
    return image.as_strided((*image.shape[:-dims], *output, *kernel),
                            (*lead, *(s * n for s, n in zip(steps, stride, strict=True)),
                             *(s * n for s, n in zip(steps, dilation, strict=True))))


def _lengths(kernel, stride, dilation, output):
    """The lengths of the images that the windows cover."""
    return [(o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(output, stride, dilation, kernel, strict=True)]


def max_pool_by_windows(self, dims, kernel, stride, padding, dilation, out):
    """The largest of each window, and its flat index in the image."""
    kernel = _per_dim(kernel, dims)
    stride, padding, dilation = _per_dim(stride, dims, kernel), _per_dim(padding, dims), _per_dim(dilation, dims)
    output, size = out.shape[-dims:], self.shape[-dims:]
    shape = (kernel, stride, dilation, output)
    x, fill = (self, -inf) if self.is_floating_point() else (self.long(), -2 ** 63)
    found = _windows(_padded(x, padding, _lengths(*shape), fill), *shape).flatten(-dims)
    positions = ops.arange(prod(size), device=self.device).reshape(size)
    positions = _windows(_padded(positions, padding, _lengths(*shape), 0), *shape).flatten(-dims).expand(found.shape)
    values, position = found.max(-1)
    return values, positions.gather(-1, position.unsqueeze(-1)).squeeze(-1)


def _avg_windows(size, dims, kernel, stride, padding, include_pad, divisor, output, like):
    """The kernel, stride, padding and dilation of the windows, and the divisor of each window's sum."""
    kernel = _per_dim(kernel, dims)
    stride, padding, ones = _per_dim(stride, dims, kernel), _per_dim(padding, dims), (1,) * dims
    shape = (kernel, stride, ones, output)
    if divisor is None:
        counted = like.new_ones([n + 2 * pad * include_pad for n, pad in zip(size, padding, strict=True)])
        counted = _padded(counted, (0,) * dims if include_pad else padding, _lengths(*shape), 0)
        divisor = _windows(counted, *shape).flatten(-dims).sum(-1)
    return shape, padding, divisor


def avg_pool_by_windows(self, dims, kernel, stride, padding, include_pad, divisor, out):
    """The sum of each window, divided by the number of elements that count."""
    shape, padding, divisor = _avg_windows(self.shape[-dims:], dims, kernel, stride, padding, include_pad,
                                           divisor[0] if divisor else None, out.shape[-dims:], self)
    return _windows(_padded(self, padding, _lengths(*shape), 0), *shape).flatten(-dims).sum(-1) / divisor


def avg_pool_backward_by_windows(grad, self, dims, kernel, stride, padding, include_pad, divisor):
    """The sums of the shares of all windows for each element."""
    size = self.shape[-dims:]
    shape, padding, divisor = _avg_windows(size, dims, kernel, stride, padding, include_pad,
                                           divisor[0] if divisor else None, grad.shape[-dims:], grad)
    lengths = [max(length, pad + n) for length, pad, n in zip(_lengths(*shape), padding, size, strict=True)]
    positions = _windows(ops.arange(prod(lengths), device=grad.device).reshape(lengths), *shape).flatten()
    shares = grad / divisor
    shares = shares[(..., *[None] * dims)].expand(*shares.shape, *shape[0]).flatten(-2 * dims)
    image = grad.new_zeros((*shares.shape[:-1], prod(lengths))).index_add(-1, positions, shares)
    inside = tuple(slice(pad, pad + n) for pad, n in zip(padding, size, strict=True))
    return image.reshape(*shares.shape[:-1], *lengths)[(..., *inside)]
