"""Samples of torch_npu's own operators; tests/npu/test_torch_npu_operators.py has the formulas."""
from samples import Description, sample


@sample
def rms_norm_of_npu(make):
    yield (make(2, 8), make(8)), {}
    yield (make(3, 2, 4), make(2, 4), 1e-3), {}
    yield (make(0, 4), make(4)), {}


@sample
def rms_norm_of_npu_backward(make):
    for shape, last in (((2, 8), (8,)), ((3, 2, 4), (2, 4))):
        kept = (*shape[:len(shape) - len(last)], *(1 for _ in last))
        yield (make(*shape), make(*shape), make(*last), make(*kept, low=0.5, high=2, dtype="float32")), {}


@sample
def add_rms_norm(make):
    yield (make(2, 8), make(2, 8), make(8)), {}
    yield (make(3, 2, 4), make(3, 2, 4), make(2, 4), 1e-3), {}


@sample
def group_norm_silu(make):
    yield (make(2, 4, 3), make(4), make(4), 2), {}
    yield (make(2, 6, 2, 2), None, None, 3, 1e-3), {}
    yield (make(3, 4), make(4), None, 1), {}


@sample
def deep_norm(make):
    yield (make(2, 8), make(2, 8), make(8), make(8)), {}
    yield (make(3, 2, 4), make(3, 2, 4), make(2, 4), make(2, 4), 0.5, 1e-3), {}


def _statistics(make, shape, last):
    kept = (*shape[:len(shape) - len(last)], *(1 for _ in last))
    return make(*kept, dtype="float32"), make(*kept, low=0.5, high=2, dtype="float32")


@sample
def deep_norm_backward(make):
    for shape, last in (((2, 8), (8,)), ((3, 2, 4), (2, 4))):
        mean, rstd = _statistics(make, shape, last)
        yield (make(*shape), make(*shape), make(*shape), make(*last), mean, rstd, 0.5), {}


@sample
def add_layer_norm(make):
    yield (make(2, 8), make(2, 8), make(8), make(8), 1e-5, True), {}
    yield (make(3, 2, 4), make(3, 2, 4), make(2, 4), make(2, 4), 1e-3, True), {}


@sample
def add_layer_norm_grad(make):
    for shape, last in (((2, 8), (8,)), ((3, 2, 4), (2, 4))):
        mean, rstd = _statistics(make, shape, last)
        for dsum in (make(*shape), None):
            yield (make(*shape), make(*shape), make(*shape), rstd, mean, make(*last), dsum), {}


def _halved():
    """A shape, and a dimension of it that can be halved."""
    return ((2, 6), -1), ((4, 3), 0), ((2, 4, 3), 1), ((0, 4), -1)


def _half(shape, dim):
    shape = list(shape)
    shape[dim] //= 2
    return shape


@sample
def gated(make):
    yield (make(2, 6),), {}
    yield from (((make(*shape), dim), {}) for shape, dim in _halved())


@sample
def gated_backward(make):
    yield from (((make(*_half(shape, dim)), make(*shape), dim), {}) for shape, dim in _halved())


@sample
def geglu(make):
    yield (make(2, 6),), {}
    for number, (shape, dim) in enumerate(_halved()):
        yield (make(*shape), dim, number % 2), {"activate_left": number < 2}


@sample
def geglu_backward(make):
    for number, (shape, dim) in enumerate(_halved()):
        halves = (make(*_half(shape, dim)) for _ in range(2))
        yield (next(halves), make(*shape), next(halves), dim, number % 2), {"activate_left": number < 2}


@sample
def gelu_mul(make):
    yield (make(2, 6),), {}
    yield (make(3, 2, 4),), {"approximate": "tanh"}


_ROTARY = ("half", "interleave")


@sample
def rotary(make):
    yield (make(2, 3, 8), make(2, 3, 8), make(2, 3, 8)), {}
    for mode in _ROTARY:
        yield (make(2, 3, 2, 8), make(1, 3, 1, 8), make(1, 3, 1, 8), mode), {}


@sample
def rotary_backward(make):
    for mode in _ROTARY:
        yield (make(2, 3, 2, 8), make(2, 3, 2, 8), make(1, 3, 1, 8), make(1, 3, 1, 8), mode), {}


def _masks(make):
    return make(2, 3, 4, 5, dtype="bool"), make(1, 1, 4, 5, dtype="bool"), make(2, 1, 4, 5, dtype="bool")


@sample
def masked_softmax(make):
    yield from (((make(2, 3, 4, 5), mask, scale), {}) for mask, scale in zip(_masks(make), (1, 0.5, -2), strict=True))


@sample
def masked_softmax_backward(make):
    for mask, scale in zip(_masks(make), (1, 0.5, -2), strict=True):
        yield (make(2, 3, 4, 5), make(2, 3, 4, 5, low=0, high=1), mask, scale, False), {}


def _attention(make):
    """Queries, keys, values, heads, layout: as many heads of keys as of queries, and fewer."""
    yield make(2, 4, 3, 8), make(2, 4, 5, 8), make(2, 4, 5, 8), 4, "BNSD"
    yield make(2, 3, 4, 8), make(2, 5, 2, 8), make(2, 5, 2, 8), 4, "BSND"
    yield make(2, 3, 32), make(2, 5, 16), make(2, 5, 16), 4, "BSH"
    yield make(3, 2, 32), make(5, 2, 32), make(5, 2, 32), 4, "SBH"


_FURTHER = (0.5, 1.0, 2147483647, 2147483647, 0)        # scale, keep_prob, tokens before and behind, inner_precise


@sample
def fusion_attention(make):
    for number, tensors in enumerate(_attention(make)):
        mask = make(3, 5, dtype="bool") if number % 2 else None
        yield (*tensors, mask, None, *_FURTHER, 0), {}


@sample
def fusion_attention_grad(make):
    for query, *rest in _attention(make):
        length, batch = ((query.shape[0], query.shape[1]) if rest[-1] == "SBH"
                         else (query.shape[2 if rest[-1] == "BNSD" else 1], query.shape[0]))
        sums = [make(batch, 4, length, 8, low=1, high=2, dtype="float32") for _ in range(2)]
        yield (make(*query.shape), query, *rest, None, None, *sums, make(*query.shape), *_FURTHER, 0), {}


def _numbers(shape, *values, dtype="int32"):
    return Description(shape, values, dtype, expandable=False)


@sample
def scatter_nd(make):
    yield (make(4, 3), _numbers((2, 1), 3, 0), make(2, 3)), {}
    yield (make(2, 3, 4), _numbers((2, 1, 2), 1, 2, 0, 1, dtype="int64"), make(2, 1, 4)), {}
    yield (make(2, 3), _numbers((2,), 1, 2), make()), {}
    yield (make(3), _numbers((0, 1), dtype="int64"), make(0)), {}


_BOXES = ((0, 0, 10, 10), (10, 10, 20, 20), (32, 32, 38, 42))
_TRUTHS = ((0, 0, 10, 20), (12, 8, 18, 24))


@sample
def boxes(make):
    boxes, truths = (_numbers((len(all), 4), *(float(x) for box in all for x in box), dtype=make.dtype)
                     for all in (_BOXES, _TRUTHS))
    yield from (((boxes, truths, mode), {}) for mode in (0, 1))
    yield (make(0, 4), truths, 0), {}


@sample
def dynamic_quant(make):
    yield (make(2, 8),), {}
    yield (make(2, 3, 4),), {"smooth_scales": make(4, low=0.5, high=2)}
    yield (make(0, 4),), {"dst_type": "int8"}


# --- a mixture of experts: 3 tokens of width 4, 2 of 5 experts each --------------------------------------------------

_EXPERTS = _numbers((3, 2), 4, 0, 1, 4, 0, 1)
_SORTED = _numbers((6,), 4, 0, 2, 5, 1, 3)         # where each copy of a token went


@sample
def moe_gating(make):
    yield (make(3, 5),), {}
    yield (make(3, 5), None, 2), {}
    yield (make(3, 5), _numbers((3,), False, True, False, dtype="bool"), 2), {}
    yield (make(2, 3, 5), None, 5), {}


@sample
def moe_init_routing(make):
    rows = _numbers((3, 2), 0, 3, 1, 4, 2, 5)
    yield from (((make(3, 4), rows, _EXPERTS, active), {}) for active in (3, 2, 9))


@sample
def moe_finalize_routing(make):
    rows = _numbers((6,), 5, 0, 2, 1, 4, 3)
    for skip in (make(3, 4), None):
        yield (make(6, 4), make(3, 4), skip, make(5, 4), make(3, 2), rows, _EXPERTS), {}


@sample
def moe_token_permute(make):
    yield (make(3, 4), _EXPERTS), {}
    yield (make(3, 4), _numbers((3,), 2, 0, 2, dtype="int64")), {}
    yield from (((make(3, 4), _EXPERTS, kept), {}) for kept in (0, 4, -1, 9))


@sample
def moe_token_permute_grad(make):
    dtype = {"tokens_dtype": make.dtype}
    yield (make(6, 4), _SORTED, 3), {**dtype, "num_topK": 2}
    yield (make(4, 4), _SORTED, 6), {**dtype, "num_topK": 1}


@sample
def moe_token_unpermute(make):
    yield (make(6, 4), _SORTED), {}
    yield (make(6, 4), _SORTED, make(3, 2)), {}
    yield (make(4, 4), _SORTED, make(3, 2)), {}


@sample
def moe_token_unpermute_grad(make):
    yield (make(6, 4), make(3, 4), _SORTED, make(3, 2)), {}
    yield (make(4, 4), make(3, 4), _SORTED, make(3, 2)), {}
    yield (make(6, 4), make(6, 4), _SORTED), {}


@sample
def moe_expert_tokens(make):
    yield (_numbers((6,), 0, 0, 1, 1, 3, 3), 5), {}
    yield (_numbers((0,)), 2), {}


@sample
def moe_grouped_gating(make):
    scores = make(3, 8)
    yield (scores, 2), {"out_flag": True}
    yield (scores, 3), {"bias": make(8), "k_group": 2, "group_count": 4, "group_select_mode": 1, "norm_type": 1,
                        "out_flag": True, "routed_scaling_factor": 2.5, "eps": 1e-3}
    yield (scores, 2), {"k_group": 1, "group_count": 2, "renorm": 1, "out_flag": True}


@sample
def moe_init_routing_v2(make):
    tokens = make(3, 4)
    for active, row_type in (((0, 5), 0), ((1, 4), 0), ((0, 5), 1)):
        for counts in (0, 1, 2):
            yield (tokens, _EXPERTS, None, 6, 5, counts, -1, active, row_type), {"dtype": make.dtype}
    yield (tokens, _EXPERTS, make(3, dtype="float32"), 6, 5, 1, -1, (0, 5), 0), {"dtype": make.dtype}


_ENDS = _numbers((3,), 2, 2, 5, dtype="int64")
_SIZES = _numbers((3,), 2, 0, 3, dtype="int64")


@sample
def grouped_matmul(make):
    dtype = {"output_dtype": make.dtype}
    yield (make(5, 4), make(3, 4, 6), None, None, None, _ENDS, 0), dtype
    yield (make(5, 4), make(3, 4, 6), make(3, 6), None, None, _SIZES, 1), dtype
    yield (make(6, 4), make(3, 4, 2), None, None, None, _ENDS, 0), dtype


@sample
def grouped_matmul_of_columns(make):
    yield (make(2, 5), make(5, 3), _ENDS, 0), {}
    yield (make(2, 5), make(5, 3), _SIZES, 1), {}


@sample
def quant_matmul(make):
    dtype = {"output_dtype": make.dtype}
    x1, x2 = make(3, 8, dtype="int8"), make(8, 5, dtype="int8")
    scale, few = make(5, low=0.01, high=0.1, dtype="float32"), make(1, low=0.01, high=0.1, dtype="float32")
    yield (x1, x2, scale, None, None, None), dtype
    yield (x1, x2, few, None, make(3, low=0.5, high=2, dtype="float32"), make(5, dtype="float32")), dtype
    yield (make(2, 3, 8, dtype="int8"), x2, scale, None, None, make(5, dtype="int32")), dtype


@sample
def trans_quant_param(make):
    yield (make(5, low=0.01, high=0.1, dtype="float32"), None), {}
    yield (make(5, low=0.01, high=0.1, dtype="float32"), make(5, dtype="float32")), {}


@sample
def weight_quant_batchmatmul(make):
    x, weight = make(3, 8), make(8, 5, dtype="int8")
    scale = make(5, low=0.01, high=0.1)
    yield (x, weight, scale, None, None), {}
    yield (x, weight, make(1, low=0.01, high=0.1), make(1), make(5)), {}
    yield (x, weight, scale, make(5), None), {}


@sample
def add_rms_norm_quant(make):
    x = _numbers((2, 4), 1, -3, 2, 5, 4, 0, -1, 2, dtype=make.dtype)
    gamma = _numbers((4,), 1, 2, 1, 0.5, dtype=make.dtype)
    scales = _numbers((4,), 0.5, 0.25, 1, 0.125, dtype=make.dtype)
    zeros = _numbers((4,), 1, 0, -2, 3)
    yield (x, x, gamma, scales, scales, zeros, None, -1, 1e-6, True), {}
    yield (x, x, gamma, scales, scales, None, zeros, -1, 1e-3, False), {}


@sample
def top_k_top_p(make):
    logits = make(3, 8)
    k = _numbers((3,), 1, 3, 8)
    yield (logits, _numbers((3,), 0.25, 0.5, 0.9, dtype=make.dtype), None), {}
    yield (logits, None, k), {}
    yield (logits, _numbers((3,), 0.9, 0.5, 0.75, dtype=make.dtype), k), {}
