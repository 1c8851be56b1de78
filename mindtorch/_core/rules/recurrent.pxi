# Rules of LSTM cells.
from libc.stdint cimport int64_t
from libc.string cimport memcmp

from mindtorch._core.tensor.dtype cimport dtype_name
from mindtorch._core.tensor.tensor cimport shape_text


cdef int check_lstm_cell(TensorBase input_gates, TensorBase hidden_gates, TensorBase cx) except -1:
    """The gates must be (batch, 4 * width) and the cell state (batch, width), all of one dtype."""
    cdef TensorBase other
    if input_gates.ndim != 2 or cx.ndim != 2 or input_gates.sizes[1] != 4 * cx.sizes[1]:
        raise RuntimeError(f"expected gates four times as wide as the cell state, but got sizes "
                           f"{shape_text(input_gates.ndim, input_gates.sizes)} and {shape_text(cx.ndim, cx.sizes)}")
    if (hidden_gates.ndim != 2 or hidden_gates.sizes[0] != input_gates.sizes[0] or cx.sizes[0] != input_gates.sizes[0]
            or hidden_gates.sizes[1] != input_gates.sizes[1]):
        raise RuntimeError("expected gates and cell state of one batch, but got sizes "
                           f"{shape_text(input_gates.ndim, input_gates.sizes)}, "
                           f"{shape_text(hidden_gates.ndim, hidden_gates.sizes)} and {shape_text(cx.ndim, cx.sizes)}")
    for other in (hidden_gates, cx):
        if other.dtype != input_gates.dtype:
            raise RuntimeError(f"expected scalar type {dtype_name(input_gates.dtype)} but found "
                               f"{dtype_name(other.dtype)}")
    return 0


cdef int check_lstm_gradients(TensorBase grad_hy, TensorBase grad_cy, TensorBase cx, TensorBase cy,
                              TensorBase workspace) except -1:
    """One gradient must be given; gradients and states must be (batch, width)."""
    cdef TensorBase state
    check_lstm_cell(workspace, workspace, cx)
    if grad_hy is None and grad_cy is None:
        raise RuntimeError("expected a gradient of the hidden state or of the cell state")
    for state in (cy, grad_hy, grad_cy):
        if state is not None and (state.ndim != 2 or memcmp(state.sizes, cx.sizes, 2 * sizeof(int64_t))):
            raise RuntimeError(f"expected a state of size {shape_text(cx.ndim, cx.sizes)}, but got "
                               f"{shape_text(state.ndim, state.sizes)}")
    return 0
