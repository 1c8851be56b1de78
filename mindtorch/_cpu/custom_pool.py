"""Maximum pooling over NumPy: windows as extra dimensions, and the flat index of each window's first maximum."""
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


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
    image, places = x.shape[-dims:], shape[-dims:]
    behind = [max((n - 1) * s + d * (k - 1) + 1 - size - p, 0) for n, s, d, k, size, p in
              zip(places, stride, dilation, kernel, image, padding, strict=True)]
    width = list(zip(padding, behind, strict=True))
    flat = np.arange(int(np.prod(image))).reshape(image)
    seen = [_windows(array, width, fill, kernel, stride, dilation, places) for array, fill in
            ((x, _lowest(x.dtype)), (flat, -1))]
    values, positions = seen
    # The padding never wins, not even against -inf: a window has an element of the image.
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


def _windows(array, width, fill, kernel, stride, dilation, places):
    """(..., places, kernel) of the last dimensions."""
    dims = len(kernel)
    padded = np.pad(array, [(0, 0)] * (array.ndim - dims) + width, constant_values=fill)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    seen = sliding_window_view(padded, reach, axis=tuple(range(-dims, 0)))
    steps = [slice(None, n * s, s) for n, s in zip(places, stride, strict=True)]
    return seen[(..., *steps, *(slice(None, None, d) for d in dilation))]


def adaptive_max_pool(x, sizes):
    """Values and flat indices over windows that cover the image, one place at a time."""
    dims = len(sizes)
    image = x.shape[-dims:]
    flat = np.arange(int(np.prod(image))).reshape(image)
    values = np.empty((*x.shape[:-dims], *sizes), x.dtype)
    indices = np.empty(values.shape, np.int64)
    for place in np.ndindex(*sizes):
        window = (..., *(slice(p * n // m, -((p + 1) * n // -m)) for p, n, m in zip(place, image, sizes, strict=True)))
        values[(..., *place)], indices[(..., *place)] = _first_maximum(x[window], flat[window], dims)
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
