"""Activation functions of torch.nn.functional, with torch's shapes and errors."""

import warnings
from typing import Any

from mindtorch import Tensor, dtype
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.tensor.factories import empty_like, zeros_like
from mindtorch._ops.composite import nn as _composite

__all__ = ["_get_softmax_dim", "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink",
           "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax",
           "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid",
           "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold",
           "threshold_"]

_relu, _relu_in_place = _OPS["relu"], _OPS["relu_"]
_softmax, _log_softmax = _OPS["softmax"], _OPS["log_softmax"]
sigmoid, tanh = _OPS["sigmoid"], _OPS["tanh"]
gelu, logsigmoid, softplus = _ATEN["gelu"], _ATEN["log_sigmoid"], _ATEN["softplus"]
hardshrink, softshrink = _OPS["hardshrink"], _ATEN["softshrink"]
prelu = _composite.prelu


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0), in `input` itself with `inplace`."""
    return _relu_in_place(input) if inplace else _relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`input` between 0 and 6."""
    return (_ATEN["hardtanh_"] if inplace else _ATEN["hardtanh"])(input, 0, 6)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` between `min_val` and `max_val`."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (_ATEN["hardtanh_"] if inplace else _ATEN["hardtanh"])(input, min_val, max_val)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`input` where it is positive, `negative_slope` times it elsewhere."""
    return (_ATEN["leaky_relu_"] if inplace else _ATEN["leaky_relu"])(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` where it is positive, alpha * (exp(input) - 1) elsewhere."""
    return (_ATEN["elu_"] if inplace else _ATEN["elu"])(input, alpha)


def hardtanh_(input: Tensor, min_val: Any = -1.0, max_val: float = 1.0) -> Tensor:
    """hardtanh in place."""
    return hardtanh(input, min_val, max_val, True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """leaky_relu in place."""
    return leaky_relu(input, negative_slope, True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """elu in place."""
    return elu(input, alpha, True)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu scaled so that activations keep mean 0 and variance 1."""
    return _composite.selu_(input) if inplace else _composite.selu(input)


def selu_(input: Tensor) -> Tensor:
    """selu in place."""
    return _composite.selu_(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1))."""
    return (_OPS["celu_"] if inplace else _OPS["celu"])(input, alpha)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """celu in place."""
    return _OPS["celu_"](input, alpha)


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
          inplace: bool = False) -> Tensor:
    """leaky_relu whose slopes are drawn between `lower` and `upper` in training, their mean otherwise."""
    return (_composite.rrelu_ if inplace else _composite.rrelu)(input, lower, upper, training)


def rrelu_(input: Tensor, lower: Any = 1.0 / 8, upper: Any = 1.0 / 3, training: bool = False) -> Tensor:
    """rrelu in place."""
    return _composite.rrelu_(input, lower, upper, training)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    return (_ATEN["silu_"] if inplace else _ATEN["silu"])(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input))."""
    return (_ATEN["mish_"] if inplace else _ATEN["mish"])(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * relu6(input + 3) / 6."""
    return (_ATEN["hardswish_"] if inplace else _ATEN["hardswish"])(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(input + 3) / 6."""
    return (_ATEN["hardsigmoid_"] if inplace else _ATEN["hardsigmoid"])(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`input` where it is above `threshold`, `value` elsewhere."""
    return (_OPS["threshold_"] if inplace else _OPS["threshold"])(input, threshold, value)


def threshold_(input: Tensor, threshold: Any, value: Tensor) -> Tensor:
    """threshold in place."""
    return _OPS["threshold_"](input, threshold, value)


def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|)."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input)."""
    return input - input.tanh()


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of `input` along `dim` times the sigmoid of the second."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _ATEN["glu"](input, dim)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """exp(input), normalised to the sum 1 along `dim`."""
    return _softmax(input, _get_softmax_dim("softmax", input.dim(), 3) if dim is None else dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """softmax of -input."""
    dim = _get_softmax_dim("softmin", input.dim(), 3) if dim is None else dim
    return _softmax(-input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None) -> Tensor:
    """The logarithm of softmax, exact where softmax itself would be 0."""
    return _log_softmax(input, _get_softmax_dim("log_softmax", input.dim(), 3) if dim is None else dim, dtype=dtype)


def _get_softmax_dim(name, ndim, stacklevel):
    """The dim that torch takes, with a warning, when none is given for a tensor of `ndim` dimensions."""
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
                  "argument.", stacklevel=stacklevel)
    return 0 if ndim in (0, 1, 3) else 1


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A random choice along `dim` that can be differentiated: softmax of the logits with Gumbel noise, over `tau`.

    `hard`: the choice itself, 0 and 1, with the gradient of the soft one. `eps` does nothing.
    """
    noise = -empty_like(logits).exponential_().log()
    soft = _softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = zeros_like(logits).scatter(dim, soft.argmax(dim, keepdim=True), 1.0)
    return chosen - soft.detach() + soft


def relu_(input: Tensor) -> Tensor:
    """relu in place."""
    return _relu_in_place(input)
