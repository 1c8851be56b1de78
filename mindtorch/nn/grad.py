"""Gradients of convolutions with respect to their input and weight."""
from mindtorch import Size, empty
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._tensor.docstrings import complete as _complete_docstrings
from mindtorch.nn.modules.utils import _ntuple

__all__ = [f"conv{dims}d_{what}" for dims in (1, 2, 3) for what in ("input", "weight")]

_backward = _ATEN["convolution_backward"]


def _sizes(dims, stride, padding, dilation, groups):
    """The arguments of convolution_backward between the tensors and the mask."""
    each = _ntuple(dims)
    return None, each(stride), each(padding), each(dilation), False, (0,) * dims, groups


def _of_input(dims):
    def gradient(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        input = empty(1, dtype=grad_output.dtype, device=grad_output.device).expand(input_size)
        return _backward(grad_output, input, weight, *_sizes(dims, stride, padding, dilation, groups),
                         (True, False, False))[0]
    return _with_name(gradient, f"conv{dims}d_input", "input", dims)


def _of_weight(dims):
    def gradient(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        weight = empty(1, dtype=grad_output.dtype, device=grad_output.device).expand(weight_size)
        return _backward(grad_output, input, weight, *_sizes(dims, stride, padding, dilation, groups),
                         (False, True, False))[1]
    return _with_name(gradient, f"conv{dims}d_weight", "weight", dims)


def _with_name(function, name, what, dims):
    function.__name__ = function.__qualname__ = name
    size = (1, 1) + dims * (2,)
    arguments = f"torch.ones({size}), {size}" if what == "weight" else f"{size}, torch.ones({size})"
    function.__doc__ = (
        f"The gradient of the {what} of conv{dims}d, whose result has the gradient `grad_output`.\n\nExample:\n"
        f"    >>> grad_output = torch.ones({(1, 1) + dims * (1,)})\n"
        f"    >>> torch.nn.grad.{name}({arguments}, grad_output).shape\n    {Size(size)}\n")
    return function


conv1d_input, conv2d_input, conv3d_input = map(_of_input, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_of_weight, (1, 2, 3))


_complete_docstrings(globals(), "nn.grad")
