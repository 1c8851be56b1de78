"""Activations, and attention with several heads."""
import warnings
from typing import Any

from mindtorch import empty
from mindtorch.nn import functional as F
from mindtorch.nn import init
from mindtorch.nn.modules.linear import NonDynamicallyQuantizableLinear
from mindtorch.nn.modules.module import Module
from mindtorch.nn.modules.utils import described
from mindtorch.nn.parameter import Parameter

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Plain(Module):
    """A function of functional without arguments."""

    _function: Any = None

    def forward(self, input):
        return self._function(input)


class LogSigmoid(_Plain):
    """log(1 / (1 + exp(-x)))."""

    _function = staticmethod(F.logsigmoid)


class Sigmoid(_Plain):
    """1 / (1 + exp(-x))."""

    _function = staticmethod(F.sigmoid)


class Softsign(_Plain):
    """x / (1 + |x|)."""

    _function = staticmethod(F.softsign)


class Tanh(_Plain):
    """Hyperbolic tangent."""

    _function = staticmethod(F.tanh)


class Tanhshrink(_Plain):
    """x - tanh(x)."""

    _function = staticmethod(F.tanhshrink)


class _MayBeInPlace(Module):
    """A function of functional whose only argument is `inplace`."""

    __constants__ = ["inplace"]
    _function: Any = None

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return self._function(input, inplace=self.inplace)

    def extra_repr(self):
        return described(self, "inplace")


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


class _QuietlyInPlace(_MayBeInPlace):
    """torch does not print `inplace` of these."""

    def extra_repr(self):
        return ""


class Hardsigmoid(_QuietlyInPlace):
    """relu6(x + 3) / 6."""

    _function = staticmethod(F.hardsigmoid)


class Hardswish(_QuietlyInPlace):
    """x * relu6(x + 3) / 6."""

    _function = staticmethod(F.hardswish)


class CELU(Module):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return described(self, *self.__constants__)


class ELU(Module):
    """x where positive, alpha * (exp(x) - 1) elsewhere."""

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return described(self, *self.__constants__)


class GELU(Module):
    """x times the normal distribution's Phi(x), exactly or with a "tanh" formula."""

    __constants__ = ["approximate"]

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """The first half along `dim` times the sigmoid of the second."""

    __constants__ = ["dim"]

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self):
        return described(self, "dim")


class Hardtanh(Module):
    """x clamped to [min_val, max_val]."""

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        super().__init__()
        for name, value in (("min", min_value), ("max", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{name}_value` is deprecated and rename to `{name}_val`",
                              FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self):
        return described(self, *self.__constants__)


class ReLU6(Hardtanh):
    """x clamped to [0, 6]."""

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return described(self, "inplace")


class LeakyReLU(Module):
    """x where positive, negative_slope * x elsewhere."""

    __constants__ = ["negative_slope", "inplace"]

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self):
        return described(self, *self.__constants__)


class PReLU(Module):
    """LeakyReLU whose slope is learned, one for all channels or one for each."""

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """All slopes are `init`."""
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return described(self, "num_parameters")


class RReLU(Module):
    """LeakyReLU with slopes drawn from [lower, upper] while training, and their mean otherwise."""

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return described(self, *self.__constants__)


class _Shrink(Module):
    __constants__ = ["lambd"]
    _function: Any = None

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return self._function(input, self.lambd)

    def extra_repr(self):
        return str(self.lambd)


class Hardshrink(_Shrink):
    """0 within [-lambd, lambd], x elsewhere."""

    _function = staticmethod(F.hardshrink)


class Softshrink(_Shrink):
    """x moved by lambd towards 0, at most to 0."""

    _function = staticmethod(F.softshrink)


class Softplus(Module):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold."""

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return described(self, *self.__constants__)


class Threshold(Module):
    """x where above `threshold`, `value` elsewhere."""

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold, value, inplace=False):
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self):
        return described(self, *self.__constants__)


class _AlongDim(Module):
    """A softmax; without `dim` functional chooses one and warns."""

    __constants__ = ["dim"]
    _function: Any = None

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return self._function(input, self.dim, _stacklevel=5)

    def extra_repr(self):
        return described(self, "dim")


class LogSoftmax(_AlongDim):
    """The logarithm of Softmax."""

    _function = staticmethod(F.log_softmax)


class Softmax(_AlongDim):
    """exp(x) divided by its sum along `dim`."""

    _function = staticmethod(F.softmax)


class Softmin(_AlongDim):
    """Softmax of -x."""

    _function = staticmethod(F.softmin)


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class MultiheadAttention(Module):
    """Attention of `num_heads` heads between projections of query, key and value.

    The three projections are one weight (3 * embed_dim, embed_dim), or three where key or value are of another width.
    """

    __constants__ = ["batch_first"]

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
                 vdim=None, batch_first=False, device=None, dtype=None):
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

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
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
