"""Formulas of neural networks: second derivatives of activation functions, and what normalisation and losses need.

A curvature is the derivative of a function's slope.
"""
import math

from mindtorch._ops.derivatives import ops


def gelu_curvature(self, approximate):
    """Of the exact form 2 * density - x^2 * density; of the other by the chain rule."""
    if approximate == "none":
        density = (self * self * -0.5).exp() / math.sqrt(2 * math.pi)
        return density * (2 - self * self)
    scale, cubic = math.sqrt(2 / math.pi), 0.044715
    square = self * self
    t = (scale * self * (1 + cubic * square)).tanh()
    slope, bend = scale * (1 + 3 * cubic * square), 6 * scale * cubic * self
    return (1 - t * t) * (slope + 0.5 * self * (bend - 2 * t * slope * slope))


def silu_curvature(self):
    """s (1 - s) (2 + x (1 - 2 s)), of s = sigmoid(x)."""
    s = self.sigmoid()
    return s * (1 - s) * (2 + self * (1 - 2 * s))


def mish_curvature(self):
    """Of x t(x), with t = tanh(softplus(x)) and its derivative (1 - t^2) s."""
    s = self.sigmoid()
    t = ops.softplus(self).tanh()
    rise = (1 - t * t) * s
    return 2 * rise + self * rise * (1 - s - 2 * t * s)


def elu_curvature(self_or_result, alpha, scale, input_scale, is_result):
    """0 above 0; below, the derivative of the slope by what the slope was computed from."""
    if is_result:
        below = ops.full_like(self_or_result, input_scale)
    else:
        below = alpha * scale * input_scale * input_scale * (self_or_result * input_scale).exp()
    return ops.where(self_or_result <= 0, below, ops.zeros_like(self_or_result))


def softplus_double_backward(grad, self, beta, threshold):
    """`grad` times beta s (1 - s), of s = sigmoid(beta x); 0 where softplus is linear."""
    s = (self * beta).sigmoid()
    return ops.where(self * beta > threshold, ops.zeros_like(grad), grad * beta * s * (1 - s))


def hardswish_double_backward(grad, self):
    """A third of `grad` between -3 and 3."""
    return ops.where(self.abs() < 3, grad / 3, ops.zeros_like(grad))


def softmax_double_backward(grad, grad_output, output, dim):
    """By output, of output * (grad_output - sum(grad_output * output))."""
    inner = (grad_output * output).sum(dim, keepdim=True)
    return grad * (grad_output - inner) - grad_output * (grad * output).sum(dim, keepdim=True)


def log_softmax_grad_backward(grad, output, dim):
    """By grad_output, of grad_output - exp(output) * sum(grad_output)."""
    return grad - (grad * output.exp()).sum(dim, keepdim=True)


def log_softmax_double_backward(grad, grad_output, output, dim):
    """By output, of the same."""
    return -grad * output.exp() * grad_output.sum(dim, keepdim=True)


def _halves(tensor, dim):
    return tensor.chunk(2, dim)


def glu_tangent(grad, self, dim):
    """By grad_output, of glu_backward: both halves of `grad` times the slopes by the halves of self."""
    (first, second), (of_first, of_second) = _halves(self, dim), _halves(grad, dim)
    gate = second.sigmoid()
    return of_first * gate + of_second * first * gate * (1 - gate)


def glu_double_backward(grad, grad_output, self, dim):
    """By self, of the same."""
    (first, second), (of_first, of_second) = _halves(self, dim), _halves(grad * ops.cat([grad_output] * 2, dim), dim)
    gate = second.sigmoid()
    slope = gate * (1 - gate)
    return ops.cat([of_second * slope, slope * (of_first + of_second * first * (1 - 2 * gate))], dim)


def prelu_tangent(grad_self, grad_weight, self, weight):
    """By grad_output, of _prelu_kernel_backward."""
    return ops.where(self > 0, grad_self, weight * grad_self + grad_weight * self)


def prelu_slant(grad, self):
    """`grad` where the weight counts."""
    return ops.where(self > 0, ops.zeros_like(grad), grad)


def embedding_double_backward(grad, indices, padding_idx, scale_grad_by_freq):
    """By grad_output, of embedding_dense_backward: the rows asked for, 0 for the padding."""
    if scale_grad_by_freq:
        asked = indices.reshape(-1)
        times = ops.zeros_like(grad.narrow(1, 0, 1))
        times = times.index_add(0, asked, ops.ones_like(asked, dtype=grad.dtype).unsqueeze(1))
        grad = grad / times.clamp(min=1)
    rows = ops.embedding(grad, indices)
    return rows if padding_idx < 0 else rows * (indices != padding_idx).unsqueeze(-1)
