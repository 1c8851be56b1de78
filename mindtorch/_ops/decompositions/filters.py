"""Resizing of images: with antialias=True, and of dtypes that ACLNN does not resize.

Rows and columns are independent: an image is resized by two products with matrices that hold the filter's weights. With
antialias=True filters are wider where the image shrinks.
"""
from functools import partial
from math import pi

from mindtorch._core.tensor.dtype import float32
from mindtorch._ops.operators import ops


def _linear(x):
    return (1 - x.abs()).clamp(min=0)


def _cubic(x, a=-0.5):
    x = x.abs()
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return ops.where(x < 1, near, ops.where(x < 2, far, 0.0))


def _lanczos(x):
    def sinc(x):
        safe = ops.where(x == 0, 1.0, x * pi)
        return ops.where(x == 0, 1.0, safe.sin() / safe)
    return ops.where(x.abs() < 3, sinc(x) * sinc(x / 3), 0.0)


# mode -> (the filter, half its width)
_FILTERS = {"bilinear": (_linear, 1), "bicubic": (_cubic, 2), "lanczos": (_lanczos, 3)}
_PLAIN_FILTERS = {"bilinear": (_linear, 1), "bicubic": (partial(_cubic, a=-0.75), 2)}       # without antialias


def _step(before, after, scale, align_corners):
    if align_corners:
        return (before - 1) / (after - 1) if after > 1 else 0.0
    return 1 / scale if scale else before / after


def _weights(like, mode, before, after, scale, align_corners):
    """The matrix (new size, old size) that resizes along one dimension."""
    function, reach = _FILTERS[mode]
    step = _step(before, after, scale, align_corners)
    stretch = max(step, 1.0)
    lines = {"dtype": like.dtype, "device": like.device}
    centers = step * (ops.arange(after, **lines).unsqueeze(1) + 0.5)
    positions = ops.arange(before, **lines)
    first = (centers - reach * stretch + 0.5).trunc()
    last = (centers + reach * stretch + 0.5).trunc()
    found = function((positions - centers + 0.5) / stretch) * ((positions >= first) & (positions < last))
    return found / found.sum(1, True)


def _plain_weights(like, mode, before, after, scale, align_corners):
    """The same without antialias, where the border repeats beyond the image."""
    function, reach = _PLAIN_FILTERS[mode]
    lines = {"dtype": like.dtype, "device": like.device}
    shift = 0.0 if align_corners else 0.5
    centers = _step(before, after, scale, align_corners) * (ops.arange(after, **lines).unsqueeze(1) + shift) - shift
    if mode == "bilinear":
        centers = centers.clamp(min=0)
    first, positions = centers.floor(), ops.arange(before, **lines)
    return sum(function(centers - first - tap) * (positions == (first + tap).clamp(0, before - 1))
               for tap in range(1 - reach, reach + 1))


def _matrices(image, before, after, mode, align_corners, scales, weights=_weights):
    return [weights(image, mode, *each, align_corners) for each in zip(before, after, scales, strict=True)]


def resize_by_filter(image, sizes, mode, align_corners, *scales, weights=_weights):
    """The image (N, C, H, W) in another size; `scales` are those that were given, or None."""
    exact = image if image.is_floating_point() else image.to(float32)
    rows, columns = _matrices(exact, image.shape[2:], sizes, mode, align_corners, scales, weights)
    if exact is image:
        return ops.matmul(rows, ops.matmul(image, columns.mT))
    between = ops.matmul(exact, columns.mT).round().clamp(0, 255)               # as torch between its passes
    return ops.matmul(rows, between).round().clamp(0, 255)


def resize_without_antialias(image, *args):
    return resize_by_filter(image, *args, weights=_plain_weights)


def resize_by_filter_backward(grad, input_size, mode, align_corners, *scales):
    """The gradient of the image."""
    rows, columns = _matrices(grad, input_size[2:], grad.shape[2:], mode, align_corners, scales)
    return ops.matmul(rows.mT, ops.matmul(grad, columns))
