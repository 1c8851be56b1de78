"""Normalisation and dropout in torch's native form: the result together with what it was computed from."""
from mindtorch._core.dtype import bool as _bool
from mindtorch._core.dtype import uint8 as _uint8
from mindtorch._core.factories import empty as _empty
from mindtorch._core.factories import empty_like as _empty_like
from mindtorch._core.factories import ones_like as _ones_like
from mindtorch._core.factories import zeros as _zeros
from mindtorch._core.factories import zeros_like as _zeros_like


def widened(input):
    """`input` in the dtype that statistics are computed in: 16-bit numbers in float32."""
    return input.float() if input.dtype.itemsize == 2 else input


def standardised(x, dims, eps):
    """`x` with mean 0 and variance 1 over `dims`; the mean, the variance and the reciprocal of the deviation."""
    mean = x.mean(dims, True)
    centred = x - mean
    variance = (centred * centred).mean(dims, True)
    scale = (variance + eps).rsqrt()
    return centred * scale, mean, variance, scale


def weighed(x, weight, bias, shape, dtype):
    """x * weight + bias, of weights that are seen in `shape`, in `dtype`."""
    if weight is not None:
        x = x * weight.reshape(shape)
    if bias is not None:
        x = x + bias.reshape(shape)
    return x if x.dtype is dtype else x.to(dtype)


def channel_shape(input):
    """The shape in which one number a channel meets `input`."""
    return (1, -1) + (1,) * (input.dim() - 2) if input.dim() > 1 else (-1,)


def check_normalized(input, normalized_shape, **parameters):
    """`normalized_shape` as a tuple, which must end the input's shape and be that of the parameters."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           "element, but got normalized_shape = []")
    for parameter, value in parameters.items():
        if value is not None and tuple(value.shape) != shape:
            raise RuntimeError(f"Expected {parameter} to be of same shape as normalized_shape, but got {parameter} of "
                               f"shape {list(value.shape)} and normalized_shape = {list(shape)}")
    if input.dim() < len(shape) or tuple(input.shape[input.dim() - len(shape):]) != shape:
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape "
                           f"[*, {', '.join(map(str, shape))}], but got input of size{list(input.shape)}")
    return shape


def _dtype_kept(input, *parameters):
    """That of the parameters, where there are any."""
    return next((p.dtype for p in parameters if p is not None), input.dtype)


def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """Mean 0 and variance 1 over each group of channels; the means and reciprocal deviations, (N, group)."""
    check_groups(input, C, group, weight, bias)
    if input.numel() == 0:
        none = _zeros((N, group), dtype=input.dtype, device=input.device)
        return weighed(input, weight, bias, channel_shape(input), input.dtype), none, none.clone()
    x, mean, _, scale = standardised(widened(input).reshape(N, group, -1), (2,), eps)
    result = weighed(x.reshape(input.shape), weight, bias, channel_shape(input), input.dtype)
    return result, mean.reshape(N, group).to(input.dtype), scale.reshape(N, group).to(input.dtype)


def check_groups(input, channels, group, weight, bias):
    """RuntimeError where the channels do not fall into groups, or a parameter has not one number for each."""
    if group <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {group}")
    if channels % group:
        raise RuntimeError(f"Expected number of channels in input to be divisible by num_groups, but got input of "
                           f"shape {list(input.shape)} and num_groups={group}")
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and (value.dim() != 1 or value.numel() != channels):
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but "
                               f"got {name} of shape {list(value.shape)} and input of shape {list(input.shape)}")


def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """Mean 0 and variance 1 for each channel, over the batch in training, by the running statistics otherwise.

    The means and reciprocal deviations of the batch come with it, without history; empty where nothing was trained.
    """
    channels = input.size(1) if input.dim() > 1 else 0
    if not training and (running_mean is None or running_var is None):
        missing = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(f"Expected {missing} to be defined when training=False")
    for name, value in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight),
                        ("bias", bias)):
        if value is not None and value.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {value.numel()}")
    x, shape, dtype = widened(input), channel_shape(input), _dtype_kept(input, weight, bias, running_mean)
    if input.numel() == 0 or not training:
        saved = _zeros((0 if not training else channels,), dtype=dtype, device=x.device)
        if input.numel() == 0:
            return input.clone(), saved, saved.clone()
        x = (x - running_mean.reshape(shape)) * (running_var.reshape(shape) + eps).rsqrt()
        return weighed(x, weight, bias, shape, input.dtype), saved, saved.clone()
    dims, count = tuple(d for d in range(input.dim()) if d != 1), x.numel() // channels
    standard, *statistics = standardised(x, dims, eps)
    mean, variance, scale = (s.detach().reshape(channels) for s in statistics)
    track(running_mean, mean, momentum)
    track(running_var, variance * (count / max(count - 1, 1)), momentum)
    return weighed(standard, weight, bias, shape, input.dtype), mean.to(dtype), scale.to(dtype)


def track(running, observed, momentum):
    """Moves running statistics towards what was observed, by `momentum`."""
    if running is not None:
        running.mul_(1 - momentum).add_(observed.reshape(running.shape).to(running.dtype), alpha=momentum)


def _native_batch_norm_legit(input, weight, bias, *rest):
    """native_batch_norm(..., running_mean, running_var, training, momentum, eps), or without the running statistics."""
    running = rest[:2] if len(rest) == 5 else (None, None)
    return native_batch_norm(input, weight, bias, *running, *rest[-3:])


def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """native_batch_norm in training, and an empty buffer where other devices keep something for the backward pass."""
    results = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *results, _empty((0,), dtype=_uint8, device=input.device)


def native_dropout(input, p, train):
    """`input` with elements zeroed by probability `p` and the others scaled, and the mask of what was kept."""
    if train is False or (train is not False and p == 0):
        return input.clone(), _ones_like(input, dtype=_bool)
    if p == 1:
        return _zeros_like(input), _zeros_like(input, dtype=_bool)
    mask = _empty_like(input, dtype=_bool).bernoulli_(1 - p)
    return input * mask * (1 / (1 - p)), mask


def native_dropout_backward(grad_output, mask, scale):
    """grad_output where the mask has kept the input, times `scale`."""
    return grad_output * (mask.to(grad_output.dtype) * scale)


FUNCTIONS = {"native_group_norm": native_group_norm,
             "native_batch_norm": native_batch_norm, "_native_batch_norm_legit": _native_batch_norm_legit,
             "_batch_norm_with_update": _batch_norm_with_update, "native_dropout": native_dropout,
             "native_dropout_backward": native_dropout_backward}
METHODS = {}
