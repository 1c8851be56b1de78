"""Convolutions of the torch namespace: arguments put in order for the one operator that serves them all."""
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.autocast import casting
from mindtorch._ops.composite import _require_tensors

_convolution, _pad = _OPS["convolution"], _OPS["constant_pad_nd"]


def expand_sizes(value, dims, argument):
    """A number, or a list of one or of `dims` numbers, as a list of `dims`."""
    if isinstance(value, int):
        return [value] * dims
    values = list(value)
    if len(values) == 1:
        return values * dims
    if len(values) != dims:
        raise RuntimeError(f"expected {argument} to be a single integer value or a list of {dims} values to match the "
                           f"convolution dimensions, but got {argument}={values}")
    return values


def _batched(input, dims, function):
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {function}, but got "
                           f"input of size: {list(input.shape)}")
    return input if input.dim() == dims + 2 else input.unsqueeze(0)


def _check_operands(input, weight, bias, function):
    _require_tensors(function, input=input, weight=weight)
    if bias is not None:
        _require_tensors(function, input=input, weight=weight, bias=bias)


def _named_padding(padding, input, weight, stride, dilation):
    """The input, and the padding in numbers: "same" pads the end once more where the window is even."""
    dims = weight.dim() - 2
    if weight.dim() != input.dim():
        raise RuntimeError(f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight"
                           f"{list(weight.shape)}, but got {input.dim()}-dimensional input of size "
                           f"{list(input.shape)} instead")
    if padding == "valid":
        return input, [0] * dims
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(step != 1 for step in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    if any(width % 2 for width in total):
        input = _pad(input, [side for width in reversed(total) for side in (0, width % 2)], 0)
    return input, [width // 2 for width in total]


def _convolve(function, dims, input, weight, bias, stride, padding, dilation, groups):
    _check_operands(input, weight, bias, function)
    batch = _batched(input, dims, function)
    stride = expand_sizes(stride, dims, "stride")
    dilation = expand_sizes(dilation, dims, "dilation")
    if isinstance(padding, str):
        batch, padding = _named_padding(padding, batch, weight, stride, dilation)
    else:
        padding = expand_sizes(padding, dims, "padding")
    result = _convolution(batch, weight, bias, stride, padding, dilation, False, [0] * dims, groups)
    return result if batch.dim() == input.dim() else result.squeeze(0)


def _transposed(function, dims, input, weight, bias, stride, padding, output_padding, groups, dilation):
    _check_operands(input, weight, bias, function)
    batch = _batched(input, dims, function)
    sizes = [expand_sizes(value, dims, name) for name, value in
             (("stride", stride), ("padding", padding), ("dilation", dilation))]
    extra = expand_sizes(output_padding, dims, "output_padding")
    result = _convolution(batch, weight, bias, *sizes, True, extra, groups)
    return result if batch.dim() == input.dim() else result.squeeze(0)


@casting("conv1d")
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Windows of (N, C, L) or (C, L) weighed by (out, C / groups, k). padding may be "same" or "valid"."""
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@casting("conv2d")
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """As conv1d over images, (N, C, H, W) or (C, H, W)."""
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@casting("conv3d")
def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """As conv1d over volumes, (N, C, D, H, W) or (C, D, H, W)."""
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@casting("conv_transpose1d")
def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The adjoint of conv1d: every input element adds its weights, (C, out / groups, k), around its place."""
    return _transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@casting("conv_transpose2d.input")
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The adjoint of conv2d."""
    return _transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@casting("conv_transpose3d.input")
def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The adjoint of conv3d."""
    return _transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)


FUNCTIONS = {function.__name__: function for function in
             (conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d)}
METHODS = {}
