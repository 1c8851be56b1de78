"""torch.nn.attention.flex_attention: attention whose scores and mask are functions of the places of query and key.

There is no compiler: vmap calls the functions once, for all places, and the scores of all pairs exist at once.
Gradients flow through both.
"""
from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import mindtorch
from mindtorch._submodules import module_getattr
from mindtorch.nn.attention._block_mask import (
    _DEFAULT_SPARSE_BLOCK_SIZE,
    BlockMask,
    and_masks,
    evaluated,
    noop_mask,
    or_masks,
    places,
)

if TYPE_CHECKING:
    from mindtorch import Tensor
    from mindtorch.types import Device

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask", "create_mask",
           "flex_attention", "noop_mask", "or_masks"]


class FlexKernelOptions(TypedDict, total=False):
    """The kernel_options of flex_attention: what torch's Triton kernels are tuned by. None is read here.

    Example:
        >>> torch.nn.attention.flex_attention.FlexKernelOptions(BLOCK_M=64)
        {'BLOCK_M': 64}
    """

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    BLOCK_M1: int
    BLOCK_N1: int
    BLOCK_M2: int
    BLOCK_N2: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    USE_TMA: bool
    kpack: int
    matrix_instr_nonkdim: int
    waves_per_eu: int
    BACKEND: str


class AuxRequest(NamedTuple):
    """The additional results of flex_attention.

    Arguments:
        lse: whether the logarithms of the sums are returned; or they themselves
        max_scores: whether the largest scores are returned; or they themselves

    Example:
        >>> from mindtorch.nn.attention.flex_attention import AuxRequest, flex_attention
        >>> q = torch.ones(1, 1, 2, 4)
        >>> flex_attention(q, q, q, return_aux=AuxRequest(max_scores=True))[1].max_scores
        tensor([[[2., 2.]]])
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The results of an AuxRequest: logarithms of sums of exponentials and the largest of the scores.

    Arguments:
        lse: whether the logarithms of the sums are returned; or they themselves
        max_scores: whether the largest scores are returned; or they themselves

    Example:
        >>> from mindtorch.nn.attention.flex_attention import AuxRequest, flex_attention
        >>> q = torch.ones(1, 1, 2, 4)
        >>> flex_attention(q, q, q, return_aux=AuxRequest(lse=True))[1].lse.shape
        torch.Size([1, 1, 2])
    """

    lse: mindtorch.Tensor | None = None
    max_scores: mindtorch.Tensor | None = None


def create_mask(mod_fn: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
                device: Device | None = None) -> Tensor:
    """A bool tensor (B, H, Q_LEN, KV_LEN) of what a mask_mod allows, or of where a score_mod leaves a score above -inf.

    B and H may be None for 1.

    Arguments:
        mod_fn: a function (batch, head, query, key), or of a score and these
        B: the size of the batch; None means one mask for all
        H: the number of heads; None means one mask for all
        Q_LEN: the number of queries
        KV_LEN: the number of keys
        device: the device of the mask

    Example:
        >>> from mindtorch.nn.attention.flex_attention import create_mask
        >>> create_mask(lambda b, h, q, k: q >= k, 1, 1, 2, 2, device="cpu")
        tensor([[[[ True, False],
                  [ True,  True]]]])
    """
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    device = mindtorch.get_default_device() if device is None else mindtorch.device(device)
    parameters = inspect.signature(mod_fn).parameters.values()
    count = sum(each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) and each.default is each.empty
                for each in parameters)
    if count == 4 or any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return evaluated(mod_fn, places(shape, device))
    if count != 5:
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    scores = evaluated(mod_fn, places(shape, device), mindtorch.zeros(shape, device=device))
    return scores > -math.inf


def create_block_mask(mask_mod: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
                      device: Device | None = None, BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
                      _compile: bool = False, separate_full_blocks: bool = True) -> BlockMask:
    """The BlockMask of mask_mod(batch, head, q_idx, kv_idx); for all batches or heads alike where B or H is None.

    Arguments:
        mask_mod: a function (batch, head, query, key) of indices: whether the query sees the key
        B: the size of the batch; None means one mask for all
        H: the number of heads; None means one mask for all
        Q_LEN: the number of queries
        KV_LEN: the number of keys
        device: the device of the mask
        BLOCK_SIZE: the size of a block; one int, or one for queries and one for keys
        separate_full_blocks: whether blocks that are seen whole are listed by themselves

    Example:
        >>> from mindtorch.nn.attention.flex_attention import create_block_mask, flex_attention
        >>> causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256, device="cpu")
        >>> q = torch.ones(1, 1, 256, 16)
        >>> flex_attention(q, q, q, block_mask=causal).shape
        torch.Size([1, 1, 256, 16])
    """
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    if mask.dtype is not mindtorch.bool:
        raise AssertionError(f"mask.dtype must be torch.bool, got {mask.dtype}")
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    padded = mindtorch.nn.functional.pad(mask.to(mindtorch.int32), (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    counts = padded.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows)).sum((-1, -3))
    full = counts == rows * columns if separate_full_blocks else mindtorch.zeros_like(counts, dtype=mindtorch.bool)
    return BlockMask._from_dense((counts > 0) & ~full, full if separate_full_blocks else None, (rows, columns),
                                 mask_mod, (Q_LEN, KV_LEN))


def _check(query, key, value, block_mask, enable_gqa, return_lse, return_aux):
    if return_lse and return_aux is not None:
        raise ValueError("Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
                         "return_aux=AuxRequest(lse=True) instead.")
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.size(-1) != key.size(-1):
        raise ValueError("Expect query and key/value to have the same embedding dimension but got "
                         f"E={query.size(-1)} and E={key.size(-1)}.")
    heads, kv_heads = query.size(1), key.size(1)
    if not enable_gqa and heads != kv_heads:
        raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={heads} and "
                         f"Hkv={kv_heads}. Try setting enable_gqa=True for GQA.")
    if heads % kv_heads:
        raise ValueError("Expect number of query heads to be a multiple of kv heads for GQA but got "
                         f"Hq={heads} and Hkv={kv_heads}.")
    if block_mask is not None:
        block_mask._check_lengths(query.size(-2), key.size(-2))


def flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: Any = None,
                   block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False,
                   return_lse: bool = False, kernel_options: Any = None, *,
                   return_aux: AuxRequest | None = None) -> Tensor | tuple[Tensor, Tensor] | tuple[Tensor, AuxOutput]:
    """softmax(score_mod(query @ key^T * scale)) @ value, over the pairs that `block_mask` allows.

    query (B, H, L, E), key (B, H, S, E), value (B, H, S, Ev) -> (B, H, L, Ev); 0 where nothing is allowed. With
    `enable_gqa` key and value may have fewer heads, a divisor of H. score_mod(score, batch, head, q_idx, kv_idx).
    `kernel_options` are for kernels that are not here. With an AuxRequest it is a pair with an AuxOutput.

    Arguments:
        query: the queries (B, H, L, E)
        key: the keys (B, H, S, E)
        value: the values (B, H, S, Ev)
        score_mod: a function (score, batch, head, query, key) that changes the score; None leaves it
        block_mask: a BlockMask of what is seen; None means all
        scale: the factor of the scores; None means 1 / sqrt(E)
        enable_gqa: whether keys and values may have fewer heads
        return_lse: whether the logarithms of the sums are returned too
        kernel_options: not read
        return_aux: an AuxRequest of further results; None means none

    Example:
        >>> from mindtorch.nn.attention.flex_attention import flex_attention
        >>> q = torch.ones(1, 1, 3, 4)
        >>> def nearer_is_better(score, batch, head, q_idx, kv_idx):
        ...     return score - (q_idx - kv_idx).abs()
        >>> flex_attention(q, q, q, score_mod=nearer_is_better).shape
        torch.Size([1, 1, 3, 4])
    """
    _check(query, key, value, block_mask, enable_gqa, return_lse, return_aux)
    repeats = query.size(1) // key.size(1)
    if repeats > 1:
        key, value = key.repeat_interleave(repeats, dim=1), value.repeat_interleave(repeats, dim=1)
    precision = mindtorch.float64 if query.dtype is mindtorch.float64 else mindtorch.float32
    scores = query.to(precision) @ key.to(precision).mT * (query.size(-1) ** -0.5 if scale is None else scale)
    at = places(scores.shape, query.device)
    if score_mod is not None:
        scores = evaluated(score_mod, at, scores).to(precision)
    if block_mask is not None:
        scores = mindtorch.where(block_mask._allowed(scores.shape, at), scores, -math.inf)
    nothing = scores.detach().amax(-1, keepdim=True) == -math.inf
    weights = mindtorch.softmax(scores.masked_fill(nothing, 0.0), -1).masked_fill(nothing, 0.0)
    result = (weights @ value.to(precision)).to(query.dtype)
    if return_lse:
        return result, mindtorch.logsumexp(scores, -1)
    if return_aux is None:
        return result
    return result, AuxOutput(lse=mindtorch.logsumexp(scores, -1) if return_aux.lse else None,
                             max_scores=scores.amax(-1) if return_aux.max_scores else None)


__getattr__ = module_getattr(__name__)
