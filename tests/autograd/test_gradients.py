"""Gradients of expressions: values, dtypes and strides as torch's, first and second order, on both devices."""
import pytest
import torch
from compared import Cases, compare

import mindtorch

EXPRESSIONS = Cases()
expression = EXPRESSIONS


@expression
def product_and_relu(t, x, w):
    return (x @ w).relu().sum()


@expression
def broadcast(t, x, w):
    return (x * w[0] + w[1] - x / (w[2].abs() + 1)).sum()


@expression
def softmax(t, x, w):
    return ((x @ w).softmax(1) * w[0, 0]).sum()


@expression
def log_softmax(t, x, w):
    return ((x @ w).log_softmax(-1)[:, 1]).mean()


@expression
def view_chain(t, x, w):
    parts = x.t().reshape(-1)[2:9:2] * w.flatten()[:4]
    return parts.sum() + x[1, ..., None].exp().sum() + x.permute(1, 0).unsqueeze(0).squeeze().select(0, 1).sum() * 3


@expression
def expand(t, x, w):
    return (x[:1].expand(5, 3) * w.sum()).sum()


@expression
def cat_and_stack(t, x, w):
    return (t.cat([x, w], 0) * t.stack([x, x * 2])[0].sum(0)).sum()


@expression
def cat_of_one_twice(t, x, w):
    return (t.cat([w, w, x]) ** 2).sum()


@expression
def extrema(t, x, w):
    return x.max(1).values.sum() + x.amax(0).sum() * 2 + w.max() + w.min(0)[0].sum()


@expression
def powers(t, x, w):
    return ((x.abs() + 1) ** 2).sum() + ((w.abs() + 1) ** (x[:3].abs() + .5)).sum() + (2 ** w).sum()


@expression
def pointwise(t, x, w):
    return (t.clamp(x, -.5, .5).sum() + t.where(x > 0, x, x * 2).sum() + t.maximum(w, w.t()).sum()
            + (x.sigmoid() * x.tanh()).sum() + (x * x + 1).sqrt().log().sum() + (x * x + 1).rsqrt().sum())


@expression
def in_place_chain(t, x, w):
    y = x * 2
    y.mul_(w[0])
    y.add_(1)
    y[1] = w[2]
    y[:, 0].mul_(w[1, 1])
    return (y * y).sum()


@expression
def in_place_on_views_of_a_copy(t, x, w):
    y = x.clone()
    v = y.view(-1)[3:7]
    v.mul_(2)
    u = y.t()
    v.add_(w[0, 0])
    return (u * u).sum() + v.sum()


@expression
def in_place_into_zeros(t, x, w):
    z = t.zeros(4, 3, device=x.device)
    z[1:3] = w[:2]
    z[0].copy_(x[0])
    z[:, 1].fill_(3.)
    return (z * x).sum()


@expression
def several_views(t, x, w):
    a, b, c, d = x.unbind(0)
    p, q = x.split(2)
    thirds = sum(part.sum() * i for i, part in enumerate(x.chunk(3, 1)))
    return (a * b + c * d).sum() + (p * q).exp().sum() + thirds


@expression
def products(t, x, w):
    return (t.bmm(x.reshape(2, 2, 3), w.expand(2, 3, 3)).sum() + (x @ w[0]).sum() + (w[0] @ w).sum()
            + t.dot(w[0], w[1]) + t.mv(x, w[0]).sum() + (x.reshape(2, 2, 3) @ w).pow(2).sum())


@expression
def addmm(t, x, w):
    return (t.addmm(w[0], x, w.t(), beta=.5, alpha=2) ** 2).sum()


@expression
def linear(t, x, w):
    return (t.nn.functional.linear(x, w, w[0]) ** 2).sum()


@expression
def means_and_sums(t, x, w):
    return x.mean(0).sum() + x.mean() + (x.sum(1, keepdim=True) * x).sum() + w.sum((0, 1)) * w.mean((0,)).sum()


@expression
def casts(t, x, w):
    return (x.to(t.float64) * 2).sum() + (x.double() * w[0]).sum() + (x.half().float() * w[1]).sum()


@expression
def diagonals_and_strides(t, x, w):
    strided = w.as_strided((2, 2), (1, 3), 1).exp().sum() + x.as_strided((3, 2), (1, 1)).exp().sum()
    return (w.diagonal() * w[0]).sum() + strided + w.narrow(1, 1, 2).sum()


@expression
def numbers(t, x, w):
    return (2 - x).sum() + (1 / (w.abs() + 1)).sum() + (x * 2 - 3).mul(.5).sum() + (-x / 3).sum() + (x - w[0, 0]).sum()


@expression
def shared_subexpression(t, x, w):
    y = x * w[0]
    return (y + y * y + y.exp() * y).sum()


@expression
def strided_as_if_of_a_view(t, x, w):
    return x[1:].as_strided((2, 2), (1, 3), 1).exp().sum()


@expression
def zero_dimensional(t, x, w):
    s = x.sum()
    return s * s + s.reshape(1)[0] + s.view(()).exp() * 1e-3 + (s + w).sum()


@expression
def empty(t, x, w):
    return x[:0].sum() + (x[:0] @ w).sum() + t.cat([x[:0], x]).sum() + w.sum()


@expression
def unused_parts(t, x, w):
    return x.split([1, 3])[1].sum() + w.unbind(1)[2].exp().sum() + x.max(0).values[1:].sum()


def operands(make):
    return make(4, 3), make(3, 3, seed=1)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_gradients(name, device):
    def case(t, make):
        x, w = operands(make)
        result = EXPRESSIONS[name](t, x, w)
        result.backward()
        return result, x.grad, w.grad
    compare(case, device)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_gradients_of_gradients(name, device):
    def case(t, make):
        x, w = operands(make)
        # Products make every expression twice differentiable in something.
        first = t.autograd.grad(EXPRESSIONS[name](t, x, w) ** 2, (x, w), create_graph=True, allow_unused=True)
        length = sum((g * g).sum() for g in first if g is not None)
        second = t.autograd.grad(length, (x, w), allow_unused=True)
        return [g is None for g in first], [None if g is None else g.contiguous() for g in second]
    compare(case, device)


@pytest.mark.parametrize("name", ["std_mean", "var_mean"])
@pytest.mark.parametrize("part", [0, 1])
def test_the_gradient_of_one_moment_leaves_out_the_other(name, part, device):
    """That of a mean is a constant."""
    for lib, where in ((mindtorch, device), (torch, "cpu")):
        x = lib.ones(5, device=where, requires_grad=True)
        grad, = lib.autograd.grad(getattr(lib, name)(x, 0)[part], x, create_graph=True)
        assert grad.requires_grad == (part == 0)
        assert lib.equal(grad, lib.full_like(grad, 0.2 * part))


PIECEWISE_LINEAR = {
    "avg_pool2d": lambda lib, x: lib.nn.functional.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x, 2),
    "adaptive_max_pool2d": lambda lib, x: lib.nn.functional.adaptive_max_pool2d(x, (2, 3)),
    "adaptive_max_pool1d": lambda lib, x: lib.nn.functional.adaptive_max_pool1d(x[0], 2),
    "max_pool2d": lambda lib, x: lib.nn.functional.max_pool2d(x, 2),
    "nll_loss": lambda lib, x: lib.nn.functional.nll_loss(x[0, 0], lib.tensor([0, 1, 0, 1], device=x.device)),
}


@pytest.mark.parametrize("name", PIECEWISE_LINEAR)
def test_second_derivatives_that_are_zero(name, device):
    """They are zeros, and no error, as in torch."""
    for lib, where in ((mindtorch, device), (torch, "cpu")):
        x = lib.arange(16.0, device=where).reshape(1, 1, 4, 4).requires_grad_()
        first, = lib.autograd.grad(PIECEWISE_LINEAR[name](lib, x).sum(), x, create_graph=True)
        assert lib.autograd.grad(first.sum(), x)[0].tolist() == (x * 0).tolist()
