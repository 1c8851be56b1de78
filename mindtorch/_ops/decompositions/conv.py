"""Convolutions of dtypes that ACLNN does not convolve, as matrix products of the weights and the images' windows."""
from mindtorch._ops.decompositions.pool import sum_of_windows, windows_of


def _grouped(x, groups, dim=1):
    return x.unflatten(dim, (groups, -1))


def _correlate(images, weight, counts, stride, padding, dilation, groups):
    """The products of the weights and the windows of the images: (images, channels of the weights, windows)."""
    columns = _columns(images, weight.shape[2:], counts, stride, padding, dilation, groups)
    products = _grouped(weight, groups, 0).flatten(2) @ columns
    return products.flatten(1, 2).unflatten(-1, counts)


def _columns(images, kernel, counts, stride, padding, dilation, groups):
    """The images' windows as columns: (images, groups, elements of all channels' windows, windows)."""
    found = windows_of(images, padding, 0, kernel, stride, dilation, counts)
    dims = len(kernel)
    return _grouped(found.flatten(2, 1 + dims).flatten(3).transpose(2, 3), groups).flatten(2, 3)


def _correlate_adjoint(values, weight, size, stride, padding, dilation, groups):
    """The adjoint of _correlate in the images, which have this size."""
    kernel, counts = weight.shape[2:], values.shape[2:]
    columns = _grouped(weight, groups, 0).flatten(2).transpose(1, 2) @ _grouped(values, groups).flatten(3)
    elements = columns.unflatten(2, (-1, kernel.numel())).flatten(1, 2).transpose(2, 3)
    elements = elements.unflatten(3, kernel).unflatten(2, counts)
    return sum_of_windows(elements, padding, size, kernel, stride, dilation)


def _correlate_weight(images, values, weight, stride, padding, dilation, groups):
    """The adjoint of _correlate in the weights."""
    columns = _columns(images, weight.shape[2:], values.shape[2:], stride, padding, dilation, groups)
    products = (_grouped(values, groups).flatten(3) @ columns.transpose(2, 3)).sum(0)
    return products.reshape(weight.shape)


def convolution_by_windows(input, weight, bias, stride, padding, dilation, transposed, groups, out):
    size = out.shape[2:]
    options = (stride, padding, dilation, groups)
    result = (_correlate_adjoint if transposed else _correlate)(input, weight, size, *options)
    return result if bias is None else result + bias.reshape(-1, *[1] * len(size))


def convolution_backward_by_windows(grad, input, weight, stride, padding, dilation, transposed, groups, wanted):
    """The gradients of input, weight and bias, as far as they are wanted."""
    options = (stride, padding, dilation, groups)
    images, values = (grad, input.conj()) if transposed else (input.conj(), grad)
    return (
        (_correlate if transposed else _correlate_adjoint)(grad, weight.conj(), input.shape[2:], *options)
        if wanted[0] else None,
        _correlate_weight(images, values, weight, *options) if wanted[1] else None,
        grad.sum((0, *range(2, grad.ndim))) if wanted[2] else None,
    )


def col2im_by_windows(columns, size, kernel, dilation, padding, stride):
    """The sums at each element of an image of all windows that hold it."""
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1
              for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True)]
    values = columns.unflatten(-1, counts).unflatten(-3, (-1, *kernel)).movedim((-4, -3), (-2, -1))
    return sum_of_windows(values, padding, size, kernel, stride, dilation)
