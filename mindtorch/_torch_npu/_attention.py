"""Attention in one operator, as torch_npu has it: several layouts, masks by rule, dropout."""
from mindtorch import no_grad, npu
from mindtorch._core._gen.namespace import ATEN as _ATEN
from mindtorch._core._gen.namespace import NPU as _OPERATORS
from mindtorch._torch_npu._checks import leave_out, on_npu

__all__ = ["npu_fused_infer_attention_score", "npu_fusion_attention", "npu_fusion_attention_grad",
           "npu_incre_flash_attention", "npu_prompt_flash_attention"]

_fused, _fused_grad = _OPERATORS["_npu_fusion_attention"], _OPERATORS["_npu_fusion_attention_grad"]
_dropout_mask = _ATEN["_dropout_mask"]
_LAYOUTS = {"BNSD": (0, 2), "BSND": (0, 1), "BSH": (0, 1), "SBH": (1, 0)}      # where batch and length stand
_MOST_SPARSE = 4


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
    leave_out("npu_fusion_attention", pse=pse, padding_mask=padding_mask, prefix=prefix,
              actual_seq_qlen=actual_seq_qlen, actual_seq_kvlen=actual_seq_kvlen, sink=sink,
              softmax_layout=softmax_layout)
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


def _infer(function, query, key, value, mask, heads, key_heads, scale, layout, sparse_mode, pre, following, refused):
    """(the attention, the largest scores, the sums) of a function for inference, by aclnnFlashAttentionScore."""
    on_npu(function, query, key, value, mask)
    leave_out(function, **refused)
    layout = _checked_layout(layout, query, key, 1.0, sparse_mode)
    width = (query.shape[-1] // heads) if layout in ("BSH", "SBH") else 0
    found = key.shape[-1] // width if width else key.shape[layout.index("N")]
    if key_heads not in (0, found):
        raise RuntimeError(f"num_key_value_heads is {key_heads}, key has {found} heads")
    if mask is not None and mask.dim() == 3:
        mask = mask.unsqueeze(1)
    with no_grad():
        return _fused(query, key, value, heads, layout, mask, None, scale, 1.0, pre, following, 0, sparse_mode)


def npu_prompt_flash_attention(query, key, value, *, padding_mask=None, atten_mask=None, pse_shift=None,
                               actual_seq_lengths=None, deq_scale1=None, quant_scale1=None, deq_scale2=None,
                               quant_scale2=None, quant_offset2=None, num_heads=1, scale_value=1.0,
                               pre_tokens=2147483647, next_tokens=0, input_layout="BSH", num_key_value_heads=0,
                               actual_seq_lengths_kv=None, sparse_mode=0):
    """softmax(scale_value * query @ key.T, hidden where atten_mask is true) @ value, without gradients.

    Layouts, heads and sparse_mode are those of npu_fusion_attention, by whose operator it is computed.
    """
    return _infer("npu_prompt_flash_attention", query, key, value, atten_mask, num_heads, num_key_value_heads,
                  scale_value, input_layout, sparse_mode, pre_tokens, next_tokens, {
                      "padding_mask": padding_mask, "pse_shift": pse_shift, "actual_seq_lengths": actual_seq_lengths,
                      "deq_scale1": deq_scale1, "quant_scale1": quant_scale1, "deq_scale2": deq_scale2,
                      "quant_scale2": quant_scale2, "quant_offset2": quant_offset2,
                      "actual_seq_lengths_kv": actual_seq_lengths_kv})[0]


def npu_incre_flash_attention(query, key, value, *, padding_mask=None, atten_mask=None, pse_shift=None,
                              actual_seq_lengths=None, antiquant_scale=None, antiquant_offset=None, block_table=None,
                              dequant_scale1=None, quant_scale1=None, dequant_scale2=None, quant_scale2=None,
                              quant_offset2=None, kv_padding_size=None, num_heads=1, scale_value=1.0,
                              input_layout="BSH", num_key_value_heads=0, block_size=0, inner_precise=1):
    """npu_prompt_flash_attention of one query for each sequence; atten_mask is (B, S), (B, 1, S) or (B, 1, 1, S)."""
    mask = atten_mask if atten_mask is None else atten_mask.reshape(atten_mask.shape[0], 1, 1, -1)
    return _infer("npu_incre_flash_attention", query, key, value, mask, num_heads, num_key_value_heads, scale_value,
                  input_layout, 0 if mask is None else 1, 0, 0, {
                      "padding_mask": padding_mask, "pse_shift": pse_shift, "actual_seq_lengths": actual_seq_lengths,
                      "antiquant_scale": antiquant_scale, "antiquant_offset": antiquant_offset,
                      "block_table": block_table, "dequant_scale1": dequant_scale1, "quant_scale1": quant_scale1,
                      "dequant_scale2": dequant_scale2, "quant_scale2": quant_scale2, "quant_offset2": quant_offset2,
                      "kv_padding_size": kv_padding_size})[0]


def npu_fused_infer_attention_score(query, key, value, *, pse_shift=None, atten_mask=None, actual_seq_lengths=None,
                                    actual_seq_lengths_kv=None, dequant_scale1=None, quant_scale1=None,
                                    dequant_scale2=None, quant_scale2=None, quant_offset2=None, antiquant_scale=None,
                                    antiquant_offset=None, key_antiquant_scale=None, key_antiquant_offset=None,
                                    value_antiquant_scale=None, value_antiquant_offset=None, block_table=None,
                                    query_padding_size=None, kv_padding_size=None, key_shared_prefix=None,
                                    value_shared_prefix=None, actual_shared_prefix_len=None, query_rope=None,
                                    key_rope=None, key_rope_antiquant_scale=None, num_heads=1, scale=1.0,
                                    pre_tokens=2147483647, next_tokens=2147483647, input_layout="BSH",
                                    num_key_value_heads=0, sparse_mode=0, inner_precise=0, block_size=0,
                                    antiquant_mode=0, key_antiquant_mode=0, value_antiquant_mode=0,
                                    softmax_lse_flag=False):
    """npu_prompt_flash_attention, and with `softmax_lse_flag` the logarithm of each query's sum, else a zero."""
    attention, largest, sums = _infer(
        "npu_fused_infer_attention_score", query, key, value, atten_mask, num_heads, num_key_value_heads, scale,
        input_layout, sparse_mode, pre_tokens, next_tokens, {
            "pse_shift": pse_shift, "actual_seq_lengths": actual_seq_lengths,
            "actual_seq_lengths_kv": actual_seq_lengths_kv, "dequant_scale1": dequant_scale1,
            "quant_scale1": quant_scale1, "dequant_scale2": dequant_scale2, "quant_scale2": quant_scale2,
            "quant_offset2": quant_offset2, "antiquant_scale": antiquant_scale, "antiquant_offset": antiquant_offset,
            "key_antiquant_scale": key_antiquant_scale, "key_antiquant_offset": key_antiquant_offset,
            "value_antiquant_scale": value_antiquant_scale, "value_antiquant_offset": value_antiquant_offset,
            "block_table": block_table, "query_padding_size": query_padding_size, "kv_padding_size": kv_padding_size,
            "key_shared_prefix": key_shared_prefix, "value_shared_prefix": value_shared_prefix,
            "actual_shared_prefix_len": actual_shared_prefix_len, "query_rope": query_rope, "key_rope": key_rope,
            "key_rope_antiquant_scale": key_rope_antiquant_scale})
    if not softmax_lse_flag:
        return attention, sums.new_zeros(1)
    return attention, largest[..., :1] + sums[..., :1].log()


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
    leave_out("npu_fusion_attention", pse=pse, padding_mask=padding_mask, prefix=prefix,
              actual_seq_qlen=actual_seq_qlen, actual_seq_kvlen=actual_seq_kvlen, sink=sink,
              softmax_layout=softmax_layout)
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
