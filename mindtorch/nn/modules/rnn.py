"""Recurrent layers and cells."""
from __future__ import annotations

import math
import numbers
import warnings
from typing import TYPE_CHECKING, Any

from mindtorch import empty, gru, gru_cell, lstm, lstm_cell, rnn_relu, rnn_relu_cell, rnn_tanh, rnn_tanh_cell, zeros
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import uniform_within
from mindtorch.nn.parameter import Parameter
from mindtorch.nn.utils.rnn import PackedSequence

if TYPE_CHECKING:
    from mindtorch import Tensor, dtype
    from mindtorch.types import Device

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

# Mode -> the function, and how many gates a cell has.
_MODES = {"LSTM": (lstm, 4), "GRU": (gru, 3), "RNN_TANH": (rnn_tanh, 1), "RNN_RELU": (rnn_relu, 1)}


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """index_select along `dim`, which took its place.

    Arguments:
        tensor: the tensor
        permutation: the indices
        dim: the dimension

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> nn.modules.rnn.apply_permutation(torch.tensor([[1, 2]]), torch.tensor([1, 0]))
        tensor([[2, 1]])
    """
    warnings.warn("`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
                  FutureWarning, stacklevel=2)
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """Layers of cells over sequences (T, N, C), (N, T, C) with `batch_first`, or (T, C).

    Example:
        >>> isinstance(nn.LSTM(2, 3), nn.RNNBase)
        True
    """

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
                     "bidirectional", "proj_size"]

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Device = None, dtype: dtype | None = None) -> None:
        super().__init__()
        _check_arguments(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in _MODES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights = [self._add_weights_(layer, suffix, device, dtype) for layer in range(num_layers)
                             for suffix in (("", "_reverse") if bidirectional else ("",))]
        self.reset_parameters()

    def _add_weights_(self, layer, suffix, device, dtype):
        """Parameters of one direction of one layer; their names."""
        gates = _MODES[self.mode][1] * self.hidden_size
        width = self.input_size if layer == 0 else self._output_size_() * (2 if self.bidirectional else 1)
        shapes = {"weight_ih": (gates, width), "weight_hh": (gates, self._output_size_())}
        if self.bias:
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        names = [f"{name}_l{layer}{suffix}" for name in shapes]
        for name, shape in zip(names, shapes.values(), strict=True):
            setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
        return names

    def _output_size_(self):
        return self.proj_size or self.hidden_size

    def reset_parameters(self) -> None:
        """Uniform within 1 / sqrt(hidden_size)."""
        uniform_within(1 / math.sqrt(self.hidden_size), self.parameters())

    @property
    def _flat_weights(self):
        return [getattr(self, name) for names in self._all_weights for name in names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing: no operator here asks for the parameters in one piece of memory."""

    def forward(self, input: Tensor, hx: Any = None) -> Tensor:
        """The outputs of the last layer, and the last states of all layers and directions."""
        if isinstance(input, PackedSequence):
            return self._forward_packed_(input, hx)
        if input.dim() not in (2, 3):
            noun = " tensor" if self.mode.startswith("RNN") else ""
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D{noun} instead")
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if hx is not None:
            self._check_state_dims_(hx, batched)
        if not batched:
            input = input.unsqueeze(batch_dim)
            hx = None if hx is None else self._each_state_(hx, lambda state: state.unsqueeze(1))
        batch = input.size(batch_dim)
        hx = self._zero_states_(batch, input) if hx is None else hx
        self._check_forward_args_(input, hx, batch)
        output, last = self._run_((input, hx), self.batch_first)
        if batched:
            return output, last
        return output.squeeze(batch_dim), self._each_state_(last, lambda state: state.squeeze(1))

    def _forward_packed_(self, packed, hx):
        """The same for packed sequences; states are in the order in which the sequences were given."""
        input, batch_sizes, order, order_back = packed
        batch = batch_sizes[0].item()
        if hx is None:
            hx = self._zero_states_(batch, input)
        elif order is not None:
            hx = self._each_state_(hx, lambda state: state.index_select(1, order))
        self._check_forward_args_(input, hx, batch)
        output, last = self._run_((input, batch_sizes, hx))
        if order_back is not None:
            last = self._each_state_(last, lambda state: state.index_select(1, order_back))
        return PackedSequence(output, batch_sizes, order, order_back), last

    def _run_(self, sequence, *layout):
        """The function of the mode over `sequence`: (input, hx) with batch_first behind, or (data, batch_sizes, hx)."""
        output, *last = _MODES[self.mode][0](*sequence, self._flat_weights, self.bias, self.num_layers, self.dropout,
                                             self.training, self.bidirectional, *layout)
        return output, tuple(last) if self.mode == "LSTM" else last[0]

    def _zero_states_(self, batch, like):
        states = tuple(zeros(size, dtype=like.dtype, device=like.device) for size in self._state_sizes_(batch))
        return states if self.mode == "LSTM" else states[0]

    def _each_state_(self, hx, function):
        return tuple(function(state) for state in hx) if self.mode == "LSTM" else function(hx)

    def _state_sizes_(self, batch):
        layers = self.num_layers * (2 if self.bidirectional else 1)
        hidden = (layers, batch, self._output_size_())
        return (hidden, (layers, batch, self.hidden_size)) if self.mode == "LSTM" else (hidden,)

    def _check_state_dims_(self, hx, batched):
        states, wanted = hx if self.mode == "LSTM" else (hx,), 3 if batched else 2
        if all(state.dim() == wanted for state in states):
            return
        kind = f"For {'batched' if batched else 'unbatched'} {wanted}-D input, "
        if self.mode == "LSTM":
            raise RuntimeError(f"{kind}hx and cx should also be {wanted}-D but got ({states[0].dim()}-D, "
                               f"{states[1].dim()}-D) tensors")
        raise RuntimeError(f"{kind}hx should also be {wanted}-D but got {hx.dim()}-D tensor")

    def _check_forward_args_(self, input, hx, batch):
        weight = self._flat_weights[0]
        if input.dtype != weight.dtype:
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert "
                             f"input: input.to({weight.dtype}), or convert model: model.to({input.dtype})")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                               f"{input.size(-1)}")
        states = hx if self.mode == "LSTM" else (hx,)
        for i, (state, size) in enumerate(zip(states, self._state_sizes_(batch), strict=True)):
            if tuple(state.shape) != size:
                name = f"hidden[{i}]" if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {name} size {size}, got {list(state.shape)}")

    def extra_repr(self) -> str:
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0,
                 "bidirectional": False}
        told = [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *told])


def _check_arguments(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size):
    if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being "
                         "zeroed")
    if dropout > 0 and num_layers == 1:
        warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                      f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                      stacklevel=4)
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNN(RNNBase):
    """tanh, or relu as `nonlinearity` says, of the products of input and state.

    Arguments:
        nonlinearity: "tanh" or "relu"

    Example:
        >>> output, state = nn.RNN(3, 5)(torch.ones(7, 2, 3))
        >>> output.shape, state.shape
        (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory: a state and a cell, whose hidden part `proj_size` projects to fewer numbers.

    Arguments:
        proj_size: the size of the projected state; 0 means none

    Example:
        >>> output, (state, cell) = nn.LSTM(3, 5, num_layers=2)(torch.ones(7, 2, 3))
        >>> output.shape, state.shape, cell.shape
        (torch.Size([7, 2, 5]), torch.Size([2, 2, 5]), torch.Size([2, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units.

    Example:
        >>> output, state = nn.GRU(3, 5)(torch.ones(7, 2, 3))
        >>> output.shape, state.shape
        (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


# --- cells -----------------------------------------------------------------------------------------------------------

class RNNCellBase(Module):
    """Parameters of one cell with `num_chunks` gates.

    Example:
        >>> isinstance(nn.LSTMCell(2, 3), nn.RNNCellBase)
        True
    """

    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor
    bias_hh: Tensor

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Device = None,
                 dtype: dtype | None = None) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        for name, shape, wanted in (("weight_ih", (gates, input_size), True), ("weight_hh", (gates, hidden_size), True),
                                    ("bias_ih", (gates,), bias), ("bias_hh", (gates,), bias)):
            self.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform within 1 / sqrt(hidden_size)."""
        uniform_within(1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0, self.parameters())

    def _step_(self, function, input, states, names):
        """The next states, of (N, C) or of (C); states that are not given are zeros."""
        given = [("input", input), *zip(names, states or (), strict=False)]
        for name, tensor in given:
            if tensor.dim() not in (1, 2):
                raise ValueError(f"{self._get_name()}: Expected {name} to be 1D or 2D, got {tensor.dim()}D instead")
        batched = input.dim() == 2
        input = input if batched else input.unsqueeze(0)
        if states is None:
            states = (zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device),) * len(names)
        else:
            states = tuple(state if batched else state.unsqueeze(0) for state in states)
        found = function(input, states if len(names) > 1 else states[0], self.weight_ih, self.weight_hh, self.bias_ih,
                         self.bias_hh)
        if batched:
            return found
        return tuple(state.squeeze(0) for state in found) if len(names) > 1 else found.squeeze(0)

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        parts += ["bias=False"] if not self.bias else []
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            parts.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join(parts)


class RNNCell(RNNCellBase):
    """One step of RNN.

    Arguments:
        nonlinearity: "tanh" or "relu"

    Example:
        >>> nn.RNNCell(3, 5)(torch.ones(2, 3)).shape
        torch.Size([2, 5])
    """

    nonlinearity: str

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
                 device: Device = None, dtype: dtype | None = None) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        functions = {"tanh": rnn_tanh_cell, "relu": rnn_relu_cell}
        if self.nonlinearity not in functions:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step_(functions[self.nonlinearity], input, None if hx is None else (hx,), ("hidden",))


class LSTMCell(RNNCellBase):
    """One step of LSTM: (hidden, cell).

    Example:
        >>> state, cell = nn.LSTMCell(3, 5)(torch.ones(2, 3))
        >>> state.shape, cell.shape
        (torch.Size([2, 5]), torch.Size([2, 5]))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Device = None,
                 dtype: dtype | None = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        return self._step_(lstm_cell, input, hx, ("hx[0]", "hx[1]"))


class GRUCell(RNNCellBase):
    """One step of GRU.

    Example:
        >>> nn.GRUCell(3, 5)(torch.ones(2, 3)).shape
        torch.Size([2, 5])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Device = None,
                 dtype: dtype | None = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step_(gru_cell, input, None if hx is None else (hx,), ("hidden",))
