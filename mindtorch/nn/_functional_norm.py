"""Normalisation, distances, embedding and dropout of torch.nn.functional, with torch's shapes and errors."""
import math

from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._ops.derivatives import ops as _ops

_embedding = _OPS["embedding"]


# --- normalisation ---------------------------------------------------------------------------------------------------

def _standardised(input, dims, eps):
    """`input` with mean 0 and variance 1 over `dims`, computed in float32 where it is half."""
    x = input.float() if input.dtype.itemsize == 2 else input
    centred = x - x.mean(dims, True)
    return centred * (centred * centred).mean(dims, True).add(eps).rsqrt()


def _scaled(x, weight, bias, shape, dtype):
    """x * weight + bias, of weights that are seen in `shape`, in `dtype`."""
    if weight is not None:
        x = x * weight.reshape(shape)
    if bias is not None:
        x = x + bias.reshape(shape)
    return x if x.dtype is dtype else x.to(dtype)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """Mean 0 and variance 1 over the last dimensions, which are `normalized_shape`."""
    shape = _check_normalized("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    return _scaled(_standardised(input, _last(shape), eps), weight, bias, shape, input.dtype)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """A mean square of 1 over the last dimensions, which are `normalized_shape`."""
    shape = _check_normalized("rms_norm", input, normalized_shape, weight=weight)
    x = input.float() if input.dtype.itemsize == 2 else input
    eps = _EPSILON[x.dtype.itemsize] if eps is None else eps
    return _scaled(x * (x * x).mean(_last(shape), True).add(eps).rsqrt(), weight, None, shape, input.dtype)


_EPSILON = {4: 1.1920928955078125e-07, 8: 2.220446049250313e-16}      # of float32 and float64


def _last(shape):
    return tuple(range(-len(shape), 0))


def _check_normalized(name, input, normalized_shape, **parameters):
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


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    """Mean 0 and variance 1 over each group of channels of a sample."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    channels = input.size(1)
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(f"Expected number of channels in input to be divisible by num_groups, but got input of "
                           f"shape {list(input.shape)} and num_groups={num_groups}")
    _check_channels(channels, "weight", weight, input)
    _check_channels(channels, "bias", bias, input)
    if input.numel() == 0:
        return _scaled(input, weight, bias, _channel_shape(input), input.dtype)
    groups = input.reshape(input.size(0), num_groups, -1)
    standard = _standardised(groups, (2,), eps).reshape(input.shape)
    return _scaled(standard, weight, bias, _channel_shape(input), input.dtype)


def _check_channels(channels, name, value, input):
    if value is not None and (value.dim() != 1 or value.numel() != channels):
        raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but got "
                           f"{name} of shape {list(value.shape)} and input of shape {list(input.shape)}")


def _channel_shape(input):
    return (1, -1) + (1,) * (input.dim() - 2) if input.dim() > 1 else (-1,)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05):
    """Mean 0 and variance 1 for each channel: over the batch in training, by the running statistics otherwise."""
    channels = input.size(1) if input.dim() > 1 else 0
    if training:
        _check_batch(input.size())
    elif running_mean is None or running_var is None:
        missing = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(f"Expected {missing} to be defined when training=False")
    for name, value in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight),
                        ("bias", bias)):
        if value is not None and value.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {value.numel()}")
    if input.numel() == 0:
        return input.clone()
    x, shape = input.float() if input.dtype.itemsize == 2 else input, _channel_shape(input)
    if training:
        dims = tuple(d for d in range(input.dim()) if d != 1)
        mean = x.mean(dims, True)
        centred = x - mean
        variance = (centred * centred).mean(dims, True)
        _track(running_mean, mean.detach(), momentum)
        count = x.numel() // max(channels, 1)
        _track(running_var, variance.detach() * (count / max(count - 1, 1)), momentum)
    else:
        centred, variance = x - running_mean.reshape(shape), running_var.reshape(shape)
    return _scaled(centred * (variance + eps).rsqrt(), weight, bias, shape, input.dtype)


def _check_batch(size):
    if len(size) > 1 and math.prod(size) == size[1] != 0:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _track(running, observed, momentum):
    if running is not None:
        running.mul_(1 - momentum).add_(observed.reshape(running.shape).to(running.dtype), alpha=momentum)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
                  momentum=0.1, eps=1e-05):
    """Mean 0 and variance 1 for each channel of each sample."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if input.dim() < 3 or math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    dims = tuple(range(2, input.dim()))
    x = input.float() if input.dtype.itemsize == 2 else input
    if running_mean is not None:
        mean, count = x.detach().mean(dims, True), math.prod(input.shape[2:])
        variance = ((x.detach() - mean) ** 2).sum(dims) / (count - 1)
        _track(running_mean, mean.reshape(x.shape[:2]).mean(0), momentum)
        _track(running_var, variance.mean(0), momentum)
    return _scaled(_standardised(x, dims, eps), weight, bias, _channel_shape(input), input.dtype)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """`input` over (k + alpha * mean of the squares of `size` neighbouring channels) ** beta."""
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {input.dim()} "
                         "dimensions)")
    if input.numel() == 0:
        return input
    channels, squares, total = input.size(1), input * input, None
    padded = [input.size(0), size - 1 + channels, *input.shape[2:]]
    edges = [_ops.zeros((padded[0], width, *padded[2:]), dtype=input.dtype, device=input.device)
             for width in (size // 2, (size - 1) // 2)]
    squares = _ops.cat([edges[0], squares, edges[1]], 1)
    for start in range(size):
        part = squares.narrow(1, start, channels)
        total = part if total is None else total + part
    return input / (total / size * alpha + k).pow(beta)


# --- distances -------------------------------------------------------------------------------------------------------

def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 + eps along the last dimension."""
    return vector_norm(x1 - x2 + eps, p, -1, keepdim)


def vector_norm(input, p, dim, keepdim):
    """The p-norm along one dimension."""
    sizes = input.abs()
    if p == math.inf:
        return sizes.amax(dim, keepdim)
    if p == -math.inf:
        return sizes.amin(dim, keepdim)
    if p == 0:
        return (sizes != 0).to(sizes.dtype).sum(dim, keepdim)
    if p == 1:
        return sizes.sum(dim, keepdim)
    if p == 2:
        return _root((input * input).sum(dim, keepdim))
    return sizes.pow(p).sum(dim, keepdim).pow(1 / p)


def _root(squares):
    """The square root, with the gradient 0 at 0."""
    zero = squares == 0
    return _ops.where(zero, _ops.zeros_like(squares), _ops.where(zero, _ops.ones_like(squares), squares).sqrt())


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """x1 . x2 / (|x1| |x2|) along `dim`, the lengths at least `eps`."""
    if x1.shape != x2.shape:
        shape = (x1 * x2).shape
        x1, x2 = x1.expand(shape), x2.expand(shape)
    first = _at_least(_root((x1 * x1).sum(dim, True)), eps)
    second = _at_least(_root((x2 * x2).sum(dim, True)), eps)
    return (x1 / first * (x2 / second)).sum(dim)


def _at_least(size, eps):
    """`size`, or the constant `eps` where it is smaller."""
    return _ops.where(size < eps, _ops.full_like(size, eps), size)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """`input` over its p-norm along `dim`, which counts as `eps` at least."""
    size = vector_norm(input, p, dim, True).clamp(min=eps).expand(input.shape)
    return input / size if out is None else _ops.div(input, size, out=out)


# --- embedding -------------------------------------------------------------------------------------------------------

def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` that `input` names; the row `padding_idx` gets no gradient."""
    if padding_idx is not None:
        if not -weight.size(0) <= padding_idx < weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= weight.size(0)
    if sparse:
        raise NotImplementedError("sparse gradients are not implemented")
    if max_norm is not None:
        _renorm_rows(weight, input, max_norm, norm_type)
    return _embedding(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq)


def _renorm_rows(weight, input, max_norm, norm_type):
    """Rows that are named and longer than `max_norm` are shortened to it, in place."""
    rows = weight.detach()
    named = _ops.embedding_dense_backward(_ops.ones((*input.shape, 1), dtype=weight.dtype, device=weight.device),
                                          input, weight.size(0), -1, False) > 0
    sizes = vector_norm(rows, norm_type, 1, True)
    scale = _ops.where(sizes > max_norm, max_norm / (sizes + 1e-7), _ops.ones_like(sizes))
    rows.copy_(_ops.where(named, rows * scale, rows))


def one_hot(tensor, num_classes=-1):
    """1 where the last dimension's index is the element, 0 elsewhere."""
    if str(tensor.dtype) != "torch.int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if tensor.numel() == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if tensor.numel() and tensor.min().item() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = tensor.max().item() + 1
    elif tensor.numel() and tensor.max().item() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return (tensor.unsqueeze(-1) == _ops.arange(num_classes, device=tensor.device)).to(tensor.dtype)


# --- dropout ---------------------------------------------------------------------------------------------------------

def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dropped(input, p, training, inplace, mask_shape):
    """`input` times a random mask of `mask_shape`, scaled so that the mean stays."""
    _check_probability(p)
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        mask = _ops.zeros(mask_shape, dtype=input.dtype, device=input.device)
    else:
        mask = _ops.empty(mask_shape, dtype=input.dtype, device=input.device).bernoulli_(1 - p) / (1 - p)
    return input.mul_(mask) if inplace else input * mask


def dropout(input, p=0.5, training=True, inplace=False):
    """Elements are zeroed with probability `p`, the others scaled by 1 / (1 - p)."""
    return _dropped(input, p, training, inplace, tuple(input.shape))


def _of_channels(input):
    return (*input.shape[:2], *(1,) * (input.dim() - 2))


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Whole channels of (N, C, L) or (C, L) are zeroed."""
    return _channel_dropout("dropout1d", 2, input, p, training, inplace)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Whole channels of (N, C, H, W) are zeroed."""
    return _dropped(input, p, training, inplace, _of_channels(input))


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Whole channels of (N, C, D, H, W) are zeroed."""
    return _dropped(input, p, training, inplace, _of_channels(input))


def _channel_dropout(name, least, input, p, training, inplace):
    _check_probability(p)
    if input.dim() not in (least, least + 1):
        raise RuntimeError(f"{name}: Expected {least}D or {least + 1}D input, but received a {input.dim()}D input. "
                           "Note that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial "
                           "dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs).")
    batched = input if input.dim() > least else input.unsqueeze(0)
    result = _dropped(batched, p, training, inplace, _of_channels(batched))
    return result if input.dim() > least else result.squeeze(0)


_SELU_FLOOR = -1.7580993408473766      # what selu gives far below 0


def _alpha_dropped(input, p, training, mask_shape):
    """selu's floor takes the place of what is dropped; mean and variance stay."""
    _check_probability(p)
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return input * 0
    a = 1 / math.sqrt((_SELU_FLOOR * _SELU_FLOOR * p + 1) * (1 - p))
    mask = _ops.empty(mask_shape, dtype=input.dtype, device=input.device).bernoulli_(1 - p)
    return input * (mask * a) + ((mask - 1) * (-_SELU_FLOOR * a) - _SELU_FLOOR * a * p)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """dropout for networks of selu."""
    result = _alpha_dropped(input, p, training, tuple(input.shape))
    return input.copy_(result) if inplace and result is not input else result


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels."""
    result = _alpha_dropped(input, p, training, _of_channels(input))
    return input.copy_(result) if inplace and result is not input else result
