"""Attention, embeddings in bags, native norms and what else networks are made of: torch 2.13 is the oracle, for values,
dtypes, gradients and errors, on both devices."""
import warnings
from math import inf

import numpy as np
import pytest
import torch

import mindtorch


def numbers(*shape, phase=0.0):
    """Values of both signs."""
    return (np.cos(np.arange(int(np.prod(shape))) * 1.7 + phase) * 2).reshape(shape).astype("float32")


def tensors(lib, arrays, device, dtype="float32"):
    """Arrays as tensors; floating ones are leaves of the graph."""
    found = []
    for array in arrays:
        tensor = lib.tensor(np.asarray(array), device=device)
        if tensor.is_floating_point():
            tensor = tensor.to(getattr(lib, dtype)).requires_grad_(True)
        found.append(tensor)
    return found


def results_of(lib, call, arrays, device, dtype="float32"):
    """What call(lib, functional, *tensors) returns, as a list, and the gradients of the leaves."""
    leaves = tensors(lib, arrays, device, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = call(lib, lib.nn.functional, *leaves)
    results = [r for r in (results if isinstance(results, (tuple, list)) else [results]) if r is not None]
    total = 0
    for result in results:
        if result.requires_grad:
            weights = lib.tensor(numbers(*result.shape, phase=1.0), device=device).to(result.dtype)
            total = total + (result * weights).sum()
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    grads = lib.autograd.grad(total, wanted, allow_unused=True) if not isinstance(total, int) else []
    return results, [lib.zeros_like(w) if g is None else g for g, w in zip(grads, wanted, strict=False)]


def agree(call, arrays, device, dtype="float32", rtol=2e-4, atol=2e-5):
    ours, our_grads = results_of(mindtorch, call, arrays, device, dtype)
    theirs, their_grads = results_of(torch, call, arrays, "cpu", dtype)
    assert len(ours) == len(theirs)
    assert len(our_grads) == len(their_grads)
    for one, other in zip(ours + our_grads, theirs + their_grads, strict=True):
        assert tuple(one.shape) == tuple(other.shape)
        assert str(one.dtype) == str(other.dtype)
        assert one.requires_grad == other.requires_grad
        expected = np.array(other.detach().double().tolist())
        scale = max(1.0, np.abs(expected, where=np.isfinite(expected), out=np.zeros_like(expected)).max(initial=0))
        np.testing.assert_allclose(np.array(one.detach().double().cpu().tolist()), expected, rtol=rtol,
                                   atol=atol * scale)


def refused_alike(call, arrays, device):
    """Both raise, the same type with the same words."""
    raised = []
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        with pytest.raises(Exception) as caught:      # noqa: PT011 - the two are compared below
            call(lib, lib.nn.functional, *tensors(lib, arrays, where))
        raised.append((type(caught.value), str(caught.value).split("\n")[0]))
    assert raised[1] == raised[0]


# --- norms and losses ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("eps", [0.0, -1.0])
def test_eps_of_batch_norm(eps, training, device):
    def call(lib, functional, x, mean, variance):
        return functional.batch_norm(x.detach(), mean.detach(), variance.detach(), training=training, eps=eps)
    arrays = [numbers(4, 3), numbers(3), np.ones(3)]
    if training or eps:
        refused_alike(call, arrays, device)
    else:
        agree(call, arrays, device)


@pytest.mark.parametrize("shape", [(1, 4, 3), (2, 1, 3), (2, 4, 1), (2, 4)])
def test_gaussian_nll_loss_of_a_variance_that_is_shared(shape, device):
    agree(lambda lib, functional, x, y, v: functional.gaussian_nll_loss(x, y, v.detach().abs() + 1),
          [numbers(2, 4, 3), numbers(2, 4, 3, phase=1.0), numbers(*shape, phase=2.0)], device)


@pytest.mark.parametrize("shape", [(1, 1, 3), (4, 3), (1, 4, 1), (1,), (2, 3, 3)])
def test_gaussian_nll_loss_of_a_variance_of_another_shape(shape, device):
    refused_alike(lambda lib, functional, x, y, v: functional.gaussian_nll_loss(x, y, v.detach().abs()),
                  [numbers(2, 4, 3), numbers(2, 4, 3), numbers(*shape)], device)


# --- embedding_bag ---------------------------------------------------------------------------------------------------

WORDS = np.array([3, 1, 1, 4, 0, 2, 2, 1])
TABLE = numbers(5, 3)
BAGS = [
    ("offsets", {}, [WORDS, TABLE, np.array([0, 3, 3, 5])]),
    ("rows", {}, [WORDS.reshape(4, 2), TABLE]),
    ("int32", {}, [WORDS.astype("int32"), TABLE, np.array([0, 3], "int32")]),
    ("padding", {"padding_idx": 1}, [WORDS, TABLE, np.array([0, 1, 3, 7])]),
    ("negative padding", {"padding_idx": -1}, [WORDS.reshape(2, 4), TABLE]),
    ("last offset", {"include_last_offset": True}, [WORDS, TABLE, np.array([0, 2, 2, 8])]),
    ("nothing", {}, [np.array([], "int64"), TABLE, np.array([0, 0])]),
]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize(("options", "arrays"), [case[1:] for case in BAGS], ids=[case[0] for case in BAGS])
def test_embedding_bag(options, arrays, mode, device):
    def call(lib, functional, words, table, offsets=None):
        return functional.embedding_bag(words, table, offsets, mode=mode, **options)
    agree(call, arrays, device)


@pytest.mark.parametrize("padding", [None, 0])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("words", [[[-1, 1]], [[3, 12]]])
def test_embedding_bag_of_rows_that_are_not_there(words, mode, padding):
    def call(library):
        with pytest.raises(RuntimeError) as refusal:
            library.nn.functional.embedding_bag(library.tensor(words), library.ones(10, 2), mode=mode,
                                                padding_idx=padding)
        return str(refusal.value)
    assert call(mindtorch) == call(torch)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_without_bags(mode, device):
    """Not compared: torch's kernels crash here."""
    words, table, offsets = tensors(mindtorch, [WORDS, TABLE, np.array([], "int64")], device)
    result = mindtorch.nn.functional.embedding_bag(words, table, offsets, mode=mode)
    result.sum().backward()
    assert result.shape == (0, 3)
    assert not table.grad.any().item()


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_embedding_bag_by_frequency(mode, device):
    """torch's kernel for the CPU divides by the frequency of another row; its embedding, by that of each."""
    def call(lib, functional, words, table):
        if lib is mindtorch:
            return functional.embedding_bag(words, table, mode=mode, scale_grad_by_freq=True)
        return getattr(functional.embedding(words, table, scale_grad_by_freq=True), mode)(1)
    agree(call, [WORDS.reshape(2, 4), TABLE], device)


@pytest.mark.parametrize("padding", [None, 2])
def test_embedding_bag_of_weighed_rows(padding, device):
    agree(lambda lib, functional, words, table, offsets, weights: functional.embedding_bag(
        words, table, offsets, mode="sum", per_sample_weights=weights, padding_idx=padding),
        [WORDS, TABLE, np.array([0, 3, 4]), numbers(8)], device)


def test_embedding_bag_shortens_rows(device):
    def call(lib, functional, words, table):
        table = table.detach().clone()
        return functional.embedding_bag(words, table, mode="sum", max_norm=1.0), table
    agree(call, [WORDS[:4].reshape(2, 2), TABLE], device)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_of_halves(mode, dtype, device):
    agree(lambda lib, functional, words, table: functional.embedding_bag(words, table, mode=mode),
          [WORDS.reshape(2, 4), TABLE], device, dtype, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(("options", "arrays"), [
    ({}, [WORDS, TABLE, np.array([1, 3])]), ({}, [WORDS, TABLE, np.array([0, 9])]), ({}, [WORDS, TABLE]),
    ({"mode": "most"}, [WORDS.reshape(2, 4), TABLE]),
    ({}, [WORDS.reshape(2, 2, 2), TABLE]), ({}, [WORDS.reshape(2, 4), numbers(5)]),
    ({"padding_idx": 5}, [WORDS.reshape(2, 4), TABLE]), ({}, [WORDS, TABLE, np.array([[0]])]),
    ({"mode": "max", "scale_grad_by_freq": True}, [WORDS.reshape(2, 4), TABLE]),
    ({"include_last_offset": True}, [WORDS, TABLE, np.array([], "int64")]),
    ({}, [WORDS, np.arange(6).reshape(3, 2), np.array([0])])], ids=str)
def test_embedding_bag_refuses(options, arrays, device):
    if arrays[1].dtype.kind == "i" and device == "npu":      # the message names the type of an npu tensor
        return
    refused_alike(lambda lib, functional, words, table, offsets=None: functional.embedding_bag(
        words, table, offsets, **options), arrays, device)


# --- products and distances ------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("one", "other"), [((3,), (4,)), ((2, 3), (2, 4)), ((2, 5, 3), (2, 5, 4)), ((0, 3), (0, 4))])
def test_bilinear(one, other, device):
    for bias in ([], [numbers(6)]):
        agree(lambda lib, functional, *given: functional.bilinear(*given),
              [numbers(*one), numbers(*other), numbers(6, 3, 4), *bias], device)


@pytest.mark.parametrize("shapes", [
    ((2, 3), (3, 4), (5, 3, 4)), ((2, 3), (2, 4), (5, 3, 3)), ((2, 2), (2, 4), (5, 3, 4)),
    ((2, 3), (2, 2, 4), (5, 3, 4)), ((2, 3), (2, 4), (5, 3, 4), (4,))])
def test_bilinear_refuses(shapes, device):
    refused_alike(lambda lib, functional, *given: functional.bilinear(*given), [numbers(*s) for s in shapes], device)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("shape", [(4, 3), (2, 1)])
def test_pdist(shape, p, device):
    agree(lambda lib, functional, x: functional.pdist(x, p), [numbers(*shape)], device)


def test_gradient_of_pdist_at_infinity(device):
    """A row is not compared with itself, whose difference would be NaN at infinity."""
    found = []
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        x = lib.tensor([[inf, 1.0], [2.0, 3.0], [-inf, 5.0]], device=where, requires_grad=True)
        lib.nn.functional.pdist(x, 1.0).backward(lib.tensor([1.0, 2.0, 3.0], device=where))
        found.append(x.grad.tolist())
    assert found[0] == found[1] == [[3, -3], [2, -2], [-5, 5]]


def test_gradient_of_the_greatest_difference_with_nan():
    """On the CPU: CANN does not say what its call makes of NaN."""
    for lib in (torch, mindtorch):
        x = lib.tensor([[float("nan"), 1.0], [2.0, 3.0], [4.0, 4.0]], requires_grad=True)
        lib.nn.functional.pdist(x, inf).sum().backward()
        assert x.grad.isnan().all()


@pytest.mark.parametrize("shape", [(1, 3), (0, 3), (4, 0)])
def test_pdist_of_nothing(shape, device):
    """Values only: torch's backward crashes here."""
    agree(lambda lib, functional, x: functional.pdist(x.detach()), [numbers(*shape)], device)


@pytest.mark.parametrize(("shape", "p"), [((4,), 2), ((2, 2, 2), 2), ((2, 2), -1)])
def test_pdist_refuses(shape, p, device):
    refused_alike(lambda lib, functional, x: functional.pdist(x, p), [numbers(*shape)], device)


def test_safe_softmax(device):
    x = numbers(3, 4)
    x[1] = -np.inf
    x[2, 1] = -np.inf
    agree(lambda lib, functional, x: lib._safe_softmax(x, -1), [x], device)


# --- native norms ----------------------------------------------------------------------------------------------------

NORMS = {
    "layer": (lambda lib, x, w, b: lib.native_layer_norm(x, (4,), w, b, 1e-3), (2, 3, 4), 4),
    "layer without weights": (lambda lib, x, w, b: lib.native_layer_norm(x, (3, 4), None, None, 1e-3), (2, 3, 4), 1),
    "group": (lambda lib, x, w, b: lib.native_group_norm(x, w, b, 2, 6, 5, 3, 1e-3), (2, 6, 5), 6),
    "batch": (lambda lib, x, w, b: lib.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-3), (3, 2, 4), 2),
    "legit": (lambda lib, x, w, b: lib._native_batch_norm_legit(x, w, b, True, 0.1, 1e-3), (3, 2, 4), 2),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", NORMS)
def test_native_norms(name, dtype, device):
    call, shape, channels = NORMS[name]
    arrays = [numbers(*shape), numbers(channels, phase=0.3), numbers(channels, phase=0.6)]
    rough = {} if dtype == "float32" else {"rtol": 5e-2, "atol": 5e-2}
    agree(lambda lib, functional, *given: call(lib, *given), arrays, device, dtype, **rough)


@pytest.mark.parametrize("training", [True, False])
def test_native_batch_norm_keeps_statistics(training, device):
    def call(lib, functional, x, w, b, mean, variance):
        mean, variance = mean.detach().clone(), variance.detach().clone()
        return *lib.native_batch_norm(x, w, b, mean, variance, training, 0.3, 1e-3), mean, variance
    agree(call, [numbers(3, 2, 4), numbers(2), numbers(2), numbers(2), abs(numbers(2)) + 1], device)


def test_batch_norm_with_update(device):
    def call(lib, functional, x, w, b, mean, variance):
        update = lib.ops.aten._batch_norm_with_update if lib is torch else lib._batch_norm_with_update
        mean, variance = mean.detach().clone(), variance.detach().clone()
        return *update(x, w, b, mean, variance, 0.3, 1e-3), mean, variance
    agree(call, [numbers(3, 2, 4), numbers(2), numbers(2), numbers(2), abs(numbers(2)) + 1], device)


def test_native_dropout(device):
    x = mindtorch.ones(1000, device=device, requires_grad=True)
    result, mask = mindtorch.native_dropout(x, 0.25, True)
    assert mask.dtype is mindtorch.bool
    assert 600 < mask.sum().item() < 900
    assert result.tolist() == [float(np.float32(1 / 0.75)) if kept else 0.0 for kept in mask.tolist()]
    back = mindtorch.native_dropout_backward(mindtorch.ones(1000, device=device), mask, 1 / 0.75)
    assert mindtorch.autograd.grad(result.sum(), x)[0].tolist() == back.tolist() == result.tolist()
    assert mindtorch.native_dropout(x, 1.0, True)[0].sum().item() == 0
    assert mindtorch.native_dropout(x, 0.5, False)[1].all().item()


# --- multi-head attention --------------------------------------------------------------------------------------------

WIDTH, HEADS = 6, 2
PROJECTIONS = [numbers(3 * WIDTH, WIDTH) / 4, numbers(3 * WIDTH), numbers(WIDTH, WIDTH), numbers(WIDTH)]
LOOKS = np.array([[False, True, False, False, True]] * 4)
MULTI_HEAD = {
    "plain": {}, "no weights": {"need_weights": False}, "each head": {"average_attn_weights": False},
    "zeros": {"add_zero_attn": True}, "mask": {"attn_mask": LOOKS},
    "mask without weights": {"attn_mask": LOOKS, "need_weights": False},
    "numbers": {"attn_mask": numbers(4, 5)}, "masks of heads": {"attn_mask": numbers(3 * HEADS, 4, 5)},
    "masks of heads without weights": {"attn_mask": numbers(3 * HEADS, 4, 5), "need_weights": False},
    "padding": {"key_padding_mask": np.array([[False, False, True, False, True]] * 3)},
    "padding without weights": {"key_padding_mask": np.array([[False, False, True, False, True]] * 3),
                                "need_weights": False},
    "padding and mask": {"key_padding_mask": np.array([[False, False, True, False, False]] * 3), "attn_mask": LOOKS,
                         "add_zero_attn": True},
    "biases": {"bias_k": numbers(1, 1, WIDTH), "bias_v": numbers(1, 1, WIDTH, phase=2.0), "attn_mask": LOOKS},
    "static": {"static_k": numbers(3 * HEADS, 7, 3), "static_v": numbers(3 * HEADS, 7, 3, phase=1.0)},
    "causal": {"attn_mask": np.triu(np.ones((4, 5), bool), 1), "is_causal": True, "need_weights": False},
    "evaluation": {"dropout_p": 0.5, "training": False},
}


def multi_head(lib, functional, device, query, key, value, parameters, options):
    options = {name: lib.tensor(v, device=device) if isinstance(v, np.ndarray) else v for name, v in options.items()}
    given = {"bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0, **options}
    weight, bias, out_weight, out_bias = parameters
    return functional.multi_head_attention_forward(
        query, key, value, WIDTH, HEADS, weight, bias, given.pop("bias_k"), given.pop("bias_v"),
        given.pop("add_zero_attn"), given.pop("dropout_p"), out_weight, out_bias, **given)


def device_of(lib, device):
    return "cpu" if lib is torch else device


@pytest.mark.parametrize("name", MULTI_HEAD)
def test_multi_head_attention(name, device):
    def call(lib, functional, query, key, value, *parameters):
        return multi_head(lib, functional, device_of(lib, device), query, key, value, parameters, MULTI_HEAD[name])
    arrays = [numbers(4, 3, WIDTH), numbers(5, 3, WIDTH, phase=0.5), numbers(5, 3, WIDTH, phase=0.9), *PROJECTIONS]
    agree(call, arrays, device)


def test_multi_head_attention_to_itself(device):
    def call(lib, functional, x, *parameters):
        return multi_head(lib, functional, device_of(lib, device), x, x, x, parameters, {})
    agree(call, [numbers(4, 3, WIDTH), *PROJECTIONS], device)
    agree(call, [numbers(4, WIDTH), *PROJECTIONS], device)


def test_multi_head_attention_of_separate_widths(device):
    def call(lib, functional, query, key, value, q, k, v, bias, out, out_bias):
        return functional.multi_head_attention_forward(
            query, key, value, WIDTH, HEADS, None, bias, None, None, False, 0.0, out, out_bias,
            use_separate_proj_weight=True, q_proj_weight=q, k_proj_weight=k, v_proj_weight=v)
    arrays = [numbers(4, 3, WIDTH), numbers(5, 3, 4), numbers(5, 3, 7), numbers(WIDTH, WIDTH), numbers(WIDTH, 4),
              numbers(WIDTH, 7), *PROJECTIONS[1:]]
    agree(call, arrays, device)


@pytest.mark.parametrize(("shapes", "options"), [
    (((4, 3, 5), (5, 3, 5), (5, 3, 5)), {}), (((4, 3, 6), (5, 3, 6), (4, 3, 6)), {}),
    (((4, 6), (5, 3, 6), (5, 3, 6)), {}), (((6,), (6,), (6,)), {}),
    (((4, 3, 6), (5, 3, 6), (5, 3, 6)), {"attn_mask": numbers(4, 4)}),
    (((4, 3, 6), (5, 3, 6), (5, 3, 6)), {"attn_mask": numbers(2, 4, 5)}),
    (((4, 3, 6), (5, 3, 6), (5, 3, 6)), {"attn_mask": np.ones((4, 5), "int64")}),
    (((4, 3, 6), (5, 3, 6), (5, 3, 6)), {"attn_mask": numbers(4)}),
    (((4, 3, 6), (5, 3, 6), (5, 3, 6)), {"key_padding_mask": np.ones((2, 5), bool)}),
    (((4, 3, 6), (5, 3, 6), (5, 3, 6)), {"key_padding_mask": np.ones(5, bool)}),
    (((4, 3, 6), (5, 3, 6), (5, 3, 6)), {"is_causal": True}),
    (((4, 3, 6), (5, 3, 6), (5, 3, 6)), {"bias_k": numbers(1, 1, 6)}),
    (((4, 3, 6), (5, 3, 6), (5, 3, 6)), {"static_k": numbers(5, 2, 3)}),
    (((4, 6), (5, 6), (5, 6)), {"attn_mask": numbers(3, 4, 5)})], ids=str)
def test_multi_head_attention_refuses(shapes, options, device):
    def call(lib, functional, query, key, value, *parameters):
        return multi_head(lib, functional, device_of(lib, device), query, key, value, parameters, options)
    refused_alike(call, [*(numbers(*shape) for shape in shapes), *PROJECTIONS], device)


# --- layouts ---------------------------------------------------------------------------------------------------------

def test_strided_operands(device):
    def call(lib, functional, table, words, x, weight):
        return (functional.embedding_bag(words.t(), table.t(), mode="max"), functional.pdist(x.t()),
                functional.bilinear(x.t()[:, ::2], x.t()[:, 1::2], weight.transpose(0, 2)))
    agree(call, [numbers(3, 5), WORDS.reshape(2, 4), numbers(4, 3), numbers(2, 2, 6)], device)
