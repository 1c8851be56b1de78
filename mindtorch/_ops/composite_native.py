"""Batch norm's other forms and dropout in torch's native form: the result with what it was computed from."""
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.dtype import bool as _bool
from mindtorch._core.dtype import uint8 as _uint8
from mindtorch._core.factories import empty as _empty
from mindtorch._core.factories import empty_like as _empty_like
from mindtorch._core.factories import ones_like as _ones_like
from mindtorch._core.factories import zeros_like as _zeros_like

_batch_norm = _OPS["native_batch_norm"]


def widened(input):
    """`input` in the dtype that statistics are computed in: 16-bit numbers in float32."""
    return input.float() if input.dtype.itemsize == 2 else input


def _native_batch_norm_legit(input, weight, bias, *rest):
    """native_batch_norm(..., running_mean, running_var, training, momentum, eps), or without the running statistics."""
    running = rest[:2] if len(rest) == 5 else (None, None)
    return _batch_norm(input, weight, bias, *running, *rest[-3:])


def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """native_batch_norm in training, and an empty buffer where other devices keep something for the backward pass."""
    results = _batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
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


FUNCTIONS = {"_native_batch_norm_legit": _native_batch_norm_legit, "_batch_norm_with_update": _batch_norm_with_update,
             "native_dropout": native_dropout, "native_dropout_backward": native_dropout_backward}
METHODS = {}
