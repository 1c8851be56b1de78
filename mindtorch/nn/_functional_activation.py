"""Activation functions of torch.nn.functional, with torch's shapes and errors."""
import warnings

from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.tensor.factories import empty_like, zeros_like
from mindtorch._ops.composite import nn as _composite

__all__ = ["celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
           "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu",
           "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus",
           "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_"]

_relu, _relu_in_place = _OPS["relu"], _OPS["relu_"]
_softmax, _log_softmax = _OPS["softmax"], _OPS["log_softmax"]
sigmoid, tanh = _OPS["sigmoid"], _OPS["tanh"]
gelu, logsigmoid, softplus = _ATEN["gelu"], _ATEN["log_sigmoid"], _ATEN["softplus"]
hardshrink, softshrink = _OPS["hardshrink"], _ATEN["softshrink"]
prelu = _composite.prelu


def relu(input, inplace=False):
    """max(input, 0), in `input` itself with `inplace`."""
    return _relu_in_place(input) if inplace else _relu(input)


def relu6(input, inplace=False):
    """`input` between 0 and 6."""
    return (_ATEN["hardtanh_"] if inplace else _ATEN["hardtanh"])(input, 0, 6)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """`input` between `min_val` and `max_val`."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return (_ATEN["hardtanh_"] if inplace else _ATEN["hardtanh"])(input, min_val, max_val)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """`input` where it is positive, `negative_slope` times it elsewhere."""
    return (_ATEN["leaky_relu_"] if inplace else _ATEN["leaky_relu"])(input, negative_slope)


def elu(input, alpha=1.0, inplace=False):
    """`input` where it is positive, alpha * (exp(input) - 1) elsewhere."""
    return (_ATEN["elu_"] if inplace else _ATEN["elu"])(input, alpha)


def hardtanh_(input, min_val=-1.0, max_val=1.0):
    """hardtanh in place."""
    return hardtanh(input, min_val, max_val, True)


def leaky_relu_(input, negative_slope=0.01):
    """leaky_relu in place."""
    return leaky_relu(input, negative_slope, True)


def elu_(input, alpha=1.0):
    """elu in place."""
    return elu(input, alpha, True)


def selu(input, inplace=False):
    """elu scaled so that activations keep mean 0 and variance 1."""
    return _composite.selu_(input) if inplace else _composite.selu(input)


def selu_(input):
    """selu in place."""
    return _composite.selu_(input)


def celu(input, alpha=1.0, inplace=False):
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1))."""
    return (_OPS["celu_"] if inplace else _OPS["celu"])(input, alpha)


def celu_(input, alpha=1.0):
    """celu in place."""
    return _OPS["celu_"](input, alpha)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """leaky_relu whose slopes are drawn between `lower` and `upper` in training, their mean otherwise."""
    return (_composite.rrelu_ if inplace else _composite.rrelu)(input, lower, upper, training)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """rrelu in place."""
    return _composite.rrelu_(input, lower, upper, training)


def silu(input, inplace=False):
    """input * sigmoid(input)."""
    return (_ATEN["silu_"] if inplace else _ATEN["silu"])(input)


def mish(input, inplace=False):
    """input * tanh(softplus(input))."""
    return (_ATEN["mish_"] if inplace else _ATEN["mish"])(input)


def hardswish(input, inplace=False):
    """input * relu6(input + 3) / 6."""
    return (_ATEN["hardswish_"] if inplace else _ATEN["hardswish"])(input)


def hardsigmoid(input, inplace=False):
    """relu6(input + 3) / 6."""
    return (_ATEN["hardsigmoid_"] if inplace else _ATEN["hardsigmoid"])(input)


def threshold(input, threshold, value, inplace=False):
    """`input` where it is above `threshold`, `value` elsewhere."""
    return (_OPS["threshold_"] if inplace else _OPS["threshold"])(input, threshold, value)


def threshold_(input, threshold, value):
    """threshold in place."""
    return _OPS["threshold_"](input, threshold, value)


def softsign(input):
    """input / (1 + |input|)."""
    return input / (input.abs() + 1)


def tanhshrink(input):
    """input - tanh(input)."""
    return input - input.tanh()


def glu(input, dim=-1):
    """The first half of `input` along `dim` times the sigmoid of the second."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _ATEN["glu"](input, dim)


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(input), normalised to the sum 1 along `dim`."""
    return _softmax(input, _implied_dim("softmax", input) if dim is None else dim, dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax of -input."""
    return _softmax(-input, _implied_dim("softmin", input) if dim is None else dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax, exact where softmax itself would be 0."""
    return _log_softmax(input, _implied_dim("log_softmax", input) if dim is None else dim, dtype=dtype)


def _implied_dim(name, input):
    """What torch takes, with a warning, when no dim is given."""
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
                  "argument.", stacklevel=3)
    return 0 if input.dim() in (0, 1, 3) else 1


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A random choice along `dim` that can be differentiated: softmax of the logits with Gumbel noise, over `tau`.

    `hard`: the choice itself, 0 and 1, with the gradient of the soft one. `eps` does nothing.
    """
    noise = -empty_like(logits).exponential_().log()
    soft = _softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = zeros_like(logits).scatter(dim, soft.argmax(dim, keepdim=True), 1.0)
    return chosen - soft.detach() + soft


def relu_(input):
    """relu in place."""
    return _relu_in_place(input)
