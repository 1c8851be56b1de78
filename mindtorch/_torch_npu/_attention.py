"""Attention in one operator, as torch_npu has it: several layouts, masks by rule, dropout."""
from mindtorch import npu
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import NPU as _OPERATORS
from mindtorch._torch_npu._checks import on_npu

__all__ = ["npu_fusion_attention", "npu_fusion_attention_grad"]

_fused, _fused_grad = _OPERATORS["_npu_fusion_attention"], _OPERATORS["_npu_fusion_attention_grad"]
_dropout_mask = _ATEN["_dropout_mask"]
_LAYOUTS = {"BNSD": (0, 2), "BSND": (0, 1), "BSH": (0, 1), "SBH": (1, 0)}      # where batch and length stand
_MOST_SPARSE = 4


def _refuse(**values):
    """NotImplementedError for what the simulator and the operator's plain form do not have."""
    for name, value in values.items():
        if value is not None and value != "":
            raise NotImplementedError(f"npu_fusion_attention: {name} is not supported on npu: leave it out")


def _checked_layout(input_layout, query, key, keep_prob, sparse_mode):
    layout = input_layout.upper()
    if layout == "TND":
        raise NotImplementedError("npu_fusion_attention: sequences of different lengths, TND, are not supported on npu")
    if layout not in _LAYOUTS:
        raise RuntimeError(f"input_layout is {input_layout!r}, expected one of {', '.join(_LAYOUTS)}")
    if not query.dim() == key.dim() == len(layout):
        raise RuntimeError(f"query and key have {query.dim()} and {key.dim()} dimensions, which is not {layout}")
    if not 0 < keep_prob <= 1:
        raise RuntimeError(f"keep_prob is {keep_prob}, expected more than 0 and 1 at most")
    if not 0 <= sparse_mode <= 6:
        raise RuntimeError(f"sparse_mode is {sparse_mode}, expected 0 to 6")
    if sparse_mode > _MOST_SPARSE:
        raise NotImplementedError(f"npu_fusion_attention: sparse_mode {sparse_mode} is not supported on npu: it needs "
                                  "a prefix")
    return layout


def _scores(query, key, head_num, layout):
    """The shape of the scores: batch, heads, queries, keys."""
    batch, length = _LAYOUTS[layout]
    return query.shape[batch], head_num, query.shape[length], key.shape[length]


def _dropped(query, scores, keep_prob):
    """An expanded view in place of the scores, which gives the dropout mask its shape."""
    return _dropout_mask(query.detach().reshape(-1)[:1].as_strided(scores, (0, 0, 0, 0)), 1 - keep_prob)


def npu_fusion_attention(query, key, value, head_num, input_layout, pse=None, padding_mask=None, atten_mask=None,
                         scale=1.0, keep_prob=1.0, pre_tockens=2147483647, next_tockens=2147483647, inner_precise=0,
                         prefix=None, actual_seq_qlen=None, actual_seq_kvlen=None, sparse_mode=0,
                         gen_mask_parallel=True, sync=False, softmax_layout="", sink=None, dropout_mask=None, seed=0,
                         offset=0):
    """dropout(softmax(scale * query @ key.T, hidden where atten_mask is true)) @ value, in BNSD, BSND, BSH or SBH.

    Heads of query may share those of key and value. sparse_mode: 0 takes the mask, and of it the band from
    `pre_tockens` before to `next_tockens` behind a query's place; 1 the mask alone; 2 and 3 hide what is behind the
    query, counted from the first or from the last of queries and keys; 4 what is outside the band, counted from the
    last. With 2 to 4 the mask is a triangle of 2048 x 2048. Returns the attention, the largest score and the sum of
    each query, float32, eight times; an empty tensor; seed, offset and size of the dropout mask.
    """
    on_npu("npu_fusion_attention", query, key, value, atten_mask, dropout_mask)
    _refuse(pse=pse, padding_mask=padding_mask, prefix=prefix, actual_seq_qlen=actual_seq_qlen,
            actual_seq_kvlen=actual_seq_kvlen, sink=sink, softmax_layout=softmax_layout)
    layout = _checked_layout(input_layout, query, key, keep_prob, sparse_mode)
    scores = _scores(query, key, head_num, layout)
    numels = scores[0] * scores[1] * scores[2] * scores[3]
    drop = dropout_mask if keep_prob < 1 else None
    if keep_prob < 1 and dropout_mask is None:
        with npu.device(query.device):
            seed, offset = npu.initial_seed(), npu._get_rng_state_offset()
        drop = _dropped(query, scores, keep_prob)
    result, largest, sums = _fused(query, key, value, head_num, layout, atten_mask, drop, scale, keep_prob, pre_tockens,
                                   next_tockens, inner_precise, sparse_mode)
    return result, largest, sums, query.new_empty(0), seed, offset, numels


def npu_fusion_attention_grad(query, key, value, dy, head_num, input_layout, *, pse=None, padding_mask=None,
                              atten_mask=None, softmax_max=None, softmax_sum=None, softmax_in=None, attention_in=None,
                              scale_value=1.0, keep_prob=1.0, pre_tockens=2147483647, next_tockens=2147483647,
                              inner_precise=0, seed=0, offset=0, numels=0, prefix=None, actual_seq_qlen=None,
                              actual_seq_kvlen=None, sparse_mode=0, gen_mask_parallel=True, sync=False,
                              softmax_layout="", sink=None):
    """The gradients of query, key and value from `dy`, that of the attention, and from what the forward returned.

    The dropout mask is made once more, of `seed` and `offset`. The last two results are empty.
    """
    on_npu("npu_fusion_attention_grad", query, key, value, dy, atten_mask, softmax_max, softmax_sum, attention_in)
    _refuse(pse=pse, padding_mask=padding_mask, prefix=prefix, actual_seq_qlen=actual_seq_qlen,
            actual_seq_kvlen=actual_seq_kvlen, sink=sink, softmax_layout=softmax_layout)
    if softmax_max is None or softmax_sum is None or attention_in is None:
        raise RuntimeError("npu_fusion_attention_grad: softmax_max, softmax_sum and attention_in are needed")
    layout = _checked_layout(input_layout, query, key, keep_prob, sparse_mode)
    drop = None
    if keep_prob < 1:
        drop = _dropped_again(query, _scores(query, key, head_num, layout), keep_prob, seed, offset)
    found = _fused_grad(dy, query, key, value, head_num, layout, atten_mask, drop, softmax_max, softmax_sum,
                        attention_in, scale_value, keep_prob, pre_tockens, next_tockens, inner_precise, sparse_mode)
    return *found, query.new_empty(0), query.new_empty(0)


def _dropped_again(query, scores, keep_prob, seed, offset):
    """The mask that the generator drew at `offset`. The generator does not advance."""
    with npu.device(query.device):
        state = npu.get_rng_state()
        try:
            npu.manual_seed(seed)
            npu._set_rng_state_offset(offset)
            return _dropped(query, scores, keep_prob)
        finally:
            npu.set_rng_state(state)
