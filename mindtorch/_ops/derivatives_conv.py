"""Derivatives of convolution's own derivatives: convolution is linear in each operand."""
from mindtorch._ops.derivatives import ops


def convolution_double_backward(grads, grad_output, input, weight, stride, padding, dilation, transposed,
                                output_padding, groups, wanted):
    """Gradients of grad_output, input and weight; `grads` are those of convolution_backward's results, or None."""
    of_input, of_weight, of_bias = grads
    sizes = (stride, padding, dilation, transposed, output_padding, groups)

    def backward(input, weight, mask):
        return ops.convolution_backward(grad_output, input, weight, None, *sizes, mask)

    found = [None, None, None]
    if wanted[0]:
        parts = [] if of_input is None else [ops.convolution(of_input, weight, None, *sizes)]
        parts += [] if of_weight is None else [ops.convolution(input, of_weight, None, *sizes)]
        parts += [] if of_bias is None else [of_bias.reshape(-1, *[1] * (input.dim() - 2)).expand(grad_output.shape)]
        found[0] = sum(parts[1:], parts[0]) if parts else None
    if wanted[1] and of_weight is not None:
        found[1] = backward(input, of_weight, [True, False, False])[0]
    if wanted[2] and of_input is not None:
        found[2] = backward(of_input, weight, [False, True, False])[1]
    return found
