"""interpolate(antialias=True): filters that widen where the image shrinks, so that every element counts."""

from typing import Any

from mindtorch import Tensor
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._ops.composite.common import scalar_type

__all__ = ["antialiased"]

_OPERATORS = {"bilinear": _ATEN["_upsample_bilinear2d_aa"], "bicubic": _ATEN["_upsample_bicubic2d_aa"]}


def antialiased(input: Tensor, sizes: Any, scales: Any, mode: str, align_corners: Any) -> Tensor:
    """The image (N, C, H, W) in another size; `scales` are those that were given, or None."""
    if input.dim() != 4 or mode not in (*_OPERATORS, "lanczos"):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
                         "tensor as input")
    if mode in _OPERATORS:
        return _OPERATORS[mode](input, sizes, align_corners, *scales)
    if min(*input.shape[1:], *sizes) < 1:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input (H: {input.size(2)}, "
                           f"W: {input.size(3)}) output (H: {sizes[0]}, W: {sizes[1]})")
    if str(input.dtype) not in ("torch.float32", "torch.float64", "torch.bfloat16"):
        raise NotImplementedError('"compute_index_ranges_weights" not implemented for '
                                  f"'{scalar_type(input.dtype)}'")
    from mindtorch._ops.decompositions.resize import resize_by_taps
    return resize_by_taps(input, sizes, "wide_lanczos", align_corners, *scales)
