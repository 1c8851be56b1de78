"""nn.attention, gradients of convolutions, and names for annotations: beside torch."""
import inspect
import math

import numpy
import pytest
import torch as oracle
import torch.nn.attention.bias
from compare_with_torch import check
from test_layers_nn import assert_same, flat

import mindtorch.nn.attention.bias


def attended(t, d, *args, **how):
    """The shape of an attention, and whether its heads saw what they should."""
    q, k = t.arange(24.0, device=d).reshape(1, 2, 3, 4) / 10, t.arange(40.0, device=d).reshape(1, 2, 5, 4) / 20
    result = t.nn.functional.scaled_dot_product_attention(q, k, k, *args, **how)
    return result.shape, [round(x, 4) for x in result.flatten().tolist()]


def within(t, d, backends, **how):
    attention = t.nn.attention
    names = {"S": attention.SDPBackend}
    before = attention._cur_sdpa_kernel_backends()
    with attention.sdpa_kernel(eval(backends, names), **how):
        inside = [str(each) for each in attention._cur_sdpa_kernel_backends()]
        first = [str(each) for each in attention._cur_sdpa_kernel_backends(with_priority=True)]
        return inside, first, attended(t, d), attention._cur_sdpa_kernel_backends() == before


def after_an_error(t, d):
    """What was allowed is allowed again."""
    try:
        with t.nn.attention.sdpa_kernel([]):
            attended(t, d)
    except RuntimeError as error:
        return str(error), len(t.nn.attention._cur_sdpa_kernel_backends()), attended(t, d)


def decorated(t, d):
    @t.nn.attention.sdpa_kernel(t.nn.attention.SDPBackend.MATH)
    def inside():
        return str(t.nn.attention._cur_sdpa_kernel_backends())
    return inside(), inside()


def biased(t, d, call, **how):
    return attended(t, d, attn_mask=eval(f"t.nn.attention.bias.{call}", {"t": t}), **how)


def within_dropout(t, d):
    with t.nn.attention.sdpa_kernel(t.nn.attention.SDPBackend.MATH):
        return attended(t, d, dropout_p=1.0)[0]


SCENARIOS = {
    **{f"{backends} {priority}": lambda t, d, backends=backends, priority=priority: within(
        t, d, backends, set_priority=priority)
       for priority in (False, True) for backends in (
           "S.MATH", "S.FLASH_ATTENTION", "[S.MATH, S.FLASH_ATTENTION]", "[S.FLASH_ATTENTION, S.MATH]",
           "S.EFFICIENT_ATTENTION", "[]", "3", "None")},
    "after an error": after_an_error, "decorated": decorated,
    "by name": lambda t, d: [(name, int(each), str(each), repr(each), each.name, each.value)
                             for name, each in t.nn.attention.SDPBackend.__members__.items()],
    "dropout": within_dropout,
    **{call: lambda t, d, call=call: biased(t, d, call) for call in (
        "causal_lower_right(3, 5)", "causal_upper_left(3, 5)", "causal_upper_left(7, 5)", "causal_lower_right(4)",
        "causal_upper_left(2, 3, 4)", "CausalBias(3, 4, 5)", "CausalBias(t.nn.attention.bias.CausalVariant(2), 3, 5)")},
    "causal twice": lambda t, d: biased(t, d, "causal_lower_right(3, 5)", is_causal=True),
    "more queries than keys": lambda t, d: repr(t.nn.attention.bias.causal_lower_right(4, 3)),
    "as a tensor": lambda t, d: [(str(each), each.variant, each._materialize(d), isinstance(each, t.Tensor))
                                 for each in (t.nn.attention.bias.causal_lower_right(2, 4),
                                              t.nn.attention.bias.causal_upper_left(2, 4))],
}


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_scenario(scenario, device):
    check(scenario, device)


def test_only_the_fused_operator():
    with (mindtorch.nn.attention.sdpa_kernel(mindtorch.nn.attention.SDPBackend.FLASH_ATTENTION),
          pytest.raises(RuntimeError, match="No available kernel")):
        attended(mindtorch, "cpu", dropout_p=0.5)


CALLS_OF_FLASH = [((2, 3, 4, 8), {}), ((3, 4, 8), {}), ((2, 3, 4, 8), {"dropout_p": 0.5}),
                  *[((2, 3, 4, 8), {"attn_mask": mask}) for mask in ((4, 4), (1, 1, 4, 1), (1, 4, 4), "bool", "grad")]]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(("shape", "how"), CALLS_OF_FLASH)
def test_what_the_flash_kernel_of_the_cpu_takes(shape, how, dtype):
    def run(t):
        dtype_ = getattr(t, dtype)
        x = (t.arange(math.prod(shape)) % 7).reshape(shape).to(dtype_) / 8
        mask = how.get("attn_mask")
        if mask is not None:
            size = (4, 4) if isinstance(mask, str) else mask
            given = (t.arange(math.prod(size)) % 3).reshape(size).to(t.bool if mask == "bool" else dtype_)
            mask = given.requires_grad_(mask == "grad")
        try:
            with t.nn.attention.sdpa_kernel(t.nn.attention.SDPBackend.FLASH_ATTENTION):
                result = t.nn.functional.scaled_dot_product_attention(x, x, x, **(how | {"attn_mask": mask}))
            return result.dtype.itemsize, result.tolist()
        except RuntimeError as error:
            return None, str(error)
    (kind, given), (expected_kind, expected) = run(mindtorch), run(oracle)
    assert kind == expected_kind
    assert given == expected if kind is None else numpy.allclose(given, expected, atol=1e-2 if kind == 2 else 1e-6)


@pytest.mark.parametrize(("dropout", "backends"), [
    (0.0, ["FLASH_ATTENTION", "MATH"]), (0.5, ["FLASH_ATTENTION", "MATH"]), (0.0, ["MATH"]),
    (0.0, ["FLASH_ATTENTION"])])
def test_the_number_of_the_choice(dropout, backends):
    def run(t):
        x = t.ones(2, 3, 4, 8)
        with t.nn.attention.sdpa_kernel([getattr(t.nn.attention.SDPBackend, name) for name in backends]):
            return t._fused_sdp_choice(x, x, x, dropout_p=dropout)
    assert run(mindtorch) == run(oracle)


# --- nn.grad ---------------------------------------------------------------------------------------------------------

CONVOLUTIONS = [(1, (2, 4, 9), (6, 4, 3), {}), (1, (2, 4, 9), (6, 2, 3), {"stride": 2, "padding": 1, "groups": 2}),
                (2, (2, 4, 7, 6), (6, 4, 3, 2), {"stride": (2, 1), "padding": 1}),
                (2, (2, 4, 7, 6), (4, 1, 3, 2), {"dilation": 2, "groups": 4}),
                (3, (1, 2, 4, 5, 4), (3, 2, 2, 2, 3), {"padding": (1, 0, 1)})]


@pytest.mark.parametrize(("dims", "input_size", "weight_size", "how"), CONVOLUTIONS)
def test_gradients_of_convolutions(dims, input_size, weight_size, how, device):
    oracle.manual_seed(0)
    x, w = oracle.randn(input_size), oracle.randn(weight_size)
    g = oracle.randn(getattr(oracle.nn.functional, f"conv{dims}d")(x, w, **how).shape)
    found = []
    for t, where in ((mindtorch, device), (oracle, "cpu")):
        a, b, c = (t.tensor(each.numpy(), device=where) for each in (x, w, g))
        found.append([flat(getattr(t.nn.grad, f"conv{dims}d_input")(input_size, b, c, **how)),
                      flat(getattr(t.nn.grad, f"conv{dims}d_weight")(a, weight_size, c, **how))])
    assert_same(*found)


def test_signatures():
    pairs = [(getattr(mindtorch.nn.grad, name), getattr(oracle.nn.grad, name)) for name in mindtorch.nn.grad.__all__]
    pairs += [(getattr(mindtorch.nn.parallel, name), getattr(oracle.nn.parallel, name))
              for name in mindtorch.nn.parallel.__all__ if name != "DistributedDataParallel"]     # none can be made
    for ours, theirs in pairs:
        assert ours.__name__ == theirs.__name__
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters), ours


def test_annotations():
    ours, theirs = mindtorch.nn.common_types, oracle.nn.common_types
    assert {name for name in vars(theirs) if name.endswith("_t")} <= vars(ours).keys()
    assert ours._size_2_t == int | tuple[int, int]
