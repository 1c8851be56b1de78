"""Hooks, modes, anomaly detection and Function beside torch."""
import importlib

import pytest
from compared import Cases, compare

import mindtorch
from mindtorch._core.operators import autocast

CASES = Cases()
case = CASES


@case
def order_of_hooks(t, make):
    a, seen = make(2), []
    y = a.exp()
    y.register_hook(lambda g: seen.append("y1"))
    y.register_hook(lambda g: seen.append("y2"))
    a.register_hook(lambda g: seen.append("a"))
    a.register_post_accumulate_grad_hook(lambda x: seen.append(["after", x is a, x.grad is not None]))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(["node", len(inputs), len(outputs)]))
    y.grad_fn.register_prehook(lambda outputs: seen.append(["before node", len(outputs)]))
    y.sum().backward()
    return seen


@case
def hook_that_changes(t, make):
    a = make(2)
    y = a * 2
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g + 1)
    handle = a.register_hook(lambda g: g * 100)
    y.sum().backward(retain_graph=True)
    first = a.grad.clone()
    handle.remove()
    y.sum().backward()
    return first, a.grad


@case
def hook_that_gives_nonsense(t, make):
    a = make(2)
    a.register_hook(lambda g: 3)
    a.sum().backward()


@case
def hook_that_gives_another_shape(t, make):
    a = make(2)
    a.register_hook(lambda g: g[:1])
    a.sum().backward()


@case
def hook_on_a_tensor_without_gradient(t, make):
    make(2, grad=False).register_hook(lambda g: None)


@case
def hook_that_raises(t, make):
    a = make(2)

    def hook(grad):
        raise KeyError("mine")
    a.register_hook(hook)
    a.sum().backward()


@case
def post_accumulate_hook_on_a_result(t, make):
    (make(2) * 2).register_post_accumulate_grad_hook(lambda x: None)


@case
def hooks_and_in_place(t, make):
    a, seen = make(2), []
    y = a * 2
    y.register_hook(lambda g: seen.append(["before", g.clone()]))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(["after", g.clone()]))
    y.sum().backward()
    return seen


@case
def hook_and_retained_gradient(t, make):
    y = make(2) * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    y.sum().backward()
    return y.grad


@case
def hooks_and_grad(t, make):
    a, seen = make(2), []
    a.register_hook(lambda g: g * 5)
    y = a * 2
    y.register_hook(lambda g: seen.append("y"))
    return t.autograd.grad(y.sum(), [a, y]), seen


@case
def node_prehook_that_changes(t, make):
    a = make(2)
    y = a.exp()
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 3,))
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + 1,))
    y.sum().backward()
    return a.grad


@case
def node_hook_that_gives_too_many(t, make):
    y = make(2).exp()
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0], inputs[0]))
    y.sum().backward()


@case
def modes(t, make):
    a, found = make(2), []

    def note(result):
        found.append([t.is_grad_enabled(), result.requires_grad])
    with t.no_grad():
        note(a * 2)
        with t.enable_grad():
            note(a * 2)
            with t.set_grad_enabled(False):
                note(a * 2)
            note(a * 2)
        note(a * 2)
    note(a * 2)
    t.set_grad_enabled(False)
    note(a * 2)
    t.set_grad_enabled(True)

    @t.no_grad()
    def decorated():
        note(a * 2)

    @t.no_grad()
    def generator():
        note(a * 2)
        got = yield 1
        note(a * 2)
        yield got
    decorated()
    steps = generator()
    next(steps)
    note(a * 2)
    steps.send(3)
    note(a * 2)
    return found


@case
def modes_after_an_exception(t, make):
    try:
        with t.no_grad():
            raise KeyError
    except KeyError:
        pass
    return t.is_grad_enabled()


@case
def inference(t, make):
    a = make(2)
    with t.inference_mode():
        b = a * 2
        b.add_(1)
        inside = [t.is_inference_mode_enabled(), t.is_grad_enabled(), b.is_inference(), b.requires_grad,
                  a.is_inference()]
    return inside, b, b.is_inference(), t.is_inference_mode_enabled(), (b * 2).is_inference()


@case
def inference_tensor_written_outside(t, make):
    with t.inference_mode():
        b = make(2, grad=False) * 2
    b.add_(1)


@case
def version_of_an_inference_tensor(t, make):
    with t.inference_mode():
        b = make(2, grad=False) * 2
    return b[0]._version


@case
def inference_tensor_saved(t, make):
    with t.inference_mode():
        b = make(2, grad=False) * 2
    (make(2) * b).sum().backward()


@case
def inference_tensor_made_to_require_a_gradient(t, make):
    with t.inference_mode():
        b = make(2, grad=False) * 2
    b.requires_grad_()


@case
def inference_mode_off(t, make):
    with t.inference_mode(False):
        return (make(2) * 2).requires_grad


VIEWS = {"slice": lambda x: x[1:], "view": lambda x: x.view(2, 2), "detach": lambda x: x.detach(),
         "data": lambda x: x.data, "unbind": lambda x: x.unbind()[0], "expand": lambda x: x.expand(2, 4),
         "as_strided": lambda x: x.as_strided((2,), (1,)), "reshape": lambda x: x.reshape(2, 2)}


@case
def views_of_inference_tensors(t, make):
    """A view is an inference tensor where its base is one, whatever the mode; a new tensor where the mode is on."""
    with t.inference_mode():
        base = make.ones(4)
        inside = [view(base).is_inference() for view in VIEWS.values()]
    ordinary = make.ones(4)
    outside = [view(base).is_inference() for view in VIEWS.values()]
    with t.inference_mode():
        of_ordinary = [view(ordinary).is_inference() for view in VIEWS.values()]
        new = [(ordinary + 1).is_inference(), ordinary.clone().is_inference()]
    return inside, outside, of_ordinary, new, base.clone().is_inference()


@case
def view_of_an_inference_tensor_written_outside(t, make):
    with t.inference_mode():
        base = make.ones(4)
    base[1:].add_(1)


HELD = []               # contexts that are never left: torch's inference mode would be changed when one dies


def entered_in_backward(t, make, context):
    """The modes after a backward whose hook has entered a context and never left it."""
    a, packed = make(2), []
    y = a * 2
    held = context(t, packed)
    HELD.append(held)
    y.register_hook(lambda grad: held.__enter__() and None)
    y.sum().backward()
    a.exp()
    for _ in range(t.autocast_increment_nesting()):     # torch counts the region as open, and would keep casts for good
        t.autocast_decrement_nesting()
    t.clear_autocast_cache()
    return t.is_grad_enabled(), t.is_inference_mode_enabled(), t.is_autocast_enabled("cpu"), packed


for _name, _context in {
        "hooks": lambda t, packed: t.autograd.graph.saved_tensors_hooks(packed.append, lambda x: x),
        "no_grad": lambda t, packed: t.no_grad(), "inference_mode": lambda t, packed: t.inference_mode(),
        "autocast": lambda t, packed: t.autocast("cpu")}.items():
    CASES[f"{_name}_entered_in_backward"] = (
        lambda t, make, context=_context: entered_in_backward(t, make, context))


@case
def hooks_around_backward(t, make):
    """Backward itself, where it is recorded, saves through the hooks that are in force around it."""
    a, seen = make(2), []
    y = a.exp().sin()
    with t.autograd.graph.saved_tensors_hooks(lambda x: (seen.append(1), x)[1], lambda x: x):
        grad, = t.autograd.grad(y.sum(), a, create_graph=True)
    return len(seen) > 0, grad, t.autograd.grad(grad.sum(), a)


@case
def hooks_that_detach(t, make):
    """What was saved has its history again after unpacking, so second derivatives are those without hooks."""
    a, b = make(3), make(3, seed=1)
    with t.autograd.graph.saved_tensors_hooks(lambda x: x.detach().clone(), lambda x: x):
        y = (a * 2).sin() * b.exp() * a
    grads = t.autograd.grad(y.sum(), (a, b), create_graph=True)
    return grads, t.autograd.grad(sum(grad.sum() for grad in grads), (a, b))


def checkpoint_of(t):
    return importlib.import_module(f"{t.__name__}.utils.checkpoint").checkpoint


@case
def checkpoint_looked_at_and_run_back_twice(t, make):
    a, runs = make(2), []

    def f(x):
        runs.append(1)
        return x.sin().exp()
    y = checkpoint_of(t)(f, a, use_reentrant=False)
    saved = [y.grad_fn._saved_result, y.grad_fn._saved_result, len(runs)]
    grads = [t.autograd.grad(y.sum(), a, retain_graph=True)[0] for _ in range(3)]
    grad, = t.autograd.grad(y.sum(), a, create_graph=True)
    return saved, grads, grad, t.autograd.grad(grad.sum(), a), len(runs)


@case
def checkpoint_unpacked_twice_in_one_backward(t, make):
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0] * ctx.saved_tensors[0]

    def forward(ctx, x):
        ctx.save_for_backward(x.sin())
        return x * 1
    checkpoint_of(t)(lambda x: function(t, forward, backward).apply(x.exp()), make(2), use_reentrant=False).sum(
        ).backward()


def function(t, forward, backward, **more):
    return type("Mine", (t.autograd.Function,),
                {"forward": staticmethod(forward), "backward": staticmethod(backward), **more})


@case
def function_exp(t, make):
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]
    a = make(3)
    y = function(t, forward, backward).apply(a)
    first, = t.autograd.grad(y.sum(), a, create_graph=True)
    second, = t.autograd.grad(first.sum(), a)
    return y, first, second, y.grad_fn.name()


@case
def function_of_several(t, make):
    seen = []

    def forward(ctx, x, scale, y, flag=None):
        ctx.scale = scale
        ctx.save_for_backward(x, y)
        seen.append(ctx.needs_input_grad)
        return x * y * scale, x + y

    def backward(ctx, first, second):
        x, y = ctx.saved_tensors
        seen.append([first is None, second is None, ctx.needs_input_grad])
        return first * y * ctx.scale + second, None, first * x * ctx.scale + second, None
    a, b = make(3), make(3, seed=1)
    outputs = function(t, forward, backward).apply(a, 3., b.detach(), None)
    outputs[0].sum().backward()
    return seen, a.grad, [o.requires_grad for o in outputs], [o.output_nr for o in outputs]


@case
def function_without_materialized_grads(t, make):
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1, x * 2

    def backward(ctx, first, second):
        seen.append([first is None, second is None])
        return second * 2
    a = make(3)
    function(t, forward, backward).apply(a)[1].sum().backward()
    return seen, a.grad


@case
def function_that_writes(t, make):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    def backward(ctx, grad):
        return grad * 2
    a = make(3)
    y = a * 1
    z = function(t, forward, backward).apply(y)
    z.sum().backward()
    return z is y, a.grad, y._version, y.grad_fn.name()


@case
def function_that_writes_to_a_leaf(t, make):
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x
    function(t, forward, lambda ctx, grad: grad).apply(make(3))


@case
def function_that_writes_and_hides_it(t, make):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 2
    function(t, forward, lambda ctx, grad: grad).apply(make(3) * 1)


@case
def function_with_results_without_derivative(t, make):
    def forward(ctx, x):
        order = x * 0
        ctx.mark_non_differentiable(order)
        return x * 2, order, (x > 0)
    outputs = function(t, forward, lambda ctx, grad, *rest: grad * 2).apply(make(3))
    return [o.requires_grad for o in outputs]


@case
def function_that_returns_its_input(t, make):
    def forward(ctx, x):
        return x
    a = make(3)
    y = function(t, forward, lambda ctx, grad: grad * 7).apply(a)
    y.sum().backward()
    return y is a, a.grad


@case
def function_that_returns_a_view(t, make):
    a = make(3)
    y = function(t, lambda ctx, x: x[1:], lambda ctx, grad: t.cat([grad[:1], grad])).apply(a)
    y.sum().backward()
    return a.grad


@case
def view_of_a_function_written(t, make):
    y = function(t, lambda ctx, x: x[1:], lambda ctx, grad: grad).apply(make(3) * 1)
    y.add_(1)


@case
def function_that_gives_too_many(t, make):
    function(t, lambda ctx, x: x * 2, lambda ctx, grad: (grad, grad)).apply(make(3)).sum().backward()


@case
def function_that_gives_too_few(t, make):
    function(t, lambda ctx, x, y: x * y, lambda ctx, grad: grad).apply(make(3), make(3)).sum().backward()


@case
def function_that_gives_no_tensor(t, make):
    function(t, lambda ctx, x: x * 2, lambda ctx, grad: 3).apply(make(3)).sum().backward()


@case
def function_that_gives_a_wrong_shape(t, make):
    function(t, lambda ctx, x: x * 2, lambda ctx, grad: grad[:2]).apply(make(3)).sum().backward()


@case
def function_that_gives_none(t, make):
    a = make(3)
    function(t, lambda ctx, x: x * 2, lambda ctx, grad: None).apply(a).sum().backward()
    return a.grad


@case
def function_without_backward(t, make):
    cls = type("Mine", (t.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2)})
    cls.apply(make(3)).sum().backward()


@case
def function_without_forward(t, make):
    type("Mine", (t.autograd.Function,), {}).apply(make(3))


@case
def function_saves_no_tensor(t, make):
    def forward(ctx, x):
        ctx.save_for_backward(3)
        return x * 2
    function(t, forward, lambda ctx, grad: grad).apply(make(3))


@case
def function_with_setup_context(t, make):
    def forward(x, k):
        return x ** k

    def setup_context(ctx, inputs, output):
        x, ctx.k = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        return grad * ctx.k * ctx.saved_tensors[0] ** (ctx.k - 1), None
    a = make(3)
    function(t, forward, backward, setup_context=staticmethod(setup_context)).apply(a, 3).sum().backward()
    return a.grad


@case
def function_once_differentiable(t, make):
    @t.autograd.function.once_differentiable
    def backward(ctx, grad):
        return grad * 2
    a = make(3)
    first, = t.autograd.grad(function(t, lambda ctx, x: x * 2, backward).apply(a).sum(), a, create_graph=True)
    found = first.requires_grad
    t.autograd.grad((first * a).sum(), a)
    return found


@case
def function_saved_and_overwritten(t, make):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, grad):
        return grad * 2 * ctx.saved_tensors[0]
    a = make(3) * 1
    y = function(t, forward, backward).apply(a)
    a.add_(1)
    y.sum().backward()


@case
def function_twice_backward(t, make):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx, grad):
        return grad * 2 * ctx.saved_tensors[0]
    y = function(t, forward, backward).apply(make(3))
    y.sum().backward()
    y.sum().backward()


@case
def function_under_no_grad(t, make):
    with t.no_grad():
        y = function(t, lambda ctx, x: x * 2, lambda ctx, grad: grad).apply(make(3))
    return y.requires_grad, y.grad_fn


@case
def function_sees_modes(t, make):
    seen = []

    def forward(ctx, x):
        seen.append(t.is_grad_enabled())
        return x * 2

    def backward(ctx, grad):
        seen.append([t.is_grad_enabled(), grad.requires_grad])
        return grad * 2
    a = make(3)
    y = function(t, forward, backward).apply(a)
    t.autograd.grad(y.sum(), a, create_graph=True)
    y.sum().backward()
    return seen


@case
def backward_inside_backward(t, make):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, grad):
        with t.enable_grad():
            inner = ctx.saved_tensors[0].detach().requires_grad_()
            (inner ** 3).sum().backward()
        return grad * inner.grad
    a = make(3)
    y = a * 1
    function(t, forward, backward).apply(y).sum().backward()
    return a.grad, t.is_grad_enabled()


@case
def modes_after_a_failed_backward(t, make):
    def backward(ctx, grad):
        raise KeyError("mine")
    a = make(3)
    y = function(t, lambda ctx, x: x * 2, backward).apply(a) + a
    try:
        y.sum().backward()
    except KeyError as error:
        found = str(error)
    (a * 2).sum().backward()
    return found, t.is_grad_enabled(), a.grad


@case
def nan_found(t, make):
    def backward(ctx, grad):
        return grad * float("nan")
    with t.autograd.set_detect_anomaly(True):
        function(t, lambda ctx, x: x * 2, backward).apply(make(3)).sum().backward()


@case
def anomaly_modes(t, make):
    found = [t.is_anomaly_enabled()]
    with t.autograd.set_detect_anomaly(True, check_nan=False):
        found += [t.is_anomaly_enabled(), t.is_anomaly_check_nan_enabled()]
        with t.autograd.detect_anomaly():
            found.append(t.is_anomaly_check_nan_enabled())
    return found, t.is_anomaly_enabled()


@pytest.mark.quick
@pytest.mark.parametrize("name", CASES)
def test_as_torch(name, device):
    compare(CASES[name], device)


def test_anomaly_names_the_line(device):
    a = mindtorch.zeros(1, device=device, requires_grad=True)
    with mindtorch.autograd.set_detect_anomaly(True):
        the_guilty_one = a.sqrt()
        y = (the_guilty_one * 0).sum()
        with (pytest.warns(UserWarning, match="the_guilty_one = a.sqrt"),
              pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values in its 0th output")):
            y.backward()


def test_a_region_that_backward_leaves_open_is_closed():
    """Else the casts of parameters that autocast keeps would be kept for good."""
    context = mindtorch.autocast("cpu", dtype=mindtorch.bfloat16)
    x = mindtorch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: context.__enter__() and None)
    (x * 2).sum().backward()
    assert autocast.autocast_nesting() == 0
    assert not mindtorch.is_autocast_enabled("cpu")
