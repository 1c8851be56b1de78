"""Padding and other sizes of images."""

import warnings
from collections.abc import Sequence
from typing import Any

from mindtorch import Tensor
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.python.conversion import parse_int_list as _parse_int_list
from mindtorch._ops.composite.common import _require_tensors
from mindtorch._ops.composite.conv_pool import grid_sampler as _grid_sampler
from mindtorch._ops.composite.conv_pool import pixel_shuffle, pixel_unshuffle
from mindtorch.nn._functional_antialias import antialiased
from mindtorch.nn._functional_pool import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

__all__ = ["affine_grid", "assert_int_or_pair", "channel_shuffle", "grid_sample", "interpolate",
           "native_channel_shuffle", "pad", "pixel_shuffle", "pixel_unshuffle", "upsample", "upsample_bilinear",
           "upsample_nearest"]

_constant_pad_nd, _cat = _OPS["constant_pad_nd"], _OPS["cat"]
channel_shuffle = native_channel_shuffle = _OPS["channel_shuffle"]
_affine_grid_generator = _OPS["affine_grid_generator"]


# --- padding ---------------------------------------------------------------------------------------------------------

def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Elements before and after, in pairs from the last dimension. Negative ones are taken away.

    mode: "constant" (`value`), or "reflect", "replicate", "circular", which pad the last one to three dimensions.
    """
    _require_tensors("pad", input=input)
    pad = _parse_int_list(pad, "pad", "pad", 2)
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.dim():
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but got "
                           f"padding length {len(pad)} and input of dimension {input.dim()}")
    if isinstance(value, complex):
        raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
    if mode == "constant":
        if isinstance(value, int):
            value = float(value)
        return _constant_pad_nd(input, pad, 0 if value is None else value)
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(pad) // 2
    if dims not in (1, 2, 3) or input.dim() not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.dim()}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)")
    if mode == "circular":
        return _circular(input, pad)
    names = {"reflect": "reflection", "replicate": "replication"}
    if mode not in names:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    return _ATEN[f"{names[mode]}_pad{dims}d"](input, pad)


def _circular(input, pad):
    """The other end continues each dimension; the result is contiguous."""
    input = input.contiguous()
    for i in range(len(pad) // 2):
        dim, before, after = input.dim() - 1 - i, pad[2 * i], pad[2 * i + 1]
        size = input.shape[dim]
        if before > size or after > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if size + before + after < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        kept = input.narrow(dim, max(-before, 0), size - max(-before, 0) - max(-after, 0))
        parts = [kept.narrow(dim, kept.shape[dim] - before, before)] if before > 0 else []
        parts += [kept] + ([kept.narrow(dim, 0, after)] if after > 0 else [])
        input = _cat(parts, dim)
    return input


# --- other sizes -----------------------------------------------------------------------------------------------------

_UPSAMPLE = {
    (1, "nearest"): "upsample_nearest1d", (2, "nearest"): "upsample_nearest2d", (3, "nearest"): "upsample_nearest3d",
    (1, "nearest-exact"): "_upsample_nearest_exact1d", (2, "nearest-exact"): "_upsample_nearest_exact2d",
    (3, "nearest-exact"): "_upsample_nearest_exact3d", (1, "linear"): "upsample_linear1d",
    (2, "bilinear"): "upsample_bilinear2d", (2, "bicubic"): "upsample_bicubic2d",
    (3, "trilinear"): "upsample_trilinear3d",
}
_AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}
_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"


def assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None:
    """AssertionError with `message`, which may name the argument by {}, unless `arg` is an int or a pair.

    Arguments:
        arg: the value
        arg_name: its name, for the message
        message: the message, in which {} is the name

    Example:
        >>> F.assert_int_or_pair((2, 3), "size", "{} must be an int or a pair")
    """
    assert isinstance(arg, int) or len(arg) == 2, message.format(arg_name)


def _by_dimension(input, values, what):
    """A value for each dimension of the image."""
    dims = input.dim() - 2
    if not isinstance(values, (list, tuple)):
        return [values] * dims
    if len(values) != dims:
        listed = {"size": "output size", "scale_factor": "scale_factor"}[what]
        form = {"size": "output size in (o1, o2, ...,oK) format",
                "scale_factor": "scale_factor in (s1, s2, ...,sK) format"}[what]
        raise ValueError(
            f"Input and {'output' if what == 'size' else 'scale_factor'} must have the same number of spatial "
            f"dimensions, but got input with spatial dimensions of {list(input.shape[2:])} and {listed} of {values}. "
            f"Please provide input tensor in (N, C, d1, d2, ...,dK) format and {form}.")
    return list(values)


def _new_size(input, size, scale_factor, mode, recompute):
    """The size in numbers, and the scales that positions are found with; 0 sizes in `scales` are None."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return _by_dimension(input, size, "size"), [None] * (input.dim() - 2)
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    scales = [float(scale) for scale in _by_dimension(input, scale_factor, "scale_factor")]
    sizes = [int(n * scale) for n, scale in zip(input.shape[2:], scales, strict=True)]
    return sizes, [None] * len(scales) if recompute or mode == "area" else scales


def interpolate(input: Tensor, size: int | Sequence[int] | None = None,
                scale_factor: float | Sequence[float] | None = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Tensor:
    """The image (N, C, ...) in another size: `size`, or its own times `scale_factor`, in one of torch's modes."""
    _require_tensors("interpolate", input=input)
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | "
                             "bicubic | trilinear")
    elif align_corners is None:
        align_corners = False
    sizes, scales = _new_size(input, size, scale_factor, mode, recompute_scale_factor)
    if antialias:
        return antialiased(input, sizes, scales, mode, align_corners)
    dims = input.dim() - 2
    if mode == "area" and dims in _AREA:
        return _AREA[dims](input, sizes)
    name = _UPSAMPLE.get((dims, mode))
    if name is None:
        _no_such_mode(input, mode)
    aligned = [] if align_corners is None else [align_corners]
    return _ATEN[name](input, sizes, *aligned, *scales)


def _no_such_mode(input, mode):
    if mode == "lanczos" and input.dim() == 4:
        raise ValueError("Lanczos mode requires antialias=True")
    dims = {"linear": 3, "bilinear": 4, "trilinear": 5}
    if input.dim() in (3, 4, 5) and mode in dims:
        raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {dims[mode]}D input")
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: {_MODES} "
        f"(got {mode})")


def upsample(input: Tensor, size: int | None = None, scale_factor: float | None = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Tensor:
    """interpolate under its old name.

    Arguments:
        input: the tensor (N, C, ...)
        size: the sizes of the last dimensions
        scale_factor: the factor, in place of the size
        mode: as of interpolate
        align_corners: as of interpolate

    Example:
        >>> F.upsample(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]])
    """
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: int | None = None, scale_factor: float | None = None) -> Tensor:
    """interpolate in the mode "nearest", under its old name.

    Arguments:
        input: the tensor (N, C, ...)
        size: the sizes of the last dimensions
        scale_factor: the factor, in place of the size

    Example:
        >>> F.upsample_nearest(torch.tensor([[[[1.0, 2.0]]]]), scale_factor=2)
        tensor([[[[1., 1., 2., 2.],
                  [1., 1., 2., 2.]]]])
    """
    warnings.warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
                  stacklevel=2)
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: int | None = None, scale_factor: float | None = None) -> Tensor:
    """interpolate in the mode "bilinear" with aligned corners, under its old name.

    Arguments:
        input: the tensor (N, C, H, W)
        size: the sizes of the last dimensions
        scale_factor: the factor, in place of the size

    Example:
        >>> F.upsample_bilinear(torch.tensor([[[[1.0, 4.0]]]]), size=(1, 4))
        tensor([[[[1., 2., 3., 4.]]]])
    """
    warnings.warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
                  stacklevel=2)
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# --- grids -----------------------------------------------------------------------------------------------------------

_GRID_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """The image at the positions of a grid, from -1 to 1, the last dimension being (x, y[, z])."""
    if mode not in _GRID_MODES:
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but "
                         f"got: '{mode}'")
    if padding_mode not in _PADDING_MODES:
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
                         f"but got: '{padding_mode}'")
    if align_corners is None:
        warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
                      "Please specify align_corners=True if the old behavior is desired. See the documentation of "
                      "grid_sample for details.", stacklevel=2)
    return _grid_sampler(input, grid, _GRID_MODES[mode], _PADDING_MODES[padding_mode], bool(align_corners))


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid that the affine maps theta, (N, 2, 3) or (N, 3, 4), make for images of `size`."""
    _require_tensors("affine_grid", theta=theta)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                                  f"respectively. Got size {size}.")
    dims = len(size) - 2
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. "
                         f"Got {theta.shape}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return _affine_grid_generator(theta, list(size), bool(align_corners))
