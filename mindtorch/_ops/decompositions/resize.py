"""Resizing of images of dtypes that ACLNN does not resize, averages over adaptive windows, and the Lanczos filter."""
import numpy as np

from mindtorch._core.tensor.dtype import float32, float64, int64
from mindtorch._ops.operators import ops
from mindtorch._ops.taps import RULES


def _taps(like, dim, *line):
    """Of one dimension: the flat indices of all taps, their weights beside the other dimensions, and which count."""
    rule, *line = line
    indices, weights = RULES[rule](*line, np.float64 if like.dtype is float64 else np.float32)
    weights = like.new_tensor(weights).reshape((*weights.shape, *[1] * (like.ndim - dim - 1)))
    return like.new_tensor(indices.ravel(), dtype=int64), weights, weights != 0


def _lines(image, sizes, aligned, scales):
    """The last dimensions of an image, with the other arguments of their rules."""
    first = image.ndim - len(sizes)
    return [(dim, size, aligned, scale) for dim, size, scale in
            zip(range(first, image.ndim), sizes, scales or [None] * len(sizes), strict=True)]


def resize_by_taps(image, sizes, rule, aligned, *scales):
    """The last dimensions of an image in these sizes; `scales` are those that were given, or None.

    Those of whole numbers are rounded after each dimension, from the last one on, as in torch.
    """
    exact = image if image.is_floating_point() else image.to(float32)
    lines = _lines(image, sizes, aligned, scales)
    for dim, size, *rest in lines if exact is image else reversed(lines):
        indices, weights, counted = _taps(exact, dim, rule, exact.shape[dim], size, *rest)
        parts = exact.index_select(dim, indices).unflatten(dim, (-1, size)) * weights
        exact = ops.where(counted, parts, 0).sum(dim)
        if not image.is_floating_point():
            exact = exact.round().clamp(0, 255)
    return exact


def resize_by_taps_backward(grad, sizes, rule, aligned, *scales):
    """The gradient of an image whose last dimensions have these sizes."""
    for dim, size, *rest in _lines(grad, sizes, aligned, scales):
        indices, weights, counted = _taps(grad, dim, rule, size, grad.shape[dim], *rest)
        shares = ops.where(counted, grad.unsqueeze(dim) * weights, 0).flatten(dim, dim + 1)
        grad = grad.new_zeros((*grad.shape[:dim], size, *grad.shape[dim + 1:])).index_add(dim, indices, shares)
    return grad
