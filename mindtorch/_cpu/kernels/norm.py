"""CPU kernels of normalisation, on arrays in the compute dtype.

Arrays are seen in a shape whose `axes` hold what is normalised together, and in which parameters broadcast.
"""
from math import prod

import numpy as np

_LINES_OF_BLAS = range(64, 2 ** 16 + 1)     # lengths; of shorter ones a call costs more than it saves


def _mean(x, axes):
    """The mean over `axes`, which stay as 1; 0 of nothing."""
    return x.sum(axes, keepdims=True) / x.dtype.type(max(prod(x.shape[axis] for axis in axes), 1))


def _mean_product(a, b, axes):
    """The mean of a * b over `axes`, of which one is the last; they stay as 1. NaN of nothing.

    A running sum of float32 loses digits. NumPy's sum adds pairwise; the BLAS, which needs no memory for the product,
    does not, and gets lines that are short enough.
    """
    if a.shape[-1] in _LINES_OF_BLAS:
        total = np.vecdot(a.conj(), b)[..., None].sum(axes, keepdims=True)
    else:
        total = (a * b).sum(axes, keepdims=True)
    return total / a.dtype.type(prod(a.shape[axis] for axis in axes))


def _sum_to(total, shape):
    """`total` summed to `shape`, which broadcasts to its own."""
    leading = total.ndim - len(shape)
    axes = (*range(leading), *(leading + i for i, n in enumerate(shape) if n == 1))
    return total.sum(axes).reshape(shape) if axes else total


def _centred(x, axes):
    """`x` without its mean, the mean, and the variance."""
    mean = _mean(x, axes)
    centred = x - mean
    return centred, mean, _mean_product(centred, centred, axes)


def _weighed(normal, weight, bias):
    """normal * weight + bias, in the memory of `normal`."""
    if weight is not None:
        normal *= weight
    if bias is not None:
        normal += bias
    return normal


def _forward(x, axes, weight, bias, eps):
    """The result, the mean, and the reciprocal deviation."""
    centred, mean, variance = _centred(x, axes)
    rstd = 1 / np.sqrt(variance + eps)
    centred *= rstd
    return _weighed(centred, weight, bias), mean, rstd


def _backward(grad, x, axes, mean, rstd, weight, shape, mask):
    """The gradients of x, weight and bias, the last two in `shape`; None where the mask asks for none.

    Without axes the statistics are constants.
    """
    normal = (x - mean) * rstd
    of_weight = _sum_to(grad * normal, shape) if mask[1] else None
    of_bias = _sum_to(grad, shape) if mask[2] else None
    if not mask[0]:
        return None, of_weight, of_bias
    of_input = grad if weight is None else grad * weight
    if not axes:
        return of_input * rstd, of_weight, of_bias
    normal *= _mean_product(of_input, normal, axes)
    of_input = of_input - _mean(of_input, axes)
    of_input -= normal
    of_input *= rstd
    return of_input, of_weight, of_bias


def _as_rows(array, shape):
    """A line for each part that ends in `shape`."""
    leading = array.shape[:array.ndim - len(shape)]
    return array.reshape(prod(leading), prod(shape))


def _vector(parameter):
    return None if parameter is None else parameter.reshape(-1)


def _shaped(results, shapes):
    return tuple(None if result is None else result.reshape(shape)
                 for result, shape in zip(results, shapes, strict=True))


def layer_norm(x, shape, weight, bias, eps):
    statistics = (*x.shape[:x.ndim - len(shape)], *(1,) * len(shape))
    results = _forward(_as_rows(x, shape), (1,), _vector(weight), _vector(bias), eps)
    return _shaped(results, (x.shape, statistics, statistics))


def layer_norm_backward(grad, x, shape, mean, rstd, weight, mask):
    grad, lines = _as_rows(grad, shape), _as_rows(x, shape)
    mean, rstd = (statistic.reshape(-1, 1) for statistic in (mean, rstd))
    results = _backward(grad, lines, (1,), mean, rstd, _vector(weight), (prod(shape),), mask)
    return _shaped(results, (x.shape, shape, shape))


def _grouped(array, samples, channels, size, groups):
    """(sample, group, channel of the group, element)."""
    return None if array is None else array.reshape(samples, groups, channels // groups, size)


def group_norm(x, weight, bias, samples, channels, size, groups, eps):
    parameters = (_grouped(p, 1, channels, 1, groups) for p in (weight, bias))
    results = _forward(_grouped(x, samples, channels, size, groups), (2, 3), *parameters, eps)
    return _shaped(results, (x.shape, (samples, groups), (samples, groups)))


def group_norm_backward(grad, x, mean, rstd, weight, samples, channels, size, groups, mask):
    grad, parts = (_grouped(array, samples, channels, size, groups) for array in (grad, x))
    mean, rstd = (statistic.reshape(samples, groups, 1, 1) for statistic in (mean, rstd))
    shape = (1, groups, channels // groups, 1)
    results = _backward(grad, parts, (2, 3), mean, rstd, _grouped(weight, 1, channels, 1, groups), shape, mask)
    return _shaped(results, (x.shape, (channels,), (channels,)))


def _by_channels(x):
    """(sample, channel, element)."""
    return x.reshape(x.shape[0], x.shape[1], prod(x.shape[2:]))


def _column(vector):
    return None if vector is None else vector.reshape(1, -1, 1)


def _move(running, observed, momentum):
    """The running statistic, which may lie in any memory, towards what was observed."""
    running[...] = (1 - momentum) * running.astype(observed.dtype) + momentum * observed.reshape(running.shape)


def batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    channels, weight, bias = _by_channels(x), _column(weight), _column(bias)
    if not training:
        scale = 1 / np.sqrt(_column(running_var).astype(x.dtype) + eps)
        scale = scale if weight is None else scale * weight
        shift = -_column(running_mean).astype(x.dtype) * scale
        return _weighed(channels * scale, None, shift if bias is None else shift + bias).reshape(x.shape), 0, 0
    centred, mean, variance = _centred(channels, (0, 2))
    rstd = 1 / np.sqrt(variance + eps)
    if running_mean is not None:
        count = x.dtype.type(x.size // x.shape[1])
        _move(running_mean, mean, momentum)
        _move(running_var, variance * (count / (count - 1)), momentum)
    centred *= rstd
    return _shaped((_weighed(centred, weight, bias), mean, rstd), (x.shape, (x.shape[1],), (x.shape[1],)))


def batch_norm_backward(grad, x, weight, running_mean, running_var, mean, rstd, training, eps, mask):
    if not training:
        mean, rstd = running_mean, 1 / np.sqrt(running_var + eps)
    shape, axes = (1, x.shape[1], 1), (0, 2) if training else ()
    results = _backward(_by_channels(grad), _by_channels(x), axes, _column(mean), _column(rstd), _column(weight), shape,
                        mask)
    return _shaped(results, (x.shape, (x.shape[1],), (x.shape[1],)))


def rms_norm(x, shape, weight, eps):
    lines = _as_rows(x, shape)
    eps = np.finfo(x.dtype).eps if eps is None else eps
    rstd = 1 / np.sqrt(_mean_product(lines, lines, (1,)) + x.dtype.type(eps))
    statistics = (*x.shape[:x.ndim - len(shape)], *(1,) * len(shape))
    return _shaped((_weighed(lines * rstd, _vector(weight), None), rstd), (x.shape, statistics))


def rms_norm_backward(grad, x, rstd, weight):
    shape = weight.shape
    grad, lines, rstd = _as_rows(grad, shape), _as_rows(x, shape).conj(), rstd.reshape(-1, 1).conj()
    normal = lines * rstd
    of_input, of_weight = grad * _vector(weight).conj(), _sum_to(grad * normal, (prod(shape),))
    normal *= _mean_product(of_input, normal, (1,))
    of_input -= normal
    of_input *= rstd
    return _shaped((of_input, of_weight), (x.shape, shape))


def renorm(x, p, dim, maxnorm):
    others = tuple(axis for axis in range(x.ndim) if axis != dim)
    size, p, maxnorm = np.abs(x), np.real(p), np.real(maxnorm)
    if np.isinf(p):
        norm = size.max(others, keepdims=True, initial=0)
    elif p == 2:
        norm = np.sqrt(np.square(size, out=size).sum(others, keepdims=True))
    else:
        norm = np.power(np.power(size, p, out=size).sum(others, keepdims=True), 1 / p)
    return x * np.where(norm > maxnorm, maxnorm / (norm + size.dtype.type(1e-7)), size.dtype.type(1))
