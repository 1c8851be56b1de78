"""The LSTM cell over NumPy, from the sums of both products; gates lie in the order input, forget, cell, output."""
import numpy as np


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
