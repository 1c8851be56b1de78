"""Convolution over NumPy: windows of images as columns of matrices, some samples at a time.

Three products cover everything. Each relates an *image* to the *window values*, one for each window of the image: the
input of a convolution to its output, or the output of a transposed one to its input. The weight is (channels of the
window values, channels of the image / groups, ...).
"""
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

_COLUMNS = 2 ** 18        # elements of the columns that are made at once: they stay in a cache


@dataclass(frozen=True)
class _Windows:
    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    groups: int
    counts: tuple         # the number of windows along each dimension

    def padded(self, images):
        width = [(0, 0)] * (images.ndim - len(self.padding)) + [(p, p) for p in self.padding]
        return np.pad(images, width) if any(self.padding) else images

    def columns(self, padded):
        """(samples, channels, ...) padded -> (samples, channels * kernel elements, windows); a copy."""
        dims = len(self.kernel)
        reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True)]
        seen = sliding_window_view(padded, reach, axis=tuple(range(2, dims + 2)))
        steps = [slice(None, n * s, s) for n, s in zip(self.counts, self.stride, strict=True)]
        seen = seen[(slice(None), slice(None), *steps, *(slice(None, None, d) for d in self.dilation))]
        order = (0, 1, *range(dims + 2, 2 * dims + 2), *range(2, dims + 2))
        rows = padded.shape[1] * int(np.prod(self.kernel))
        return np.ascontiguousarray(seen.transpose(order)).reshape(len(padded), rows, int(np.prod(self.counts)))

    def scatter_add(self, columns, padded):
        """Adds columns to the elements that `columns` copies."""
        columns = columns.reshape(*padded.shape[:2], *self.kernel, *self.counts)
        for element in itertools.product(*map(range, self.kernel)):
            part = tuple(slice(e * d, e * d + (n - 1) * s + 1, s) for e, d, n, s in
                         zip(element, self.dilation, self.counts, self.stride, strict=True))
            padded[(..., *part)] += columns[(slice(None), slice(None), *element)]

    def inner(self, padded):
        """The part inside the padding."""
        return padded[(..., *(slice(p, n - p) for p, n in zip(self.padding, padded.shape[2:], strict=True)))]

    def chunks(self, images, values, weight):
        """Some samples of a group at a time: (images, window values, flattened; the group's rows of the weight).

        The first two are views, to be written to where the arrays are contiguous.
        """
        channels = weight.shape[0] // self.groups
        step = max(1, _COLUMNS // max(1, int(np.prod(weight.shape[1:]) * np.prod(self.counts))))
        images = images.reshape(len(images), self.groups, images.shape[1] // self.groups, *images.shape[2:])
        values = values.reshape(len(values), self.groups, channels, int(np.prod(self.counts)))
        for start, g in itertools.product(range(0, len(images), step), range(self.groups)):
            block = slice(start, start + step)
            yield images[block, g], values[block, g], slice(g * channels, (g + 1) * channels)


def _correlate(images, weight, windows):
    """The window values: the products of the weights and the windows of the images."""
    out = np.zeros((len(images), weight.shape[0], *windows.counts), images.dtype)
    for part, values, rows in windows.chunks(images, out, weight):
        np.matmul(weight[rows].reshape(values.shape[1], -1), windows.columns(windows.padded(part)), out=values)
    return out


def _convolve_transposed(values, weight, windows, image_shape):
    """The adjoint of _correlate in the images."""
    out = np.zeros(image_shape, values.dtype)
    for part, given, rows in windows.chunks(out, values, weight):
        padded = windows.padded(part)
        windows.scatter_add(np.matmul(weight[rows].reshape(given.shape[1], -1).T, given), padded)
        part[...] = windows.inner(padded)
    return out


def _correlate_weight_gradient(images, values, windows, weight_shape):
    """The adjoint of _correlate in the weight."""
    out = np.zeros(weight_shape, images.dtype)
    for part, given, rows in windows.chunks(images, values, out):
        columns = windows.columns(windows.padded(part))
        out[rows] += np.tensordot(given, columns, axes=((0, 2), (0, 2))).reshape(out[rows].shape)
    return out


def convolution(input, weight, bias, stride, padding, dilation, transposed, out, groups):
    counts = input.shape[2:] if transposed else out.shape[2:]
    windows = _Windows(weight.shape[2:], stride, padding, dilation, groups, counts)
    result = (_convolve_transposed(input, weight, windows, out.shape) if transposed else
              _correlate(input, weight, windows))
    return result if bias is None else result + bias.reshape(-1, *[1] * (input.ndim - 2))


def convolution_backward(grad, input, weight, stride, padding, dilation, transposed, groups, wanted):
    """The gradients of input, weight and bias, as far as they are wanted."""
    weight_conj, input_conj = weight.conj(), input.conj()
    image, values = (grad, input_conj) if transposed else (input_conj, grad)
    windows = _Windows(weight.shape[2:], stride, padding, dilation, groups, values.shape[2:])
    grad_input = grad_weight = grad_bias = None
    if wanted[0]:
        grad_input = (_correlate(grad, weight_conj, windows) if transposed else
                    _convolve_transposed(grad, weight_conj, windows, input.shape))
    if wanted[1]:
        grad_weight = _correlate_weight_gradient(image, values, windows, weight.shape)
    if wanted[2]:
        grad_bias = grad.sum(axis=(0, *range(2, grad.ndim)))
    return grad_input, grad_weight, grad_bias


def _sliding(image, kernel, dilation, padding, stride):
    counts = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1
                   for n, p, d, k, s in zip(image, padding, dilation, kernel, stride, strict=True))
    return _Windows(kernel, stride, padding, dilation, 1, counts)


def im2col(x, kernel, dilation, padding, stride):
    windows = _sliding(x.shape[-2:], kernel, dilation, padding, stride)
    columns = windows.columns(windows.padded(x if x.ndim == 4 else x[None]))
    return columns if x.ndim == 4 else columns[0]


def col2im(columns, size, kernel, dilation, padding, stride):
    windows = _sliding(size, kernel, dilation, padding, stride)
    batch = columns if columns.ndim == 3 else columns[None]
    padded = windows.padded(np.zeros((len(batch), batch.shape[1] // int(np.prod(kernel)), *size), columns.dtype))
    windows.scatter_add(batch, padded)
    images = windows.inner(padded)
    return images if columns.ndim == 3 else images[0]


# --- maximum pooling: windows are extra dimensions -------------------------------------------------------------------

def _lowest(dtype):
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _first_maximum(values, positions, dims):
    """Over the last `dims` dimensions; NaN is the largest of all."""
    values = values.reshape(*values.shape[:-dims], -1)
    best = np.expand_dims(np.argmax(values, axis=-1), -1)
    positions = np.broadcast_to(positions.reshape(*positions.shape[:-dims], -1), values.shape)
    return np.take_along_axis(values, best, -1)[..., 0], np.take_along_axis(positions, best, -1)[..., 0]


def max_pool(x, kernel, stride, padding, dilation, shape):
    """Values, and indices into the image without padding, flattened."""
    dims = len(kernel)
    image, counts = x.shape[-dims:], shape[-dims:]
    behind = [max((n - 1) * s + d * (k - 1) + 1 - size - p, 0) for n, s, d, k, size, p in
              zip(counts, stride, dilation, kernel, image, padding, strict=True)]
    width = list(zip(padding, behind, strict=True))
    flat = np.arange(int(np.prod(image))).reshape(image)
    seen = [_windows(array, width, fill, kernel, stride, dilation, counts) for array, fill in
            ((x, _lowest(x.dtype)), (flat, -1))]
    values, positions = seen
    # The padding is never the maximum, not even beside -inf: each window has an element of the image.
    positions = np.broadcast_to(positions, values.shape)
    return _first_inside(values, positions, dims)


def _first_inside(values, positions, dims):
    values = values.reshape(*values.shape[:-dims], -1)
    positions = positions.reshape(values.shape)
    order = np.where(np.isnan(values) if values.dtype.kind == "f" else False, 2, np.where(positions < 0, 0, 1))
    top = np.max(np.where(order == 1, values, _lowest(values.dtype)), axis=-1, keepdims=True)
    wins = np.where(np.any(order == 2, axis=-1, keepdims=True), order == 2, (order == 1) & (values == top))
    best = np.expand_dims(np.argmax(wins, axis=-1), -1)
    return np.take_along_axis(values, best, -1)[..., 0], np.take_along_axis(positions, best, -1)[..., 0]


def _windows(array, width, fill, kernel, stride, dilation, counts):
    """The windows of the last dimensions: (..., windows, kernel)."""
    dims = len(kernel)
    padded = np.pad(array, [(0, 0)] * (array.ndim - dims) + width, constant_values=fill)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    seen = sliding_window_view(padded, reach, axis=tuple(range(-dims, 0)))
    steps = [slice(None, n * s, s) for n, s in zip(counts, stride, strict=True)]
    return seen[(..., *steps, *(slice(None, None, d) for d in dilation))]


def adaptive_max_pool(x, sizes):
    """Values and flat indices over windows that cover the image, one window at a time."""
    dims = len(sizes)
    image = x.shape[-dims:]
    flat = np.arange(int(np.prod(image))).reshape(image)
    values = np.empty((*x.shape[:-dims], *sizes), x.dtype)
    indices = np.empty(values.shape, np.int64)
    for window_index in np.ndindex(*sizes):
        window = (..., *(slice(i * n // m, -((i + 1) * n // -m))
                        for i, n, m in zip(window_index, image, sizes, strict=True)))
        values[(..., *window_index)], indices[(..., *window_index)] = _first_maximum(x[window], flat[window], dims)
    return values, indices


def scatter_back(grad, indices, shape, dims):
    """Zeros, with each gradient added where the maximum was."""
    planes = int(np.prod(shape[:-dims]))
    out = np.zeros((planes, int(np.prod(shape[-dims:]))), grad.dtype)
    np.add.at(out, (np.arange(planes)[:, None], indices.reshape(planes, -1)), grad.reshape(planes, -1))
    return out.reshape(shape)


def unpool(x, indices, sizes):
    """Zeros, with each element at its flat index."""
    planes, count = int(np.prod(x.shape[:-len(sizes)])), int(np.prod(sizes))
    wrong = indices[(indices < 0) | (indices >= count)]
    if wrong.size:
        raise RuntimeError(f"Found an invalid max index: {wrong[0]} (output volumes are of size "
                           f"{'x'.join(map(str, sizes))})")
    out = np.zeros((planes, count), x.dtype)
    np.put_along_axis(out, indices.reshape(planes, -1), x.reshape(planes, -1), 1)
    return out.reshape(*x.shape[:-len(sizes)], *sizes)
