"""interpolate(antialias=True): filters that widen where the image shrinks, so that every element counts.

Rows and columns are independent: an image is resized by two products with matrices that hold the filter's weights.
"""
import numpy as np

from mindtorch import tensor
from mindtorch._ops.composite import scalar_type

__all__ = ["antialiased"]


def _linear(x):
    return np.maximum(1 - np.abs(x), 0)


def _cubic(x, a=-0.5):
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(x):
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


# mode -> (the filter, how far it reaches to each side)
_FILTERS = {"bilinear": (_linear, 1), "bicubic": (_cubic, 2), "lanczos": (_lanczos, 3)}


def _weights(mode, before, after, scale, align_corners):
    """The matrix (after, before) that resizes a line of elements."""
    function, reach = _FILTERS[mode]
    if align_corners:
        step = (before - 1) / (after - 1) if after > 1 else 0.0
    else:
        step = 1 / scale if scale else before / after
    stretch = max(step, 1.0)
    centers = step * (np.arange(after)[:, None] + 0.5)
    places = np.arange(before)
    first = np.maximum((centers - reach * stretch + 0.5).astype(np.int64), 0)
    last = np.minimum((centers + reach * stretch + 0.5).astype(np.int64), before)
    found = function((places - centers + 0.5) / stretch) * ((places >= first) & (places < last))
    return found / found.sum(1, keepdims=True)


def antialiased(input, sizes, scales, mode, align_corners):
    """The image (N, C, H, W) in another size; `scales` are those that were given, or None."""
    if input.dim() != 4 or mode not in _FILTERS:
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
                         "tensor as input")
    if min(*input.shape[1:], *sizes) < 1:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input (H: {input.size(2)}, "
                           f"W: {input.size(3)}) output (H: {sizes[0]}, W: {sizes[1]})")
    if str(input.dtype) not in ("torch.float32", "torch.float64", "torch.bfloat16"):
        raise NotImplementedError('"compute_index_ranges_weights" not implemented for '
                                  f"'{scalar_type(input.dtype)}'")
    rows, columns = (tensor(_weights(mode, *each, align_corners), dtype=input.dtype, device=input.device)
                     for each in zip(input.shape[2:], sizes, scales, strict=True))
    return rows @ (input @ columns.T)
