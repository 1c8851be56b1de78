"""CPU kernels of operators that reach elements through index tensors.

Indices out of range raise torch's errors. A tensor without dimensions counts as one of a single element.
"""
import numpy as np


def _checked(index, dim, size, error=IndexError, least=None):
    """Indices within range; negative ones down to `least` (default: -size)."""
    wrong = (index < (-size if least is None else least)) | (index >= size)
    if np.any(wrong):
        found = error(f"index {index[wrong].flat[0]} is out of bounds for dimension {dim} with size {size}")
        found.out_of_bounds = True              # for index_reduce, which calls a scatter, and has words of its own
        raise found
    return index


def _key(x, indices):
    """NumPy's index: the tensors, and a full slice for each dimension without one."""
    for dim, index in enumerate(indices):
        if index is not None:
            _checked(index, dim, x.shape[dim])
    return tuple(slice(None) if index is None else index for index in indices)


def index(x, indices):
    return x[_key(x, indices)]


def index_put(x, indices, values, accumulate):
    result = x.copy()
    key = _key(x, indices)
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    if accumulate and len(dims) == 1 and x.ndim > 1 and x.dtype.kind in "fc" and x.itemsize >= 4:
        _add_slices(result, dims[0], key[dims[0]], values)
    elif accumulate:
        np.add.at(result, key, values)
    else:
        result[key] = values
    return result


def _add_slices(result, dim, index, values):
    """Adds the slices of each place as one: np.add.at goes from element to element."""
    if not index.size or not values.size:
        return
    values = np.broadcast_to(values, (*result.shape[:dim], *index.shape, *result.shape[dim + 1:]))
    places = np.where(index < 0, index + result.shape[dim], index).reshape(-1)
    order = np.argsort(places, kind="stable")
    places = places[order]
    starts = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
    slices = values.reshape(*result.shape[:dim], places.size, *result.shape[dim + 1:]).take(order, dim)
    result[(slice(None),) * dim + (places[starts],)] += np.add.reduceat(slices, starts, dim)


def gather(x, dim, index):
    result_shape, x, index = index.shape, np.atleast_1d(x), np.atleast_1d(index)
    if not index.size:
        return np.empty(result_shape, x.dtype)
    _checked(index, dim, x.shape[dim], RuntimeError, least=0)
    return x[_open_mesh(index, dim)].reshape(result_shape)


def _open_mesh(index, dim):
    """An open mesh over `index`, with `index` itself at `dim`."""
    positions = list(np.ogrid[tuple(map(slice, index.shape))])
    positions[dim] = index
    return tuple(positions)


_FOLDS = {"add": np.add, "sum": np.add, "mean": np.add, "multiply": np.multiply, "prod": np.multiply,
          "amax": np.maximum, "amin": np.minimum}


def scatter(x, dim, index, src, reduce):
    result = np.atleast_1d(x.copy())
    if not index.size:
        return result.reshape(x.shape)
    positions, values = _scattered(result, dim, index, src)
    if reduce is None:
        result[positions] = values
    else:
        _FOLDS[reduce].at(result, positions, values)
    return result.reshape(x.shape)


def _scattered(x, dim, index, src):
    """The index arrays of the elements of x that `index` selects, and their values of src."""
    index = np.atleast_1d(index)
    _checked(index, dim, x.shape[dim], RuntimeError, least=0)
    if np.ndim(src) or not np.isscalar(src):
        src = np.atleast_1d(src)
        src = src[tuple(map(slice, index.shape))] if src.ndim == index.ndim else src
    return _open_mesh(index, dim), src


def scatter_reduce(x, dim, index, src, reduce, include_self):
    result = np.atleast_1d(x.copy())
    if not index.size:
        return result.reshape(x.shape)
    positions, values = _scattered(result, dim, index, src)
    if not include_self:
        result[positions] = _neutral(reduce, x.dtype)
    _FOLDS[reduce].at(result, positions, values)
    if reduce == "mean":
        count = np.full(result.shape, int(include_self))
        np.add.at(count, positions, 1)
        count = np.maximum(count, 1)
        result = np.floor_divide(result, count) if x.dtype.kind in "iub" else result / count
    return result.reshape(x.shape)


def _neutral(reduce, dtype):
    if reduce in ("amax", "amin"):
        low, high = (-np.inf, np.inf) if dtype.kind in "fc" else (False, True) if dtype.kind == "b" else (
            np.iinfo(dtype).min, np.iinfo(dtype).max)
        return low if reduce == "amax" else high
    return 1 if reduce == "prod" else 0


def index_select(x, dim, index):
    shape = x.shape
    x, index = np.atleast_1d(x), np.atleast_1d(index)
    wrong = index[(index < 0) | (index >= x.shape[dim])]
    if wrong.size and dim == 1:             # torch copies contiguous rows by a loop with an error of its own
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong[0]} axis_dim={x.shape[1]}")
    if wrong.size:
        raise IndexError("index out of range in self")
    return np.take(x, index, axis=dim) if shape else x.reshape(())


def index_add(x, dim, index, source, alpha):
    result, index = np.atleast_1d(x.copy()), np.atleast_1d(index)
    # torch adds as scatter_add does where it can, which words the error otherwise
    as_scatter = result.ndim > 1 and dim in (0, result.ndim - 1) and alpha == 1 and index.dtype == np.int64
    if not as_scatter and np.any((index < 0) | (index >= result.shape[dim])):
        raise IndexError("index out of range in self")
    _checked(index, dim, result.shape[dim], RuntimeError, least=0)
    np.add.at(result, (slice(None),) * dim + (index,), np.atleast_1d(source) * alpha)
    return result.reshape(x.shape)


def index_copy(x, dim, index, source):
    result, index = np.atleast_1d(x.copy()), np.atleast_1d(index)
    size = result.shape[dim]
    wrong = index[(index < 0) | (index >= size)]
    if wrong.size:
        raise IndexError(f"index_copy_(): index {wrong[0]} is out of bounds for dimension {dim} with size {size}")
    shape = (*result.shape[:dim], index.size, *result.shape[dim + 1:])
    result[(slice(None),) * dim + (index,)] = source.reshape(shape)
    return result.reshape(x.shape)


def index_fill(x, dim, index, value):
    result = np.atleast_1d(x.copy())
    index = _checked(np.atleast_1d(index), dim, result.shape[dim])
    result[(slice(None),) * dim + (index,)] = value
    return result.reshape(x.shape)


def _checked_flat(index, size):
    wrong = index[(index < -size) | (index >= size)]
    if wrong.size:
        raise IndexError(f"out of range: tried to access index {wrong.flat[0]} on a tensor of {size} elements.")
    return index


def take(x, index):
    return x.reshape(-1)[_checked_flat(index, x.size)]


def put(x, index, source, accumulate):
    result = x.copy(order="C")
    line, index, source = result.reshape(-1), _checked_flat(index.reshape(-1), x.size), source.reshape(-1)
    if accumulate:
        np.add.at(line, index, source)
    else:
        line[index] = source
    return result


def masked_scatter(x, mask, source):
    x, mask = np.broadcast_arrays(x, mask)
    result = x.copy()
    result[mask] = source.reshape(-1)[:np.count_nonzero(mask)]
    return result


def masked_select(x, mask):
    x, mask = np.broadcast_arrays(x, mask)
    return x[mask] if x.ndim else x.reshape(1)[mask.reshape(1)]


def one_hot(x, out):
    if x.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if x.max() >= out.shape[-1]:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return np.equal(x[..., None], np.arange(out.shape[-1]), out=out, casting="unsafe")


# --- flip, roll, repeat_interleave -----------------------------------------------------------------------------------
# `dim` is None, for the flattened array, or a tuple of one dimension. Kernels that write to `out` return it.

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
    out.reshape(apart)[...] = x.reshape([size if position % 2 else 1 for position, size in enumerate(apart)])
    return out


def _flat_unless_dim(x, dim):
    """(the array, the dimension to repeat along): without `dim`, the flattened array."""
    return (x.reshape(-1), 0) if dim is None else (x, dim[0] % x.ndim)


def repeat_interleave_int(x, repeats, dim, out):
    x, dim = _flat_unless_dim(x, dim)
    shape = (*x.shape[:dim + 1], repeats, *x.shape[dim + 1:])
    out.reshape(shape)[...] = np.expand_dims(x, dim + 1)
    return out


def _checked_repeats(repeats, size, length):
    """A number for each slice; they must make up the length that was allocated."""
    repeats = np.broadcast_to(repeats, (size,)) if repeats.size == 1 else repeats
    if np.any(repeats < 0):
        raise RuntimeError("repeats can not be negative")
    if repeats.sum() != length:
        raise RuntimeError("allocated size does not match required size")
    return repeats


def repeat_interleave(x, repeats, dim, out):
    x, dim = _flat_unless_dim(x, dim)
    return np.repeat(x, _checked_repeats(repeats, x.shape[dim], out.shape[dim]), axis=dim)


def interleaved_places(repeats, out):
    return np.repeat(np.arange(repeats.size), _checked_repeats(repeats, repeats.size, out.size))


def unfold_backward(grad, dim, size, step, out):
    total = np.zeros(out.shape, grad.dtype)
    windows, target = np.moveaxis(grad, dim, -2), np.moveaxis(total, dim, -1)
    reach = step * (windows.shape[-2] - 1) + 1
    for position in range(size):
        target[..., position:position + reach:step] += windows[..., position]
    return total


def channel_shuffle(x, groups, out):
    """(N, g * c, ...) viewed as (N, g, c, ...), transposed to (N, c, g, ...) and flattened to (N, c * g, ...)."""
    images, channels, *rest = x.shape
    dealt = out.reshape(images, channels // groups, groups, *rest)
    dealt[...] = x.reshape(images, groups, channels // groups, *rest).swapaxes(1, 2)
    return out
