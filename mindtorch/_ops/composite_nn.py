"""Device-neutral operators of neural networks that torch has in its own namespace."""
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.autocast import casting
from mindtorch._ops.composite import scalar_type

_where, _elu, _elu_in_place, _prelu_kernel = _OPS["where"], _ATEN["elu"], _ATEN["elu_"], _ATEN["_prelu_kernel"]
_leaky_relu, _leaky_relu_in_place = _ATEN["leaky_relu"], _ATEN["leaky_relu_"]
_SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)     # alpha and scale


def selu(input):
    """elu scaled so that activations keep mean 0 and variance 1."""
    return _elu(input, *_SELU)


def selu_(input):
    """selu in place."""
    return _elu_in_place(input, *_SELU)


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
    if input.dtype is not weight.dtype:
        raise RuntimeError("prelu: Type promoting not supported. Got "
                           f"{scalar_type(input.dtype)} and {scalar_type(weight.dtype)}")
    if weight.dim() and input.dim() not in (1, 2):
        weight = weight.reshape((-1,) + (1,) * (input.dim() - 2) if input.dim() else ())
    return _prelu_kernel(input, weight)


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


FUNCTIONS = {"selu": selu, "selu_": selu_, "prelu": prelu, "rrelu": rrelu, "rrelu_": rrelu_}
METHODS = {"prelu": prelu}
