"""npu_fusion_attention by its formula in torch, float64: layouts, masks by rule, shared heads, gradients, dropout."""
import pytest
import torch

import mindtorch
from mindtorch._torch_npu import (
    npu_fused_infer_attention_score,
    npu_fusion_attention,
    npu_fusion_attention_grad,
    npu_incre_flash_attention,
    npu_prompt_flash_attention,
)

BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 4, 5, 7, 8
LAYOUTS = ("BNSD", "BSND", "BSH", "SBH")
EVERYTHING = 2 ** 31 - 1


def arranged(x, layout):
    """(batch, heads, length, width) as the layout has it."""
    return {"BNSD": lambda: x, "BSND": lambda: x.transpose(1, 2), "BSH": lambda: x.transpose(1, 2).flatten(2),
            "SBH": lambda: x.permute(2, 0, 1, 3).flatten(2)}[layout]()


def tensors(shared=HEADS, queries=QUERIES, keys=KEYS):
    """query, key and value, float64, the same at every call."""
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in (
        (BATCH, HEADS, queries, WIDTH), (BATCH, shared, keys, WIDTH), (BATCH, shared, keys, WIDTH))]


def on_npu(tensor, dtype="float32"):
    return mindtorch.tensor(tensor.tolist(), dtype=getattr(mindtorch, dtype), device="npu")


def as_torch(tensor):
    return torch.tensor(tensor.detach().cpu().tolist(), dtype=torch.float64)


def scores(query, key, scale, hidden):
    found = scale * query @ key.repeat_interleave(query.shape[1] // key.shape[1], 1).mT
    return found if hidden is None else found.masked_fill(hidden, float("-inf"))


def attention(query, key, value, scale=1.0, hidden=None):
    """The result is zero for a query from which every key is hidden."""
    weights = scores(query, key, scale, hidden).softmax(-1).nan_to_num(0)
    return weights @ value.repeat_interleave(query.shape[1] // value.shape[1], 1)


def outside(before, behind, queries=QUERIES, keys=KEYS, last=False):
    """True for keys outside the band round each query's place, which counts from the first or from the last of both."""
    place = torch.arange(queries)[:, None] + (keys - queries if last else 0)
    key = torch.arange(keys)
    return (key < place - before) | (key > place + behind)


MASK = torch.rand(QUERIES, KEYS, generator=torch.Generator().manual_seed(1)) > 0.6
TRIANGLE = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
# (what the call says, what is hidden)
MASKS = {
    "none": ({}, None),
    "numbers without a mask": ({"pre_tockens": 1, "next_tockens": 0}, None),
    "mask": ({"atten_mask": MASK}, MASK),
    "of a batch": ({"atten_mask": torch.stack([MASK, ~MASK])[:, None]}, torch.stack([MASK, ~MASK])[:, None]),
    "of uint8": ({"atten_mask": MASK.to(torch.uint8)}, MASK),
    "band and mask": ({"atten_mask": MASK, "pre_tockens": 2, "next_tockens": 1}, MASK | outside(2, 1)),
    "all": ({"atten_mask": MASK, "sparse_mode": 1, "next_tockens": 0}, MASK),
    "left up": ({"atten_mask": TRIANGLE, "sparse_mode": 2}, outside(EVERYTHING, 0)),
    "right down": ({"atten_mask": TRIANGLE, "sparse_mode": 3}, outside(EVERYTHING, 0, last=True)),
    "band": ({"atten_mask": TRIANGLE, "sparse_mode": 4, "pre_tockens": 2, "next_tockens": 1}, outside(2, 1, last=True)),
    "band to the left": ({"atten_mask": TRIANGLE, "sparse_mode": 4, "pre_tockens": 3, "next_tockens": -1},
                         outside(3, -1, last=True)),
}


def call(operands, layout, options):
    options = {name: mindtorch.tensor(value.tolist(), dtype=getattr(mindtorch, str(value.dtype)[6:]), device="npu")
               if isinstance(value, torch.Tensor) else value for name, value in options.items()}
    return npu_fusion_attention(*operands, HEADS, layout, **options)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shared", [HEADS, 2, 1])
def test_layouts_and_shared_heads(layout, shared):
    theirs = [x.requires_grad_() for x in tensors(shared)]
    ours = [on_npu(arranged(x, layout)).requires_grad_() for x in theirs]
    expected = attention(*theirs, 0.5)
    found, largest, sums, empty, seed, offset, numels = call(ours, layout, {"scale": 0.5})
    torch.testing.assert_close(as_torch(found), arranged(expected, layout).detach(), rtol=1e-5, atol=1e-5)
    logits = scores(*theirs[:2], 0.5, None).detach()
    most = logits.amax(-1, keepdim=True)
    for one, other in ((largest, most), (sums, (logits - most).exp().sum(-1, keepdim=True))):
        torch.testing.assert_close(as_torch(one), other.expand(-1, -1, -1, 8), rtol=1e-5, atol=1e-5)
    assert tuple(empty.shape) == (0,)
    assert (seed, offset, numels) == (0, 0, BATCH * HEADS * QUERIES * KEYS)
    slopes = torch.linspace(-1, 1, expected.numel(), dtype=torch.float64).reshape(expected.shape)
    expected.backward(slopes)
    found.backward(on_npu(arranged(slopes, layout)))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(as_torch(one.grad), arranged(other.grad, layout), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MASKS)
def test_masks(name):
    options, hidden = MASKS[name]
    theirs = [x.requires_grad_() for x in tensors()]
    ours = [on_npu(x).requires_grad_() for x in theirs]
    expected, found = attention(*theirs, hidden=hidden), call(ours, "BNSD", options)[0]
    torch.testing.assert_close(as_torch(found), expected.detach(), rtol=1e-5, atol=1e-5)
    expected.sum().backward()
    found.sum().backward()
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(as_torch(one.grad), other.grad.nan_to_num(0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats(dtype):
    theirs = tensors()
    result = npu_fusion_attention(*(on_npu(x, dtype) for x in theirs), HEADS, "bnsd", scale=0.5)
    assert [one.dtype for one in result[:3]] == [getattr(mindtorch, dtype), mindtorch.float32, mindtorch.float32]
    torch.testing.assert_close(as_torch(result[0]), attention(*theirs, 0.5), rtol=0.03, atol=0.03)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dropout(layout):
    """Values that are the identity show the weights: each is dropped or scaled up, and its gradient likewise."""
    query, key, _ = tensors(keys=WIDTH)
    value = torch.eye(WIDTH, dtype=torch.float64).expand(BATCH, HEADS, WIDTH, WIDTH)
    ours = [on_npu(arranged(x, layout)).requires_grad_() for x in (query, key, value)]
    mindtorch.npu.manual_seed(3)
    found, largest, sums, _, seed, offset, numels = call(ours, layout, {"keep_prob": 0.75})
    assert (seed, offset, numels) == (3, 0, BATCH * HEADS * QUERIES * WIDTH)
    weights = arranged(attention(query, key, value), layout)
    kept = as_torch(found) != 0
    assert 0 < kept.sum() < kept.numel()
    torch.testing.assert_close(as_torch(found), weights * kept / 0.75, rtol=1e-5, atol=1e-5)
    state = mindtorch.npu.get_rng_state().tolist()
    slopes = mindtorch.ones_like(found)
    again = npu_fusion_attention_grad(*(x.detach() for x in ours), slopes, HEADS, layout, softmax_max=largest,
                                      softmax_sum=sums, attention_in=found.detach(), keep_prob=0.75, seed=seed,
                                      offset=offset, numels=numels)
    assert mindtorch.npu.get_rng_state().tolist() == state
    found.backward(slopes)
    for one, other in zip(ours, again, strict=False):
        torch.testing.assert_close(as_torch(other), as_torch(one.grad))
    assert [tuple(one.shape) for one in again[3:]] == [(0,), (0,)]


REFUSED = [
    ({"input_layout": "NHWC"}, RuntimeError, "input_layout is 'NHWC'"),
    ({"input_layout": "TND"}, NotImplementedError, "TND"),
    ({"input_layout": "BSH"}, RuntimeError, "which is not BSH"),
    ({"head_num": 3}, RuntimeError, "headNum is 3"),
    ({"head_num": 0}, RuntimeError, "0 heads"),
    ({"keep_prob": 0.0}, RuntimeError, "keep_prob is 0.0"),
    ({"keep_prob": 1.5}, RuntimeError, "keep_prob is 1.5"),
    ({"sparse_mode": 9}, RuntimeError, "sparse_mode is 9"),
    ({"sparse_mode": 5}, NotImplementedError, "prefix"),
    ({"sparse_mode": 2}, RuntimeError, "triangle"),
    ({"pse": 1}, NotImplementedError, "pse is not supported"),
    ({"actual_seq_qlen": [1]}, NotImplementedError, "actual_seq_qlen is not supported"),
]


@pytest.mark.parametrize(("options", "error", "text"), REFUSED)
def test_refused(options, error, text):
    operands = [on_npu(x) for x in tensors()]
    with pytest.raises(error, match=text):
        npu_fusion_attention(*operands, **{"head_num": HEADS, "input_layout": "BNSD", **options})


def test_the_cpu_has_none():
    with pytest.raises(NotImplementedError, match="'npu_fusion_attention' on cpu"):
        npu_fusion_attention(*(mindtorch.ones(1, 1, 2, 2) for _ in range(3)), 1, "BNSD")


def test_its_gradient_has_none():
    operands = [on_npu(x).requires_grad_() for x in tensors()]
    result = npu_fusion_attention(*operands, HEADS, "BNSD")[0]
    grad, = mindtorch.autograd.grad(result.sum(), operands[0], create_graph=True)
    with pytest.raises(NotImplementedError, match="npu_fusion_attention_grad"):
        grad.sum().backward()


# --- for inference ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH"])
@pytest.mark.parametrize("shared", [HEADS, 2])
def test_attention_of_a_prompt(layout, shared):
    query, key, value = tensors(shared)
    given = [on_npu(arranged(each, layout)) for each in (query, key, value)]
    masks = on_npu(torch.stack([MASK, ~MASK]), "bool")
    named = {"num_heads": HEADS, "input_layout": layout, "num_key_value_heads": shared, "atten_mask": masks}
    expected = arranged(attention(query, key, value, 0.5, torch.stack([MASK, ~MASK])[:, None]), layout)
    for found in (npu_prompt_flash_attention(*given, scale_value=0.5, next_tokens=EVERYTHING, **named),
                  npu_fused_infer_attention_score(*given, scale=0.5, **named)[0]):
        torch.testing.assert_close(as_torch(found), expected, rtol=1e-4, atol=1e-4)
        assert not found.requires_grad


def test_attention_of_one_more_token():
    query, key, value = tensors(2, queries=1)
    hidden = torch.arange(KEYS) >= torch.tensor([3, KEYS])[:, None]
    given = [on_npu(arranged(each, "BSH")) for each in (query, key, value)]
    found = npu_incre_flash_attention(*given, atten_mask=on_npu(hidden, "bool"), num_heads=HEADS, scale_value=0.5,
                                      num_key_value_heads=2)
    expected = arranged(attention(query, key, value, 0.5, hidden[:, None, None]), "BSH")
    torch.testing.assert_close(as_torch(found), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(as_torch(npu_incre_flash_attention(*given, num_heads=HEADS, scale_value=0.5)),
                               arranged(attention(query, key, value, 0.5), "BSH"), rtol=1e-4, atol=1e-4)


def test_logarithms_of_the_sums():
    query, key, value = tensors()
    given = [on_npu(each) for each in (query, key, value)]
    named = {"num_heads": HEADS, "input_layout": "BNSD"}
    assert npu_fused_infer_attention_score(*given, **named)[1].tolist() == [0]
    found = npu_fused_infer_attention_score(*given, softmax_lse_flag=True, **named)[1]
    expected = scores(query, key, 1.0, None).logsumexp(-1, keepdim=True)
    torch.testing.assert_close(as_torch(found), expected, rtol=1e-4, atol=1e-4)


def test_what_inference_refuses():
    x = on_npu(tensors()[0])
    with pytest.raises(NotImplementedError, match="npu_prompt_flash_attention: actual_seq_lengths is not supported"):
        npu_prompt_flash_attention(x, x, x, num_heads=HEADS, input_layout="BNSD", actual_seq_lengths=[1, 2])
    with pytest.raises(NotImplementedError, match="npu_incre_flash_attention: block_table is not supported"):
        npu_incre_flash_attention(x, x, x, num_heads=HEADS, input_layout="BNSD", block_table=x)
    with pytest.raises(RuntimeError, match="num_key_value_heads is 2, key has 4 heads"):
        npu_fused_infer_attention_score(x, x, x, num_heads=HEADS, input_layout="BNSD", num_key_value_heads=2)
    with pytest.raises(NotImplementedError, match="on cpu"):
        npu_prompt_flash_attention(x.cpu(), x, x, num_heads=HEADS, input_layout="BNSD")
