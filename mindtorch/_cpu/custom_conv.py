"""Convolution over NumPy: windows of the image as columns of a matrix, one sample at a time.

Three products cover everything. In all of them windows of an *image* stand at *places*: the input and the output of a
convolution, or the output and the input of a transposed one. weight is (place channels, image channels / groups, ...).
"""
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


@dataclass(frozen=True)
class _Windows:
    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    groups: int
    places: tuple         # how many along each dimension

    def padded(self, image):
        width = [(0, 0)] * (image.ndim - len(self.padding)) + [(p, p) for p in self.padding]
        return np.pad(image, width) if any(self.padding) else image

    def columns(self, padded):
        """(channels, ...) padded -> (channels * kernel elements, places); a copy."""
        dims = len(self.kernel)
        reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True)]
        seen = sliding_window_view(padded, reach, axis=tuple(range(1, dims + 1)))
        steps = [slice(None, n * s, s) for n, s in zip(self.places, self.stride, strict=True)]
        seen = seen[(slice(None), *steps, *(slice(None, None, d) for d in self.dilation))]
        order = (0, *range(dims + 1, 2 * dims + 1), *range(1, dims + 1))
        return np.ascontiguousarray(seen.transpose(order)).reshape(-1, int(np.prod(self.places)))

    def spread(self, columns, padded):
        """Adds columns to where `columns` would have taken them from."""
        columns = columns.reshape(padded.shape[0], *self.kernel, *self.places)
        for element in itertools.product(*map(range, self.kernel)):
            part = tuple(slice(e * d, e * d + (n - 1) * s + 1, s) for e, d, n, s in
                         zip(element, self.dilation, self.places, self.stride, strict=True))
            padded[(slice(None), *part)] += columns[(slice(None), *element)]

    def inner(self, padded):
        """What the padding surrounds."""
        return padded[(..., *(slice(p, n - p) for p, n in zip(self.padding, padded.shape[1:], strict=True)))]


def _correlate(image, weight, windows):
    """The places that each weight gives to the image's windows."""
    groups, channels = windows.groups, weight.shape[0] // windows.groups
    out = np.zeros((image.shape[0], weight.shape[0], int(np.prod(windows.places))), image.dtype)
    for n, g in itertools.product(range(len(image)), range(groups)):
        part = image[n].reshape(groups, -1, *image.shape[2:])[g]
        rows = slice(g * channels, (g + 1) * channels)
        np.matmul(weight[rows].reshape(channels, -1), windows.columns(windows.padded(part)), out=out[n, rows])
    return out.reshape(*out.shape[:2], *windows.places)


def _spread(places, weight, windows, image_shape):
    """The adjoint of _correlate in the image."""
    groups, channels = windows.groups, weight.shape[0] // windows.groups
    out = np.zeros(image_shape, places.dtype)
    for n, g in itertools.product(range(len(places)), range(groups)):
        rows = slice(g * channels, (g + 1) * channels)
        columns = np.matmul(weight[rows].reshape(channels, -1).T, places[n, rows].reshape(channels, -1))
        part = out[n].reshape(groups, -1, *image_shape[2:])[g]
        padded = windows.padded(np.zeros_like(part))
        windows.spread(columns, padded)
        part[...] = windows.inner(padded)
    return out


def _weigh(image, places, windows, weight_shape):
    """The adjoint of _correlate in the weight."""
    groups, channels = windows.groups, weight_shape[0] // windows.groups
    out = np.zeros(weight_shape, image.dtype)
    for n, g in itertools.product(range(len(image)), range(groups)):
        part = image[n].reshape(groups, -1, *image.shape[2:])[g]
        rows = slice(g * channels, (g + 1) * channels)
        product = np.matmul(places[n, rows].reshape(channels, -1), windows.columns(windows.padded(part)).T)
        out[rows] += product.reshape(channels, *weight_shape[1:])
    return out


def convolution(input, weight, bias, stride, padding, dilation, transposed, out, groups):
    places = input.shape[2:] if transposed else out.shape[2:]
    windows = _Windows(weight.shape[2:], stride, padding, dilation, groups, places)
    result = _spread(input, weight, windows, out.shape) if transposed else _correlate(input, weight, windows)
    return result if bias is None else result + bias.reshape(-1, *[1] * (input.ndim - 2))


def convolution_backward(grad, input, weight, stride, padding, dilation, transposed, groups, wanted):
    """The gradients of input, weight and bias, as far as they are wanted."""
    weight_conj, input_conj = weight.conj(), input.conj()
    image, places = (grad, input_conj) if transposed else (input_conj, grad)
    windows = _Windows(weight.shape[2:], stride, padding, dilation, groups, places.shape[2:])
    of_input = of_weight = of_bias = None
    if wanted[0]:
        of_input = (_correlate(grad, weight_conj, windows) if transposed else
                    _spread(grad, weight_conj, windows, input.shape))
    if wanted[1]:
        of_weight = _weigh(image, places, windows, weight.shape)
    if wanted[2]:
        of_bias = grad.sum(axis=(0, *range(2, grad.ndim)))
    return of_input, of_weight, of_bias


def _sliding(image, kernel, dilation, padding, stride):
    places = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1
                   for n, p, d, k, s in zip(image, padding, dilation, kernel, stride, strict=True))
    return _Windows(kernel, stride, padding, dilation, 1, places)


def im2col(x, kernel, dilation, padding, stride):
    windows = _sliding(x.shape[-2:], kernel, dilation, padding, stride)
    if x.ndim == 3:
        return windows.columns(windows.padded(x))
    return np.stack([windows.columns(windows.padded(sample)) for sample in x])


def col2im(columns, size, kernel, dilation, padding, stride):
    windows = _sliding(size, kernel, dilation, padding, stride)
    batch = columns if columns.ndim == 3 else columns[None]
    made = []
    for sample in batch:
        image = np.zeros((sample.shape[0] // int(np.prod(kernel)), *size), columns.dtype)
        padded = windows.padded(image)
        windows.spread(sample, padded)
        made.append(windows.inner(padded))
    return np.stack(made) if columns.ndim == 3 else made[0]
