"""CPU references of activation functions and of their slopes, on arrays in the compute dtype."""
import math

import numpy as np

from mindtorch._cpu.custom import sigmoid
from mindtorch._cpu.libm import erfc

_TANH_SCALE = math.sqrt(2 / math.pi)
_CUBIC = 0.044715


def _normal_cdf(x):
    return 0.5 * erfc(x * -math.sqrt(0.5))


def gelu(x, approximate):
    if approximate == "none":
        return x * _normal_cdf(x)
    return 0.5 * x * (1 + np.tanh(_TANH_SCALE * (x + _CUBIC * x**3)))


def gelu_slope(x, approximate):
    if approximate == "none":
        return _normal_cdf(x) + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    t = np.tanh(_TANH_SCALE * (x + _CUBIC * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * _TANH_SCALE * (1 + 3 * _CUBIC * x * x)


def silu_backward(grad, x):
    s = sigmoid(x)
    return grad * s * (1 + x * (1 - s))


def mish_slope(x):
    t = np.tanh(np.logaddexp(0, x))
    return t + x * (1 - t * t) * sigmoid(x)


def elu(x, alpha, scale, input_scale):
    return np.where(x > 0, x * scale, np.expm1(np.minimum(x, 0) * input_scale) * (alpha * scale))


def elu_backward(grad, alpha, scale, input_scale, is_result, x):
    below = x + alpha * scale if is_result else alpha * scale * np.exp(np.minimum(x, 0) * input_scale)
    return np.where(x <= 0, grad * input_scale * below, grad * scale)


def softplus(x, beta, threshold):
    return np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)


def hardswish_slope(x):
    return np.where(x <= -3, 0, np.where(x < 3, x / 3 + 0.5, 1))


def softshrink(x, lambd):
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0))


def _halves(x, dim):
    """Views; np.split costs as much as the arithmetic on few numbers."""
    middle, before = x.shape[dim] // 2, (slice(None),) * dim
    return x[(*before, slice(middle))], x[(*before, slice(middle, None))]


def glu(x, dim):
    first, second = _halves(x, dim)
    return first * sigmoid(second)


def glu_backward(grad, x, dim):
    first, second = _halves(x, dim)
    gate = sigmoid(second)
    return np.concatenate((grad * gate, grad * first * gate * (1 - gate)), dim)


def prelu_backward(grad, x, weight):
    """The gradients of x, and of weights that were broadcast to it."""
    positive = x > 0
    slopes = np.where(positive, 0, grad * x)
    leading = slopes.ndim - weight.ndim
    spread = tuple(d for d in range(slopes.ndim) if d < leading or weight.shape[d - leading] == 1)
    return np.where(positive, grad, grad * weight), np.sum(slopes, axis=spread).reshape(weight.shape)


def softmax_backward(grad, output, dim):
    weighted = grad * output
    if output.ndim == 0:
        return weighted - output * weighted
    return weighted - output * np.sum(weighted, axis=dim, keepdims=True)


def log_softmax_backward(grad, output, dim):
    if output.ndim == 0:
        return grad - np.exp(output) * grad
    return grad - np.exp(output) * np.sum(grad, axis=dim, keepdims=True)
