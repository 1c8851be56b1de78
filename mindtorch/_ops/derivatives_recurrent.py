"""The LSTM cell by its gates (input, forget, cell, output), its derivatives, and those of its derivatives."""
from mindtorch._ops.derivatives import ops


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
    """What arrives at the cell state."""
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
