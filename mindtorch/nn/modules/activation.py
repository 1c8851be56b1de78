"""Activations, and attention with several heads."""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from mindtorch import empty
from mindtorch.nn import functional as F
from mindtorch.nn import init
from mindtorch.nn.modules.function_layer import FunctionLayer
from mindtorch.nn.modules.linear import NonDynamicallyQuantizableLinear
from mindtorch.nn.modules.module import Module
from mindtorch.nn.parameter import Parameter

if TYPE_CHECKING:
    from mindtorch import Tensor, dtype
    from mindtorch.types import Device

__all__ = ["CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
           "LogSigmoid", "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU",
           "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
           "Threshold"]


class LogSigmoid(FunctionLayer):
    """log(1 / (1 + exp(-x))).

    Example:
        >>> nn.LogSigmoid()(torch.tensor([0.0, 2.0]))
        tensor([-0.6931, -0.1269])
    """

    _function_ = staticmethod(F.logsigmoid)


class Sigmoid(FunctionLayer):
    """1 / (1 + exp(-x)).

    Example:
        >>> nn.Sigmoid()(torch.tensor([0.0, 2.0]))
        tensor([0.5000, 0.8808])
    """

    _function_ = staticmethod(F.sigmoid)


class Softsign(FunctionLayer):
    """x / (1 + |x|).

    Example:
        >>> nn.Softsign()(torch.tensor([1.0, -3.0]))
        tensor([ 0.5000, -0.7500])
    """

    _function_ = staticmethod(F.softsign)


class Tanh(FunctionLayer):
    """Hyperbolic tangent.

    Example:
        >>> nn.Tanh()(torch.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7616])
    """

    _function_ = staticmethod(F.tanh)


class Tanhshrink(FunctionLayer):
    """x - tanh(x).

    Example:
        >>> nn.Tanhshrink()(torch.tensor([1.0]))
        tensor([0.2384])
    """

    _function_ = staticmethod(F.tanhshrink)


class _MayBeInPlace(FunctionLayer):
    def __init__(self, inplace: bool = False) -> None:
        self._store_(locals())

    # As any FunctionLayer, in less time: no layer is called more often than ReLU.
    def forward(self, input: Tensor) -> Tensor:
        return self._function_(input, self.inplace)


class Mish(_MayBeInPlace):
    """x * tanh(softplus(x)).

    Example:
        >>> nn.Mish()(torch.tensor([1.0, -1.0]))
        tensor([ 0.8651, -0.3034])
    """

    _function_ = staticmethod(F.mish)


class ReLU(_MayBeInPlace):
    """max(0, x).

    Example:
        >>> nn.ReLU()(torch.tensor([1.0, -1.0]))
        tensor([1., 0.])
    """

    _function_ = staticmethod(F.relu)


class SELU(_MayBeInPlace):
    """ELU whose two constants keep mean and variance from layer to layer.

    Example:
        >>> nn.SELU()(torch.tensor([1.0, -1.0]))
        tensor([ 1.0507, -1.1113])
    """

    _function_ = staticmethod(F.selu)


class SiLU(_MayBeInPlace):
    """x * sigmoid(x).

    Example:
        >>> nn.SiLU()(torch.tensor([1.0, -1.0]))
        tensor([ 0.7311, -0.2689])
    """

    _function_ = staticmethod(F.silu)


class Hardsigmoid(_MayBeInPlace):
    """relu6(x + 3) / 6.

    Example:
        >>> nn.Hardsigmoid()(torch.tensor([-4.0, 0.0, 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """

    _function_, _shown_ = staticmethod(F.hardsigmoid), ()


class Hardswish(_MayBeInPlace):
    """x * relu6(x + 3) / 6.

    Example:
        >>> nn.Hardswish()(torch.tensor([-4.0, 1.0]))
        tensor([-0.0000, 0.6667])
    """

    _function_, _shown_ = staticmethod(F.hardswish), ()


class _WithAlpha(FunctionLayer):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self._store_(locals())


class CELU(_WithAlpha):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

    Example:
        >>> nn.CELU()(torch.tensor([1.0, -1.0]))
        tensor([ 1.0000, -0.6321])
    """

    alpha: float

    _function_ = staticmethod(F.celu)


class ELU(_WithAlpha):
    """x where positive, alpha * (exp(x) - 1) elsewhere.

    Example:
        >>> nn.ELU()(torch.tensor([1.0, -1.0]))
        tensor([ 1.0000, -0.6321])
    """

    alpha: float

    _function_ = staticmethod(F.elu)


class GELU(FunctionLayer):
    """x times the normal distribution's Phi(x), exactly or with a "tanh" formula.

    Arguments:
        approximate: "none" or "tanh"

    Example:
        >>> nn.GELU()(torch.tensor([1.0, -1.0]))
        tensor([ 0.8413, -0.1587])
    """

    approximate: str

    _function_ = staticmethod(F.gelu)
    _passed_ = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        self._store_(locals())

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class GLU(FunctionLayer):
    """The first half along `dim` times the sigmoid of the second.

    Example:
        >>> nn.GLU()(torch.tensor([1.0, 0.0]))
        tensor([0.5000])
    """

    dim: int

    _function_ = staticmethod(F.glu)

    def __init__(self, dim: int = -1) -> None:
        self._store_(locals())


class Hardtanh(FunctionLayer):
    """x clamped to [min_val, max_val].

    Arguments:
        min_val: the lower bound
        max_val: the upper bound
        min_value: deprecated, see min_val
        max_value: deprecated, see max_val

    Example:
        >>> nn.Hardtanh()(torch.tensor([-2.0, 0.5]))
        tensor([-1.0000,  0.5000])
    """

    min_val: float
    max_val: float
    inplace: bool

    _function_ = staticmethod(F.hardtanh)
    _passed_ = ("min_val", "max_val", "inplace")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
                 min_value: float | None = None, max_value: float | None = None) -> None:
        for name, value in (("min", min_value), ("max", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{name}_value` is deprecated and rename to `{name}_val`",
                              FutureWarning, stacklevel=2)
        min_val = min_val if min_value is None else min_value
        max_val = max_val if max_value is None else max_value
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self._store_({"min_val": min_val, "max_val": max_val, "inplace": inplace})


class ReLU6(Hardtanh):
    """x clamped to [0, 6].

    Example:
        >>> nn.ReLU6()(torch.tensor([-1.0, 8.0]))
        tensor([0., 6.])
    """

    _shown_ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class LeakyReLU(FunctionLayer):
    """x where positive, negative_slope * x elsewhere.

    Arguments:
        negative_slope: the slope for negative elements

    Example:
        >>> nn.LeakyReLU(0.1)(torch.tensor([1.0, -1.0]))
        tensor([ 1.0000, -0.1000])
    """

    inplace: bool
    negative_slope: float

    _function_ = staticmethod(F.leaky_relu)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self._store_(locals())


class PReLU(FunctionLayer):
    """LeakyReLU whose slope is learned, one for all channels or one for each.

    Arguments:
        num_parameters: 1, or the number of channels
        init: the slope at first

    Example:
        >>> nn.PReLU()(torch.tensor([1.0, -1.0])).detach()
        tensor([ 1.0000, -0.2500])
    """

    num_parameters: int
    weight: Parameter

    _function_ = staticmethod(F.prelu)
    _passed_, _shown_ = ("weight",), ("num_parameters",)

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Device = None,
                 dtype: dtype | None = None) -> None:
        self._store_({"num_parameters": num_parameters, "init": init})
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """All slopes are `init`."""
        init.constant_(self.weight, self.init)


class RReLU(FunctionLayer):
    """LeakyReLU with slopes drawn from [lower, upper] while training, and their mean otherwise.

    Arguments:
        lower: the least slope
        upper: the greatest slope

    Example:
        >>> nn.RReLU().eval()(torch.tensor([1.0, -1.0]))
        tensor([ 1.0000, -0.2292])
    """

    lower: float
    upper: float
    inplace: bool

    _function_ = staticmethod(F.rrelu)
    _passed_, _shown_ = ("lower", "upper", "training", "inplace"), ("lower", "upper", "inplace")

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        self._store_(locals())


class _Shrink(FunctionLayer):
    def __init__(self, lambd: float = 0.5) -> None:
        self._store_(locals())

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink):
    """0 within [-lambd, lambd], x elsewhere.

    Example:
        >>> nn.Hardshrink()(torch.tensor([0.3, -0.8]))
        tensor([ 0.0000, -0.8000])
    """

    lambd: float

    _function_ = staticmethod(F.hardshrink)


class Softshrink(_Shrink):
    """x moved by lambd towards 0, at most to 0.

    Example:
        >>> nn.Softshrink()(torch.tensor([1.0, 0.3]))
        tensor([0.5000, 0.0000])
    """

    lambd: float

    _function_ = staticmethod(F.softshrink)


class Softplus(FunctionLayer):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold.

    Arguments:
        beta: how sharp the bend is
        threshold: where beta * x itself is the result

    Example:
        >>> nn.Softplus()(torch.tensor([0.0, 30.0]))
        tensor([ 0.6931, 30.0000])
    """

    beta: float
    threshold: float

    _function_ = staticmethod(F.softplus)

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self._store_(locals())


class Threshold(FunctionLayer):
    """x where above `threshold`, `value` elsewhere.

    Arguments:
        threshold: the threshold
        value: what replaces the elements up to the threshold

    Example:
        >>> nn.Threshold(2, -1)(torch.tensor([1.0, 3.0]))
        tensor([-1.,  3.])
    """

    threshold: float
    value: float
    inplace: bool

    _function_ = staticmethod(F.threshold)

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        self._store_(locals())


class _AlongDim(FunctionLayer):
    """A softmax; without `dim` functional chooses one and warns, of the line that called the layer."""

    _stacklevel = 5
    _shown_ = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        self._store_(locals())


class LogSoftmax(_AlongDim):
    """The logarithm of Softmax.

    Example:
        >>> nn.LogSoftmax(dim=0)(torch.tensor([0.0, 0.0]))
        tensor([-0.6931, -0.6931])
    """

    dim: int | None

    _function_, _passed_ = staticmethod(F.log_softmax), ("dim", "_stacklevel")


class Softmax(_AlongDim):
    """exp(x) divided by its sum along `dim`.

    Example:
        >>> nn.Softmax(dim=0)(torch.tensor([0.0, 0.0]))
        tensor([0.5000, 0.5000])
    """

    dim: int | None

    _function_, _passed_ = staticmethod(F.softmax), ("dim", "_stacklevel")


class Softmin(_AlongDim):
    """Softmax of -x.

    Example:
        >>> nn.Softmin(dim=0)(torch.tensor([0.0, 1.0]))
        tensor([0.7311, 0.2689])
    """

    dim: int | None

    _function_, _passed_ = staticmethod(F.softmin), ("dim", "_stacklevel")


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W).

    Example:
        >>> nn.Softmax2d()(torch.zeros(1, 2, 1, 1)).flatten()
        tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class MultiheadAttention(Module):
    """Attention of `num_heads` heads between projections of query, key and value.

    The three projections are one weight (3 * embed_dim, embed_dim), or three where key or value are of another width.

    Arguments:
        embed_dim: the size of queries and of the result
        num_heads: the number of heads
        add_bias_kv: whether a learned key and value is appended
        add_zero_attn: whether a key and value of zeros is appended
        kdim: the size of keys; None means embed_dim
        vdim: the size of values; None means embed_dim

    Example:
        >>> x = torch.ones(7, 2, 8)
        >>> output, weights = nn.MultiheadAttention(8, 2)(x, x, x)
        >>> output.shape, weights.shape
        (torch.Size([7, 2, 8]), torch.Size([2, 7, 7]))
    """

    in_proj_weight: Parameter
    in_proj_bias: Parameter
    q_proj_weight: Parameter
    k_proj_weight: Parameter
    v_proj_weight: Parameter
    bias_k: Tensor | None
    bias_v: Tensor | None

    __constants__ = ["batch_first"]

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False, device: Device = None,
                 dtype: dtype | None = None) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                             f"num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(*shape):
            return Parameter(empty(shape, device=device, dtype=dtype))
        same = self._qkv_same_embed_dim
        for name, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            self.register_parameter(f"{name}_proj_weight", None if same else parameter(embed_dim, width))
        self.register_parameter("in_proj_weight", parameter(3 * embed_dim, embed_dim) if same else None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.bias_k = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
                need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
        """The heads' results, and their weights or None."""
        turned = self.batch_first and query.dim() == 3
        if turned:
            # functional computes the projections of one tensor together, and knows it by its identity.
            views = {id(tensor): tensor.transpose(0, 1) for tensor in (query, key, value)}
            query, key, value = (views[id(tensor)] for tensor in (query, key, value))
        found, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal)
        return found.transpose(0, 1) if turned else found, weights
