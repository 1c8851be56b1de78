"""Device-neutral operators of neural networks that torch has in its own namespace."""
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core.autocast import casting
from mindtorch._core.factories import empty_like as _empty_like
from mindtorch._ops.composite import scalar_type

_elu, _elu_in_place, _prelu_kernel = _ATEN["elu"], _ATEN["elu_"], _ATEN["_prelu_kernel"]
_leaky_relu, _leaky_relu_in_place = _ATEN["leaky_relu"], _ATEN["leaky_relu_"]
_rrelu, _rrelu_in_place = _ATEN["_rrelu"], _ATEN["_rrelu_"]
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
    return _rrelu(input, _empty_like(input), lower, upper, generator)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """rrelu in place."""
    if not training:
        return _leaky_relu_in_place(input, _mean_slope(lower, upper))
    return _rrelu_in_place(input, _empty_like(input), lower, upper, generator)


def _mean_slope(lower, upper):
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    return (lower + upper) / 2


FUNCTIONS = {"selu": selu, "selu_": selu_, "prelu": prelu, "rrelu": rrelu, "rrelu_": rrelu_}
METHODS = {"prelu": prelu}
