"""Activation functions, attention in one operator, and the LSTM cell, on arrays in the compute dtype."""
import math

import numpy as np

from mindtorch._cpu.backend import erfc
from mindtorch._cpu.kernels.basic import sigmoid

_TANH_SCALE = math.sqrt(2 / math.pi)
_CUBIC = 0.044715


def _normal_cdf(x):
    return 0.5 * erfc(x * -math.sqrt(0.5))


def gelu(x, approximate):
    if approximate == "none":
        return x * _normal_cdf(x)
    return 0.5 * x * (1 + np.tanh(_TANH_SCALE * (x + _CUBIC * x**3)))


def gelu_derivative(x, approximate):
    if approximate == "none":
        return _normal_cdf(x) + x * np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    t = np.tanh(_TANH_SCALE * (x + _CUBIC * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * _TANH_SCALE * (1 + 3 * _CUBIC * x * x)


def silu_backward(grad, x):
    s = sigmoid(x)
    return grad * s * (1 + x * (1 - s))


def mish_derivative(x):
    t = np.tanh(np.logaddexp(0, x))
    return t + x * (1 - t * t) * sigmoid(x)


def elu(x, alpha, scale, input_scale):
    return np.where(x > 0, x * scale, np.expm1(np.minimum(x, 0) * input_scale) * (alpha * scale))


def elu_backward(grad, alpha, scale, input_scale, is_result, x):
    below = x + alpha * scale if is_result else alpha * scale * np.exp(np.minimum(x, 0) * input_scale)
    return np.where(x <= 0, grad * input_scale * below, grad * scale)


def softplus(x, beta, threshold):
    return np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)


def fake_quantize(x, scale, zero_point, axis, quant_min, quant_max):
    """The numbers that x becomes on a grid of integers with a scale and a zero point for each channel along `axis`, and
    a mask of the elements that lie on the grid."""
    channels = [1] * x.ndim
    channels[axis] = -1
    scale, zero_point = scale.reshape(channels), zero_point.reshape(channels)
    steps = x * np.reciprocal(scale)
    if zero_point.dtype.kind == "f":
        quantized = np.rint(steps + zero_point)
    else:
        quantized = np.rint(steps) + zero_point
    mask = (quantized >= quant_min) & (quantized <= quant_max)
    return (np.clip(quantized, quant_min, quant_max) - zero_point) * scale, mask


def hardswish_derivative(x):
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


# --- attention over (batch, heads, length, width) --------------------------------------------------------------------

def _shared(heads, query):
    """Each head of key or value once for every head of query that shares it."""
    return np.repeat(heads, query.shape[1] // heads.shape[1], axis=1)


def _scores(query, key, hidden, scale, next_tokens):
    """The scores, -inf where a query does not attend."""
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) * query.dtype.type(scale)
    if hidden is None:
        return scores
    positions = np.arange(scores.shape[-2])[:, None]
    return np.where(hidden | (np.arange(scores.shape[-1]) > positions + next_tokens), -np.inf, scores)


def _kept(weights, drop, keep):
    """The weights after dropout; the mask has a bit for each weight."""
    if drop is None:
        return weights
    bits = np.unpackbits(drop, count=weights.size, bitorder="little").reshape(weights.shape)
    return weights * bits / weights.dtype.type(keep)


def attention(query, key, value, hidden, drop, scale, keep, next_tokens):
    """The result, and eight times for each query the largest score and the sum of exponentials."""
    scores = _scores(query, _shared(key, query), hidden, scale, next_tokens)
    most = np.max(scores, axis=-1, keepdims=True)
    most = np.where(np.isneginf(most), 0, most)      # a query that may look nowhere
    weights = np.exp(scores - most)
    total = np.sum(weights, axis=-1, keepdims=True)
    weights = _kept(weights / np.where(total == 0, 1, total), drop, keep)
    result = np.matmul(weights, _shared(value, query))
    return result, np.repeat(most, 8, axis=-1), np.repeat(total, 8, axis=-1)


def attention_backward(grad, query, key, value, hidden, drop, most, total, result, scale, keep, next_tokens):
    """The gradients of query, key and value."""
    keys, values = _shared(key, query), _shared(value, query)
    total = np.where(total == 0, 1, total)[..., :1]
    weights = np.exp(_scores(query, keys, hidden, scale, next_tokens) - most[..., :1]) / total
    of_weights = _kept(np.matmul(grad, np.swapaxes(values, -1, -2)), drop, keep)
    common = np.sum(grad * result, axis=-1, keepdims=True)
    of_scores = weights * (of_weights - common) * query.dtype.type(scale)
    of_keys = np.matmul(np.swapaxes(of_scores, -1, -2), query)
    of_values = np.matmul(np.swapaxes(_kept(weights, drop, keep), -1, -2), grad)
    return np.matmul(of_scores, keys), _gathered(of_keys, key), _gathered(of_values, value)


def _gathered(grads, heads):
    """The sum over the heads of query that share one of key or value."""
    batch, count = heads.shape[:2]
    return np.sum(grads.reshape(batch, count, -1, *heads.shape[2:]), axis=2)


# --- LSTM cell, from the sums of both products; gates in the order input, forget, cell, output -----------------------

def _sigmoid(x):
    return 0.5 + 0.5 * np.tanh(0.5 * x)        # does not overflow


def lstm_cell(input_gates, hidden_gates, cx, input_bias, hidden_bias):
    """The next hidden and cell states, and the activated gates."""
    gates = input_gates + hidden_gates
    for bias in (input_bias, hidden_bias):
        gates = gates if bias is None else gates + bias
    size = cx.shape[1]
    cell = slice(2 * size, 3 * size)
    active = _sigmoid(gates)
    active[:, cell] = np.tanh(gates[:, cell])
    i, f, g, o = np.split(active, 4, 1)
    cy = f * cx + i * g
    return o * np.tanh(cy), cy, active


def lstm_cell_backward(grad_hy, grad_cy, cx, cy, active, has_bias):
    """The gradients of the gates, the former cell state and the bias."""
    i, f, g, o = np.split(active, 4, 1)
    squashed = np.tanh(cy)
    of_cell = 0 if grad_cy is None else grad_cy
    of_output = np.zeros_like(o)
    if grad_hy is not None:
        of_cell = of_cell + grad_hy * o * (1 - squashed * squashed)
        of_output = grad_hy * squashed * o * (1 - o)
    parts = of_cell * g * i * (1 - i), of_cell * cx * f * (1 - f), of_cell * i * (1 - g * g), of_output
    gates = np.concatenate(parts, 1)
    return gates, of_cell * f, gates.sum(0) if has_bias else None
