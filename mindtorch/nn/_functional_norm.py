"""Normalisation, distances and dropout of torch.nn.functional, with torch's shapes and errors."""

import math
import warnings
from collections.abc import Sequence
from typing import Any

from mindtorch import Tensor
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core.operators import composites as _composites
from mindtorch._core.operators.autocast import with_autocast_policy
from mindtorch._core.python.torch_function import overridable
from mindtorch._core.tensor.dtype import _promote_types
from mindtorch._ops.composite.common import _require_tensors, scalar_type
from mindtorch._ops.composite.linalg import norm as _norm
from mindtorch._ops.operators import ops as _ops
from mindtorch.nn._functional_pool import avg_pool2d, avg_pool3d
from mindtorch.nn._functional_vision import pad

__all__ = ["_verify_batch_size", "alpha_dropout", "batch_norm", "cosine_similarity", "dropout", "dropout1d",
           "dropout2d", "dropout3d", "feature_alpha_dropout", "group_norm", "instance_norm", "layer_norm",
           "local_response_norm", "normalize", "pairwise_distance", "rms_norm"]

_vector_norm = _ATEN["linalg_vector_norm"]

# --- normalisation ---------------------------------------------------------------------------------------------------

def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-05) -> Tensor:
    """Mean 0 and variance 1 over the last dimensions, which are `normalized_shape`."""
    return _composites.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:
    """A mean square of 1 over the last dimensions, which are `normalized_shape`."""
    return _composites.rms_norm(input, normalized_shape, weight, eps)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-05) -> Tensor:
    """Mean 0 and variance 1 over each group of channels of a sample."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    batch, channels, *image = input.shape
    groups = [batch * channels // num_groups, num_groups, *image]       # ZeroDivisionError for none, as in torch
    if groups[0] * math.prod(image) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {groups}")
    return _composites.group_norm(input, num_groups, weight, bias, eps)


def _verify_batch_size(size):
    """ValueError where an input of that size has one value for each channel."""
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Mean 0 and variance 1 for each channel: over the batch in training, by the running statistics otherwise."""
    if training and input.dim() > 1 and input.numel() == input.size(1) != 0:
        _verify_batch_size(input.size())
    if eps <= 0 and (training or eps < 0):
        raise ValueError(f"batch_norm eps must be {'positive during training' if training else 'non-negative'}, but "
                         f"got {eps}")
    if input.dim() < 2 and input.numel():
        for name, numbers in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight),
                              ("bias", bias)):
            if numbers is not None and numbers.numel():
                raise RuntimeError(f"{name} should contain 0 elements not {numbers.numel()}")
    return _composites.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-05) -> Tensor:
    """Mean 0 and variance 1 for each channel of each sample: a batch norm of as many channels as there are together.

    The running statistics may have any dtype. They are computed in the weight's, else in the input's, as in torch.
    """
    dtype = (input if weight is None else weight).dtype
    statistics = [None if p is None else p.to(dtype) for p in (running_mean, running_var)]
    if not use_input_stats:
        return batch_norm(input, *statistics, weight, bias, False, momentum, eps)
    shape = input.size()
    if len(shape) < 3 or math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {shape}")
    samples, channels, *image = shape
    each = [None if p is None else p.repeat(samples) for p in (weight, bias, *statistics)]
    result = _composites.batch_norm(input.reshape(1, samples * channels, *image), *each, True, momentum, eps, True)
    for running, moved in zip((running_mean, running_var), each[2:], strict=True):
        if running is not None:
            running.copy_(moved.reshape(samples, channels).mean(0))
    return result.reshape(shape)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """`input` over (k + alpha * mean of the squares of `size` neighbouring channels) ** beta."""
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {input.dim()} "
                         "dimensions)")
    if input.numel() == 0:
        return input
    squares, edges = (input * input).unsqueeze(1), (size // 2, (size - 1) // 2)
    if input.dim() == 3:
        mean = avg_pool2d(pad(squares, (0, 0, *edges)), (size, 1), stride=1).squeeze(1)
    else:
        rest = (input.size(1), input.size(2), -1)       # however many dimensions there are
        squares = squares.reshape(input.size(0), 1, *rest)
        mean = avg_pool3d(pad(squares, (0, 0, 0, 0, *edges)), (size, 1, 1), stride=1).reshape(input.shape)
    return input / (mean * alpha + k).pow(beta)


# --- distances -------------------------------------------------------------------------------------------------------

def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of x1 - x2 + eps along the last dimension."""
    _require_tensors("pairwise_distance", x1=x1, x2=x2)
    return _norm(x1 - x2 + eps, p, -1, keepdim)


@with_autocast_policy("cosine_similarity")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Any:
    """x1 . x2 / (|x1| |x2|) along `dim`, the lengths at least `eps`."""
    _require_tensors("cosine_similarity", x1=x1, x2=x2)
    dtype = _promote_types(x1.dtype, x2.dtype)
    if not dtype.is_floating_point:
        raise RuntimeError("expected common dtype to be floating point, yet common dtype is "
                           f"{scalar_type(dtype)}")
    x1, x2 = x1.to(dtype), x2.to(dtype)
    if x1.shape != x2.shape:
        shape = (x1 * x2).shape
        x1, x2 = x1.expand(shape), x2.expand(shape)
    first, second = (_vector_norm(x, 2, dim, True).clamp_min(eps) for x in (x1, x2))
    return (x1 / first * (x2 / second)).sum(dim)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """`input` over its p-norm along `dim`, which counts as `eps` at least."""
    size = _norm(input, p, dim, True).clamp_min(eps).expand(input.shape)
    return input / size if out is None else _ops.div(input, size, out=out)


# --- dropout ---------------------------------------------------------------------------------------------------------

def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dropped(input, p, training, inplace, drop):
    """The result of `drop` in training, `input` itself otherwise; zeros where `p` is 1."""
    _check_probability(p)
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        zero = input.new_zeros(())
        return input.mul_(zero) if inplace else input * zero
    return drop(input, p, inplace)


def _drop_elements(input, p, inplace):
    mask = _ops._dropout_mask(input, p)
    return (_ops._dropout_ if inplace else _ops._dropout)(input, mask, p)


def _drop_channels(input, p, inplace):
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    noise = input.new_empty(_of_channels(input)).bernoulli_(1 - p).div_(1 - p)      # which refuses integers
    return input.mul_(noise) if inplace else input * noise


@overridable
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements are zeroed with probability `p`, the others scaled by 1 / (1 - p)."""
    return _dropped(input, p, training, inplace, _drop_elements)


def _of_channels(input):
    return (*input.shape[:2], *(1,) * (input.dim() - 2))


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of (N, C, L) or (C, L) are zeroed."""
    return _channel_dropout("dropout1d", 2, input, p, training, inplace)


def _warn_of_dims(name, spatial, dims):
    """The warning about inputs that are neither a sample nor a batch of channels."""
    if dims not in (spatial + 1, spatial + 2):
        warnings.warn(f"{name}: Received a {dims}-D input to {name}, which is deprecated and will result in an error "
                      f"in a future release. Please use dropout instead, which takes all shapes. {name} is for inputs "
                      f"with {spatial} spatial dimensions, a channel dimension, and an optional batch dimension (i.e. "
                      f"{spatial + 1}D or {spatial + 2}D inputs).", UserWarning, stacklevel=3)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of (N, C, H, W) are zeroed."""
    _warn_of_dims("dropout2d", 2, input.dim())
    if input.dim() == 3:
        warnings.warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior "
                      "is desired - input is interpreted as shape (N, C, L), not (C, H, W). Please use dropout1d "
                      "instead.", UserWarning, stacklevel=2)
    return _dropped(input, p, training, inplace, _drop_channels)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Whole channels of (N, C, D, H, W) or (C, D, H, W) are zeroed."""
    _warn_of_dims("dropout3d", 3, input.dim())
    return _dropped_of_batch(input, input.dim() == 5, p, training, inplace)


def _channel_dropout(name, least, input, p, training, inplace):
    _check_probability(p)
    if input.dim() not in (least, least + 1):
        raise RuntimeError(f"{name}: Expected {least}D or {least + 1}D input, but received a {input.dim()}D input. "
                           "Note that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial "
                           "dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs).")
    return _dropped_of_batch(input, input.dim() > least, p, training, inplace)


def _dropped_of_batch(input, is_batch, p, training, inplace):
    """Channels zeroed in a batch, or in the one sample that the input is."""
    result = _dropped(input if is_batch else input.unsqueeze(0), p, training, inplace, _drop_channels)
    return result if is_batch else result.squeeze(0)


_SELU_FLOOR = -1.7580993408473766      # what selu gives far below 0


def _alpha_dropped(input, p, training, mask_shape):
    """selu's floor takes the place of what is dropped; mean and variance stay."""
    _check_probability(p)
    if not training or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return input * input.new_zeros(())
    a = 1 / math.sqrt((_SELU_FLOOR * _SELU_FLOOR * p + 1) * (1 - p))
    mask = input.new_empty(mask_shape).bernoulli_(1 - p)
    shift = (mask - 1).mul_(-_SELU_FLOOR * a) - _SELU_FLOOR * a * p                 # mul_ refuses integers
    return input * (mask * a) + shift


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """dropout for networks of selu."""
    result = _alpha_dropped(input, p, training, tuple(input.shape))
    return input.copy_(result) if inplace and result is not input else result


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout of whole channels."""
    result = _alpha_dropped(input, p, training, _of_channels(input))
    return input.copy_(result) if inplace and result is not input else result
