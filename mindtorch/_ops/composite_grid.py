"""Images sampled at the positions of a grid, and grids that affine maps make."""
import itertools

from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.autocast import casting
from mindtorch._core.factories import arange as _arange
from mindtorch._core.factories import ones as _ones
from mindtorch._ops.composite import _require_tensors

_cat, _matmul, _where = _OPS["cat"], _OPS["matmul"], _OPS["where"]
BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2


# --- positions -------------------------------------------------------------------------------------------------------

def _unnormalized(at, size, align_corners):
    """From -1 .. 1 to elements of the image."""
    return (at + 1) * ((size - 1) / 2) if align_corners else ((at + 1) * size - 1) / 2


def _reflected(at, low, high):
    """Mirrored at both ends until within; `low` and `high` are twice the positions of the ends."""
    if low == high:
        return at * 0
    least, span = low / 2, (high - low) / 2
    distance = (at - least).abs()
    turns = (distance / span).floor().detach()
    rest = distance - turns * span
    return _where(turns.remainder(2) == 1, span - rest, rest) + least


def _bounded(at, size, padding_mode, align_corners):
    if padding_mode == REFLECTION:
        at = _reflected(at, 0, 2 * (size - 1)) if align_corners else _reflected(at, -1, 2 * size - 1)
    return at if padding_mode == ZEROS else at.clamp(0, size - 1)


def _elements(image, places):
    """Elements at whole positions, given by a tensor for each dimension of the image; zeros outside."""
    inside = flat = None
    for place, size in zip(places, image.shape[2:], strict=True):
        at = place.detach()
        within = (at >= 0) & (at <= size - 1)
        whole = _where(within, at, 0.0).long()        # NaN is outside as well
        inside = within if inside is None else inside & within
        flat = whole if flat is None else flat * size + whole
    batch, channels = image.shape[:2]
    index = flat.reshape(batch, 1, -1).expand(batch, channels, -1)
    found = image.reshape(batch, channels, -1).gather(-1, index).reshape(batch, channels, *flat.shape[1:])
    return _where(inside.unsqueeze(1), found, 0.0)


# --- modes -----------------------------------------------------------------------------------------------------------

def _bilinear(image, at, bound):
    at = [bound(one, i) for i, one in enumerate(at)]
    below = [one.floor().detach() for one in at]
    total = 0
    for corner in itertools.product((0, 1), repeat=len(at)):
        weight = 1
        for one, base, step in zip(at, below, corner, strict=True):
            weight = weight * ((one - base) if step else (base + 1 - one))
        places = [base + step for base, step in zip(below, corner, strict=True)]
        total = total + _elements(image, places) * weight.unsqueeze(1)
    return total


def _cubic_weights(share):
    """Cubic convolution with A = -0.75 at four distances."""
    def near(x):
        return (1.25 * x - 2.25) * x * x + 1

    def far(x):
        return ((-0.75 * x + 3.75) * x - 6) * x + 3
    return far(share + 1), near(share), near(1 - share), far(2 - share)


def _bicubic(image, at, bound):
    below = [one.floor().detach() for one in at]
    weights = [_cubic_weights(one - base) for one, base in zip(at, below, strict=True)]
    total = 0
    for y, x in itertools.product(range(4), repeat=2):
        places = [bound(base + step - 1, i) for i, (base, step) in enumerate(zip(below, (y, x), strict=True))]
        total = total + _elements(image, places) * (weights[0][y] * weights[1][x]).unsqueeze(1)
    return total


@casting("grid_sampler")
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """The image (N, C, H, W) or (N, C, D, H, W) at the positions (x, y[, z]) from -1 to 1 of grid (N, ..., 2 or 3)."""
    _check_grid(input, grid, interpolation_mode)
    sizes = input.shape[2:]
    at = [_unnormalized(grid[..., len(sizes) - 1 - i], size, align_corners) for i, size in enumerate(sizes)]

    def bound(one, i):
        return _bounded(one, sizes[i], padding_mode, align_corners)
    if interpolation_mode == BILINEAR:
        return _bilinear(input, at, bound)
    if interpolation_mode == BICUBIC:
        return _bicubic(input, at, bound)
    return _elements(input, [bound(one, i).round() for i, one in enumerate(at)]) + 0 * grid.sum()


def _check_grid(input, grid, mode):
    _require_tensors("grid_sampler", input=input, grid=grid)
    if input.dim() not in (4, 5) or input.dim() != grid.dim():
        raise RuntimeError("grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got "
                           f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}")
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError("grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
                           f"{list(input.shape)} and grid with sizes {list(grid.shape)}")
    if grid.shape[-1] != input.dim() - 2:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {input.dim() - 2} in last dimension, but got "
                           f"grid with sizes {list(grid.shape)}")
    for i, size in enumerate(input.shape[2:], 2):
        if size == 0:
            raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
                               f"sizes {list(input.shape)} with dimension {i} being empty")
    if mode == BICUBIC and input.dim() != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


@casting("grid_sampler_2d")
def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners):
    """grid_sampler of images."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@casting("grid_sampler_3d")
def grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners):
    """grid_sampler of volumes."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def affine_grid_generator(theta, size, align_corners):
    """The grid (N, H, W, 2) or (N, D, H, W, 3) of the maps theta (N, 2, 3) or (N, 3, 4)."""
    _require_tensors("affine_grid_generator", theta=theta)
    sizes, dims = list(size[2:]), len(size) - 2
    axes = []
    for i, length in enumerate(reversed(sizes)):
        place = _arange(length, device=theta.device).to(theta.dtype)
        step = 2 / max(length - 1, 1) if align_corners else 2 / length
        start = (-1 if length > 1 else 0) if align_corners else 1 / length - 1
        shape = [1] * (dims + 1)
        shape[dims - 1 - i] = length
        axes.append((place * step + start).reshape(shape).expand(*sizes, 1))
    base = _cat([*axes, _ones((*sizes, 1), dtype=theta.dtype, device=theta.device)], -1)
    return _matmul(base.reshape(1, -1, dims + 1), theta.transpose(1, 2)).reshape(size[0], *sizes, dims)


FUNCTIONS = {function.__name__: function for function in (
    grid_sampler, grid_sampler_2d, grid_sampler_3d, affine_grid_generator)}
METHODS = {}
