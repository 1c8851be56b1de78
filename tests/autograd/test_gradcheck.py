"""gradcheck, gradgradcheck, functional and checkpoint beside torch."""
import warnings

import pytest
from compared import Cases, compare

import mindtorch
from mindtorch.autograd.gradcheck import GradcheckError

CASES = Cases()
case = CASES


def double(make, *shape, seed=0):
    return make(*shape, seed=seed, dtype="float64")


def wrong(t):
    class Wrong(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]
    return Wrong.apply


def checks(t, function, inputs, **options):
    return t.autograd.gradcheck(function, inputs, **options), t.autograd.gradgradcheck(function, inputs, **options)


@case
def right(t, make):
    a, b = double(make, 2, 3), double(make, 3, 2, seed=1)
    return checks(t, lambda x, y: ((x @ y).exp(), x.sum() * y), (a, b))


@case
def right_with_integers_among_the_inputs(t, make):
    return checks(t, lambda x, n, i: x ** n * i, (double(make, 3), 3, t.arange(3)))


@case
def right_in_place(t, make):
    return checks(t, lambda x: (x * 1).mul_(x).add_(x), (double(make, 3),))


@case
def right_of_complex_numbers(t, make):
    a = t.complex(double(make, 3).detach(), double(make, 3, seed=1).detach()).requires_grad_()
    return [checks(t, lambda z, x: (z * z.conj() + z.exp() * x, z.abs(), z.real * x), (a, double(make, 3, seed=2)),
                   fast_mode=fast) for fast in (False, True)]


@case
def right_in_fast_mode(t, make):
    a, b = double(make, 2, 3), double(make, 3, 2, seed=1)
    return checks(t, lambda x, y: ((x @ y).exp(), x.sum() * y), (a, b), fast_mode=True)


def wrong_of_complex_numbers(t, z):
    class Wrong(t.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            return z.conj() * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2
    return Wrong.apply(z)


@case
def wrong_gradients_of_complex_numbers_and_in_fast_mode(t, make):
    z = t.complex(double(make, 3).detach(), double(make, 3, seed=1).detach()).requires_grad_()
    return [t.autograd.gradcheck(lambda z: wrong_of_complex_numbers(t, z), (z,), fast_mode=fast, raise_exception=False)
            for fast in (False, True)] + [
        t.autograd.gradcheck(wrong(t), (double(make, 2),), fast_mode=True, raise_exception=False)]


@case
def wrong_gradient(t, make):
    t.autograd.gradcheck(wrong(t), (double(make, 2),))


@case
def wrong_gradient_without_exception(t, make):
    return t.autograd.gradcheck(wrong(t), (double(make, 2),), raise_exception=False)


@case
def wrong_second_gradient(t, make):
    class Wrong(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 * ctx.saved_tensors[0].detach()
    a = double(make, 2)
    return t.autograd.gradcheck(Wrong.apply, (a,)), t.autograd.gradgradcheck(Wrong.apply, (a,), raise_exception=False)


@case
def nothing_requires_a_gradient(t, make):
    t.autograd.gradcheck(lambda x: x * 2, (make(2, grad=False),))


@case
def single_precision(t, make):
    return t.autograd.gradcheck(lambda x: x * 2, (make(2),), eps=1e-2, atol=1e-2)


@case
def expanded_input(t, make):
    t.autograd.gradcheck(lambda x: x * 2, (t.ones(1, dtype=t.float64).expand(3).requires_grad_(),))


@case
def result_without_gradient(t, make):
    return t.autograd.gradcheck(lambda x: (x > 0).double() * 0, (double(make, 2),))


@case
def hidden_dependence(t, make):
    t.autograd.gradcheck(lambda x: x.detach() * 2, (double(make, 2),))


@case
def gradient_not_multiplied(t, make):
    class Ones(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return t.ones_like(grad)
    t.autograd.gradcheck(Ones.apply, (double(make, 1),))


@case
def jacobians(t, make):
    a, b = double(make, 2), double(make, 3, seed=1)
    f = t.autograd.functional
    return (f.jacobian(lambda x: x.exp(), a), f.jacobian(lambda x, y: (x.sum() * y, x), (a, b)),
            f.jacobian(lambda x: x.exp().sum(), a, create_graph=True), f.jacobian(lambda x: t.ones(2), b))


@case
def a_jacobian_without_a_graph_is_no_view(t, make):
    f = t.autograd.functional
    return [[found._is_view(), found._base is None] for graph in (False, True) for found in (
        f.jacobian(lambda x: x.exp(), double(make, 2), create_graph=graph), f.hessian(
            lambda x: x.exp().sum(), double(make, 2), create_graph=graph))]


@case
def hessians(t, make):
    a, b = double(make, 2), double(make, 2, seed=1)
    f = t.autograd.functional
    return f.hessian(lambda x: (x ** 3).sum(), a), f.hessian(lambda x, y: (x * y * y).sum(), (a, b))


@case
def products(t, make):
    a, b, v, w = (double(make, 3, seed=i) for i in range(4))
    f = t.autograd.functional
    v, w = v.detach(), w.detach()

    def cubes(x, y):
        return (x ** 3 * y).sum()
    return (f.vjp(lambda x: x.exp(), a, v), f.jvp(lambda x: x.exp(), a, v), f.vhp(cubes, (a, b), (v, w)),
            f.hvp(cubes, (a, b), (v, w)), f.jvp(lambda x, y: (x * y, y.exp()), (a, b), (v, w)),
            f.vjp(lambda x: x.sum(), a, create_graph=True))


@case
def vector_missing(t, make):
    t.autograd.functional.vjp(lambda x: x.exp(), double(make, 3))


@case
def vector_of_wrong_size(t, make):
    t.autograd.functional.vjp(lambda x: x.exp(), double(make, 3), t.ones(2))


@case
def vectors_too_few(t, make):
    t.autograd.functional.vhp(lambda x, y: (x * y).sum(), (double(make, 3), double(make, 3)), (t.ones(3),))


@case
def no_tensor(t, make):
    t.autograd.functional.jacobian(lambda x: x, 3)


@case
def strict(t, make):
    t.autograd.functional.jacobian(lambda x: t.ones(2), double(make, 3), strict=True)


@case
def complex_jacobian(t, make):
    t.autograd.functional.jacobian(lambda x: x * 1j, double(make, 3))


@case
def complex_jacobian_by_vectors(t, make):
    x = t.complex(double(make, 3), double(make, 3, seed=1))
    return t.autograd.functional.jacobian(lambda x: x.sigmoid(), x, vectorize=True)


@case
def jacobian_of_a_view_made_without_grad(t, make):
    with t.no_grad():
        view = double(make, 3)[1:]
    return t.autograd.functional.jacobian(lambda x: x * x, view, create_graph=True)


@case
def hessian_of_many(t, make):
    t.autograd.functional.hessian(lambda x: x * 2, double(make, 3))


@case
def hessian_of_several_results(t, make):
    t.autograd.functional.hessian(lambda x: (x.sum(), x.sum()), double(make, 3))


@case
def hessian_of_no_tensor(t, make):
    t.autograd.functional.hessian(lambda x: (x.sum(), "text"), double(make, 3))


def strict_errors(function, call):
    """A case: what is said in strict mode of a function's results or gradients that do not depend on the input."""
    def case(t, make):
        a = double(make, 3)
        functional = t.autograd.functional
        return call(functional, lambda x: function(t, x), a, t.ones_like(a))
    return case


for _name, _function in {
        "constant": lambda t, x: t.ones_like(x).sum(), "detached": lambda t, x: x.detach().sum(),
        "linear": lambda t, x: x.sum(), "none": lambda t, x: x.sum() * 0 + t.ones(1, requires_grad=True).sum(),
        "independent": lambda t, x: t.ones(1, requires_grad=True).sum()}.items():
    for _product, _call in {
            "jacobian": lambda f, g, a, v: f.jacobian(g, a, strict=True),
            "jacobian_graph": lambda f, g, a, v: f.jacobian(g, a, strict=True, create_graph=True),
            "hessian": lambda f, g, a, v: f.hessian(g, a, strict=True),
            "vjp": lambda f, g, a, v: f.vjp(g, a, strict=True),
            "vjp_graph": lambda f, g, a, v: f.vjp(g, a, strict=True, create_graph=True),
            "jvp": lambda f, g, a, v: f.jvp(g, a, v, strict=True),
            "vhp": lambda f, g, a, v: f.vhp(g, a, v, strict=True),
            "hvp": lambda f, g, a, v: f.hvp(g, a, v, strict=True)}.items():
        CASES[f"strict_{_product}_{_name}"] = strict_errors(_function, _call)


@case
def derivatives_with_graphs_within_no_grad(t, make):
    a, functional = double(make, 3), t.autograd.functional
    with t.no_grad():
        return [found.requires_grad for found in (
            functional.jacobian(lambda x: x.exp(), a, create_graph=True),
            functional.hessian(lambda x: x.exp().sum(), a, create_graph=True),
            functional.vjp(lambda x: x.exp().sum(), a, create_graph=True)[1],
            functional.jvp(lambda x: x.exp(), a, t.ones_like(a), create_graph=True)[1])]


@case
def wrong_vectors(t, make):
    return t.autograd.functional.hvp(lambda x: x.exp().sum(), double(make, 3), 3)


@pytest.mark.parametrize("name", CASES)
def test_as_torch(name):
    compare(CASES[name], "cpu")


CHECKPOINTS = Cases()
checkpointed = CHECKPOINTS


def layer(x, w):
    return (x @ w).tanh() * x.sigmoid()


@checkpointed
def twice(t, make, run):
    x, w = make(3, 3), make(3, 3, seed=1)
    y = run(layer, run(layer, x, w), w)
    y.sum().backward()
    return y, x.grad, w.grad


@checkpointed
def several_results_and_numbers(t, make, run):
    x = make(3)
    first, second = run(lambda a, k: (a.exp() * k, a * a), x, 3.0)
    (first * second).sum().backward()
    return x.grad


@checkpointed
def runs_again(t, make, run):
    x, calls = make(3), []

    def function(a):
        calls.append(t.is_grad_enabled())
        return (a.exp() * a).sum()
    run(function, x).backward()
    return len(calls), x.grad


@checkpointed
def inside_another(t, make, run):
    x, w = make(3, 3), make(3, 3, seed=1)
    run(lambda a, b: run(layer, a, b) * 2 + layer(a, b), x, w).sum().backward()
    return x.grad, w.grad


@checkpointed
def grad_instead_of_backward(t, make, run):
    x = make(3)
    return t.autograd.grad(run(lambda a: a.exp() * a, x).sum(), x)


@checkpointed
def unknown_keyword(t, make, run):
    return run(lambda a: a * 2, make(3), nonsense=3)


@checkpointed
def error_inside(t, make, run):
    run(lambda a: a.view(7), make(3))


@checkpointed
def another_number_of_tensors(t, make, run):
    calls = []

    def function(a):
        calls.append(1)
        return a.exp() * (a.exp() if len(calls) == 1 else 1)
    try:
        run(function, make(3)).sum().backward()
    except RuntimeError as error:
        return type(error).__name__


@checkpointed
def stopping_early(t, make, run):
    from importlib import import_module
    stop, found = import_module(f"{t.__name__}.utils.checkpoint").set_checkpoint_early_stop, []
    for early in (None, True, False):
        reached, x = [], make(3)

        def function(a, reached=reached):
            b = a.exp() * 1
            reached.append(1)
            return b.detach() + a * 2 if len(reached) > 2 else b
        if early is None:
            run(function, x).sum().backward()
        else:
            with stop(early):
                y = run(function, x)
            y.sum().backward()
        found.append((len(reached), x.grad))
    return found


@checkpointed
def more_tensors_than_before(t, make, run):
    calls = []

    def function(a):
        calls.append(1)
        return a.exp() if len(calls) == 1 else a.exp() * a.sin()
    from importlib import import_module
    with import_module(f"{t.__name__}.utils.checkpoint").set_checkpoint_early_stop(False):
        y = run(function, make(3))
    try:
        y.sum().backward()
    except RuntimeError as error:
        return type(error).__name__, str(error).split(" than")[0]


@checkpointed
def gradients_inside(t, make, run):
    from importlib import import_module
    found = []
    for early in (True, False):
        x = make(3)

        def function(a):
            b = a.exp() * a
            return t.autograd.grad(b.sum(), a, create_graph=True)[0] * b.sin()
        if not run.reentrant:
            with import_module(f"{t.__name__}.utils.checkpoint").set_checkpoint_early_stop(early):
                run(function, x).sum().backward()
        found.append(x.grad)
    return found


@checkpointed
def sequence(t, make, run):
    from importlib import import_module
    x = make(3)
    sequential = import_module(f"{t.__name__}.utils.checkpoint").checkpoint_sequential
    y = sequential([lambda a: a.exp(), lambda a: a * a, lambda a: a.tanh()], 2, x, use_reentrant=run.reentrant)
    y.sum().backward()
    return y, x.grad


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("name", CHECKPOINTS)
def test_checkpoint_as_torch(name, reentrant, device):
    from importlib import import_module

    def case(t, make):
        def run(function, *args, **kwargs):
            return import_module(f"{t.__name__}.utils.checkpoint").checkpoint(
                function, *args, use_reentrant=reentrant, **kwargs)
        run.reentrant = reentrant
        return CHECKPOINTS[name](t, make, run)
    with warnings.catch_warnings():
        compare(case, device)


def test_checkpoint_keeps_random_numbers(device):
    import mindtorch
    from mindtorch.utils.checkpoint import checkpoint
    seen = []

    def noisy(x):
        noise = mindtorch.empty(5, device=device).uniform_()
        seen.append(noise.tolist())
        return x * noise
    for reentrant in (True, False):
        x = mindtorch.ones(5, device=device, requires_grad=True)
        checkpoint(noisy, x, use_reentrant=reentrant).sum().backward()
        assert seen[-1] == seen[-2]
        assert x.grad.tolist() == seen[-1]


def test_batches_of_gradients():
    class Wrong(mindtorch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 + (1e-3 if type(grad) is not mindtorch.Tensor else 0)
    x = mindtorch.rand(3, dtype=mindtorch.float64, requires_grad=True)
    assert mindtorch.autograd.gradcheck(lambda x: x.sin().cumsum(0), (x,), check_batched_grad=True)
    with pytest.raises(GradcheckError, match="batched gradients"):
        mindtorch.autograd.gradcheck(Wrong.apply, (x,), check_batched_grad=True)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_second_derivatives_by_parameters_that_the_function_has_itself(fast_mode):
    layer = mindtorch.nn.Linear(2, 3, dtype=mindtorch.float64)
    x = mindtorch.rand(2, 2, dtype=mindtorch.float64, requires_grad=True)
    assert mindtorch.autograd.gradgradcheck(lambda x, *parameters: layer(x).sigmoid(), (x, *layer.parameters()),
                                            fast_mode=fast_mode)
