"""Images sampled at the places of a grid, over NumPy, and the grids of affine maps.

Along each dimension a place takes a few elements of the image (its taps): whole positions, their weights, and how fast
a weight grows with the coordinate of the grid. A sample is the sum over the products of taps.
"""
import itertools

import numpy as np

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


def _taps(at, size, mode, padding, aligned):
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
    lines = [_taps(grid[..., len(sizes) - 1 - i].reshape(len(grid), -1), size, *modes) for i, size in enumerate(sizes)]
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
    """(N, C, ...) at the places of (N, ..., dims): (N, C, ...)."""
    planes, total = _flat(image), 0
    for flat, inside, weights, _ in _all_taps(image, grid, mode, padding, aligned):
        total = total + _elements(planes, flat, inside) * _product(weights)[:, None]
    return total.reshape(*image.shape[:2], *grid.shape[1:-1])


def _spread(values, flat, image):
    """Sums of values (N, C, places) at flat positions."""
    planes, size = image.shape[0] * image.shape[1], int(np.prod(image.shape[2:]))
    flat = np.broadcast_to(flat[:, None], values.shape).reshape(planes, -1)
    places = flat + np.arange(planes)[:, None] * size
    return np.bincount(places.ravel(), values.ravel(), planes * size).astype(image.dtype).reshape(image.shape)


def sample_backward(grad, image, grid, mode, padding, aligned, wanted):
    """The gradients of image and grid, as far as they are wanted."""
    of_image = np.zeros_like(image) if wanted[0] else None
    of_grid = np.zeros_like(grid) if wanted[1] else None
    planes, given = _flat(image), _flat(grad)
    for flat, inside, weights, slopes in _all_taps(image, grid, mode, padding, aligned):
        if wanted[0]:
            of_image += _spread(np.where(inside, _product(weights), 0)[:, None] * given, flat, image)
        if wanted[1] and mode != _NEAREST:
            common = (_elements(planes, flat, inside) * given).sum(1)
            for i, slope in enumerate(slopes):
                part = common * _product([*weights[:i], slope, *weights[i + 1:]])
                of_grid[..., len(slopes) - 1 - i] += part.reshape(grid.shape[:-1])
    return of_image, of_grid


def affine(theta, size, aligned):
    """The places (N, ..., dims) that the maps theta (N, dims, dims + 1) make of an even grid from -1 to 1."""
    lengths, dims = size[2:], len(size) - 2
    axes = [np.arange(n) * (2 / max(n - 1, 1)) - (n > 1) if aligned else (np.arange(n) * 2 + 1) / n - 1
            for n in lengths]
    base = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(lengths)], -1).reshape(-1, dims + 1)
    return np.matmul(base.astype(theta.dtype), theta.swapaxes(1, 2)).reshape(size[0], *lengths, dims)
