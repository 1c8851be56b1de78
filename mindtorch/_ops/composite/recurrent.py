"""Recurrent cells, and whole sequences of them, as torch.nn.LSTM, GRU and RNN call them."""
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.operators.autocast import with_autocast_policy
from mindtorch._core.operators.composites import linear as _linear
from mindtorch._core.tensor.dtype import _promote_types
from mindtorch._ops.composite.common import _require_tensors

_cat, _stack = _OPS["cat"], _OPS["stack"]
_fused_lstm_cell = _ATEN["_thnn_fused_lstm_cell"]
_sigmoid, _tanh, _relu = _OPS["sigmoid"], _OPS["tanh"], _OPS["relu"]


# One step: the input's gates, computed for all steps at once, the state, and the weights of the state.

def _lstm_step(gates, state, weight, bias):
    hidden, cell = state
    recurrent = _linear(hidden, weight, bias)
    if cell.dtype is not gates.dtype:       # autocast casts what products take, not the state
        common = _promote_types(cell.dtype, gates.dtype)
        gates, recurrent, cell = gates.to(common), recurrent.to(common), cell.to(common)
    return _fused_lstm_cell(gates, recurrent, cell)[:2]


def _gru_step(gates, state, weight, bias):
    hidden, = state
    input_r, input_z, input_n = gates.chunk(3, -1)
    hidden_r, hidden_z, hidden_n = _linear(hidden, weight, bias).chunk(3, -1)
    reset, update = _sigmoid(input_r + hidden_r), _sigmoid(input_z + hidden_z)
    new = _tanh(input_n + reset * hidden_n)
    return (new + update * (hidden - new),)


def _rnn_tanh_step(gates, state, weight, bias):
    return (_tanh(gates + _linear(state[0], weight, bias)),)


def _rnn_relu_step(gates, state, weight, bias):
    return (_relu(gates + _linear(state[0], weight, bias)),)


def _check_cell(gates, input, states, w_ih, w_hh):
    """RuntimeError where sizes do not fit, in torch's words."""
    size = w_hh.shape[1]
    if input.shape[1] != w_ih.shape[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {input.shape[1]} expected {w_ih.shape[1]}")
    for name, weight in (("weight_ih", w_ih), ("weight_hh", w_hh)):
        if weight.shape[0] != gates * size:
            raise RuntimeError(f"{name} first dim must be {gates} * hidden_size = {gates * size}, but got "
                               f"{weight.shape[0]}")
    for number, state in enumerate(states):
        if state.shape[0] != input.shape[0]:
            raise RuntimeError(f"Input batch size {input.shape[0]} doesn't match hidden{number} batch size "
                               f"{state.shape[0]}")
        if state.shape[1] != size:
            raise RuntimeError(f"hidden{number} has inconsistent hidden_size: got {state.shape[1]}, expected {size}")


# --- cells -----------------------------------------------------------------------------------------------------------

@with_autocast_policy("lstm_cell")
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next (hidden, cell) of an LSTM. Gates lie in the order input, forget, cell, output."""
    _require_tensors("lstm_cell", input=input)
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    _check_cell(4, input, hx, w_ih, w_hh)
    return _lstm_step(_linear(input, w_ih, b_ih), hx, w_hh, b_hh)


@with_autocast_policy("gru_cell")
def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """The next hidden state of a GRU. Gates lie in the order reset, update, new."""
    _require_tensors("gru_cell", input=input, hx=hx)
    return _gru_step(_linear(input, w_ih, b_ih), (hx,), w_hh, b_hh)[0]


@with_autocast_policy("rnn_tanh_cell")
def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """tanh of the sum of both products."""
    _require_tensors("rnn_tanh_cell", input=input, hx=hx)
    return _rnn_tanh_step(_linear(input, w_ih, b_ih), (hx,), w_hh, b_hh)[0]


@with_autocast_policy("rnn_relu_cell")
def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """relu of the sum of both products."""
    _require_tensors("rnn_relu_cell", input=input, hx=hx)
    return _rnn_relu_step(_linear(input, w_ih, b_ih), (hx,), w_hh, b_hh)[0]


# --- sequences -------------------------------------------------------------------------------------------------------

def _full_steps(step, input, state, weights, reverse):
    """One direction of one layer over (T, B, ...)."""
    w_ih, w_hh, b_ih, b_hh = weights
    gates = _linear(input, w_ih, b_ih)
    outputs = []
    for t in reversed(range(len(gates))) if reverse else range(len(gates)):
        state = step(gates[t], state, w_hh, b_hh)
        outputs.append(state[0])
    return _stack(outputs[::-1] if reverse else outputs), state


def _packed_steps(step, input, batch_sizes, state, weights, reverse):
    """The same over packed sequences, of which fewer are left at each step."""
    w_ih, w_hh, b_ih, b_hh = weights
    parts = _linear(input, w_ih, b_ih).split(batch_sizes)
    whole, outputs = state, []
    for t in reversed(range(len(parts))) if reverse else range(len(parts)):
        count = batch_sizes[t]
        state = step(parts[t], tuple(one[:count] for one in whole), w_hh, b_hh)
        outputs.append(state[0])
        whole = state if count == len(whole[0]) else tuple(
            _cat([new, old[count:]]) for new, old in zip(state, whole, strict=True))
    return _cat(outputs[::-1] if reverse else outputs), whole


def _projected(step, weight):
    """The step of an LSTM whose hidden state goes through `weight`."""
    def projected(*args):
        hidden, cell = step(*args)
        return _linear(hidden, weight, None), cell
    return projected


def _layers(run, step, input, states, params, has_biases, num_layers, dropout, train, bidirectional):
    """All layers and directions; `states` holds (layers * directions, B, H) tensors."""
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    projects = each % 2 == 1
    last = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            at = layer * directions + direction
            weights = list(params[at * each:(at + 1) * each])
            taken = _projected(step, weights.pop()) if projects else step
            weights += [] if has_biases else [None, None]
            output, state = run(taken, input, tuple(one[at] for one in states), weights, direction == 1)
            outputs.append(output)
            last.append(state)
        input = outputs[0] if directions == 1 else _cat(outputs, -1)
        if dropout and train and layer < num_layers - 1:
            from mindtorch.nn.functional import dropout as drop
            input = drop(input, dropout, True)
    return input, tuple(_stack([state[i] for state in last]) for i in range(len(states)))


def _sequence(step, name, several):
    """torch.<name>: (input, hx, params, ...) or, packed, (data, batch_sizes, hx, params, ...)."""
    def run_all(first, second, third, *rest):
        if isinstance(rest[0], (list, tuple)):
            data, batch_sizes, hx, (params, has_biases, num_layers, dropout, train, bidirectional) = \
                first, second.tolist(), third, rest
            batch_first = False

            def run(step, input, state, weights, reverse):
                return _packed_steps(step, input, batch_sizes, state, weights, reverse)
        else:
            data, hx, params = first, second, third
            has_biases, num_layers, dropout, train, bidirectional, batch_first = rest
            run = _full_steps
        states = tuple(hx) if several else (hx,)
        data = data.transpose(0, 1) if batch_first else data
        output, last = _layers(run, step, data, states, params, has_biases, num_layers, dropout, train, bidirectional)
        return output.transpose(0, 1) if batch_first else output, *last
    run_all.__name__ = run_all.__qualname__ = name
    run_all.__doc__ = f"{name}: outputs of the last layer, then the last states of all layers and directions."
    return run_all


_lstm = _sequence(_lstm_step, "lstm", several=True)
_lstm_of_padded = with_autocast_policy("mkldnn_rnn_layer")(_lstm)


def lstm(first, second, third, *rest):
    """lstm: outputs of the last layer, then the last states of all layers and directions."""
    # On the CPU torch has a kernel for sequences that are not packed, without projections: autocast casts for it.
    plain = isinstance(rest[0], (list, tuple)) or second[0].shape != second[1].shape
    return (_lstm if plain else _lstm_of_padded)(first, second, third, *rest)


gru = _sequence(_gru_step, "gru", several=False)
rnn_tanh = _sequence(_rnn_tanh_step, "rnn_tanh", several=False)
rnn_relu = _sequence(_rnn_relu_step, "rnn_relu", several=False)

FUNCTIONS = {function.__name__: function for function in (
    lstm_cell, gru_cell, rnn_tanh_cell, rnn_relu_cell, lstm, gru, rnn_tanh, rnn_relu)}
