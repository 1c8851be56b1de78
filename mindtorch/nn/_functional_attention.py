"""Attention."""

from typing import Any

from mindtorch import Tensor
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import FUNCTIONS as _OPS
from mindtorch._core.operators.autocast import with_autocast_policy
from mindtorch._core.python.torch_function import overridable
from mindtorch._core.tensor.dtype import bfloat16 as _bfloat16
from mindtorch._core.tensor.dtype import bool as _bool
from mindtorch._core.tensor.dtype import float16 as _float16
from mindtorch._core.tensor.dtype import float32 as _float32
from mindtorch._core.tensor.factories import ones as _ones
from mindtorch._ops.composite.common import _require_tensors, c_type
from mindtorch.nn._sdp_backends import CHOICE as _CHOICE

__all__ = ["scaled_dot_product_attention"]

_matmul, _where, _softmax = _OPS["matmul"], _OPS["where"], _OPS["softmax"]
_fused, _dropout_mask = _ATEN["_fused_attention"], _ATEN["_dropout_mask"]
_FUSED_TYPES = (_float32, _float16, _bfloat16)
_WIDEST = 512                 # elements of a head that the fused operator takes
_EVERYTHING = 2 ** 31 - 1     # next tokens: no bound


def _check_attention(query, key, value, attn_mask, is_causal):
    _require_tensors("scaled_dot_product_attention", query=query, key=key, value=value)
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{c_type(query.dtype)} key.dtype: {c_type(key.dtype)} and value.dtype: {c_type(value.dtype)} instead.")
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead.")
    if attn_mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")


def _shared_heads(heads, query):
    """Each head of key or value once for every head of query that shares it."""
    times, rest = divmod(query.shape[-3], heads.shape[-3])
    if rest:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    shape = heads.shape
    repeated = heads.unsqueeze(-3).expand(*shape[:-2], times, *shape[-2:])
    return repeated.reshape(*shape[:-3], shape[-3] * times, *shape[-2:])


def _future_keys(query, key):
    """True where a key comes after the query."""
    return _ones((query.shape[-2], key.shape[-2]), dtype=_bool, device=query.device).triu(1)


def _can_fuse(query, key, value, mask, dropout_p, shared):
    """Whether one operator takes it all: a batch of heads, and a mask that is no numbers to add.

    As torch's, that of the CPU drops nothing; that of the NPU keeps a part of the weights.
    """
    if dropout_p > 0.0 and (dropout_p == 1.0 or query.device.type == "cpu"):
        return False
    sizes, of_keys = query.shape, key.shape
    if len(sizes) != 4 or len(of_keys) != 4 or query.dtype not in _FUSED_TYPES or 0 in sizes or 0 in of_keys:
        return False
    batch, heads, _, width = sizes
    if of_keys != value.shape or of_keys[0] != batch or of_keys[3] != width or width > _WIDEST:
        return False
    if heads % of_keys[1] or not (shared or heads == of_keys[1]):
        return False
    return mask is None or mask.dtype is _bool


def _is_flash_of_cpu(query, key, value, mask, dropout_p, shared):
    """Whether torch's flash kernel of the CPU would take it: here the formula, as its mask may be numbers to add."""
    sizes, of_keys = query.shape, key.shape
    return (query.device.type == "cpu" and dropout_p == 0.0 and query.is_floating_point()
            and len(sizes) == len(of_keys) == 4 and 0 not in sizes and 0 not in of_keys and of_keys == value.shape
            and sizes[0] == of_keys[0] and sizes[3] == of_keys[3] and (shared or sizes[1] == of_keys[1])
            and (mask is None or (mask.dim() in (2, 4) and not mask.requires_grad)))


def _fused_sdp_choice(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None,
                      enable_gqa=False):
    """The number of the SDPBackend that takes such a call."""
    arguments = query, key, value, attn_mask, dropout_p, enable_gqa
    if _CHOICE.fused and (_CHOICE.fused_first or not _CHOICE.math) and (
            _can_fuse(*arguments) or _is_flash_of_cpu(*arguments)):
        return 1                                        # FLASH_ATTENTION
    if not _CHOICE.math:
        raise RuntimeError("No available kernel.  Aborting execution.")
    return 0                                            # MATH


def _fused_attention(query, key, value, mask, dropout_p, is_causal, scale):
    """The same by one operator, whose mask is true where a query may not look."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    drop = _dropped_weights(query, key, dropout_p) if dropout_p > 0.0 else None
    how = drop, scale, 1.0 - dropout_p
    if is_causal:
        return _fused(query, key, value, _future_keys(query, key), *how, 0)[0]
    if mask is None:
        return _fused(query, key, value, None, *how, _EVERYTHING)[0]
    shape = (1,) * (4 - mask.dim()) + tuple(mask.shape)
    mask = mask.expand(*shape[:2], query.shape[2], key.shape[2])
    result = _fused(query, key, value, ~mask, *how, _EVERYTHING)[0]
    return _where(mask.any(-1, keepdim=True), result, 0.0)


def _dropped_weights(query, key, p):
    """An expanded view in place of the weights, which gives the dropout mask its shape."""
    return _dropout_mask(query.detach().as_strided((*query.shape[:3], key.shape[2]), (0, 0, 0, 0)), p)


@overridable
@with_autocast_policy("scaled_dot_product_attention")
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: Any = None,
                                 enable_gqa: bool = False) -> Any:
    """softmax(query @ key.T * scale + mask) @ value, the scale being 1 / sqrt(E) where none is given.

    A bool mask is True where a query may look; a query that may look nowhere gives zeros. With `enable_gqa` the heads
    of key and value are shared by groups of query's.
    """
    if hasattr(attn_mask, "_as_arguments_"):             # nn.attention.bias.CausalBias
        attn_mask, is_causal = attn_mask._as_arguments_(query, is_causal)
    _check_attention(query, key, value, attn_mask, is_causal)
    if not (_CHOICE.math or _CHOICE.fused):
        raise RuntimeError("No viable backend for scaled_dot_product_attention was found. This is likely due to "
                           "turning off both the math kernel and the fused kernels.")
    if _CHOICE.fused_first and _can_fuse(query, key, value, attn_mask, dropout_p, enable_gqa):
        return _fused_attention(query, key, value, attn_mask, dropout_p, is_causal, scale)
    if not _CHOICE.math and not _is_flash_of_cpu(query, key, value, attn_mask, dropout_p, enable_gqa):
        raise RuntimeError("No available kernel.  Aborting execution.")
    if enable_gqa:
        key, value = _shared_heads(key, query), _shared_heads(value, query)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = _matmul(query * scale, key.transpose(-2, -1))
    allowed = ~_future_keys(query, key) if is_causal else attn_mask
    if allowed is not None:
        scores = _where(allowed, scores, float("-inf")) if "bool" in str(allowed.dtype) else scores + allowed
    blind = None
    if attn_mask is not None:
        # Rows without any key would be 0 / 0.
        blind = (scores == float("-inf")).all(-1, keepdim=True)
        scores = _where(blind, 0.0, scores)
    weights = _softmax(scores, -1)
    if blind is not None:
        weights = _where(blind, 0.0, weights)
    if dropout_p > 0.0:
        from mindtorch.nn.functional import dropout
        weights = dropout(weights, dropout_p)
    return _matmul(weights, value)
