"""CPU references of operators that move elements along dimensions. Those that write to `out` return it.

`dim` is None or a tuple of one dimension; without it all elements count as one line.
"""
import numpy as np


def flip(x, dims):
    return x if dims is None else np.flip(x, dims)


def roll(x, shifts, dims):
    if x.ndim == 0 or len(shifts) > 1:
        return np.roll(x, shifts, dims) if x.ndim else x
    line, dim = (x.reshape(-1), 0) if dims is None else (x, dims[0] % x.ndim)       # a third of what np.roll takes
    first = -shifts[0] % line.shape[dim]
    before = (slice(None),) * dim
    parts = line[(*before, slice(first, None))], line[(*before, slice(None, first))]
    return np.concatenate(parts, axis=dim).reshape(x.shape)


def repeat(x, repeats, out):
    if x.ndim == 0:
        return x
    apart = [size for pair in zip(repeats, (1,) * (out.ndim - x.ndim) + x.shape, strict=True) for size in pair]
    out.reshape(apart)[...] = x.reshape([size if place % 2 else 1 for place, size in enumerate(apart)])
    return out


def _line_or_same(x, dim):
    """What is repeated in, and the dimension."""
    return (x.reshape(-1), 0) if dim is None else (x, dim[0] % x.ndim)


def repeat_interleave_evenly(x, repeats, dim, out):
    x, dim = _line_or_same(x, dim)
    shape = (*x.shape[:dim + 1], repeats, *x.shape[dim + 1:])
    out.reshape(shape)[...] = np.expand_dims(x, dim + 1)
    return out


def _checked(repeats, size, length):
    """A number for each slice; they must make up the length that was allocated."""
    repeats = np.broadcast_to(repeats, (size,)) if repeats.size == 1 else repeats
    if np.any(repeats < 0):
        raise RuntimeError("repeats can not be negative")
    if repeats.sum() != length:
        raise RuntimeError("allocated size does not match required size")
    return repeats


def repeat_interleave(x, repeats, dim, out):
    x, dim = _line_or_same(x, dim)
    return np.repeat(x, _checked(repeats, x.shape[dim], out.shape[dim]), axis=dim)


def interleaved_places(repeats, out):
    return np.repeat(np.arange(repeats.size), _checked(repeats, repeats.size, out.size))


def unfold_backward(grad, dim, size, step, out):
    total = np.zeros(out.shape, grad.dtype)
    windows, target = np.moveaxis(grad, dim, -2), np.moveaxis(total, dim, -1)
    reach = step * (windows.shape[-2] - 1) + 1
    for place in range(size):
        target[..., place:place + reach:step] += windows[..., place]
    return total


def channel_shuffle(x, groups, out):
    """Channels dealt out: (N, g * c, ...) is seen as (N, g, c, ...) and becomes (N, c * g, ...)."""
    images, channels, *rest = x.shape
    dealt = out.reshape(images, channels // groups, groups, *rest)
    dealt[...] = x.reshape(images, groups, channels // groups, *rest).swapaxes(1, 2)
    return out
