"""Resampling over NumPy: upsampling, averages over windows, reflection and replication padding.

Along each dimension a result is a weighted sum of a few elements of the image, its taps: see mindtorch/_ops/taps.py.
"""
import itertools

import numpy as np

from mindtorch._ops.taps import RULES, nearest, nearest_exact, spans, with_unit_weight


def _window(kernel, stride, padding, count_padding, divisor):
    def rule(image, outputs, aligned, scale, real):
        start = np.arange(outputs) * stride - padding
        first, last = np.maximum(start, 0), np.minimum(start + kernel, image)
        size = np.minimum(start + kernel, image + padding) - start if count_padding else last - first
        return spans(first, last, 1 / (np.maximum(size, 1) if divisor is None else np.full(outputs, divisor)))
    return rule


def replicate(before):
    def rule(image, outputs, aligned, scale, real):
        return with_unit_weight(np.clip(np.arange(outputs) - before, 0, image - 1))
    return rule


def reflect(before):
    def rule(image, outputs, aligned, scale, real):
        at = np.abs(np.arange(outputs) - before)
        return with_unit_weight(np.where(at < image, at, 2 * (image - 1) - at))
    return rule


def _gather(x, axis, taps):
    """The weighted sum along one dimension."""
    indices, weights = taps
    shape = [1] * x.ndim
    shape[axis] = -1
    if len(indices) == 1 and np.all(weights == 1):
        return np.take(x, indices[0], axis)
    if x.dtype == np.uint8:
        return _gather_bytes(x, axis, taps)
    total = 0
    for index, weight in zip(indices, weights, strict=True):
        part = np.take(x, index, axis) * weight.astype(x.dtype).reshape(shape)
        total = total + (part if np.all(weight) else np.where((weight != 0).reshape(shape), part, 0))
    return total


def _scatter(grad, axis, taps, image):
    """The adjoint: a product with the matrix that the taps spell out, unless its zeros would meet infinities."""
    if not np.isfinite(grad).all():
        out = np.zeros((image, *np.delete(grad.shape, axis)), grad.dtype)
        lines = np.moveaxis(grad, axis, 0)
        for index, weight in zip(*taps, strict=True):
            used = weight != 0
            np.add.at(out, index[used], (lines[used].T * weight[used].astype(grad.dtype)).T)
        return np.moveaxis(out, 0, axis)
    matrix = _matrix(image, taps, grad.dtype)
    return np.moveaxis(np.matmul(np.moveaxis(grad, axis, -1), matrix.T), -1, axis)


def _matrix(image, taps, dtype):
    """The weights of the taps as a matrix (image, outputs)."""
    indices, weights = taps
    matrix = np.zeros((image, indices.shape[1]), dtype)
    np.add.at(matrix, (indices, np.broadcast_to(np.arange(indices.shape[1]), indices.shape)), weights)
    return matrix


def _gather_bytes(x, axis, taps):
    """The weighted sum of uint8 elements, rounded to uint8: weights are of 16 bits, as in torch and Pillow."""
    weights = _matrix(x.shape[axis], taps, np.float64)
    largest = weights.max(initial=0)
    precision = next(bits for bits in range(22) if int(0.5 + largest * (2 << bits)) >= 1 << 15)
    weights = np.trunc(weights * (1 << precision) + np.copysign(0.5, weights))
    total = np.moveaxis(x, axis, -1).astype(np.float64) @ weights      # of whole numbers: exact
    rounded = np.floor((total + (1 << precision - 1)) / (1 << precision))
    return np.moveaxis(np.clip(rounded, 0, 255).astype(np.uint8), -1, axis)


def _forward(x, sizes, rules, aligned=False, scales=(None, None, None)):
    """The last dimensions, each by its rule, in other sizes. torch takes those of bytes from the last one on."""
    steps = list(zip(range(-len(sizes), 0), sizes, rules, scales, strict=False))
    of_bytes = x.dtype == np.uint8
    for axis, size, rule, scale in reversed(steps) if of_bytes else steps:
        real = x.dtype.type if not of_bytes else np.float32 if rule in (nearest, nearest_exact) else np.float64
        x = _gather(x, axis, rule(x.shape[axis], size, aligned, scale, real))
    return x


def _backward(grad, sizes, rules, aligned=False, scales=(None, None, None)):
    for axis, size, rule, scale in zip(range(-len(sizes), 0), sizes, rules, scales, strict=False):
        grad = _scatter(grad, axis, rule(size, grad.shape[axis], aligned, scale, grad.dtype.type), size)
    return grad


def resize(x, sizes, rule, aligned, scales):
    """The last dimensions in other sizes, by the rule of this name."""
    return _forward(x, sizes, [RULES[rule]] * len(sizes), aligned, scales)


def resize_backward(grad, input_size, rule, aligned, scales, dims=None):
    dims = dims or len(input_size) - 2
    return _backward(grad, input_size[-dims:], [RULES[rule]] * dims, aligned, scales)


def _window_rules(kernel, stride, padding, count_padding, divisor):
    divisors = [None] * len(kernel) if divisor is None else [divisor[0], *[1] * (len(kernel) - 1)]
    return [_window(k, s, p, count_padding, d) for k, s, p, d in zip(kernel, stride, padding, divisors, strict=True)]


def average(x, shape, kernel, stride, padding, count_padding, divisor):
    if x.dtype == np.int64:         # rounded towards 0: what the fractions lack for an integer is rounding
        x = x.astype(np.float64)
        return np.trunc(np.round(average(x, shape, kernel, stride, padding, count_padding, divisor), 9))
    return _forward(x, shape[-len(kernel):], _window_rules(kernel, stride, padding, count_padding, divisor))


def average_backward(grad, shape, kernel, stride, padding, count_padding, divisor):
    return _backward(grad, shape[-len(kernel):], _window_rules(kernel, stride, padding, count_padding, divisor))


def _pad_rules(padding, rule):
    return [rule(before) for before in padding[-2::-2]]


def pad(x, padding, rule):
    dims = len(padding) // 2
    sizes = [x.shape[i - dims] + padding[-2 - 2 * i] + padding[-1 - 2 * i] for i in range(dims)]
    return _forward(x, sizes, _pad_rules(padding, rule))


def pad_backward(grad, shape, padding, rule):
    dims = len(padding) // 2
    return _backward(grad, shape[-dims:], _pad_rules(padding, rule))


def pad_constant(x, padding, value):
    """Negative padding takes elements away."""
    if not x.ndim:
        return x                # NumPy pads no numbers
    pairs = [(0, 0)] * (x.ndim - len(padding or ()) // 2) + [
        (padding[i], padding[i + 1]) for i in range(len(padding or ()) - 2, -1, -2)]
    kept = tuple(slice(max(-before, 0), size - max(-after, 0)) for size, (before, after) in
                 zip(x.shape, pairs, strict=True))
    grown = [(max(before, 0), max(after, 0)) for before, after in pairs]
    return np.pad(x[kept], grown, constant_values=value)


# --- grid sampling, grids of affine maps -----------------------------------------------------------------------------
# Along each dimension a grid point takes a few elements of the image (its taps): their indices, their weights, and the
# derivative of each weight by the grid's coordinate. A sample is the sum over the products of taps.

_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)


def _reflected(at, low, high):
    """Mirrored at both ends until within, and the direction that then leads on; the ends come doubled."""
    if low == high:
        return np.zeros_like(at), np.zeros_like(at)
    least, span = at.dtype.type(low / 2), at.dtype.type((high - low) / 2)
    distance = np.abs(at - least)
    turns = np.floor(distance / span)
    rest, odd = np.fmod(distance, span), turns % 2 == 1
    direction = np.where((at < least) != odd, -1, 1)
    return np.where(odd, span - rest, rest) + least, direction.astype(at.dtype)


def _bounded(at, size, padding, aligned):
    """The position inside the image, and its derivative: 0 where the border holds it."""
    if padding == _ZEROS:
        return at, np.ones_like(at)
    direction = np.ones_like(at)
    if padding == _REFLECTION:
        at, direction = _reflected(at, 0, 2 * (size - 1)) if aligned else _reflected(at, -1, 2 * size - 1)
    inside = (at > 0) & (at < size - 1)
    return np.fmin(np.fmax(at, 0), size - 1), np.where(inside, direction, 0)


def _cubic(share):
    """Weights and slopes of cubic convolution with A = -0.75, at the distances 1 + share, share, ..."""
    for i in range(4):
        x = np.abs(share + 1 - i)
        sign = 1 if i < 2 else -1
        if i in (1, 2):
            yield (1.25 * x - 2.25) * x * x + 1, sign * (3.75 * x - 4.5) * x
        else:
            yield ((-0.75 * x + 3.75) * x - 6) * x + 3, sign * ((-2.25 * x + 7.5) * x - 6)


def _grid_taps(at, size, mode, padding, aligned):
    """(position, weight, slope) of each tap along one dimension, for the coordinates `at`."""
    scale = at.dtype.type((size - 1) / 2 if aligned else size / 2)
    at = (at + 1) * scale if aligned else ((at + 1) * size - 1) / 2
    if mode == _BICUBIC:
        below = np.floor(at)
        return [(_bounded(below + (i - 1), size, padding, aligned)[0], weight, slope * scale)
                for i, (weight, slope) in enumerate(_cubic(at - below))]
    at, direction = _bounded(at, size, padding, aligned)
    if mode == _NEAREST:
        return [(np.rint(at), np.ones_like(at), np.zeros_like(at))]
    below, slope = np.floor(at), direction * scale
    return [(below, below + 1 - at, -slope), (below + 1, at - below, slope)]


def _all_taps(image, grid, *modes):
    """The taps of all dimensions together: (flat positions, whether they are inside, weights, slopes) of each."""
    sizes = image.shape[2:]
    lines = [_grid_taps(grid[..., len(sizes) - 1 - i].reshape(len(grid), -1), size, *modes)
             for i, size in enumerate(sizes)]
    for chosen in itertools.product(*lines):
        inside, flat = True, 0
        for (at, _, _), size in zip(chosen, sizes, strict=True):
            within = (at >= 0) & (at <= size - 1)           # NaN is outside
            inside = inside & within
            flat = flat * size + np.where(within, at, 0).astype(np.int64)
        weights = [weight for _, weight, _ in chosen]
        yield flat, inside, weights, [slope for _, _, slope in chosen]


def _product(factors):
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


def _elements(planes, flat, inside):
    return np.where(inside[:, None], np.take_along_axis(planes, flat[:, None], 2), 0)


def _flat(image):
    return image.reshape(*image.shape[:2], int(np.prod(image.shape[2:])))


def sample(image, grid, mode, padding, aligned):
    """(N, C, ...) at the coordinates (N, ..., dims): (N, C, ...)."""
    planes, total = _flat(image), 0
    for flat, inside, weights, _ in _all_taps(image, grid, mode, padding, aligned):
        total = total + _elements(planes, flat, inside) * _product(weights)[:, None]
    return total.reshape(*image.shape[:2], *grid.shape[1:-1])


def _scatter_add(values, flat, image):
    """Sums of values (N, C, n) at flat indices."""
    planes, size = image.shape[0] * image.shape[1], int(np.prod(image.shape[2:]))
    flat = np.broadcast_to(flat[:, None], values.shape).reshape(planes, -1)
    indices = flat + np.arange(planes)[:, None] * size
    return np.bincount(indices.ravel(), values.ravel(), planes * size).astype(image.dtype).reshape(image.shape)


def sample_backward(grad, image, grid, mode, padding, aligned, wanted):
    """The gradients of image and grid, as far as they are wanted."""
    of_image = np.zeros_like(image) if wanted[0] else None
    of_grid = np.zeros_like(grid) if wanted[1] else None
    planes, given = _flat(image), _flat(grad)
    for flat, inside, weights, slopes in _all_taps(image, grid, mode, padding, aligned):
        if wanted[0]:
            of_image += _scatter_add(np.where(inside, _product(weights), 0)[:, None] * given, flat, image)
        if wanted[1] and mode != _NEAREST:
            common = (_elements(planes, flat, inside) * given).sum(1)
            for i, slope in enumerate(slopes):
                part = common * _product([*weights[:i], slope, *weights[i + 1:]])
                of_grid[..., len(slopes) - 1 - i] += part.reshape(grid.shape[:-1])
    return of_image, of_grid


def affine(theta, size, aligned):
    """The coordinates (N, ..., dims) that the maps theta (N, dims, dims + 1) make of an even grid from -1 to 1."""
    lengths, dims = size[2:], len(size) - 2
    axes = [np.arange(n) * (2 / max(n - 1, 1)) - (n > 1) if aligned else (np.arange(n) * 2 + 1) / n - 1
            for n in lengths]
    base = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(lengths)], -1).reshape(-1, dims + 1)
    return np.matmul(base.astype(theta.dtype), theta.swapaxes(1, 2)).reshape(size[0], *lengths, dims)
