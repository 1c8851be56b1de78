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
    """log(1 / (1 + exp(-x)))."""

    _function = staticmethod(F.logsigmoid)


class Sigmoid(FunctionLayer):
    """1 / (1 + exp(-x))."""

    _function = staticmethod(F.sigmoid)


class Softsign(FunctionLayer):
    """x / (1 + |x|)."""

    _function = staticmethod(F.softsign)


class Tanh(FunctionLayer):
    """Hyperbolic tangent."""

    _function = staticmethod(F.tanh)


class Tanhshrink(FunctionLayer):
    """x - tanh(x)."""

    _function = staticmethod(F.tanhshrink)


class _MayBeInPlace(FunctionLayer):
    def __init__(self, inplace: bool = False) -> None:
        self._keep(locals())

    # As any FunctionLayer, in less time: no layer is called more often than ReLU.
    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.inplace)


class Mish(_MayBeInPlace):
    """x * tanh(softplus(x))."""

    _function = staticmethod(F.mish)


class ReLU(_MayBeInPlace):
    """max(0, x)."""

    _function = staticmethod(F.relu)


class SELU(_MayBeInPlace):
    """ELU whose two constants keep mean and variance from layer to layer."""

    _function = staticmethod(F.selu)


class SiLU(_MayBeInPlace):
    """x * sigmoid(x)."""

    _function = staticmethod(F.silu)


class Hardsigmoid(_MayBeInPlace):
    """relu6(x + 3) / 6."""

    _function, _shown = staticmethod(F.hardsigmoid), ()


class Hardswish(_MayBeInPlace):
    """x * relu6(x + 3) / 6."""

    _function, _shown = staticmethod(F.hardswish), ()


class _WithAlpha(FunctionLayer):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self._keep(locals())


class CELU(_WithAlpha):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""

    alpha: float

    _function = staticmethod(F.celu)


class ELU(_WithAlpha):
    """x where positive, alpha * (exp(x) - 1) elsewhere."""

    alpha: float

    _function = staticmethod(F.elu)


class GELU(FunctionLayer):
    """x times the normal distribution's Phi(x), exactly or with a "tanh" formula."""

    approximate: str

    _function = staticmethod(F.gelu)
    _passed = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        self._keep(locals())

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class GLU(FunctionLayer):
    """The first half along `dim` times the sigmoid of the second."""

    dim: int

    _function = staticmethod(F.glu)

    def __init__(self, dim: int = -1) -> None:
        self._keep(locals())


class Hardtanh(FunctionLayer):
    """x clamped to [min_val, max_val]."""

    min_val: float
    max_val: float
    inplace: bool

    _function = staticmethod(F.hardtanh)
    _passed = ("min_val", "max_val", "inplace")

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
        self._keep({"min_val": min_val, "max_val": max_val, "inplace": inplace})


class ReLU6(Hardtanh):
    """x clamped to [0, 6]."""

    _shown = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class LeakyReLU(FunctionLayer):
    """x where positive, negative_slope * x elsewhere."""

    inplace: bool
    negative_slope: float

    _function = staticmethod(F.leaky_relu)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self._keep(locals())


class PReLU(FunctionLayer):
    """LeakyReLU whose slope is learned, one for all channels or one for each."""

    num_parameters: int

    _function = staticmethod(F.prelu)
    _passed, _shown = ("weight",), ("num_parameters",)

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Device = None,
                 dtype: dtype | None = None) -> None:
        self._keep({"num_parameters": num_parameters, "init": init})
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """All slopes are `init`."""
        init.constant_(self.weight, self.init)


class RReLU(FunctionLayer):
    """LeakyReLU with slopes drawn from [lower, upper] while training, and their mean otherwise."""

    lower: float
    upper: float
    inplace: bool

    _function = staticmethod(F.rrelu)
    _passed, _shown = ("lower", "upper", "training", "inplace"), ("lower", "upper", "inplace")

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        self._keep(locals())


class _Shrink(FunctionLayer):
    def __init__(self, lambd: float = 0.5) -> None:
        self._keep(locals())

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink):
    """0 within [-lambd, lambd], x elsewhere."""

    lambd: float

    _function = staticmethod(F.hardshrink)


class Softshrink(_Shrink):
    """x moved by lambd towards 0, at most to 0."""

    lambd: float

    _function = staticmethod(F.softshrink)


class Softplus(FunctionLayer):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold."""

    beta: float
    threshold: float

    _function = staticmethod(F.softplus)

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self._keep(locals())


class Threshold(FunctionLayer):
    """x where above `threshold`, `value` elsewhere."""

    threshold: float
    value: float
    inplace: bool

    _function = staticmethod(F.threshold)

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        self._keep(locals())


class _AlongDim(FunctionLayer):
    """A softmax; without `dim` functional chooses one and warns, of the line that called the layer."""

    _stacklevel = 5
    _shown = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        self._keep(locals())


class LogSoftmax(_AlongDim):
    """The logarithm of Softmax."""

    dim: int | None

    _function, _passed = staticmethod(F.log_softmax), ("dim", "_stacklevel")


class Softmax(_AlongDim):
    """exp(x) divided by its sum along `dim`."""

    dim: int | None

    _function, _passed = staticmethod(F.softmax), ("dim", "_stacklevel")


class Softmin(_AlongDim):
    """Softmax of -x."""

    dim: int | None

    _function, _passed = staticmethod(F.softmin), ("dim", "_stacklevel")


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class MultiheadAttention(Module):
    """Attention of `num_heads` heads between projections of query, key and value.

    The three projections are one weight (3 * embed_dim, embed_dim), or three where key or value are of another width.
    """

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
        """What the heads found, and their weights, or None."""
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
