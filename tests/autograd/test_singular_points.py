"""Values and slopes where functions have a kink, a pole or a tie, and where numbers overflow: beside torch's."""
import math

import numpy as np
import pytest
import torch

import mindtorch

INF, NAN = math.inf, math.nan
# A vector x, and expressions of it; `t` is the library, F its nn.functional.
POINTS = [
    ([0.0, 0.0, 0.0], ["x.norm()", "t.linalg.vector_norm(x, 1)", "x.norm(3)", "x.view(1, 3).norm(dim=1)",
        "t.linalg.norm(x.view(1, 3))", "t.abs(x)", "t.maximum(x, t.zeros_like(x))", "x.clamp_min(0)", "x ** 0",
        "x ** 2.0", "t.pow(x, t.tensor([0.0, 1.0, 2.0], device=x.device))", "F.relu(x)",
        "t.xlogy(x, t.tensor([0.0, 1.0, 2.0], device=x.device))", "F.cosine_similarity(x, t.ones_like(x), dim=0)",
        "t.atan2(x, x.detach())", "t.sinc(x)", "t.hypot(x, x.detach())", "F.huber_loss(x, t.zeros_like(x))",
        "F.l1_loss(x, x.detach())", "F.normalize(x, dim=0)", "t.dist(x, x.detach())", "x[None].renorm(2, 0, 1.0)",
        "x[:0].mean()", "x[:0].sum()", "t.lerp(x, x.detach(), 0.5)",
        "F.triplet_margin_loss(x[None], x[None].detach(), x[None].detach())", "F.leaky_relu(x)"]),
    ([1.0, -1.0, 1.0], ["t.linalg.vector_norm(x, inf)"]),
    ([1.0, 1.0, 0.0], ["x.max()", "x.amax(0)", "x.max(0)[0]", "x.median()",
        "x.sort()[0] * t.arange(3.0, device=x.device)", "F.adaptive_max_pool1d(x[None, None], 1)"]),
    ([0.0, 1.0, 2.0], ["x.clamp(0, 1)", "t.tensor([0.0, 0.0, 2.0], device=x.device) ** x"]),
    ([0.0, 2.0, 3.0], ["x.prod()", "t.fmod(x, 2)"]),
    ([0.0, 0.0, 3.0], ["x.prod()"]),
    ([2.0, 0.0, 3.0], ["x.cumprod(0)"]),
    ([0.0, 1.0, 4.0], ["x ** 0.5", "t.where(x > 0, x.sqrt(), t.zeros_like(x))", "t.rsqrt(x)"]),
    ([-INF, 0.0, 1.0], ["x.logsumexp(0)", "x.softmax(0) * t.arange(3.0, device=x.device)", "x.log_softmax(0)[1:]",
        "t.logaddexp(x, x.detach())", "x.logcumsumexp(0)"]),
    ([-INF, -INF, -INF], ["x.logsumexp(0)"]),
    ([1.0, 2.0, 3.0], ["F.pairwise_distance(x[None], x[None].detach())", "t.cdist(x[:, None], x[:, None].detach())",
        "t.cdist(x[:, None], x[:, None].detach(), p=1)", "t.linalg.vector_norm(x, 0.5)",
        "t.linalg.det(x.outer(x)[:2, :2])"]),
    ([-100.0, 0.0, 100.0], ["t.sigmoid(x)", "t.tanh(x)"]),
    ([-200.0, 0.0, 200.0], ["F.logsigmoid(x)", "F.softplus(x)", "F.mish(x)", "F.silu(x)"]),
    ([-50.0, 0.0, 50.0], ["F.gelu(x)"]),
    ([1.0, 1.0, 1.0], ["F.layer_norm(x, (3,))[:1]", "x.std()", "x.var()", "F.max_pool1d(x[None, None], 3)"]),
    ([0.0, 1.0, -1.0], ["F.smooth_l1_loss(x, t.zeros_like(x), beta=0.0)", "t.log(x)", "F.threshold(x, 0.0, -1.0)"]),
    ([-1.0, -2.0, -3.0], ["F.kl_div(x, t.tensor([0.0, 0.5, 0.5], device=x.device), reduction='sum')"]),
    ([0.0, 0.5, -1.0], ["F.kl_div(t.ones_like(x), x, reduction='sum')", "F.kl_div(x, x.detach(), reduction='sum')"]),
    ([0.0, 0.5, 1.0], ["t.special.entr(x)", "t.logit(x, eps=1e-6)", "F.binary_cross_entropy(x, x.detach())",
        "F.binary_cross_entropy(x, t.tensor([1.0, 0.0, 0.0], device=x.device))"]),
    ([-200.0, 200.0, 0.0], ["F.binary_cross_entropy_with_logits(x, t.tensor([1.0, 0.0, 0.5], device=x.device))"]),
    ([-1.0, 0.0, 1.0], ["t.asin(x)", "t.acos(x)", "F.hardtanh(x)"]),
    ([0.0, 0.5, -0.5], ["t.erfinv(x)"]),
    ([1000.0, 0.0, -1000.0], ["F.cross_entropy(x[None], t.tensor([2], device=x.device))"]),
    ([0.0, 1e-8, 1.0], ["t.expm1(x)"]),
    ([0.0, -2.0, 3.0], ["t.remainder(x, 2)"]),
    ([-2.0, 0.5, 3.0], ["t.digamma(x)[1:]", "t.lgamma(x)[1:]"]),
    ([NAN, 1.0, 2.0], ["x.nanmean()", "x.nansum()"]),
    ([NAN, INF, 1.0], ["t.nan_to_num(x)"]),
    ([1.0, 1.0, 2.0], ["x.quantile(0.5)"]),
    ([-3.0, 0.0, 3.0], ["F.hardswish(x)", "F.hardsigmoid(x)"]),
    ([-0.5, 0.0, 0.5], ["F.hardshrink(x)", "F.softshrink(x)"]),
    ([-200.0, 0.0, 1.0], ["F.elu(x)", "F.selu(x)", "F.celu(x)"]),
    ([0.0, 6.0, 7.0], ["F.relu6(x)"]),
    ([0.5, 1.5, 2.5], ["t.round(x)"]),
    ([1.0, 1.5, -1.5], ["t.frac(x)"]),
    ([NAN, 1.0, -2.0], ["x.norm(1)", "t.linalg.vector_norm(x, inf)", "t.linalg.vector_norm(x, -inf)"]),
    ([1.0, 2.0, 4.0], ["x.var(correction=4)", "x.var(0, correction=4)", "x.var(0, correction=3)"]),
    ([1.0, NAN, 1.0], ["F.max_pool1d(x[None, None], 3)"]),
]
CALLS = [(expression, point) for point, expressions in POINTS for expression in expressions]


@pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0:UserWarning")
@pytest.mark.parametrize(("expression", "point"), CALLS, ids=[f"{call} at {point}" for call, point in CALLS])
def test_values_and_slopes(expression, point, device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        x = lib.tensor(point, device=place, requires_grad=True)
        result = eval(expression, {"t": lib, "F": lib.nn.functional, "x": x, "inf": INF})
        result.sum().backward()
        found.append([each.detach().cpu().numpy() for each in (result, x.grad)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0:UserWarning")
@pytest.mark.parametrize(("expression", "shape"), [
    ("x.prod(0)", (0, 3)), ("x.prod()", (0,)), ("x.var(0)", (0, 3)), ("x.var(0)", (0,)), ("x.std(0)", (0, 3)),
    ("x.cumprod(0)", (0, 3)), ("x.logsumexp(1)", (3, 0)), ("x.norm()", (0, 3))])
def test_a_gradient_without_elements_has_a_history(expression, shape, device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        x = lib.zeros(shape, device=place, requires_grad=True)
        gradient, = lib.autograd.grad(eval(expression, {"x": x}).sum(), x, create_graph=True)
        found.append((gradient.requires_grad, tuple(gradient.shape)))
    assert found[0] == found[1]


@pytest.mark.parametrize("exponent", [2.5 + 1.6j, 0j, 1 + 0j, -1 + 0j, 1.0])
@pytest.mark.parametrize("base", [0, 0.0, 0j])
def test_slopes_of_powers_of_zero(base, exponent, device):
    """0 for real exponents that are not negative alone."""
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        power = lib.tensor([exponent], dtype=lib.complex64, device=place, requires_grad=True)
        result = lib.tensor([base], device=place) ** power
        result.backward(lib.ones_like(result))
        found.append([value == 0 for value in power.grad.tolist()])
    assert found[0] == found[1]


@pytest.mark.parametrize("expression", ["t.special.i1(x)", "t.special.i1e(x)", "F.elu(x)", "F.celu(x)", "F.selu(x)"])
def test_second_derivatives_at_0(expression, device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        x = lib.tensor([0.0, 1.5, -1.5], device=place, requires_grad=True)
        slopes, = lib.autograd.grad(eval(expression, {"t": lib, "F": lib.nn.functional, "x": x}).sum(), x,
                                    create_graph=True)
        found.append(lib.autograd.grad(slopes.sum(), x)[0].tolist())
    assert found[0] == pytest.approx(found[1], rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("norm", [
    "x.norm()", "t.linalg.vector_norm(x, dim=0)", "t.dist(x, x.detach() * 0)", "x.norm(3)"])
def test_second_derivatives_of_norms_of_zeros(norm, device):
    def hessian(lib, place):
        return lib.func.jacrev(lib.func.jacrev(lambda x: eval(norm, {"t": lib, "x": x})))(
            lib.zeros(2, device=place)).tolist()
    for found, expected in zip(hessian(mindtorch, device), hessian(torch, "cpu"), strict=True):
        assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("expression", [
    "t.xlogy(x, y)", "t.xlogy(x, -1.0)", "t.special.xlog1py(x, y - 1)", "t.special.xlog1py(x, -2.0)"])
def test_where_nothing_flows_back_a_logarithm_has_no_slope(expression, device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        x = lib.tensor([0.0, 1.0, 2.0], device=place, requires_grad=True)
        y = lib.tensor([-1.0, -1.0, 0.0], device=place)
        eval(expression, {"t": lib, "x": x, "y": y}).backward(lib.tensor([0.0, 0.0, 0.0], device=place))
        found.append(x.grad.tolist())
    assert found[0] == found[1] == [0.0, 0.0, 0.0]
