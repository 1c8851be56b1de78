"""Multi-head attention: projections, attention in each head, a projection of what the heads found.

Programs with an attention of their own take torch's private steps from nn.functional: _in_projection_packed,
_canonical_mask and others keep torch's names and arguments.
"""

import math
import warnings

from mindtorch import Tensor
from mindtorch._core.operators.composites import linear
from mindtorch._ops.operators import ops as _ops
from mindtorch.nn._functional_attention import scaled_dot_product_attention
from mindtorch.nn._functional_norm import dropout

__all__ = ["_canonical_mask", "_check_key_padding_mask", "_in_projection", "_in_projection_packed", "_mha_shape_check",
           "_none_or_dtype", "multi_head_attention_forward"]


def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
                                 in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None,
                                 bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor,
                                 out_proj_bias: Tensor | None, training: bool = True,
                                 key_padding_mask: Tensor | None = None, need_weights: bool = True,
                                 attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
                                 q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
                                 v_proj_weight: Tensor | None = None, static_k: Tensor | None = None,
                                 static_v: Tensor | None = None, average_attn_weights: bool = True,
                                 is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """(L, N, E) attends to (S, N, E), or (L, E) to (S, E): the result, and the weights (N, L, S), or None.

    Masks are true, or -inf, where nobody may look: `key_padding_mask` (N, S), `attn_mask` (L, S) or (N * heads, L, S).
    """
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    attn_mask, key_padding_mask, is_causal = _masks(attn_mask, key_padding_mask, query.dtype, is_causal, need_weights)
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    q, k, v = _projected(query, key, value, weights, in_proj_bias)
    attn_mask = _check_mask(attn_mask, (length, key.size(0)), batch * num_heads)
    heads = batch * num_heads, width // num_heads
    q = q.reshape(length, *heads).transpose(0, 1)
    k, v, more = _keys(k, v, heads, (bias_k, bias_v), (static_k, static_v), add_zero_attn)
    attn_mask = _merged_mask(_wider(attn_mask, more), _wider(key_padding_mask, more), k.size(1), batch, num_heads)
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        found, seen = _attend(q, k, v, attn_mask, dropout_p, is_causal)
        seen = seen.reshape(batch, num_heads, length, k.size(1))
        seen = seen.mean(1) if average_attn_weights else seen
    else:
        found, seen = _fused(q, k, v, attn_mask, dropout_p, is_causal, (batch, num_heads)), None
    result = linear(found.transpose(0, 1).reshape(length * batch, width), out_proj_weight, out_proj_bias)
    result = result.reshape(length, batch, result.size(1))
    if batched:
        return result, seen
    return result.squeeze(1), None if seen is None else seen.squeeze(0)


def _attend(q, k, v, mask, dropout_p, is_causal):
    """The attention of each head with the weights that it gave."""
    if is_causal and mask is None:
        raise AssertionError("FIXME: is_causal not implemented for need_weights")
    scores = _ops.bmm(q * math.sqrt(1.0 / q.size(2)), k.transpose(1, 2))
    weights = _ops.softmax(scores if mask is None else scores + mask, -1)
    weights = dropout(weights, dropout_p) if dropout_p > 0.0 else weights
    return _ops.bmm(weights, v), weights


def _fused(q, k, v, mask, dropout_p, is_causal, sizes):
    """The attention of each head without the weights; `sizes` are those of batch and heads."""
    if mask is not None:
        mask = mask.reshape(*((1, 1) if mask.size(0) == 1 else sizes), *mask.shape[1:])     # (..., 1 or L, S)
    parts = (t.reshape(*sizes, *t.shape[1:]) for t in (q, k, v))
    return scaled_dot_product_attention(*parts, mask, dropout_p, is_causal).reshape(q.shape)


# --- projections -----------------------------------------------------------------------------------------------------

def _projected(query, key, value, weights, bias):
    """Query, key and value times the three weights, or times the thirds of one."""
    if isinstance(weights, tuple):
        for name, weight in zip("qkv", weights, strict=True):
            if weight is None:
                raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
        return _products(query, key, value, *weights, *((None,) * 3 if bias is None else bias.chunk(3)))
    if weights is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    return _in_projection_packed(query, key, value, weights, bias)


def _in_projection_packed(q, k, v, w, b=None):
    """(q, k, v) times the thirds of one weight (3 * E, E), contiguous; one input for all three in one product."""
    if q is k and k is v:
        return tuple(linear(q, w, b).unflatten(-1, (3, q.size(-1))).movedim(-2, 0).contiguous())
    return _products(q, k, v, *w.chunk(3), *((None,) * 3 if b is None else b.chunk(3)))


def _in_projection(q, k, v, w_q, w_k, w_v, b_q=None, b_k=None, b_v=None):
    """(q, k, v) times their weights, whose sizes have to fit: (E, E), (E, width of k) and (E, width of v)."""
    width = q.size(-1)
    for name, x, weight, bias in (("query", q, w_q, b_q), ("key", k, w_k, b_k), ("value", v, w_v, b_v)):
        for kind, tensor, wanted in (("weights", weight, (width, x.size(-1))), ("bias", bias, (width,))):
            if tensor is not None and tensor.shape != wanted:
                raise AssertionError(f"expecting {name} {kind} shape of {wanted}, but got {tensor.shape}")
    return _products(q, k, v, w_q, w_k, w_v, b_q, b_k, b_v)


def _products(q, k, v, w_q, w_k, w_v, b_q, b_k, b_v):
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _keys(k, v, heads, biases, static, add_zero):
    """Keys and values (N * heads, S, E / heads), and how many were added to those that were given."""
    if (biases[0] is None) != (biases[1] is None):
        missing, given = ("bias_v", "bias_k") if biases[1] is None else ("bias_k", "bias_v")
        raise AssertionError(f"{given} is set but {missing} is None")
    found = [_key(*each, heads, add_zero) for each in zip(("key", "value"), (k, v), biases, static, strict=True)]
    return *found, (biases[0] is not None) + bool(add_zero)


def _key(name, tensor, bias, static, heads, add_zero):
    if bias is not None:
        if static is not None:
            raise AssertionError(f"bias cannot be added to static {name}.")
        tensor = _ops.cat([tensor, bias.repeat(1, tensor.size(1), 1)])
    if static is None:
        found = tensor.reshape(tensor.size(0), *heads).transpose(0, 1)
    else:
        found = _check_static(static, f"static_{name[0]}", heads)
    if not add_zero:
        return found
    return _ops.cat([found, _ops.zeros((heads[0], 1, heads[1]), dtype=found.dtype, device=found.device)], 1)


def _check_static(tensor, name, heads):
    for dim, size in ((0, heads[0]), (2, heads[1])):
        if tensor.size(dim) != size:
            raise AssertionError(f"expecting {name}.size({dim}) of {size}, but got {tensor.size(dim)}")
    return tensor


# --- masks -----------------------------------------------------------------------------------------------------------

def _masks(attn_mask, key_padding_mask, dtype, is_causal, need_weights):
    """Both as numbers to add, and whether attention is causal without a mask."""
    key_padding_mask = _canonical_mask(key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask",
                                       dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    if is_causal and key_padding_mask is None and not need_weights:
        return None, None, True
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", dtype)
    return attn_mask, key_padding_mask, is_causal and key_padding_mask is None


def _none_or_dtype(input):
    """The dtype of a mask; None if there is none."""
    if input is None:
        return None
    if not isinstance(input, Tensor):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return input.dtype


def _canonical_mask(mask, mask_name, other_type, other_name, target_type, check_other=True):
    """The mask as numbers of `target_type` to add: -inf where it is true. A mask of floats is itself."""
    if mask is None:
        return None
    boolean = str(mask.dtype) == "torch.bool"
    if not boolean and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and other_type is not mask.dtype:
        warnings.warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both "
                      "instead.", stacklevel=4)
    return _ops.zeros_like(mask, dtype=target_type).masked_fill(mask, -math.inf) if boolean else mask


def _check_mask(mask, sizes, heads):
    """The mask with a dimension for the heads."""
    if mask is None:
        return None
    wanted = sizes if mask.dim() == 2 else (heads, *sizes)
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    if tuple(mask.shape) != wanted:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _wider(mask, more):
    """The mask for keys that were added at the end, which all may see."""
    if mask is None or not more:
        return mask
    return _ops.cat([mask, _ops.zeros((*mask.shape[:-1], more), dtype=mask.dtype, device=mask.device)], -1)


def _merged_mask(mask, padding, length, batch, heads):
    if padding is None:
        return mask
    _check_key_padding_mask(padding, length, batch)
    padding = padding.reshape(batch, 1, 1, length).expand(-1, heads, -1, -1).reshape(batch * heads, 1, length)
    return padding if mask is None else mask + padding


def _check_key_padding_mask(key_padding_mask, src_len, bsz):
    for dim, size in enumerate((bsz, src_len)):
        if key_padding_mask.size(dim) != size:
            raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {size}, but got "
                                 f"{key_padding_mask.size(dim)}")


# --- checks ----------------------------------------------------------------------------------------------------------

def _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether there is a batch."""
    if query.dim() not in (2, 3):
        raise AssertionError("query should be unbatched 2D or batched 3D tensor but received "
                             f"{query.dim()}-D query tensor")
    dims = query.dim()
    kind = f"For {'batched' if dims == 3 else 'unbatched'} ({dims}-D) `query`, expected"
    if key.dim() != dims or value.dim() != dims:
        raise AssertionError(f"{kind} `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D "
                             "tensors respectively")
    if key_padding_mask is not None and key_padding_mask.dim() != dims - 1:
        raise AssertionError(f"{kind} `key_padding_mask` to be `None` or {dims - 1}-D but found "
                             f"{key_padding_mask.dim()}-D tensor instead")
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor "
                             "instead")
    if attn_mask is not None and dims == 2 and attn_mask.dim() == 3:
        wanted = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}")
    return dims == 3


def _check_sizes(query, key, value, embed_dim, num_heads, separate):
    width = query.size(2)
    if width != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {width}")
    if width // num_heads * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
