"""CPU kernels of the rows of order.toml. NaN is above all numbers, as in NumPy's sorts."""
from functools import cmp_to_key

import numpy as np


def _order(x, dim, descending=False):
    """Indices that sort along `dim`; equal elements stay in order."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    reverse = np.flip(np.argsort(np.flip(x, dim), axis=dim, kind="stable"), dim)
    return x.shape[dim] - 1 - reverse


def _take_with_indices(x, indices, dim):
    return np.take_along_axis(x, indices, dim), indices


def sort(x, dim, descending):
    return _take_with_indices(x, _order(x, dim, descending), dim) if x.ndim else (x, 0)


def top(x, k, dim, largest):
    if x.ndim == 0:
        return x, 0
    return _take_with_indices(x, np.take(_order(x, dim, largest), range(k), dim), dim)


def _selected(x, indices, dim, keepdim):
    """One element of each line; `indices` has size 1 along `dim`."""
    values = np.take_along_axis(x, indices, dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def kth(x, k, dim, keepdim):
    if x.ndim == 0:
        return x, 0
    return _selected(x, np.take(_order(x, dim), [k - 1], dim), dim, keepdim)


def median(x, dim, keepdim, ignore_nan):
    """The lower of the two elements in the middle. A line with NaN has the first of them as its median."""
    if x.ndim == 0:
        return x, 0
    nan = np.isnan(x)
    length = np.sum(~nan, axis=dim, keepdims=True) if ignore_nan else np.full_like(np.sum(nan, dim, keepdims=True),
                                                                                  x.shape[dim])
    indices = np.take_along_axis(_order(x, dim), np.maximum(length - 1, 0) // 2, dim)
    first_nan = np.expand_dims(np.argmax(nan, axis=dim), dim)
    spoilt = np.all(nan, axis=dim, keepdims=True) if ignore_nan else np.any(nan, axis=dim, keepdims=True)
    return _selected(x, np.where(spoilt, first_nan, indices), dim, keepdim)


def _median_of_all(x, ignore_nan):
    if x.size == 0:
        with np.errstate(invalid="ignore"):
            return np.array(np.nan).astype(x.dtype)
    return median(x.reshape(-1), 0, False, ignore_nan)[0]


def median_of_all(x):
    return _median_of_all(x, False)


def nanmedian_of_all(x):
    return _median_of_all(x, True)


def _mode_of_line(line):
    """The smallest of the most frequent elements, and where it stands last. Every NaN is an element of its own."""
    values, counts = np.unique(line, return_counts=True, equal_nan=False)
    value = values[np.argmax(counts)]
    positions = np.flatnonzero(line == value)
    return value, positions[-1] if positions.size else 0


def mode(x, dim, keepdim):
    if x.ndim == 0:
        return x, 0
    lines = np.moveaxis(x, dim, -1)
    indices = np.empty(lines.shape[:-1], np.int64)
    for index in np.ndindex(indices.shape):
        indices[index] = _mode_of_line(lines[index])[1]
    return _selected(x, np.expand_dims(indices, dim), dim, keepdim)


def search(sequence, values, right, side, sorter):
    """Where the values would go into the sorted lines of `sequence`, which one line may stand for."""
    side = "right" if right or side == "right" else "left"
    if sorter is not None:
        if sorter.size and (sorter.min() < 0 or sorter.max() >= sequence.shape[-1]):
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        sequence = np.take_along_axis(sequence, sorter, -1)
    if sequence.ndim == 1:
        return np.searchsorted(sequence, values, side)
    result = np.empty(values.shape, np.int64)
    for index in np.ndindex(values.shape[:-1]):
        result[index] = np.searchsorted(sequence[index], values[index], side)
    return result


def histogram(x, bins, low, high):
    """Counts in equal bins from `low` to `high`; equal bounds mean the extreme elements, widened by 1 if also equal."""
    if low == high and x.size:
        low, high = np.min(x), np.max(x)
        if not (np.isfinite(low) and np.isfinite(high)):
            raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low == high:
        low, high = low - 1, high + 1
    low, high = x.dtype.type(low), x.dtype.type(high)           # torch computes the places in the dtype
    inside = x[(x >= low) & (x <= high)]
    positions = ((inside - low) * x.dtype.type(bins) / (high - low)).astype(np.int64)
    return np.bincount(np.minimum(positions, bins - 1), minlength=bins)


def _or_none(array, wanted):
    return array if wanted else np.empty(0, np.int64)


def unique(x, inverse, counts):
    found = np.unique(x.reshape(-1), return_inverse=inverse, return_counts=counts, equal_nan=False)
    values, *rest = found if inverse or counts else (found,)
    inverse_indices = rest.pop(0).reshape(x.shape) if inverse else None
    return values, _or_none(inverse_indices, inverse), _or_none(rest[0] if rest else None, counts)


def _less(row, other):
    """Whether the first elements of which one is less put `row` first: NaN is neither less nor greater."""
    return next((a < b for a, b in zip(row, other, strict=True) if a < b or b < a), False)


def _order_with_nan(rows):
    """The indices of the rows in order. With NaN the order is not transitive, so the algorithm decides: up to
    16 rows it is that of C++'s sort, insertion from the end."""
    if len(rows) > 16:
        return sorted(range(len(rows)), key=cmp_to_key(lambda i, j: _less(rows[j], rows[i]) - _less(rows[i], rows[j])))
    order = []
    for index, row in enumerate(rows):
        at = len(order)
        if order and _less(row, rows[order[0]]):
            at = 0
        while at and _less(row, rows[order[at - 1]]):
            at -= 1
        order.insert(at, index)
    return order


def _unique_with_nan(x, dim):
    slices = np.moveaxis(x, dim, 0).reshape(x.shape[dim], -1)
    order = np.array(_order_with_nan(slices.tolist()))
    ordered = slices[order]
    begins = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    starts, inverse_indices = np.flatnonzero(begins), np.empty(len(order), np.int64)
    inverse_indices[order] = np.cumsum(begins) - 1
    return np.take(x, order[starts], axis=dim), inverse_indices, np.diff(starts, append=len(order))


def unique_dim(x, dim):
    if x.dtype.kind == "f" and np.isnan(x).any():
        return _unique_with_nan(x, dim)
    values, inverse_indices, counts = np.unique(x, axis=dim, return_inverse=True, return_counts=True, equal_nan=False)
    return values, inverse_indices.reshape(-1), counts


def unique_consecutive(x, inverse, counts, dim):
    slices = x.reshape(-1, 1) if dim is None else np.moveaxis(x, dim[0], 0).reshape(x.shape[dim[0]], -1)
    begins = np.concatenate([[True], (slices[1:] != slices[:-1]).any(axis=1)])
    starts = np.flatnonzero(begins)
    values = x.reshape(-1)[starts] if dim is None else np.take(x, starts, axis=dim[0])
    inverse_indices = np.cumsum(begins) - 1
    return (values, _or_none(inverse_indices.reshape(x.shape) if dim is None else inverse_indices, inverse),
            _or_none(np.diff(starts, append=len(slices)), counts))
