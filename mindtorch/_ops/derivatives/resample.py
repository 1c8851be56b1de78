"""Second derivatives of grid sampling, and grids of affine maps."""
import itertools

from mindtorch._ops.operators import ops

_NEAREST, _BICUBIC, _ZEROS, _REFLECTION = 1, 2, 0, 2


def _reflected(at, low, high):
    """The coordinate, reflected at both ends until it is inside, and its derivative. The ends are given doubled."""
    if low == high:
        return at * 0, at * 0
    least, span = low / 2, (high - low) / 2
    distance = (at - least).abs()
    turns = (distance / span).floor().detach()
    rest, odd = distance - turns * span, turns.remainder(2) == 1
    direction = ops.where((at < least) != odd, -1.0, 1.0)
    return ops.where(odd, span - rest, rest) + least, direction


def _bounded(at, size, padding, aligned):
    """The coordinate inside the image, and its derivative: 0 where it is clamped to the border."""
    if padding == _ZEROS:
        return at, 1
    direction = 1
    if padding == _REFLECTION:
        at, direction = _reflected(at, 0, 2 * (size - 1)) if aligned else _reflected(at, -1, 2 * size - 1)
    inside = (at > 0) & (at < size - 1)
    return at.clamp(0, size - 1), inside.to(at.dtype) * direction


def _cubic(share):
    """Weight, slope and curvature of cubic convolution with A = -0.75, at the distances 1 + share, share, ..."""
    for i in range(4):
        x, sign = (share + (1 - i), 1) if i < 2 else ((i - 1) - share, -1)
        if i in (1, 2):
            yield (1.25 * x - 2.25) * x * x + 1, sign * (3.75 * x - 4.5) * x, 7.5 * x - 4.5
        else:
            yield ((-0.75 * x + 3.75) * x - 6) * x + 3, sign * ((-2.25 * x + 7.5) * x - 6), -4.5 * x + 7.5


def _grid_taps(at, size, mode, padding, aligned):
    """(position, weight, slope, curvature) of each tap along one dimension, for the coordinates `at`."""
    scale = (size - 1) / 2 if aligned else size / 2
    at = (at + 1) * scale if aligned else ((at + 1) * size - 1) / 2
    if mode == _BICUBIC:
        below = at.floor().detach()
        return [(_bounded(below + (i - 1), size, padding, aligned)[0], weight, slope * scale, bend * scale ** 2)
                for i, (weight, slope, bend) in enumerate(_cubic(at - below))]
    at, direction = _bounded(at, size, padding, aligned)
    if mode == _NEAREST:
        return [(at.round().detach(), 1, 0, 0)]
    below, slope = at.floor().detach(), direction * scale
    return [(below, below + 1 - at, -slope, 0), (below + 1, at - below, slope, 0)]


def _flat_positions(chosen, sizes):
    """The flat positions of the taps chosen for all dimensions, and whether they are inside the image."""
    inside = flat = None
    for (at, *_), size in zip(chosen, sizes, strict=True):
        within = (at >= 0) & (at <= size - 1)
        whole = ops.where(within, at, 0.0).long()        # NaN is outside as well
        inside = within if inside is None else inside & within
        flat = whole if flat is None else flat * size + whole
    return flat.unsqueeze(1), inside.unsqueeze(1)


def _weight(chosen, *dims):
    """The product of weights, differentiated along each of `dims`."""
    result = 1
    for i, (_, *orders) in enumerate(chosen):
        result = result * orders[dims.count(i)]
    return result


def _elements(image, flat, inside):
    planes = image.flatten(2)
    return ops.where(inside, planes.gather(-1, flat.expand(*planes.shape[:2], -1)), 0.0)


def grid_sampler_double_backward(grads, grad_output, input, grid, mode, padding, aligned, wanted):
    """Gradients of grad_output, input and grid; `grads` are those of the gradients of input and grid, or None.

    What is differentiated is the sum over taps of grad_output * (weight * grads[0] + the change of weight in the
    direction grads[1] * input).
    """
    sizes, dims = input.shape[2:], input.dim() - 2
    of_input, of_grid = grads
    positions = grid.flatten(1, -2)
    moves = None if of_grid is None else of_grid.flatten(1, -2).unbind(-1)[::-1]
    lines = [_grid_taps(positions[..., dims - 1 - i], size, mode, padding, aligned) for i, size in enumerate(sizes)]
    given, first, second = grad_output.flatten(2), 0, ops.zeros_like(input.flatten(2))
    third = [0] * dims
    for chosen in itertools.product(*lines):
        flat, inside = _flat_positions(chosen, sizes)

        def along(*fixed, chosen=chosen):
            """How the weight, or its derivative, changes in the direction of the grid's gradient."""
            total = sum(move * _weight(chosen, *fixed, i) for i, move in enumerate(moves))
            return total.unsqueeze(1)

        def scaled(values, weight):
            return values * (weight.unsqueeze(1) if hasattr(weight, "unsqueeze") else weight)

        if of_input is not None:
            elements = _elements(of_input, flat, inside)
            first = first + scaled(elements, _weight(chosen))
            if wanted[2]:
                third = [sum_ + (given * scaled(elements, _weight(chosen, i))).sum(1) for i, sum_ in enumerate(third)]
        if moves is not None and mode != _NEAREST:
            elements = _elements(input, flat, inside)
            first = first + elements * along()
            if wanted[1]:
                spread = ops.where(inside, given * along(), 0.0)
                second = second.scatter_add(-1, flat.expand(spread.shape), spread)
            if wanted[2]:
                third = [sum_ + (given * elements * along(i)).sum(1) for i, sum_ in enumerate(third)]
    if isinstance(first, int):
        first = ops.zeros_like(given)
    third = [ops.zeros_like(positions[..., 0]) if isinstance(sum_, int) else sum_ for sum_ in third]
    return (first.reshape(grad_output.shape), second.reshape(input.shape),
            ops.stack(third[::-1], -1).reshape(grid.shape))


# --- grids of affine maps --------------------------------------------------------------------------------------------

def _base(like, sizes, aligned):
    """A grid of equal steps from -1 to 1, as rows (x, y[, z], 1)."""
    dims, axes = len(sizes), []
    for i, length in enumerate(reversed(sizes)):
        position = ops.arange(length, device=like.device).to(like.dtype)
        step = 2 / max(length - 1, 1) if aligned else 2 / length
        start = (-1 if length > 1 else 0) if aligned else 1 / length - 1
        shape = [1] * (dims + 1)
        shape[dims - 1 - i] = length
        axes.append((position * step + start).reshape(shape).expand(*sizes, 1))
    return ops.cat([*axes, ops.ones_like(axes[0])], -1).reshape(-1, dims + 1)


def affine_places(theta, size, aligned):
    """The grid of the maps theta, by a product."""
    sizes = size[2:]
    return ops.matmul(_base(theta, sizes, aligned), theta.mT).reshape(size[0], *sizes, len(sizes))


def affine_places_backward(grad, size, aligned):
    """The sum over the positions of the grid, each times the gradient there."""
    return ops.matmul(grad.flatten(1, -2).mT, _base(grad, size[2:], aligned))


# --- pooling, padding and resampling ---------------------------------------------------------------------------------

def constant_pad_nd_backward(grad, pad):
    """The part inside the padding; zeros where a negative padding has cropped."""
    return ops.constant_pad_nd(grad, [-width for width in pad])


def picked(grad, indices, dims):
    """The elements of `grad` that the flat indices of `dims` dimensions point to."""
    flat, positions = grad.flatten(-dims), indices.flatten(-dims)
    return ops.gather(flat, -1, positions).reshape(indices.shape)


def optional_int(values):
    """The number in a list of at most one, or None."""
    return values[0] if values else None


def last_sizes(shape, dims):
    """The sizes of the last dimensions."""
    return shape[len(shape) - dims:]
