"""Device-neutral operators of neural networks that torch has in its own namespace."""
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.autocast import casting

_where, _threshold, _elu, _elu_in_place = _OPS["where"], _OPS["threshold"], _ATEN["elu"], _ATEN["elu_"]
_leaky_relu, _leaky_relu_in_place = _ATEN["leaky_relu"], _ATEN["leaky_relu_"]
_SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)     # alpha and scale


def celu(input, alpha=1.0):
    """`input` where it is positive, alpha * (exp(input / alpha) - 1) elsewhere."""
    return _elu(input, alpha, 1, _inverse(alpha))


def celu_(input, alpha=1.0):
    """celu in place."""
    return _elu_in_place(input, alpha, 1, _inverse(alpha))


def _inverse(alpha):
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return 1 / alpha


def selu(input):
    """elu scaled so that activations keep mean 0 and variance 1."""
    return _elu(input, *_SELU)


def selu_(input):
    """selu in place."""
    return _elu_in_place(input, *_SELU)


def threshold_(input, threshold, value):
    """threshold in place."""
    before = input.clone() if input.requires_grad else input       # backward asks what was above
    return input.copy_(_threshold(before, threshold, value))


@casting("prelu")
def prelu(input, weight):
    """`input` where it is positive, `weight` times it elsewhere: one weight for all, or one a channel (dimension 1)."""
    if weight.numel() != 1:
        if input.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.size(1) if input.dim() > 1 else 1
        if channels != weight.numel():
            raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                               f"{weight.numel()} and channel size = {channels}.")
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if weight.dim() == 1 and input.dim() > 1:
        weight = weight.reshape((-1,) + (1,) * (input.dim() - 2))
    elif weight.dim() == 1:
        weight = weight.reshape((1,) * input.dim())
    if not input.is_floating_point():
        raise NotImplementedError(f"\"prelu_cpu\" not implemented for '{input.dtype}'")
    return _where(input > 0, input, weight * input)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """leaky_relu whose slopes are drawn between `lower` and `upper` in training, their mean otherwise."""
    if not training:
        return _leaky_relu(input, _mean_slope(lower, upper))
    return _where(input <= 0, input * _slopes(input, lower, upper, generator), input)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """rrelu in place."""
    if not training:
        return _leaky_relu_in_place(input, _mean_slope(lower, upper))
    return input.copy_(rrelu(input, lower, upper, True, generator))


def _mean_slope(lower, upper):
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    return (lower + upper) / 2


def _slopes(input, lower, upper, generator):
    _mean_slope(lower, upper)
    return input.detach().clone().uniform_(lower, upper, generator=generator)


FUNCTIONS = {"celu": celu, "celu_": celu_, "selu": selu, "selu_": selu_, "threshold_": threshold_, "prelu": prelu,
             "rrelu": rrelu, "rrelu_": rrelu_}
METHODS = {"prelu": prelu}
