"""scaled_dot_product_attention on both devices beside torch's: the operator of its own, and the form in several."""
import math

import numpy as np
import pytest
import torch
from test_functional_networks import agree, numbers, refused_alike

import mindtorch
from mindtorch._core._gen.namespace import ATEN

MASK = np.arange(6 * 7).reshape(6, 7) % 3 != 1
MASK[2] = False            # a query that may look nowhere
FIRST = MASK.copy()
FIRST[2, 0] = True
SHAPES = {
    "heads": ((2, 4, 6, 8), (2, 4, 7, 8)), "one batch": ((4, 6, 8), (4, 7, 8)), "matrix": ((6, 8), (7, 8)),
    "one query": ((1, 1, 1, 4), (1, 1, 7, 4)), "blocks": ((1, 2, 130, 4), (1, 2, 70, 4)),
    "broadcast": ((2, 4, 6, 8), (1, 4, 7, 8)),
}


def attend(**options):
    return lambda lib, functional, *given: functional.scaled_dot_product_attention(*given, **options)


def masked(mask, **options):
    """The same with a mask, which is made on the device of the query."""
    def call(lib, functional, query, *given):
        made = lib.tensor(mask, device=query.device)
        return functional.scaled_dot_product_attention(query, *given, attn_mask=made, **options)
    return call


def operands(shapes, values=None):
    query, key = shapes
    return [numbers(*query), numbers(*key, phase=0.4), numbers(*(values or key), phase=0.8)]


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}, {"scale": 0.7, "is_causal": True}],
                         ids=str)
@pytest.mark.parametrize("name", SHAPES)
def test_attention(name, options, device):
    agree(attend(**options), operands(SHAPES[name]), device)


@pytest.mark.parametrize("shape", [(6, 7), (1, 1, 6, 7), (2, 1, 6, 7), (1, 4, 6, 7), (2, 4, 6, 7), (1, 7),
                                   (2, 1, 1, 7)], ids=str)
def test_masks(shape, device):
    mask = np.resize(FIRST, shape)
    mask[..., 0] = True
    agree(masked(mask), operands(SHAPES["heads"]), device)
    agree(masked(np.where(mask, 0, -np.inf).astype("float32")), operands(SHAPES["heads"]), device)


def test_queries_that_look_nowhere(device):
    for name in ("heads", "one batch"):
        agree(masked(MASK), operands(SHAPES[name]), device)


def test_gradient_of_a_mask(device):
    agree(lambda lib, functional, mask, *given: functional.scaled_dot_product_attention(*given, attn_mask=mask),
          [numbers(6, 7), *operands(SHAPES["heads"])], device)


@pytest.mark.parametrize("shared", [1, 2, 4])
@pytest.mark.parametrize("options", [{}, {"is_causal": True}], ids=str)
def test_shared_heads(shared, options, device):
    agree(attend(enable_gqa=True, **options), operands(((2, 4, 6, 8), (2, shared, 7, 8))), device)


def test_keys_without_a_batch(device):
    agree(attend(), operands(((2, 2, 6, 8), (2, 7, 8))), device)


def test_values_of_another_width(device):
    agree(attend(is_causal=True), operands(SHAPES["heads"], (2, 4, 7, 5)), device)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_dtypes(dtype, device):
    if dtype == "float64" and device == "npu":      # matrix products have no such kernel
        return
    rough = {"rtol": 1e-9, "atol": 1e-9} if dtype == "float64" else {"rtol": 4e-2, "atol": 4e-2}
    agree(attend(is_causal=True), operands(SHAPES["heads"]), device, dtype, **rough)


def test_strided_operands(device):
    def call(lib, functional, *given):
        return functional.scaled_dot_product_attention(*(t.transpose(1, 2) for t in given), is_causal=True)
    agree(call, operands(((2, 6, 4, 8), (2, 7, 4, 8))), device)


def test_nothing_to_look_at(device):
    agree(attend(), operands(((2, 4, 0, 8), (2, 4, 7, 8))), device)


def test_dropout_on_the_cpu_draws_as_torch_does():
    def call(lib, functional, *given):
        lib.manual_seed(5)
        return functional.scaled_dot_product_attention(*given, dropout_p=0.4, is_causal=True)
    agree(call, operands(SHAPES["heads"]), "cpu")


def test_dropout(device):
    query, key, value = (mindtorch.ones(1, 1, 4, 64, device=device) for _ in range(3))
    result = mindtorch.nn.functional.scaled_dot_product_attention(query, key, value, dropout_p=0.5)
    assert set(result.flatten().tolist()) <= {0.0, 0.5, 1.0, 1.5, 2.0}


def test_one_operator_takes_a_batch_of_heads(device):
    arrays = operands(SHAPES["heads"])
    for dtype in (mindtorch.float32, mindtorch.float16):
        given = [mindtorch.tensor(a, device=device).to(dtype).requires_grad_() for a in arrays]
        result = mindtorch.nn.functional.scaled_dot_product_attention(*given, is_causal=True)
        assert "FusedAttention" in result.grad_fn.name()


def dropped(keep, device):
    """A mask for 24 weights, of which every row keeps some."""
    return None if keep == 1.0 else mindtorch.tensor([0b01110111, 0b11011110, 0b11101101] + 13 * [0],
                                                     dtype=mindtorch.uint8, device=device)


@pytest.mark.parametrize("following", [0, 2 ** 31 - 1])
def test_dropout_of_the_operator(following):
    """The NPU's result and first and second gradients beside the CPU's, with the same weights dropped."""
    def found(device):
        given = [mindtorch.tensor(a, device=device).requires_grad_() for a in operands(((1, 2, 3, 2), (1, 1, 4, 2)))]
        result = ATEN["_fused_attention"](*given, None, dropped(0.75, device), 0.4, 0.75, following)[0]
        first = mindtorch.autograd.grad((result * result).sum(), given, create_graph=True)
        second = mindtorch.autograd.grad(sum((g * g).sum() for g in first), given)
        return [np.array(t.tolist()) for t in (result, *first, *second)]
    for ours, reference in zip(found("npu"), found("cpu"), strict=True):
        np.testing.assert_allclose(ours, reference, rtol=1e-4, atol=1e-5)


def test_dropout_is_part_of_the_operator():
    """On the NPU no weights are kept for backward: what is kept grows with a bit for each of them."""
    given = [mindtorch.rand(2, 4, 128, 16, device="npu", requires_grad=True) for _ in range(3)]
    call = mindtorch.nn.functional.scaled_dot_product_attention
    mean = call(*given[:2], mindtorch.ones_like(given[2]), dropout_p=0.25).mean()     # the workspace exists from here
    assert abs(mean.item() - 1) < 0.02
    del mean
    before = mindtorch.npu.memory_allocated()
    result = call(*given, dropout_p=0.25)
    rows = 2 * 4 * 128
    assert mindtorch.npu.memory_allocated() - before < result.nbytes + 2 * rows * 8 * 4 + rows * 128 // 8 + 4096
    assert "FusedAttention" in result.grad_fn.name()


@pytest.mark.parametrize("dropout_p", [1.0, 1.5])
def test_everything_dropped_or_more(dropout_p, device):
    def call(lib, functional, *given):
        return functional.scaled_dot_product_attention(*given, dropout_p=dropout_p)
    if dropout_p == 1.0:
        return agree(call, operands(SHAPES["heads"]), device)
    with pytest.raises((RuntimeError, ValueError), match="dropout probability has to be"):
        call(mindtorch, mindtorch.nn.functional, *(mindtorch.tensor(a, device=device)
                                                   for a in operands(SHAPES["heads"])))
    return None


@pytest.mark.parametrize("hidden", [None, ~FIRST[:3, :4]], ids=["all", "mask"])
@pytest.mark.parametrize("following", [0, 1, 2 ** 31 - 1])
@pytest.mark.parametrize("keep", [1.0, 0.75])
def test_derivatives_of_the_operator(hidden, following, keep):
    """First and second ones, by differences, in float64, which the CPU has."""
    made = [mindtorch.tensor(a, dtype=mindtorch.float64).requires_grad_()
            for a in operands(((1, 2, 3, 2), (1, 1, 4, 2)))]
    mask = None if hidden is None else mindtorch.tensor(hidden)

    def call(*given):
        return ATEN["_fused_attention"](*given, mask, dropped(keep, "cpu"), 0.4, keep, following)[0]
    assert mindtorch.autograd.gradcheck(call, made, eps=1e-3)      # the statistics have no more than float32
    assert mindtorch.autograd.gradgradcheck(call, made, eps=1e-3, atol=2e-4)


def test_second_derivatives(device):
    def call(lib, functional, *given):
        made = functional.scaled_dot_product_attention(*given, attn_mask=lib.tensor(FIRST, device=given[0].device))
        if lib is torch:      # its own operator is differentiable once
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                made = functional.scaled_dot_product_attention(*given, attn_mask=lib.tensor(FIRST))
        return lib.autograd.grad((made * made).sum(), given, create_graph=True)
    agree(call, operands(SHAPES["heads"]), device, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("shapes", "options"), [
    (((4, 6, 8), (4, 7, 8), (4, 7, 8)), {"attn_mask": MASK, "is_causal": True}),
    (((8,), (7, 8), (7, 8)), {}), (((2, 4, 6, 8), (2, 3, 7, 8), (2, 3, 7, 8)), {"enable_gqa": True})], ids=str)
def test_refusals(shapes, options, device):
    def call(lib, functional, *given):
        made = {k: lib.tensor(v, device=given[0].device) if k == "attn_mask" else v for k, v in options.items()}
        return functional.scaled_dot_product_attention(*given, **made)
    refused_alike(call, [numbers(*shape) for shape in shapes], device)


def test_large_scores_do_not_overflow(device):
    agree(attend(scale=math.sqrt(200.0)), operands(SHAPES["heads"]), device, rtol=1e-3, atol=1e-4)
