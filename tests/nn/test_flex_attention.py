"""torch.nn.attention.flex_attention beside torch's: masks as blocks, results, gradients, refusals."""
import numpy as np
import pytest
import torch
from torch.nn.attention import flex_attention as theirs

import mindtorch
from mindtorch.nn.attention import flex_attention as ours

RNG = np.random.default_rng(0)
SIZES = (2, 4, 20, 8)
DOCUMENTS = np.repeat([0, 1, 2], [7, 9, 4])
BIAS = RNG.standard_normal((4, 20, 20)).astype("float32")



def of_one_document(documents):
    return lambda b, h, q, k: documents[q] == documents[k]


def biased(bias):
    return lambda s, b, h, q, k: s + bias[h, q, k]


MASKS = {
    "causal": lambda lib, t: lambda b, h, q, k: q >= k,
    "window": lambda lib, t: lib.flex.and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 5),
    "prefix": lambda lib, t: lib.flex.or_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: k < 6),
    "documents": lambda lib, t: of_one_document(t(DOCUMENTS)),
    "by batch and head": lambda lib, t: lambda b, h, q, k: (k > b) & (q != h),
    "nothing for some": lambda lib, t: lambda b, h, q, k: (q > 3) & (q >= k),
    "all": lambda lib, t: lib.flex.noop_mask,
}
SCORES = {
    "relative": lambda lib, t: lambda s, b, h, q, k: s + (q - k) * 0.1,
    "alibi": lambda lib, t: lambda s, b, h, q, k: s + (k - q) * lib.exp2(-(h + 1) / 2.0),
    "capped": lambda lib, t: lambda s, b, h, q, k: lib.tanh(s / 2) * 2,
    "bias": lambda lib, t: biased(t(BIAS)),
    "masking": lambda lib, t: lambda s, b, h, q, k: lib.where(q >= k, s, -float("inf")),
}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Both libraries under the same name of the module."""
    monkeypatch.setattr(torch, "flex", theirs, raising=False)
    monkeypatch.setattr(mindtorch, "flex", ours, raising=False)
    # Without a compiler: torch's function on eager tensors.
    monkeypatch.setattr(theirs, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True, raising=False)


def tensors(lib, device, key_heads=4, value_size=8):
    rng = np.random.default_rng(1)
    shapes = [SIZES, (2, key_heads, 20, 8), (2, key_heads, 20, value_size)]
    return [lib.tensor(rng.standard_normal(shape).astype("float32"), device=device) for shape in shapes]


def both(call, device):
    """The results of a call with either library, its module, its tensors and a maker of tensors."""
    found = []
    for lib, where in ((mindtorch, device), (torch, "cpu")):
        def make(values, lib=lib, where=where):
            return lib.tensor(values, device=where)
        found.append(call(lib, lib.flex, make, where))
    return found


def assert_same(pair, tolerance=1e-5):
    ours, theirs = (each.detach().cpu().numpy() for each in pair)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


LISTS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
         "full_q_num_blocks", "full_q_indices")


@pytest.mark.parametrize("size", [8, (4, 16), 128])
@pytest.mark.parametrize("name", MASKS)
def test_blocks(name, size, device):
    made = both(lambda lib, flex, t, where: flex.create_block_mask(
        MASKS[name](lib, t), 2, 4, 20, 20, device=where, BLOCK_SIZE=size), device)
    for each in LISTS:
        assert_same([getattr(mask, each) for mask in made])
    assert made[0].shape == made[1].shape
    assert made[0].sparsity() == pytest.approx(made[1].sparsity())
    assert repr(made[0]) == f"BlockMask(shape={made[1].shape}, sparsity={made[1].sparsity():.2f}%)"
    assert_same([mask.to_dense() for mask in made])
    assert_same([mask[1].to_dense() for mask in made])
    assert_same([mask[:, 1:3].kv_indices for mask in made])
    assert_same([mask._adjust(8, 8).kv_num_blocks for mask in made])
    assert_same([type(mask).from_kv_blocks(mask.kv_num_blocks, mask.kv_indices, BLOCK_SIZE=size).q_indices
                 for mask in made])
    assert made[0].BLOCK_SIZE == made[1].BLOCK_SIZE
    assert made[0].numel() == made[1].numel()
    assert made[0].to(device).seq_lengths == made[1].seq_lengths


@pytest.mark.parametrize("name", MASKS)
def test_masked(name, device):
    def attention(lib, flex, t, where):
        mod = MASKS[name](lib, t)
        mask = flex.create_block_mask(mod, 2, 4, 20, 20, device=where, BLOCK_SIZE=8)
        allowed = flex.create_mask(mod, 2, 4, 20, 20, device=where)
        if lib is mindtorch:
            return flex.flex_attention(*tensors(lib, where), block_mask=mask)
        found = lib.nn.functional.scaled_dot_product_attention(*tensors(lib, where), attn_mask=allowed)
        return found.nan_to_num(0.0)
    assert_same(both(attention, device))


@pytest.mark.parametrize("name", SCORES)
def test_scores_and_gradients(name, device):
    def attention(lib, flex, t, where):
        query, key, value = (each.requires_grad_() for each in tensors(lib, where, value_size=6))
        mod = SCORES[name](lib, t)
        if lib is mindtorch:
            made, lse = flex.flex_attention(query, key, value, score_mod=mod, scale=0.3, return_lse=True)
        else:
            scores = query @ key.mT * 0.3
            places = lib.meshgrid(*(lib.arange(n) for n in scores.shape), indexing="ij")
            scores = mod(scores, *places)
            made, lse = scores.softmax(-1) @ value, scores.logsumexp(-1)
        (made.sum() + lse.sum()).backward()
        return [made, lse, query.grad, key.grad, value.grad]
    for pair in zip(*both(attention, device), strict=True):
        assert_same(pair, 1e-4)


def test_fewer_heads_of_keys(device):
    def attention(lib, flex, t, where):
        query, key, value = tensors(lib, where, key_heads=2)
        if lib is mindtorch:
            return flex.flex_attention(query, key, value, enable_gqa=True)
        return lib.nn.functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    assert_same(both(attention, device))


def test_what_is_asked_for(device):
    query, key, value = tensors(mindtorch, device)
    _, aux = ours.flex_attention(query, key, value, return_aux=ours.AuxRequest(lse=True, max_scores=True))
    scores = query @ key.mT * 8 ** -0.5
    assert_same([aux.lse, scores.logsumexp(-1)])
    assert_same([aux.max_scores, scores.amax(-1)])
    assert ours.flex_attention(query, key, value, return_aux=ours.AuxRequest())[1] == (None, None)
    assert ours.flex_attention(*(each.half() for each in (query, key, value))).dtype is mindtorch.float16


def test_blocks_without_a_function(device):
    """Only the listed blocks are computed."""
    one, both = (mindtorch.tensor(v, dtype=mindtorch.int32, device=device) for v in ([[[1, 2]]], [[[[1, 0], [0, 1]]]]))
    mask = ours.BlockMask.from_kv_blocks(one, both, BLOCK_SIZE=10)
    query, key, value = tensors(mindtorch, device)
    allowed = mindtorch.ones(20, 20, dtype=mindtorch.bool, device=device)
    allowed[:10, :10] = False
    assert_same([ours.flex_attention(query, key, value, block_mask=mask),
                 mindtorch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=allowed)])


REFUSED = [
    "flex.flex_attention(q[0], k[0], v[0])", "flex.flex_attention(q, k[:, :2], v[:, :2])",
    "flex.flex_attention(q, k[:, :3], v[:, :3], enable_gqa=True)", "flex.flex_attention(q, k[..., :4], v)",
    "flex.flex_attention(q, k, v, block_mask=flex.create_block_mask(flex.noop_mask, None, None, 40, 40, device='cpu'))",
    "flex.flex_attention(q, k, v, block_mask=flex.create_block_mask(flex.noop_mask, None, None, 10, 10, device='cpu'))",
    "flex.flex_attention(q, k, v, return_lse=True, return_aux=flex.AuxRequest(lse=True))", "flex.and_masks(3)",
    "flex.or_masks(3)", "flex.create_mask(lambda s, b: s, 1, 1, 3, 4, device='cpu')",
    "flex.create_block_mask(lambda b, h, q, k: q - k, 1, 1, 20, 20, device='cpu')",
]


@pytest.mark.parametrize("call", REFUSED)
def test_refusals(call):
    found = []
    for lib in (mindtorch, torch):
        scope = dict(zip("qkv", tensors(lib, "cpu"), strict=True)) | {"flex": lib.flex}
        with pytest.raises(Exception) as error:         # noqa: PT011 - the two are compared
            eval(call, scope)
        found.append((error.type, str(error.value)))
    assert found[0] == found[1]


def test_indexing_in_steps(device):
    """Of `table[b][q]` the second index is one of a sample's row."""
    def mask(lib, flex, t, where):
        table = t(np.arange(40.0).reshape(2, 20))
        return flex.create_mask(lambda b, h, q, k: (table[b][q] > 10) & (table[b, k] < 30), 2, 1, 20, 20, device=where)
    assert_same(both(mask, device))
