"""Resampling along one dimension: which elements of an image a result takes, its taps, and with which weights.

A rule is called with the sizes of the image and of the result, align_corners, the scale that was given or None, and the
NumPy type in which torch finds positions. It gives two arrays of shape (taps, outputs): indices and weights. A weight
of 0 says that the tap does not count, whatever the element is.

>>> indices, weights = linear(2, 3, True, None, np.float64)
>>> indices.tolist(), weights.tolist()
([[0, 0, 1], [1, 1, 1]], [[1.0, 0.5, 1.0], [0.0, 0.5, 0.0]])
"""
import numpy as np


def _step(image, outputs, aligned, scale, real):
    """Image elements per index, in the precision `real`, in which torch finds positions."""
    if aligned:
        return real(image - 1) / real(outputs - 1) if outputs > 1 else real(0)
    return real(1 / scale) if scale else real(image) / real(outputs)


def with_unit_weight(indices):
    return indices.astype(np.int64)[None], np.ones((1, len(indices)))


def nearest(image, outputs, aligned, scale, real):
    at = np.floor(np.arange(outputs, dtype=real) * _step(image, outputs, aligned, scale, real))
    return with_unit_weight(np.minimum(at, image - 1))


def nearest_exact(image, outputs, aligned, scale, real):
    at = np.floor((np.arange(outputs, dtype=real) + real(0.5)) * _step(image, outputs, aligned, scale, real))
    return with_unit_weight(np.minimum(at, image - 1))


def _positions(image, outputs, aligned, scale, real):
    step, index = _step(image, outputs, aligned, scale, real), np.arange(outputs, dtype=real)
    return index * step if aligned else (index + real(0.5)) * step - real(0.5)


def linear(image, outputs, aligned, scale, real):
    at = np.maximum(_positions(image, outputs, aligned, scale, real), real(0))
    below = np.minimum(at.astype(np.int64), image - 1)
    share = np.clip(at - below.astype(real), 0, 1)
    return np.stack([below, np.minimum(below + 1, image - 1)]), np.stack([1 - share, share])


def cubic(image, outputs, aligned, scale, real):
    """Cubic convolution with A = -0.75 over four elements."""
    at = _positions(image, outputs, aligned, scale, real)
    below = np.floor(at)
    offsets = np.arange(-1, 3)[:, None]
    x = np.abs((at - below)[None].astype(np.float64) - offsets)
    near, far = (1.25 * x - 2.25) * x * x + 1, ((-0.75 * x + 3.75) * x - 6) * x + 3
    return np.clip(below.astype(np.int64) + offsets, 0, image - 1), np.where(x <= 1, near, far)


def _antialiased(function, reach):
    """A filter that widens where the image shrinks: every element counts. Weights are those of its tent, made even."""
    def rule(image, outputs, aligned, scale, real):
        step = float(_step(image, outputs, aligned, scale, np.float64))
        stretch = max(step, 1.0)
        centers = step * (np.arange(outputs) + 0.5)
        first = np.maximum((centers - reach * stretch + 0.5).astype(np.int64), 0)
        last = np.minimum((centers + reach * stretch + 0.5).astype(np.int64), image)
        indices = first + np.arange(max(int((last - first).max()), 1))[:, None]
        inside = indices < last
        weights = np.where(inside, function(np.absolute((indices - centers + 0.5) / stretch)), 0)
        return np.where(inside, indices, 0), weights / weights.sum(0)
    return rule


def _cubic_half(x):
    """Cubic convolution with A = -0.5, at the distance x."""
    return np.where(x < 1, (1.5 * x - 2.5) * x * x + 1, np.where(x < 2, ((-0.5 * x + 2.5) * x - 4) * x + 2, 0))


def _lanczos(x):
    return np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)


def spans(first, last, share):
    """Elements from `first` to before `last`, each with the weight `share`."""
    taps = np.arange(max(int(np.max(last - first, initial=0)), 1))[:, None]
    inside = first + taps < last
    return np.where(inside, first + taps, 0), np.where(inside, share, 0.0)


def area(image, outputs, aligned, scale, real):
    index = np.arange(outputs)
    first, last = index * image // outputs, -((index + 1) * image // -outputs)
    return spans(first, last, 1 / (last - first))


# With antialias=True: wide_linear, wide_cubic and wide_lanczos.
RULES = {rule.__name__: rule for rule in (nearest, nearest_exact, linear, cubic, area)} | {
    "wide_linear": _antialiased(lambda x: np.maximum(1 - x, 0), 1), "wide_cubic": _antialiased(_cubic_half, 2),
    "wide_lanczos": _antialiased(_lanczos, 3)}
