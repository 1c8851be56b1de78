"""Formulas of operators that move elements along dimensions. derivatives.py says what all formulas do."""
from math import prod

from mindtorch._ops.derivatives import diagonal_backward, ops


def flip_backward(grad, dims):
    """The same once more."""
    return grad.flip(dims)


def roll_backward(grad, shifts, dims):
    """The way back."""
    return grad.roll([-shift for shift in shifts], dims)


def repeat_backward(grad, repeats, shape):
    """The sum over all copies."""
    leading = len(repeats) - len(shape)
    apart = [size for pair in zip(repeats, (1,) * leading + tuple(shape), strict=True) for size in pair]
    return grad.reshape(apart).sum(list(range(0, len(apart), 2))).reshape(shape) if apart else grad


def _line_or_same(shape, dim):
    """The shape that was repeated in, and the dimension."""
    return (tuple(shape), dim[0] % len(shape)) if dim else ((prod(shape),), 0)


def repeat_interleave_evenly_backward(grad, shape, repeats, dim):
    """The sum over all copies, which lie side by side."""
    line, place = _line_or_same(shape, dim)
    return grad.reshape((*line[:place + 1], repeats, *line[place + 1:])).sum(place + 1).reshape(shape)


def repeat_interleave_backward(grad, shape, repeats, dim):
    """The copies added up where they came from."""
    line, place = _line_or_same(shape, dim)
    repeats = repeats.reshape(-1).expand(line[place])
    origins = ops.repeat_interleave(repeats, output_size=grad.shape[place])
    return grad.new_zeros(line).index_add(place, origins, grad).reshape(shape)


def trace_backward(grad, shape):
    """The gradient on the diagonal."""
    return diagonal_backward(grad.expand(min(shape)), shape, 0, 0, 1)
