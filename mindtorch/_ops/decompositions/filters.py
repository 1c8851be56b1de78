"""Resizing of images with antialias=True: filters are wider where the image shrinks.

Rows and columns are independent: an image is resized by two products with matrices that hold the filter's weights.
"""
from math import pi

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


# mode -> (the filter, how far it reaches to each side)
_FILTERS = {"bilinear": (_linear, 1), "bicubic": (_cubic, 2), "lanczos": (_lanczos, 3)}


def _weights(like, mode, before, after, scale, align_corners):
    """The matrix (new size, old size) that resizes along one dimension."""
    function, reach = _FILTERS[mode]
    if align_corners:
        step = (before - 1) / (after - 1) if after > 1 else 0.0
    else:
        step = 1 / scale if scale else before / after
    stretch = max(step, 1.0)
    lines = {"dtype": like.dtype, "device": like.device}
    centers = step * (ops.arange(after, **lines).unsqueeze(1) + 0.5)
    places = ops.arange(before, **lines)
    first = (centers - reach * stretch + 0.5).trunc()
    last = (centers + reach * stretch + 0.5).trunc()
    found = function((places - centers + 0.5) / stretch) * ((places >= first) & (places < last))
    return found / found.sum(1, True)


def _matrices(image, before, after, mode, align_corners, scales):
    return [_weights(image, mode, *each, align_corners) for each in zip(before, after, scales, strict=True)]


def resize_by_filter(image, sizes, mode, align_corners, *scales):
    """The image (N, C, H, W) in another size; `scales` are those that were given, or None."""
    rows, columns = _matrices(image, image.shape[2:], sizes, mode, align_corners, scales)
    return ops.matmul(rows, ops.matmul(image, columns.mT))


def resize_by_filter_backward(grad, input_size, mode, align_corners, *scales):
    """The gradient of the image."""
    rows, columns = _matrices(grad, input_size[2:], grad.shape[2:], mode, align_corners, scales)
    return ops.matmul(rows.mT, ops.matmul(grad, columns))
