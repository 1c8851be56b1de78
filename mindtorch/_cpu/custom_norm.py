"""CPU references of normalisation, on arrays in the compute dtype.

Arrays are seen in a shape whose `axes` hold what is normalised together, and in which parameters broadcast.
"""
from math import prod

import numpy as np


def _mean(x, axes):
    """The mean over `axes`, which stay as 1; 0 of nothing."""
    return x.sum(axes, keepdims=True) / x.dtype.type(max(prod(x.shape[axis] for axis in axes), 1))


def _mean_product(a, b, axes):
    """The mean of a * b over `axes`, which stay as 1, without the product in memory; NaN of nothing."""
    places = list(range(a.ndim))
    kept = [place for place in places if place not in axes]
    total = np.einsum(a, places, b, places, kept) / a.dtype.type(prod(a.shape[axis] for axis in axes))
    return np.expand_dims(total, axes)


def _sum_to(total, shape):
    """`total` summed to `shape`, which broadcasts to its own."""
    leading = total.ndim - len(shape)
    axes = (*range(leading), *(leading + i for i, n in enumerate(shape) if n == 1))
    return total.sum(axes).reshape(shape) if axes else total


def _forward(x, axes, weight, bias, eps):
    """The result, the mean, and the reciprocal deviation."""
    mean = _mean(x, axes)
    result = x - mean
    rstd = 1 / np.sqrt(_mean_product(result, result, axes) + eps)
    result *= rstd
    if weight is not None:
        result *= weight
    if bias is not None:
        result += bias
    return result, mean, rstd


def _backward(grad, x, axes, mean, rstd, weight, shape, mask):
    """The gradients of x, weight and bias, the last two in `shape`; None where the mask asks for none."""
    normal = (x - mean) * rstd
    of_weight = _sum_to(grad * normal, shape) if mask[1] else None
    of_bias = _sum_to(grad, shape) if mask[2] else None
    if not mask[0]:
        return None, of_weight, of_bias
    of_input = grad if weight is None else grad * weight
    slope = _mean_product(of_input, normal, axes)
    of_input = of_input - _mean(of_input, axes)
    normal *= slope
    of_input -= normal
    of_input *= rstd
    return of_input, of_weight, of_bias


def _lines(array, shape):
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
    results = _forward(_lines(x, shape), (1,), _vector(weight), _vector(bias), eps)
    return _shaped(results, (x.shape, statistics, statistics))


def layer_norm_backward(grad, x, shape, mean, rstd, weight, mask):
    grad, lines = _lines(grad, shape), _lines(x, shape)
    mean, rstd = (statistic.reshape(-1, 1) for statistic in (mean, rstd))
    results = _backward(grad, lines, (1,), mean, rstd, _vector(weight), (prod(shape),), mask)
    return _shaped(results, (x.shape, shape, shape))
