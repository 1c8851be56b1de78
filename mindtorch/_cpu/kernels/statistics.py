"""CPU kernels of the rows of statistics.toml. `dim` is a tuple of dimensions, None for all of them."""
import numpy as np

# The precision of sums, as in torch: no square of float32 overflows, or vanishes.
_DOUBLE = {"f": np.float64, "c": np.complex128}


def _count(x, dim):
    return x.size if dim is None else int(np.prod([x.shape[d] for d in dim], dtype=np.int64))


def _mean(x, dim):
    return np.divide(np.sum(x, axis=dim, keepdims=True, dtype=_DOUBLE[x.dtype.kind]), _count(x, dim))


def _squeeze_reduced(x, dim, keepdim):
    """A reduced array without the dimensions that were kept to compute it."""
    return x if keepdim or x.ndim == 0 else np.squeeze(x, tuple(range(x.ndim)) if dim is None else dim)


def variance(x, dim, correction, keepdim):
    """Squared distances from the mean, over the count less `correction` (1 where None), never below 0."""
    axes = range(x.ndim) if dim is None else [axis % x.ndim for axis in dim]
    first = x[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(x.ndim))]
    distance = np.asarray(np.subtract(x, first, dtype=_DOUBLE[x.dtype.kind]))   # so that equal elements have none
    distance -= _mean(distance, dim)
    if x.dtype.kind == "c":
        squares = np.square(distance.real) + np.square(distance.imag)
    else:
        squares = np.square(distance, out=distance)
    total = np.sum(squares, axis=dim, keepdims=keepdim)
    return np.divide(total, max(_count(x, dim) - (1 if correction is None else correction.real), 0))


def variance_and_mean(x, dim, correction, keepdim):
    return variance(x, dim, correction, keepdim), _squeeze_reduced(_mean(x, dim), dim, keepdim)


def deviation_and_mean(x, dim, correction, keepdim):
    return np.sqrt(variance(x, dim, correction, keepdim)), _squeeze_reduced(_mean(x, dim), dim, keepdim)


def product(x, dim, keepdim):
    return np.prod(x, axis=dim, keepdims=keepdim, dtype=x.dtype) if x.ndim else x


def log_sum_exp(x, dim, keepdim):
    """The largest element is taken out of the sum, unless it is infinite."""
    largest = np.max(x.real, axis=dim, keepdims=True, initial=-np.inf)
    largest = np.where(np.isinf(largest), 0, largest).astype(x.real.dtype)
    total = np.sum(np.exp(x - largest), axis=dim, keepdims=True)
    return _squeeze_reduced(np.log(total) + largest, dim, keepdim)


def scan(accumulate, x, dim):
    """`accumulate` is np.cumsum, or another that takes an axis; a 0-d array is its own result.

    Between two elements the number has the precision of float64, as in torch.
    """
    wide = {"float32": np.float64, "complex64": np.complex128}.get(x.dtype.name, x.dtype)
    return accumulate(x, axis=dim, dtype=wide).astype(x.dtype, copy=False) if x.ndim else x


def log_sums(x, dim):
    """log(exp(x0) + exp(x1) + ...) of the elements so far; of complex numbers the real parts decide which is larger."""
    if x.dtype.kind != "c":
        return scan(np.logaddexp.accumulate, x, dim)
    if x.ndim == 0:
        return x
    sums = np.moveaxis(x.copy(), dim, 0)
    for i in range(1, len(sums)):
        swap = sums[i].real > sums[i - 1].real
        large, small = np.where(swap, sums[i], sums[i - 1]), np.where(swap, sums[i - 1], sums[i])
        sums[i] = large + np.log1p(np.exp(small - large))
    return np.moveaxis(sums, 0, dim)


def running_extremum(x, dim, replaces):
    """Extrema so far and where they were last met: `replaces(new, old)`; NaN replaces all."""
    if x.ndim == 0:
        return x, 0
    lines = np.moveaxis(x, dim, 0)
    values, indices = np.empty_like(lines), np.zeros(lines.shape, np.int64)
    for i, line in enumerate(lines):
        newer = replaces(line, values[i - 1]) | np.isnan(line) if i else np.ones(line.shape, bool)
        values[i] = np.where(newer, line, values[i - 1])
        indices[i] = np.where(newer, i, indices[i - 1])
    return np.moveaxis(values, 0, dim), np.moveaxis(indices, 0, dim)


def nansum(x, dim, keepdim, dtype):
    """The sum without NaN. Each element of an integer sum is one before it is added."""
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), x.dtype.type(0), x)
    x = x.astype(dtype, copy=False) if dtype.kind in "iub" else x
    return np.sum(x, axis=dim, keepdims=keepdim, dtype=x.dtype)


# --- distances of rows -----------------------------------------------------------------------------------------------

def _length(difference, p):
    """p-norms along the last dimension."""
    size = np.absolute(difference)
    if p == 2:
        return np.sqrt(np.einsum("...i,...i->...", size, size))
    if p == 0:
        return np.where(np.isnan(size), size, size != 0).sum(-1)
    if p == np.inf:
        return size.max(-1, initial=0)
    return size.sum(-1) if p == 1 else np.power(np.power(size, p).sum(-1), 1 / p)


def distances(x1, x2, p):
    """p-norms of the differences of all rows of one batch of matrices to those of another."""
    difference = x1[..., :, None, :] - x2[..., None, :, :]
    return _largest(difference) if p == np.inf else _length(difference, p)


def _largest(difference, keepdims=False):
    """That of the numbers: a NaN beside them does not count in torch's cdist, as it does in its pdist."""
    return np.fmax.reduce(np.absolute(difference), axis=-1, initial=0, keepdims=keepdims)


def distances_backward(grad, x1, x2, p, result):
    """The gradient of x1; 0 along coordinates that are equal, and where a distance is 0."""
    difference = x1[..., :, None, :] - x2[..., None, :, :]
    result, sign = result[..., None], np.sign(difference)
    if p == 0:
        return np.zeros(np.broadcast_shapes(grad.shape[:-2], x1.shape[:-2]) + x1.shape[-2:], x1.dtype)
    if p == 1:
        slope = sign
    elif p == np.inf:
        slope = sign * (np.absolute(difference) == _largest(difference, keepdims=True))
        slope = np.where(np.isfinite(difference) & ~np.isnan(result), slope, np.nan)
    else:
        share = difference / result if p == 2 else sign * np.power(np.absolute(difference) / result, p - 1)
        slope = np.where((result == 0) | (difference == 0), 0, share)
    return np.einsum("...ij,...ijk->...ik", grad, slope)


def distances_of_pairs(x, p):
    """Those of the rows of one matrix, each pair once."""
    one, other = np.triu_indices(len(x), 1)
    return _length(x[one] - x[other], p)
