"""Sampling at the places of a grid: the operator for images or volumes."""
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.autocast import casting
from mindtorch._ops.composite import _require_tensors

_IMAGES, _VOLUMES = _OPS["grid_sampler_2d"], _OPS["grid_sampler_3d"]


@casting("grid_sampler")
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """The image (N, C, H, W) or (N, C, D, H, W) at the positions (x, y[, z]) from -1 to 1 of grid (N, ..., 2 or 3)."""
    _require_tensors("grid_sampler", input=input, grid=grid)
    dims = input.dim()
    if dims not in (4, 5) or dims != grid.dim():
        raise RuntimeError("grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got "
                           f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}")
    sample = _IMAGES if dims == 4 else _VOLUMES
    return sample(input, grid, interpolation_mode, padding_mode, align_corners)


FUNCTIONS = {"grid_sampler": grid_sampler}
METHODS = {}
