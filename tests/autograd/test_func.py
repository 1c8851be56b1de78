"""torch.func's derivatives of functions beside torch's."""
import numpy as np
import pytest
import torch

import mindtorch

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")     # torch's forward mode

# name -> what is computed, of a library and a vector and a matrix of its own
CALLS = {
    "grad": lambda lib, x, m: lib.func.grad(lambda a: a.sin().sum())(x),
    "of the second": lambda lib, x, m: lib.func.grad(lambda a, b: (b @ a).square().sum(), argnums=1)(x, m),
    "of both": lambda lib, x, m: lib.func.grad(lambda a, b: (b @ a).square().sum(), argnums=(0, 1))(x, m),
    "of a dict": lambda lib, x, m: lib.func.grad(lambda p, k: (p["m"] @ p["x"]).sum() * k)({"x": x, "m": m}, k=2),
    "second": lambda lib, x, m: lib.func.grad(lambda a: lib.func.grad(lambda b: (b ** 3).sum())(a).sum())(x),
    "third": lambda lib, x, m: lib.func.grad(lib.func.grad(lib.func.grad(lambda a: a ** 4)))(x[0]),
    "aux": lambda lib, x, m: lib.func.grad(lambda a: ((a * a).sum(), {"twice": a * 2}), has_aux=True)(x),
    "and value": lambda lib, x, m: lib.func.grad_and_value(lambda a: (a * a).sum())(x),
    "and value and aux": lambda lib, x, m: lib.func.grad_and_value(lambda a: ((a * a).sum(), a + 1), has_aux=True)(x),
    "unused": lambda lib, x, m: lib.func.grad(lambda a, b: a.sum(), argnums=(0, 1))(x, m),
    "constant": lambda lib, x, m: lib.func.grad(lambda a: m.sum())(x),
    "without grad mode": lambda lib, x, m: no_grad(lib, lambda: lib.func.grad(lambda a: a.exp().sum())(x)),
    "vjp": lambda lib, x, m: (lambda out, back: (out, back(lib.ones_like(out))))(*lib.func.vjp(lib.exp, x)),
    "vjp of two": lambda lib, x, m: lib.func.vjp(lambda a, b: (b @ a, a * 2), x, m)[1]((x[:2] * 0 + 1, x)),
    "vjp with aux": lambda lib, x, m: lib.func.vjp(lambda a: (a * a, a.sum()), x, has_aux=True)[::2],
    "jvp": lambda lib, x, m: lib.func.jvp(lambda a: a.sin() * a, (x,), (x * 0 + 1,)),
    "jvp of two": lambda lib, x, m: lib.func.jvp(lambda a, b: b @ a, (x, m), (x, m * 2)),
    "jacrev": lambda lib, x, m: lib.func.jacrev(lambda a: m @ a.sin())(x),
    "jacrev of both": lambda lib, x, m: lib.func.jacrev(lambda a, b: b @ a, argnums=(0, 1))(x, m),
    "jacrev of outputs": lambda lib, x, m: lib.func.jacrev(lambda a: {"s": a.sum(), "e": a.exp()})(x),
    "jacrev with aux": lambda lib, x, m: lib.func.jacrev(lambda a: (a * a, a), has_aux=True)(x),
    "jacfwd": lambda lib, x, m: lib.func.jacfwd(lambda a: m @ a.sin())(x),
    "hessian": lambda lib, x, m: lib.func.hessian(lambda a: (m @ a.sin()).square().sum())(x),
    "jacobian of a gradient": lambda lib, x, m: lib.func.jacrev(lib.func.grad(lambda a: (a ** 3).sum()))(x),
}


def no_grad(lib, function):
    with lib.no_grad():
        return function()


def operands(lib, device, **options):
    device = device if lib is mindtorch else "cpu"
    return (lib.tensor([0.5, -1.0, 2.0], device=device, **options),
            lib.tensor([[1.0, 2.0, -0.5], [0.3, 0.0, 1.5]], device=device, **options))


def agree(ours, theirs):
    if isinstance(theirs, (tuple, list)):
        assert type(ours) is type(theirs)
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs, strict=True):
            agree(*pair)
    elif isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key in ours:
            agree(ours[key], theirs[key])
    elif isinstance(theirs, torch.Tensor):
        assert ours.requires_grad == theirs.requires_grad
        np.testing.assert_allclose(ours.detach().cpu().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-5)
    else:
        assert callable(ours)


@pytest.mark.parametrize("options", [{}, {"requires_grad": True}], ids=["plain", "with gradients"])
@pytest.mark.parametrize("name", CALLS)
def test_derivatives(name, options, device):
    agree(*(CALLS[name](lib, *operands(lib, device, **options)) for lib in (mindtorch, torch)))


@pytest.mark.parametrize("beside", [1, None, "text", ["x", 2.0]])
@pytest.mark.parametrize("name", ["vjp", "grad", "grad_and_value", "jvp", "jacrev", "jacfwd"])
def test_what_is_beside_has_to_be_tensors(name, beside):
    def refusal(lib):
        x = lib.tensor(2.0)
        arguments = {"vjp": (x,), "jvp": ((x,), (x,))}.get(name)
        call = getattr(lib.func, name)

        def function(a):
            return a, [a, beside]
        with pytest.raises(RuntimeError) as caught:
            call(function, *arguments, has_aux=True) if arguments else call(function, has_aux=True)(x)
        return str(caught.value)
    assert refusal(mindtorch) == refusal(torch)


def test_backward_through_a_gradient(device):
    """MAML: a step of an inner loop, differentiated by ordinary backward, also where the function holds the weights."""
    found = []
    for lib in (mindtorch, torch):
        x, m = operands(lib, device, requires_grad=True)
        step = x - 0.1 * lib.func.grad(lambda a, m=m: (m @ a).square().sum())(x)
        (m @ step).square().sum().backward()
        held = lib.func.grad(lambda a, m=m: (m @ a).square().sum())(x.detach())
        (again,) = lib.autograd.grad(held.sum(), m)
        found.append((x.grad, m.grad, again))
    agree(*found)


def test_models(device):
    mindtorch.manual_seed(0)
    model = mindtorch.nn.Linear(3, 2).to(device)
    x, _ = operands(mindtorch, device)

    def loss(parameters):
        return mindtorch.func.functional_call(model, parameters, (x,)).square().sum()
    found = mindtorch.func.grad(loss)({name: each.detach() for name, each in model.named_parameters()})
    model(x).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert mindtorch.allclose(found[name], parameter.grad)
        assert not found[name].requires_grad


# Gradients that have no derivative by a cotangent of 0, or by an operand of 0, if computed as they are written.
TANGENTS = {
    "logcumsumexp": lambda lib, x, t: lib.func.jvp(lambda a: lib.logcumsumexp(a, 0), (x,), (t,)),
    "logcumsumexp of a dual tensor": lambda lib, x, t: dual(lib, lambda a: lib.logcumsumexp(a, 0), x, t),
    "a norm of zeros": lambda lib, x, t: lib.func.jvp(lib.linalg.vector_norm, (x * 0,), (t,)),
    "a norm of order 3 of zeros": lambda lib, x, t: lib.func.jvp(
        lambda a: lib.linalg.vector_norm(a, 3), (x * 0,), (t,)),
    "columns of kl_div": lambda lib, x, t: [lib.func.jacfwd(lambda a: lib.nn.functional.kl_div(
        a, t.softmax(0), reduction="sum"))(x)],
    "an integer": lambda lib, x, t: lib.func.jvp(lambda a: (a.argmax(), a * 2), (x,), (t,))[1],
}


def dual(lib, function, x, tangent):
    forward = lib.autograd.forward_ad
    with forward.dual_level():
        return [forward.unpack_dual(function(forward.make_dual(x, tangent))).tangent]


@pytest.mark.parametrize("name", TANGENTS)
def test_tangents(name, device):
    def found(lib, where):
        x, tangent = (lib.tensor(values, device=where) for values in ([0.5, -1.0, 2.0], [1.0, -2.0, 0.25]))
        return [each.tolist() for each in TANGENTS[name](lib, x, tangent)]
    for ours, theirs in zip(found(mindtorch, device), found(torch, "cpu"), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)


REFUSED = {
    "no scalar": lambda lib, x: lib.func.grad(lambda a: a)(x),
    "no tensor": lambda lib, x: lib.func.grad(lambda a: 3)(x),
    "no aux": lambda lib, x: lib.func.grad(lambda a: a.sum(), has_aux=True)(x),
    "no such argument": lambda lib, x: lib.func.grad(lambda a: a.sum(), argnums=2)(x),
    "an argument that is no tensor": lambda lib, x: lib.func.grad(lambda a: a)(2.0),
    "shapes": lambda lib, x: lib.func.jvp(lambda a: a, (x,), (x[:1],)),
    "no tuple": lambda lib, x: lib.func.jvp(lambda a: a, x, x),
    "no tangent": lambda lib, x: lib.func.jvp(lambda a: a, (x,), (1.0,)),
    "no primals": lambda lib, x: lib.func.jvp(lambda a: a, (), ()),
    "tangents of another structure": lambda lib, x: lib.func.jvp(lambda a: a, (x,), (x, x)),
    "a change of integers": lambda lib, x: lib.func.jvp(lambda a: a, (x.long(),), (x.long(),)),
    "a result that depends on nothing": lambda lib, x: lib.func.jvp(lambda a: lib.ones(2), (x,), (x,), strict=True),
    "no results": lambda lib, x: lib.func.jvp(lambda a: (), (x,), (x,)),
    "a number as result": lambda lib, x: lib.func.vjp(lambda a: 3, x),
    "an integer as result": lambda lib, x: lib.func.vjp(lambda a: a.argmax(), x),
    "complex rows": lambda lib, x: lib.func.jacrev(lambda a: a + 1j)(x),
    "complex columns": lambda lib, x: lib.func.jacfwd(lambda a: a.abs())(x + 1j),
    "no argnums": lambda lib, x: lib.func.jacrev(lambda a: a, argnums=())(x),
    "an argument twice": lambda lib, x: lib.func.jacfwd(lambda a, b: a, argnums=(0, -2))(x, x),
    "argnums that are no numbers": lambda lib, x: lib.func.jacfwd(lambda a: a, argnums="a")(x),
    "no chunks": lambda lib, x: lib.func.jacrev(lambda a: a, chunk_size=0),
    "structure": lambda lib, x: lib.func.vjp(lambda a: (a, a), x)[1](x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    with pytest.raises(Exception) as theirs:        # noqa: PT011 - the two are compared
        REFUSED[name](torch, torch.ones(2))
    with pytest.raises(theirs.type) as ours:
        REFUSED[name](mindtorch, mindtorch.ones(2))
    assert str(ours.value).split(". ")[0] == str(theirs.value).split(". ")[0]


def module_with_gaps(lib):
    """A module that has, and may be given, None in the place of a parameter and of a buffer."""
    class Gaps(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = lib.nn.Parameter(lib.ones(2))
            self.register_parameter("b", None)
            self.register_buffer("c", lib.ones(2))
            self.register_buffer("d", None)

        def forward(self):
            return [None if each is None else (each * 2).tolist() for each in (self.w, self.b, self.c, self.d)]
    return Gaps()


@pytest.mark.parametrize("given", [
    {"w": None}, {"b": 3.0}, {"b": None}, {"c": None, "d": 3.0}, {"w": 3.0}, {}, {"w": None, "b": 1.0, "c": 2.0}],
    ids=str)
def test_functional_call_with_none(given):
    found = []
    for lib in (mindtorch, torch):
        module = module_with_gaps(lib)
        tensors = {name: None if value is None else lib.full((2,), value) for name, value in given.items()}
        before = [list(module._parameters.items()), list(module._buffers.items())]
        found.append([lib.func.functional_call(module, tensors, None), module(), list(module.state_dict())])
        assert [*module._parameters] == [name for name, _ in before[0]]
        assert all(module._parameters[name] is value for name, value in before[0])
        assert all(module._buffers[name] is value for name, value in before[1])
    assert found[0] == found[1]


def test_functional_call_without_a_bias():
    for lib in (mindtorch, torch):
        linear = lib.nn.Linear(2, 2)
        result = lib.func.functional_call(linear, {"weight": lib.eye(2), "bias": None}, lib.ones(1, 2))
        assert result.tolist() == [[1, 1]]
        assert linear.bias is not None


@pytest.mark.parametrize("given", [{"weight": [[2.0]]}, {"bias": [3.0]}, {"text": [1.0]}, {"own": [1.0]}])
def test_functional_call_keeps_the_order_of_parameters(given):
    def call(lib):
        class Ordered(lib.nn.Linear):
            text, own = None, None

            def forward(self, x):
                return [name for name, _ in self.named_parameters()], list(self.__dict__["_parameters"])
        module = Ordered(1, 1)
        module.text, module.own = "text", lib.ones(1)
        try:
            return lib.func.functional_call(module, {name: lib.tensor(v) for name, v in given.items()}, lib.ones(1, 1))
        except TypeError as error:
            return str(error)
    assert call(mindtorch) == call(torch)


def test_functional_call_with_a_parameter_more():
    class Counts(mindtorch.nn.Linear):
        def forward(self, x):
            return super().forward(x), [name for name, _ in self.named_parameters()]

    linear, extra = Counts(1, 1), mindtorch.nn.Parameter(mindtorch.ones(1))
    for value, names in ((extra, ["weight", "bias", "extra"]), (mindtorch.ones(1), ["weight", "bias"])):
        _, found = mindtorch.func.functional_call(linear, {"extra": value}, (mindtorch.ones(1, 1),))
        assert found == names
        assert not hasattr(linear, "extra")


TRANSFORMS = {
    "grad": lambda f, x: f.grad(lambda x: (x * x).sum())(x),
    "hessian": lambda f, x: f.hessian(lambda x: (x * x).sum())(x),
    "vjp": lambda f, x: f.vjp(lambda x: x * x, x)[0], "jacrev": lambda f, x: f.jacrev(lambda x: x * x)(x),
    "written in place": lambda f, x: f.grad(lambda x: x.clone().mul_(2).sum())(x)}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_derivatives_in_inference_mode(name, device):
    """What the transforms return is of no inference mode, as in torch."""
    found = []
    for lib, where in ((mindtorch, device), (torch, "cpu")):
        with lib.inference_mode():
            x = lib.arange(1.0, 4.0, device=where)
            made = TRANSFORMS[name](lib.func, x)
        found.append((made.tolist(), made.is_inference()))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["grad", "vmap of grad", "vjp", "jvp", "jacrev", "jacfwd"])
def test_views_made_without_gradients(name, device):
    """They say that they require a gradient, and have no history."""
    found = []
    for lib in (mindtorch, torch):
        with lib.no_grad():
            view = lib.tensor([[1.0, 2.0], [3.0, 4.0]], device=device if lib is mindtorch else "cpu",
                              requires_grad=True).view(4)
            func, square = lib.func, lib.square
            found.append({
                "grad": lambda x, f=func, s=square: f.grad(lambda x: s(x).sum())(x),
                "vmap of grad": lambda x, f=func, s=square: f.vmap(f.grad(s))(x),
                "vjp": lambda x, f=func, s=square: f.vjp(s, x)[1](x)[0],
                "jvp": lambda x, f=func, s=square: f.jvp(s, (x,), (x,))[1],
                "jacrev": lambda x, f=func, s=square: f.jacrev(s)(x),
                "jacfwd": lambda x, f=func, s=square: f.jacfwd(s)(x)}[name](view))
    agree(*found)


@pytest.mark.parametrize("name", ["vjp", "jvp"])
def test_directions_of_inference_mode(name, device):
    """Vectors that were made in inference mode are saved by nodes, where the function is not linear."""
    found = []
    for lib, where in ((mindtorch, device), (torch, "cpu")):
        with lib.inference_mode():
            x = lib.arange(1.0, 4.0, device=where)
            made = lib.func.vjp(lib.square, x)[1](x)[0] if name == "vjp" else lib.func.jvp(lib.square, (x,), (x,))[1]
        found.append((made.tolist(), made.is_inference()))
    assert found[0] == found[1]


CAPTURING = {
    "grad": lambda f, x, w: f.grad(lambda a: (a * w).sum())(x),
    "hessian": lambda f, x, w: f.hessian(lambda a: (a * w * a).sum())(x),
    "jvp": lambda f, x, w: f.jvp(lambda a: a * w, (x,), (x,))[1],
    "vjp": lambda f, x, w: f.vjp(lambda a: a * w * a, x)[1](x)[0],
    "vmap of grad": lambda f, x, w: f.vmap(f.grad(lambda a: (a * w).sum()))(x)}


@pytest.mark.parametrize("name", CAPTURING)
def test_functions_that_capture_tensors_of_inference_mode(name, device):
    """Nobody else sees the transform's graph, which may save them, unless the argument has a history."""
    found = []
    for lib, where in ((mindtorch, device), (torch, "cpu")):
        with lib.inference_mode():
            w = lib.arange(1.0, 4.0, device=where)
        x = lib.tensor([0.5, -1.0, 2.0], device=where)
        made = CAPTURING[name](lib.func, x, w)
        found.append((made.tolist(), made.is_inference()))
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            CAPTURING[name](lib.func, x.requires_grad_(), w)
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            x * w
    assert found[0] == found[1]


def test_no_gradient_of_a_complex_result():
    for lib in (mindtorch, torch):
        with pytest.raises(RuntimeError, match=r"only for real scalar outputs but got torch\.complex64"):
            lib.func.grad(lambda x: (x * x).sum())(lib.ones(2, dtype=lib.complex64))


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node")
@pytest.mark.parametrize("name", ["t", "row", "itself", "expanded"])
@pytest.mark.parametrize("transform", ["vjp", "jvp", "linearize"])
def test_results_that_are_views_share_writes_with_the_primal(transform, name, device):
    """Also their history: what is written into the primal has a gradient in the view."""
    view = {"t": lambda a: a.t(), "row": lambda a: a[0], "itself": lambda a: a,
            "expanded": lambda a: a.unsqueeze(0).expand(2, *a.shape)}[name]
    found = []
    for lib, where in ((torch, "cpu"), (mindtorch, device)):
        x, factor = lib.arange(6.0, device=where).reshape(2, 3), lib.tensor(3.0, device=where, requires_grad=True)
        arguments = ((x,), (x,)) if transform == "jvp" else (x,)
        seen = getattr(lib.func, transform)(view, *arguments)[0]
        before = seen.requires_grad
        x.mul_(factor)
        seen.sum().backward()
        found.append((before, seen.requires_grad, seen.tolist(), factor.grad.item()))
    assert found[0] == found[1]
    assert found[0][:2] == (False, True)


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node")
def test_linearize_without_gradients_gives_results_without_history():
    def results(lib):
        outer = lib.tensor(2.0, requires_grad=True)
        with lib.no_grad():
            value, change = lib.func.linearize(lambda x: x * outer, lib.tensor(3.0))
            return value.requires_grad, change(lib.tensor(1.0)).requires_grad
    assert results(mindtorch) == results(torch) == (False, False)


# Functions of a tensor x with a history, of y without one, and of a matrix of ones without one.
PRODUCTS_AND_OTHERS = {
    "a square": lambda lib, x, y, ones: x * x, "a third of it": lambda lib, x, y, ones: x / 3,
    "abs": lambda lib, x, y, ones: x.abs(), "relu": lambda lib, x, y, ones: lib.relu(x),
    "a sum": lambda lib, x, y, ones: x + x, "a part": lambda lib, x, y, ones: x[:1],
    "the negative": lambda lib, x, y, ones: -x, "the largest": lambda lib, x, y, ones: x.amax(0),
    "linear": lambda lib, x, y, ones: lib.nn.functional.linear(x, ones),
    "a loss": lambda lib, x, y, ones: lib.nn.functional.mse_loss(x, y),
    "twice the other": lambda lib, x, y, ones: x + y * 2,
    "a product with the other": lambda lib, x, y, ones: x * y,
    "one that is a constant": lambda lib, x, y, ones: ones[0],
}


@pytest.mark.parametrize("argnums", [0, (0, 1)])
@pytest.mark.parametrize("name", PRODUCTS_AND_OTHERS)
def test_who_has_a_history_of_zeros(name, argnums, device):
    """Forward mode multiplies by a primal, be it zero that is multiplied: backward through it gives zeros."""
    def result(lib, device):
        x = lib.tensor([1.5, -2.0], device=device, requires_grad=True)
        y, ones, func = lib.tensor([0.5, 3.0], device=device), lib.ones(2, 2, device=device), lib.func

        def f(x, y):
            return PRODUCTS_AND_OTHERS[name](lib, x, y, ones)
        forward = func.jacfwd(f, argnums)(x, y)
        second = func.hessian(lambda x, y: f(x, y).sum(), argnums)(x, y)
        value, change = func.jvp(f, (x, y), (y, y))
        per_sample = lib.vmap(lambda row: func.jvp(lambda row: f(row, y), (row,), (y,))[1])(lib.stack([x, x]))
        twice = func.jacfwd(func.jacfwd(f, argnums), argnums)(x, y)
        found = [*lib.utils._pytree.tree_leaves((forward, second, twice)), value, change, per_sample]
        grads = [lib.autograd.grad(each.sum(), x, retain_graph=True) for each in found if each.requires_grad]
        # torch's zeros are made when they are used
        return [each + 0 for each in found], [grad + 0 for grad, in grads]
    agree(result(mindtorch, device), result(torch, "cpu"))


@pytest.mark.parametrize("function", [
    lambda x: x.clamp(-1, 1), lambda x: x.exp().sum(-1), lambda x: x.norm(), lambda x: x.logsumexp(-1)])
def test_writing_to_a_change_leaves_no_history_of_it(function, device):
    """The change is a tensor of its own, not a view of one that nobody sees."""
    def result(lib, device):
        x = lib.tensor([[1.5, -2.0], [0.5, 0.25]], device=device, requires_grad=True)
        change = lib.func.jvp(function, (x,), (x * 2,))[1]
        change.zero_()
        grad, = lib.autograd.grad((change * change).sum(), x, create_graph=True)
        assert change._base is None
        return change, grad
    agree(result(mindtorch, device), result(torch, "cpu"))


@pytest.mark.parametrize("mode", ["no_grad", "enable_grad", "inference_mode"])
@pytest.mark.parametrize("function", [
    lambda x: x[0], lambda x: x, lambda x: x.t(), lambda x: x.exp(), lambda x: x.detach(),
    lambda x: x.unsqueeze(0).expand(2, 2, 2)])
def test_flags_of_results_that_are_primals_or_views_of_them(function, mode, device):
    """A view is one that was made in the caller's mode: of a tensor that requires a gradient it says so, too."""
    def flags(lib, device):
        leaf = lib.tensor([[1.5, -2.0], [0.5, 0.25]], device=device, requires_grad=True)
        found = []
        for x in (leaf, leaf.detach(), leaf * 2, (leaf * 2)[:]):
            with getattr(lib, mode)():
                aux = lib.func.grad_and_value(lambda x: (x.sum(), function(x)), has_aux=True)(x)[1][1]
                results = (*lib.func.jvp(function, (x,), (x * 2,)), lib.func.vjp(function, x)[0], aux)
            found += [(each.requires_grad, each.is_leaf) for each in results]
        return found
    assert flags(mindtorch, device) == flags(torch, "cpu")
