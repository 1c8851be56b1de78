"""Derivatives of neural networks: second derivatives of activations, attention, LSTM cells, convolution."""
import math

from mindtorch._ops.operators import ops


def gelu_second_derivative(self, approximate):
    """Exact form: 2 * density - x^2 * density. Form by tanh: the chain rule."""
    if approximate == "none":
        density = (self * self * -0.5).exp() / math.sqrt(2 * math.pi)
        return density * (2 - self * self)
    scale, cubic = math.sqrt(2 / math.pi), 0.044715
    square = self * self
    t = (scale * self * (1 + cubic * square)).tanh()
    slope, bend = scale * (1 + 3 * cubic * square), 6 * scale * cubic * self
    return (1 - t * t) * (slope + 0.5 * self * (bend - 2 * t * slope * slope))


def silu_second_derivative(self):
    """s (1 - s) (2 + x (1 - 2 s)), of s = sigmoid(x)."""
    s = self.sigmoid()
    return s * (1 - s) * (2 + self * (1 - 2 * s))


def mish_second_derivative(self):
    """The derivative of x t(x), where t = tanh(softplus(x)) has the derivative (1 - t^2) s."""
    s = self.sigmoid()
    t = ops.softplus(self).tanh()
    rise = (1 - t * t) * s
    return 2 * rise + self * rise * (1 - s - 2 * t * s)


def elu_second_derivative(self_or_result, alpha, scale, input_scale, is_result):
    """0 from 0 on; below, the derivative of the slope by what the slope was computed from."""
    if is_result:
        below = ops.full_like(self_or_result, input_scale)
    else:
        below = alpha * scale * input_scale * input_scale * (self_or_result * input_scale).exp()
    return ops.where(self_or_result < 0, below, ops.zeros_like(self_or_result))


def softplus_double_backward(grad, self, beta, threshold):
    """`grad` times beta s (1 - s), of s = sigmoid(beta x); 0 where softplus is linear."""
    s = (self * beta).sigmoid()
    return ops.where(self * beta > threshold, ops.zeros_like(grad), grad * beta * s * (1 - s))


def hardswish_double_backward(grad, self):
    """grad / 3 for -3 < self < 3, else 0."""
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


def prelu_mixed_derivative(grad, self):
    """`grad` where self is not above 0, else 0."""
    return ops.where(self > 0, ops.zeros_like(grad), grad)


def embedding_derivative(grad, indices, num_weights, padding_idx, scale_grad_by_freq, sparse):
    """By the weight, of embedding: dense, or sparse with a row for each index that is no padding."""
    if not sparse:
        return ops.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    from mindtorch._sparse.tensors import make_rows
    indices, rows = indices.reshape(-1).long(), grad.reshape(indices.numel(), grad.shape[-1])
    if padding_idx >= 0:
        kept = (indices != padding_idx).nonzero().reshape(-1)
        indices, rows = indices.index_select(0, kept), rows.index_select(0, kept)
    return make_rows(indices, rows, num_weights)


def embedding_double_backward(grad, indices, padding_idx, scale_grad_by_freq):
    """By grad_output, of embedding_dense_backward: the rows asked for, 0 for the padding."""
    if scale_grad_by_freq:
        asked = indices.reshape(-1)
        times = ops.zeros_like(grad.narrow(1, 0, 1))
        times = times.index_add(0, asked, ops.ones_like(asked, dtype=grad.dtype).unsqueeze(1))
        grad = grad / times.clamp(min=1)
    rows = ops.embedding(grad, indices)
    return rows if padding_idx < 0 else rows * (indices != padding_idx).unsqueeze(-1)


# --- attention: second derivatives, which compute the weights again --------------------------------------------------

def _shared(heads, query):
    """Each head of key or value once for every head of query that shares it."""
    times = query.shape[1] // heads.shape[1]
    return heads if times == 1 else heads.repeat_interleave(times, 1)


def _gathered(grad, heads):
    """The sum over the heads of query that share one of key or value."""
    return grad if grad.shape == heads.shape else grad.unflatten(1, (heads.shape[1], -1)).sum(2)


def _weights(query, keys, hidden, scale, next_tokens):
    scores = ops.matmul(query * scale, keys.mT)
    if hidden is None:
        return scores.softmax(-1)
    rows = ops.arange(query.shape[2], device=query.device).unsqueeze(1)
    hidden = hidden | (ops.arange(keys.shape[2], device=query.device) > rows + next_tokens)
    # A query whose keys are all masked has no weights.
    blind = hidden.all(-1, True)
    return scores.masked_fill(hidden & ~blind, float("-inf")).softmax(-1).masked_fill(blind, 0)


def attention_double_backward(grads, grad_output, query, key, value, hidden, drop, scale, keep, next_tokens):
    """Gradients of grad_output, query, key and value, from those of the gradients of query, key and value.

    With P the weights, M what dropout multiplies them by and G = M grad_output V': the gradient of the scores is
    D = P (G - sum(P G)), and what arrives there is X = scale (gq K' + Q gk'). The rest is the product rule over D, P
    and G.
    """
    def kept(weights):
        return weights if drop is None else ops._dropout(weights, drop, 1 - keep)
    keys, values = _shared(key, query), _shared(value, query)
    of_query, of_key, of_value = (ops.zeros_like(of) if grad is None else grad
                                  for grad, of in zip(grads, (query, key, value), strict=True))
    of_key, of_value = _shared(of_key, query), _shared(of_value, query)
    weights = _weights(query, keys, hidden, scale, next_tokens)
    of_weights = kept(ops.matmul(grad_output, values.mT))
    common = (weights * of_weights).sum(-1, True)
    of_scores = weights * (of_weights - common)
    arriving = scale * (ops.matmul(of_query, keys.mT) + ops.matmul(query, of_key.mT))
    mean = (weights * arriving).sum(-1, True)
    through = weights * (arriving - mean)
    direct = of_weights * (arriving - mean) - arriving * common + kept(ops.matmul(grad_output, of_value.mT))
    again = weights * (direct - (weights * direct).sum(-1, True))
    through = kept(through)
    return (ops.matmul(through, values) + ops.matmul(kept(weights), of_value),
            scale * (ops.matmul(again, keys) + ops.matmul(of_scores, of_key)),
            _gathered(scale * (ops.matmul(again.mT, query) + ops.matmul(of_scores.mT, of_query)), key),
            _gathered(ops.matmul(through.mT, grad_output), value))


# --- LSTM cell; gates in the order input, forget, cell, output -------------------------------------------------------

def _chunks(gates):
    return gates.chunk(4, 1)


def lstm_cell_by_gates(input_gates, hidden_gates, cx, input_bias, hidden_bias):
    """The next hidden and cell states, and the activated gates."""
    gates = input_gates + hidden_gates
    for bias in (input_bias, hidden_bias):
        gates = gates if bias is None else gates + bias
    i, f, g, o = _chunks(gates)
    i, f, g, o = ops.sigmoid(i), ops.sigmoid(f), ops.tanh(g), ops.sigmoid(o)
    cy = f * cx + i * g
    return o * ops.tanh(cy), cy, ops.cat([i, f, g, o], 1)


def _of_cell(grad_hy, grad_cy, o, squashed):
    """The gradient of the new cell state."""
    through = None if grad_hy is None else grad_hy * o * (1 - squashed * squashed)
    if through is None or grad_cy is None:
        return grad_cy if through is None else through
    return grad_cy + through


def lstm_cell_backward_by_gates(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    """The gradients of the gates, the former cell state and the bias."""
    i, f, g, o = _chunks(workspace)
    squashed = ops.tanh(cy)
    of_cell = _of_cell(grad_hy, grad_cy, o, squashed)
    of_output = ops.zeros_like(o) if grad_hy is None else grad_hy * squashed * o * (1 - o)
    gates = ops.cat([of_cell * g * i * (1 - i), of_cell * cx * f * (1 - f), of_cell * i * (1 - g * g), of_output], 1)
    return gates, of_cell * f, gates.sum(0) if has_bias else None


def lstm_cell_backward(grads, cx, cy, workspace, wanted):
    """Gradients of both sums, the cell state and both biases; `grads` are those of the three results, or None."""
    of_hidden, of_cell, of_workspace = grads
    has_bias = wanted[3] or wanted[4]
    gates = of_cx = of_bias = None
    if of_hidden is not None or of_cell is not None:
        gates, of_cx, of_bias = ops._thnn_fused_lstm_cell_backward_impl(of_hidden, of_cell, cx, cy, workspace, has_bias)
    if of_workspace is not None:        # of a backward pass that is differentiated
        i, f, g, o = _chunks(workspace)
        through = of_workspace * ops.cat([i * (1 - i), f * (1 - f), 1 - g * g, o * (1 - o)], 1)
        gates = through if gates is None else gates + through
        of_bias = gates.sum(0) if has_bias else None
    return gates, gates, of_cx, of_bias, of_bias


def lstm_cell_double_backward(grads, grad_hy, grad_cy, cx, cy, workspace):
    """Gradients of what the backward operator takes; `grads` are those of its results, or None.

    With a = (a_i, a_f, a_g, a_o) the gradients of the gates' gradients, b that of the cell state's, t = tanh(cy) and c
    what arrives at the cell state: the sum is a_i c g i' + a_f c cx f' + a_g c i g' + a_o grad_hy t o' + b c f.
    """
    of_gates, of_cx, of_bias = grads
    a = ops.zeros_like(workspace) if of_gates is None else of_gates
    a_i, a_f, a_g, a_o = _chunks(a if of_bias is None else a + of_bias)
    b = ops.zeros_like(cx) if of_cx is None else of_cx
    i, f, g, o = _chunks(workspace)
    slope_i, slope_f, slope_g, slope_o = i * (1 - i), f * (1 - f), 1 - g * g, o * (1 - o)
    squashed = ops.tanh(cy)
    slope = 1 - squashed * squashed
    of_cell = _of_cell(grad_hy, grad_cy, o, squashed)
    to_cell = a_i * g * slope_i + a_f * cx * slope_f + a_g * i * slope_g + b * f
    hidden = ops.zeros_like(cx) if grad_hy is None else grad_hy
    active = ops.cat([of_cell * (a_i * g * (1 - 2 * i) + a_g * slope_g), of_cell * (a_f * cx * (1 - 2 * f) + b),
                      of_cell * (a_i * slope_i - 2 * a_g * i * g),
                      hidden * (to_cell * slope + a_o * squashed * (1 - 2 * o))], 1)
    return (to_cell * o * slope + a_o * squashed * slope_o, to_cell, a_f * of_cell * slope_f,
            hidden * slope * (a_o * slope_o - 2 * to_cell * o * squashed), active)


# --- second derivatives of convolution, which is linear in each operand ----------------------------------------------

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


# --- torch_npu -------------------------------------------------------------------------------------------------------

def add_layer_norm_backward(grads, x1, x2, rstd, mean, gamma):
    """Gradients of x1, x2, gamma and beta, from those of the norm and of the sum: either may have none."""
    dy = ops.zeros_like(x1) if grads[0] is None else grads[0]
    of_sum, of_gamma, of_beta = ops._npu_add_layer_norm_grad(dy, x1, x2, rstd, mean, gamma, grads[3])
    return of_sum, of_sum, of_gamma, of_beta
