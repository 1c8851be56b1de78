"""Normalisation of float64, and of complex numbers, by moments.

Tensors are seen in a shape whose `axes` hold what is normalised together, and in which parameters broadcast.
"""
from math import prod

from mindtorch._core.tensor.dtype import complex128, float64


def _weighed(normal, weight, bias):
    normal = normal if weight is None else normal * weight
    return normal if bias is None else normal + bias


def _forward(x, axes, weight, bias, eps):
    """The result, the mean (0 of no elements) and the reciprocal deviation."""
    mean = x.mean(axes, True) if x.numel() else x.sum(axes, True)
    centred = x - mean
    rstd = ((centred * centred).mean(axes, True) + eps).rsqrt()
    return _weighed(centred * rstd, weight, bias), mean, rstd


def _backward(grad, x, axes, mean, rstd, weight, shape, mask):
    """The gradients of x, weight and bias, the last two in `shape`; None where the mask asks for none.

    Without axes the statistics are constants.
    """
    normal = (x - mean) * rstd
    of_weight = (grad * normal).sum_to_size(shape) if mask[1] else None
    of_bias = grad.sum_to_size(shape) if mask[2] else None
    if not mask[0]:
        return None, of_weight, of_bias
    of_input = grad if weight is None else grad * weight
    if axes:
        of_input = of_input - of_input.mean(axes, True) - normal * (of_input * normal).mean(axes, True)
    return of_input * rstd, of_weight, of_bias


def _viewed(tensor, *shape):
    return None if tensor is None else tensor.reshape(shape)


def _reshaped(results, shapes):
    return [_viewed(result, *shape) for result, shape in zip(results, shapes, strict=True)]


def layer_norm_by_moments(x, shape, weight, bias, eps):
    return _forward(x, tuple(range(-len(shape), 0)), weight, bias, eps)


def layer_norm_backward_by_moments(grad, x, shape, mean, rstd, weight, mask):
    return _reshaped(_backward(grad, x, tuple(range(-len(shape), 0)), mean, rstd, weight, shape, mask),
                     (x.shape, shape, shape))


def group_norm_by_moments(x, weight, bias, N, C, HxW, group, eps):
    weight, bias = (_viewed(parameter, 1, group, C // group, 1) for parameter in (weight, bias))
    return _reshaped(_forward(x.reshape(N, group, C // group, HxW), (2, 3), weight, bias, eps),
                     (x.shape, (N, group), (N, group)))


def group_norm_backward_by_moments(grad, x, mean, rstd, weight, N, C, HxW, group, mask):
    parts, parameter = (N, group, C // group, HxW), (1, group, C // group, 1)
    mean, rstd = (statistic.reshape(N, group, 1, 1) for statistic in (mean, rstd))
    return _reshaped(_backward(grad.reshape(parts), x.reshape(parts), (2, 3), mean, rstd, _viewed(weight, *parameter),
                               parameter, mask), (x.shape, (C,), (C,)))


def _by_channels(x):
    """(sample, channel, element)."""
    return x.reshape(x.shape[0], x.shape[1], prod(x.shape[2:]))


def batch_norm_by_moments(x, weight, bias, running_mean, running_var, training, momentum, eps):
    """Move the running statistics towards those of the batch, in training: by `data`, as autograd is not to notice."""
    channels, weight, bias = _by_channels(x), _viewed(weight, 1, -1, 1), _viewed(bias, 1, -1, 1)
    if not training:
        normal = (channels - running_mean.view(1, -1, 1)) * (running_var.view(1, -1, 1) + eps).rsqrt()
        return _weighed(normal, weight, bias).reshape(x.shape), x.new_zeros(0), x.new_zeros(0)
    result, mean, rstd = _forward(channels, (0, 2), weight, bias, eps)
    if running_mean is not None:
        count = x.numel() // x.shape[1]
        running_mean.data.copy_(running_mean * (1 - momentum) + mean.view(-1) * momentum)
        observed = (channels - mean).square().sum((0, 2)) / max(count - 1, 0)
        running_var.data.copy_(running_var * (1 - momentum) + observed * momentum)
    return result.reshape(x.shape), mean.view(-1), rstd.view(-1)


def batch_norm_backward_by_moments(grad, x, weight, running_mean, running_var, mean, rstd, training, eps, mask):
    if not training:
        mean, rstd = running_mean, (running_var + eps).rsqrt()
    mean, rstd, weight = (_viewed(each, 1, -1, 1) for each in (mean, rstd, weight))
    results = _backward(_by_channels(grad), _by_channels(x), (0, 2) if training else (), mean, rstd, weight,
                        (1, x.shape[1], 1), mask)
    return _reshaped(results, (x.shape, (x.shape[1],), (x.shape[1],)))


def rms_norm_by_moments(x, shape, weight, eps):
    eps = 2.0 ** (-52 if x.dtype in (float64, complex128) else -23) if eps is None else eps
    rstd = ((x * x).mean(tuple(range(-len(shape), 0)), True) + eps).rsqrt()
    return _weighed(x * rstd, weight, None), rstd


def rms_norm_backward_by_moments(grad, x, rstd, weight):
    axes, rstd = tuple(range(-weight.ndim, 0)), rstd.conj()
    normal, of_normal = x.conj() * rstd, grad * weight.conj()
    of_input = (of_normal - normal * (of_normal * normal).mean(axes, True)) * rstd
    return of_input, (grad * normal).sum_to_size(weight.shape)
