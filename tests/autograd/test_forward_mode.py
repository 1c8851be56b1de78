"""torch.autograd.forward_ad beside torch's: tangents of functions, levels, and what refuses them."""
import importlib

import numpy as np
import pytest
import torch

import mindtorch

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning",
                                        "ignore:Attempted to insert:UserWarning")


class Tensors:
    """The tensors of a case: x with the tangent t, and a matrix m."""

    def __init__(self, lib, device):
        self.x, self.t = lib.arange(1.0, 4.0, device=device), lib.ones(3, device=device) * 2
        self.m = lib.arange(6.0, device=device).reshape(2, 3)


def written(target, write):
    write(target)
    return target


# name -> a function of the library, a dual tensor with three elements, and a matrix
FUNCTIONS = {
    "sin": lambda lib, d, m: d.sin(), "mul": lambda lib, d, m: d * d, "pow": lambda lib, d, m: d ** 3,
    "matmul": lambda lib, d, m: m @ d, "sum": lambda lib, d, m: d.sum(), "norm": lambda lib, d, m: d.norm(),
    "max": lambda lib, d, m: d.max(0).values, "sort": lambda lib, d, m: d.sort(descending=True)[0],
    "softmax": lambda lib, d, m: d.softmax(0), "where": lambda lib, d, m: lib.where(d > 1, d, -d),
    "cat": lambda lib, d, m: lib.cat([d, d * 2]), "stack": lambda lib, d, m: lib.stack([d, d.exp()]),
    "linear": lambda lib, d, m: lib.nn.functional.linear(d, m), "silu": lambda lib, d, m: lib.nn.functional.silu(d),
    "layer_norm": lambda lib, d, m: lib.nn.functional.layer_norm(d, (3,)),
    "view": lambda lib, d, m: d.view(3, 1), "T": lambda lib, d, m: d.reshape(1, 3).T, "index": lambda lib, d, m: d[1:],
    "expand": lambda lib, d, m: d.expand(2, 3), "unbind": lambda lib, d, m: d.unbind(0)[1],
    "in place": lambda lib, d, m: d.clone().mul_(3),
    "in place of a view": lambda lib, d, m: written(d.clone(), lambda c: c[1:].mul_(2)),
    "copied": lambda lib, d, m: lib.zeros_like(m[0]).copy_(d), "added": lambda lib, d, m: m[0].clone().add_(d),
    "an element written": lambda lib, d, m: written(m.clone(), lambda c: c.__setitem__((0, slice(0, 2)), d[1:])),
    "comparison": lambda lib, d, m: d > 1, "detach": lambda lib, d, m: d.detach(),
    "item": lambda lib, d, m: m * d[0].item(),
    "no_grad": lambda lib, d, m: no_grad(lib, lambda: d * 2), "zeros_like": lambda lib, d, m: lib.zeros_like(d),
    "constant": lambda lib, d, m: m * 2, "integer": lambda lib, d, m: d.long(),
    "out": lambda lib, d, m: lib.mul(d, d, out=lib.zeros_like(m[0])),
    "second derivative": lambda lib, d, m: lib.func.grad(lambda a: (a ** 3).sum())(m[1]) * d,
    "Function": lambda lib, d, m: product(lib).apply(d, m[1]),
    "Function without jvp": lambda lib, d, m: plain(lib).apply(d),
}


def no_grad(lib, function):
    with lib.no_grad():
        return function()


def product(lib):
    class Product(lib.autograd.Function):
        @staticmethod
        def forward(a, b):
            return a * b

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx, a_tangent, b_tangent):
            a, b = ctx.saved_tensors
            return a_tangent * b + b_tangent * a
    return Product


def plain(lib):
    class Plain(lib.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2
    return Plain


def values(tensor):
    return None if tensor is None else np.array(tensor.detach().cpu().tolist())


def assert_same(ours, theirs):
    assert (ours is None) == (theirs is None), (ours, theirs)
    if theirs is not None:
        np.testing.assert_allclose(ours, theirs, 1e-4, 1e-5)


def dual_result(lib, device, function):
    """(values, tangent) of the result, or the type of the error."""
    tensors, forward = Tensors(lib, device), lib.autograd.forward_ad
    try:
        with forward.dual_level():
            result = function(lib, forward.make_dual(tensors.x, tensors.t), tensors.m)
            primal, tangent = forward.unpack_dual(result)
        return values(primal), values(tangent)
    except (NotImplementedError, RuntimeError) as error:
        return type(error)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangent(name, device):
    ours = dual_result(mindtorch, device, FUNCTIONS[name])
    theirs = dual_result(torch, "cpu", FUNCTIONS[name])
    if isinstance(theirs, type):
        assert issubclass(ours, theirs), (ours, theirs)
        return
    for one, other in zip(ours, theirs, strict=True):
        assert_same(one, other)


def test_backward_through_a_tangent(device):
    def case(lib, device):
        tensors, forward = Tensors(lib, device), lib.autograd.forward_ad
        tensors.x.requires_grad_()
        tensors.t.requires_grad_()
        with forward.dual_level():
            tangent = forward.unpack_dual((forward.make_dual(tensors.x, tensors.t) ** 3).sum()).tangent
        tangent.backward()
        return [values(tensors.x.grad), values(tensors.t.grad)]
    for one, other in zip(case(mindtorch, device), case(torch, "cpu"), strict=True):
        assert_same(one, other)


def test_module_and_its_parameters(device):
    def case(lib, device):
        tensors, forward = Tensors(lib, device), lib.autograd.forward_ad
        layer = lib.nn.Sequential(lib.nn.Linear(3, 2), lib.nn.Tanh(), lib.nn.LayerNorm(2)).to(device)
        layer[0].weight.data.copy_(tensors.m)
        layer[0].bias.data.fill_(-8.0)
        with forward.dual_level():
            return values(forward.unpack_dual(layer(forward.make_dual(tensors.x, tensors.t))).tangent)
    assert_same(case(mindtorch, device), case(torch, "cpu"))


REFUSED = {
    "no level": lambda f, lib, c: f.make_dual(c.x, c.t), "no level to leave": lambda f, lib, c: f.exit_dual_level(),
    "two levels": lambda f, lib, c: [f.enter_dual_level(), f.enter_dual_level()],
    "another size": lambda f, lib, c: [f.enter_dual_level(), f.make_dual(c.x, c.t[:1])],
    "an integer": lambda f, lib, c: [f.enter_dual_level(), f.make_dual(c.x.long(), c.t)],
    "an integer tangent": lambda f, lib, c: [f.enter_dual_level(), f.make_dual(c.x, c.t.long())],
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_torch_refuses_it(name):
    def error(lib):
        forward = lib.autograd.forward_ad
        with pytest.raises((RuntimeError, ValueError)) as caught:
            REFUSED[name](forward, lib, Tensors(lib, "cpu"))
        if forward._current_level >= 0:
            forward.exit_dual_level()
        return type(caught.value), str(caught.value)
    assert error(mindtorch) == error(torch)


def test_levels():
    forward, tensors = mindtorch.autograd.forward_ad, Tensors(mindtorch, "cpu")
    assert forward.unpack_dual(tensors.x) == (tensors.x, None)
    with forward.dual_level():
        dual = forward.make_dual(tensors.x, tensors.t)
        assert forward.unpack_dual(dual).tangent is tensors.t
        assert repr(dual) == "tensor([1., 2., 3.], tangent=tensor([2., 2., 2.]))"
        with forward._set_fwd_grad_enabled(False):
            assert forward.unpack_dual(dual * 2).tangent is None
        assert len(forward._current().tangents) == 1
        del dual
        assert not forward._current().tangents
    assert forward._current_level == -1


@pytest.mark.parametrize("reverse", [True, False])
def test_gradgradcheck_of_forward_over_reverse(reverse):
    x = mindtorch.tensor([0.5, -1.5], dtype=mindtorch.float64, requires_grad=True)
    y = mindtorch.tensor([1.5, 0.25], dtype=mindtorch.float64, requires_grad=True)
    assert mindtorch.autograd.gradgradcheck(lambda a, b: (a.sin() * b, b), (x, y), check_fwd_over_rev=True,
                                            check_rev_over_rev=reverse)

    class Slope(mindtorch.autograd.Function):
        """The gradient of a ** 2, whose own backward is wrong."""

        @staticmethod
        def forward(ctx, grad, a):
            ctx.save_for_backward(grad, a)
            return 2 * a * grad

        @staticmethod
        def backward(ctx, change):
            grad, a = ctx.saved_tensors
            return 2 * a * change, 3 * grad * change

    class Square(mindtorch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx, grad):
            return Slope.apply(grad, *ctx.saved_tensors)

    class SquareWithTangent(Square):
        @staticmethod
        def jvp(ctx, along):
            return 2 * ctx.saved_tensors[0] * along
    message = "Backward is not|Jacobian mismatch" if reverse else "forward mode mismatch"
    with pytest.raises(mindtorch.autograd.gradcheck.__globals__["GradcheckError"], match=message):
        mindtorch.autograd.gradgradcheck(SquareWithTangent.apply, x, check_fwd_over_rev=True,
                                         check_rev_over_rev=reverse)
    if not reverse:
        with pytest.raises(NotImplementedError, match="must implement the jvp function"):
            mindtorch.autograd.gradgradcheck(Square.apply, x, check_fwd_over_rev=True, check_rev_over_rev=False)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradcheck_forward(dtype):
    x = mindtorch.tensor([0.5, -1.5], dtype=getattr(mindtorch, dtype)).requires_grad_()
    y = mindtorch.tensor([1.5, 0.25], dtype=x.dtype).requires_grad_()
    assert mindtorch.autograd.gradcheck(lambda a, b: ((a * b).sin(), a), (x, y), check_forward_ad=True)
    assert mindtorch.autograd.gradcheck(lambda a, b: ((a * b).cumsum(0), b), (x, y), check_forward_ad=True,
                                        check_batched_grad=True, check_batched_forward_grad=True)
    with pytest.raises(AssertionError, match="requires check_forward_ad to be True"):
        mindtorch.autograd.gradcheck(lambda a: a, (x,), check_batched_forward_grad=True)

    class Wrong(mindtorch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 3
    assert mindtorch.autograd.gradcheck(Wrong.apply, x)

    class Uneven(mindtorch.autograd.Function):
        tangents = 0

        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def jvp(ctx, tangent):
            Uneven.tangents += 1
            return tangent * Uneven.tangents
    with pytest.raises(mindtorch.autograd.gradcheck.__globals__["GradcheckError"], match="batched tangents"):
        mindtorch.autograd.gradcheck(Uneven.apply, x, check_forward_ad=True, check_backward_ad=False,
                                     check_batched_forward_grad=True)
    with pytest.raises(mindtorch.autograd.gradcheck.__globals__["GradcheckError"], match="forward mode mismatch"):
        mindtorch.autograd.gradcheck(Wrong.apply, x, check_forward_ad=True)


def test_forward_mode_of_backward(device):
    def case(lib, device):
        c, forward = Tensors(lib, device), lib.autograd.forward_ad
        with forward.dual_level():
            dual = forward.make_dual(c.x.requires_grad_(), c.t)
            gradient, = lib.autograd.grad(((c.m @ dual) ** 3).sum() + dual.sin().sum(), dual)
            found = forward.unpack_dual(gradient)
        return values(found.primal), values(found.tangent)
    for one, other in zip(case(mindtorch, device), case(torch, "cpu"), strict=True):
        assert_same(one, other)


def test_linearize(device):
    def case(lib, device):
        c = Tensors(lib, device)
        output, change = lib.func.linearize(lambda a, b: (b @ a.sin(), a * 2), c.x, c.m)
        return [values(each) for each in (*output, *change(c.t, c.m), *change(c.x, c.m * 2))]
    for one, other in zip(case(mindtorch, device), case(torch, "cpu"), strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("kind", ["view", "copy", "view of a copy", "part of another view", "in place", "not in place",
                                  "as it is", "as view", "no derivative", "None of no derivative"])
def test_tangents_alias_as_the_results_do(kind):
    def run(lib):
        class Function(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                if "place" in kind:
                    ctx.mark_dirty(x)
                    return x.mul_(2)
                if kind.startswith("as "):
                    return x
                if "derivative" in kind:
                    other = x.clone()
                    ctx.mark_non_differentiable(other)
                    return x.clone(), other
                return x.narrow(0, 0, 2)

            @staticmethod
            def jvp(ctx, t):
                if "place" in kind:
                    return t.mul_(2) if kind == "in place" else t * 2
                if kind.startswith("as "):
                    return t.view_as(t) if kind == "as view" else t
                if "derivative" in kind:
                    return t.clone(), None if "None" in kind else t.clone()
                part = t.narrow(0, 0, 2)
                return {"view": part, "copy": part.clone()}.get(kind, part.clone().view(2))
        forward_ad = importlib.import_module(f"{lib.__name__}.autograd.forward_ad")
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(lib.tensor([1.0, 2.0, 3.0]), lib.ones(3))
            if kind.startswith("part"):
                dual = dual.view(3)
            try:
                result = Function.apply(dual * 1 if "place" in kind else dual)
            except RuntimeError as error:
                return str(error).replace("  ", " ").replace(".You", ". You")
            results = result if isinstance(result, tuple) else (result,)
            found = [forward_ad.unpack_dual(each).tangent for each in results]
            return [None if each is None else each.tolist() for each in found]
    assert run(mindtorch) == run(torch)
