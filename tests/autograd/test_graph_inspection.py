"""What programs ask of nodes, edges, saved tensors and the running backward, case by case beside torch."""
import gc
import warnings

import pytest
from compared import Cases, compare

CASES = Cases()
case = CASES


def outcome_of(function):
    """The result of a call, or the class and the first words of its error."""
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - any refusal is an outcome
        return [type(error).__name__, str(error).split(" (")[0][:48]]


# --- saved tensors ----------------------------------------------------------------------------------------------------

@case
def hooks_of_a_saved_operand(t, make):
    a = make(3)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda x: 2 * x, lambda x: x)
    y.sum().backward()
    return a, a.grad, y.grad_fn.name()


@case
def hooks_of_a_saved_result(t, make):
    a = make(3)
    y = a.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda x: x, lambda x: x)
    same = y.grad_fn._saved_result.grad_fn is y.grad_fn
    y.sum().backward()
    return same, a.grad


@case
def saved_tensors_of_a_function(t, make):
    class Double(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = Double.apply(make(2))
    saved = y.grad_fn._raw_saved_tensors
    kinds = [type(one) is t._C._autograd.SavedTensor for one in saved]
    refusals = [outcome_of(lambda: saved[1].register_hooks(abs, abs)), outcome_of(lambda: saved[0].register_hooks(abs)),
                outcome_of(lambda: saved[0].register_hooks(1, 1)), outcome_of(t.autograd.SavedTensor)]
    saved[0].register_hooks(lambda x: x, lambda x: x)
    refusals.append(outcome_of(lambda: saved[0].register_hooks(abs, abs))[0])
    y.sum().backward()
    freed = outcome_of(lambda: y.grad_fn._raw_saved_tensors)
    return kinds, [refusal[0] for refusal in refusals[:-1]], refusals[-1], freed


@case
def a_pack_hook_that_writes(t, make):
    with t.autograd.graph.saved_tensors_hooks(lambda x: x.mul_(2), lambda x: x):
        return outcome_of(make(3).exp)


@case
def an_unpack_hook_that_gives_no_tensor(t, make):
    y = make(3) ** 2
    y.grad_fn._raw_saved_self.register_hooks(lambda x: x, lambda x: 1)
    return outcome_of(lambda: y.grad_fn._saved_self)


@case
def a_saved_operand_that_was_detached_in_place(t, make):
    a = make(2).clone()
    b = a.sin()
    a.detach_()
    return outcome_of(lambda: b.sum().backward())


# --- edges and nodes --------------------------------------------------------------------------------------------------

@case
def backward_in_two_steps_by_an_edge(t, make):
    x = make(3)
    middle = x.sin().sum()
    edge = t.autograd.graph.get_gradient_edge(middle)
    [grad] = t.autograd.grad(middle.exp(), edge)
    wide = t.autograd.graph.get_gradient_edge(x * 2)
    return (t.autograd.grad(edge, x, grad), outcome_of(lambda: t.autograd.grad(wide, x)),
            outcome_of(lambda: t.autograd.grad(wide, x, make.ones(2))),
            outcome_of(lambda: t.autograd.grad(wide, x, make.ones(3).to(t.complex64))))


@case
def edges_as_inputs(t, make):
    x, other = make(3).clone(), make(2).clone()
    edges = [t.autograd.graph.get_gradient_edge(each) for each in (x, other)]
    y = (x * 2).sum()
    y.backward(inputs=edges[:1], retain_graph=True)
    return (t.autograd.grad(y, (edges[0], other), materialize_grads=True, allow_unused=True, retain_graph=True),
            outcome_of(lambda: t.autograd.grad(y, (x, edges[1]), materialize_grads=True)))


@case
def zeros_of_a_second_derivative_can_be_differentiated(t, make):
    x, a = make(), make(seed=1)
    [first] = t.autograd.grad(x * a, x, create_graph=True)
    [second] = t.autograd.grad(first, x, create_graph=True, materialize_grads=True)
    return second, t.autograd.grad(second, x, materialize_grads=True)


@case
def what_a_node_knows_of_its_results(t, make):
    node = t.var_mean(make(2, 3), 0)[0].grad_fn
    return [(each.shape, each.dtype, each.is_nested_tensor) for each in node._input_metadata]


@case
def calls_of_a_node(t, make):
    x = make(1, grad=False)
    node = (make(1) ** 2).grad_fn
    return node(x), outcome_of(lambda: node(x, x)), outcome_of(node)


@case
def nodes_in_an_order_of_ones_own(t, make):
    x, seen = make(2), []
    a, b = x * 2, x * 3
    a.grad_fn._set_sequence_nr(10**9 + 1)
    b.grad_fn._set_sequence_nr(10**9)
    for name, each in (("a", a), ("b", b)):
        each.register_hook(lambda grad, name=name: seen.append(name))
    (a + b).sum().backward()
    return seen, a.grad_fn._sequence_nr()


# --- the running backward ---------------------------------------------------------------------------------------------

@case
def the_running_backward(t, make):
    x, found = make(2), []
    y = (x * 2).clone()
    clone, product = y.grad_fn, (x * 3).grad_fn

    def hook(grad):
        task = t._C._current_graph_task_id()
        found.append([task >= 0, t._C._current_autograd_node().name(), t._C._will_engine_execute_node(clone),
                      t._C._will_engine_execute_node(product), t._C._autograd._get_current_graph_task_keep_graph()])
    y.register_hook(hook)
    y.sum().backward(retain_graph=True)
    return (found, t._C._current_graph_task_id(), t._C._current_autograd_node(),
            outcome_of(lambda: t._C._will_engine_execute_node(clone))[0])


@case
def the_order_of_the_running_backward(t, make):
    y, found = make(2).sin().exp().sum(), []
    y.register_hook(lambda grad: found.append([n.name() for n in t._C._current_graph_task_execution_order()]))
    with t.autograd.set_multithreading_enabled(False):
        y.backward(retain_graph=True)
    return found, outcome_of(y.backward)[0], outcome_of(t._C._current_graph_task_execution_order)[0]


@case
def leaves_of_grad_are_not_executed(t, make):
    x, found = make(2), []
    y = x * 2
    leaf = y.grad_fn.next_functions[0][0]
    y.register_hook(lambda grad: found.append(outcome_of(lambda: t._C._will_engine_execute_node(leaf))[0]))
    t.autograd.grad(y.sum(), x)
    return found, type(leaf) is t._C._functions.AccumulateGrad


# --- hooks and functions ----------------------------------------------------------------------------------------------

@case
def hooks_of_outputs_without_a_gradient(t, make):
    first, second = make(2).unbind()
    found = []
    first.register_hook(found.append)
    second.backward()
    return found


@case
def a_hook_that_makes_up_a_gradient(t, make):
    first, second = make(2).unbind()
    first.register_hook(lambda grad: make.ones(1)[0])
    return outcome_of(second.backward)


@case
def a_post_accumulate_hook_that_returns(t, make):
    x = make(2)
    x.register_post_accumulate_grad_hook(lambda each: each.grad)
    return outcome_of(lambda: x.sum().backward())


@case
def a_function_with_backward_and_vjp(t, make):
    class Both(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad
        vjp = staticmethod(lambda ctx, grad: grad)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return outcome_of(lambda: Both.apply(make(1)).backward()), outcome_of(lambda: Both()(make(1)))


@case
def setup_context_gets_defaults(t, make):
    class Power(t.autograd.Function):
        @staticmethod
        def forward(x, exponent=3):
            return x ** exponent

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.exponent = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.exponent * ctx.saved_tensors[0] ** (ctx.exponent - 1), None

    x = make(2)
    return Power.apply(x), t.autograd.grad(Power.apply(x).sum(), x)


@case
def functions_of_other_names(t, make):
    class Shift(t.autograd.function.InplaceFunction):
        @staticmethod
        def forward(ctx, a, b):
            ctx.mark_dirty(a)
            ctx.save_for_backward(b)
            return a.add_(b)

        @staticmethod
        def backward(ctx, grad):
            return grad, grad * len(ctx.saved_variables)

    b = make(2)
    Shift.apply(make(2, grad=False), b).sum().backward()
    undefined = t._C._functions.UndefinedGrad()(b * 1)
    undefined.sum().backward()
    delayed = t._C._functions.DelayedError("Boom!", 1)(b * 1)
    return b.grad, outcome_of(lambda: delayed.sum().backward()), Shift(True).inplace


@case
def deleted_attributes(t, make):
    x = make(2)
    x.sum().backward()
    del x.grad
    return x.grad, [outcome_of(lambda name=name: delattr(x, name))[0] for name in ("data", "requires_grad")]


@case
def hooks_as_a_dictionary(t, make):
    x, other = make(2), make(2)
    x._backward_hooks = {1: lambda grad: grad * 3}
    before = other._backward_hooks
    other.register_hook(lambda grad: grad * 5)
    (x * other).sum().backward()
    other._backward_hooks = None
    x._grad, x._backward_hooks[1] = None, lambda grad: grad * 7
    (x * other).sum().backward()
    return before, x._grad, other.grad, x._grad_fn, x._post_accumulate_grad_hooks


@case
def tensors_with_other_data(t, make):
    x, whole = make(3), make(4)
    edge = t.autograd.graph.get_gradient_edge(x)
    y = (x * 2).sum()
    with t.no_grad():
        x.set_(x[1:])
        array = t.autograd.graph.get_gradient_edge(whole) and whole.cpu().numpy()
    (x * x).sum().backward()
    return (outcome_of(lambda: t.autograd.grad(y, x, retain_graph=True)), t.autograd.grad(y, edge), x.grad.shape,
            array.shape, outcome_of(lambda: setattr(x, "data", make.ones(2).long())))


@case
def functions_say_how_vmap_runs_them(t, make):
    class Square(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x
    return Square.generate_vmap_rule, outcome_of(lambda: Square.vmap(None, (0,), make(2)))


@case
def a_weak_reference_of_the_engine(t, make):
    x = make(2) * 2
    reference = t._C._WeakTensorRef(x)
    before = reference.expired()
    del x
    gc.collect()
    return before, reference.expired()


# --- modes ------------------------------------------------------------------------------------------------------------

@case
def decorated_classes(t, make):
    @t.no_grad()
    class Made:
        def __init__(self):
            self.tracked = t.is_grad_enabled()
    return Made().tracked


@case
def a_generator_that_is_closed(t, make):
    found = []

    @t.no_grad()
    def numbers():
        try:
            yield 1
        finally:
            found.append(t.is_grad_enabled())

    made = numbers()
    next(made)
    made.close()
    return found


@case
def views_of_inference_tensors(t, make):
    with t.inference_mode():
        made = make(2, 3)
        inside = made.view(-1)
        resized = make(2, 3).resize_(2).shape
    outside = made.view(-1)
    views = [(each.is_inference(), each.requires_grad, each._is_view(), each.is_leaf) for each in (inside, outside)]
    return views, resized


@case
def views_made_in_inference_mode(t, make):
    base = make(2, 3).clone()
    with t.inference_mode():
        view, other = base.view(-1), base.view(-1)
    refusal = outcome_of(lambda: view.add_(1))
    base.add_(1)
    return refusal, outcome_of(lambda: other.grad_fn)


@case
def enable_grad_has_no_effect_in_inference_mode(t, make):
    a = make(2, 3)
    with t.inference_mode(), t.enable_grad():
        b = make(2, 3).detach().requires_grad_()
        made = [a * a, b * b, b.exp(), t.stack([a, b])]
        jacobian = t.autograd.functional.jacobian(lambda x: x.logsumexp(-1), b.detach())
        with t.inference_mode(False):
            made.append(a * a)
        states = [(each.requires_grad, each.is_inference()) for each in made]
        return states, t.is_grad_enabled(), jacobian.tolist()


@case
def checkpoints_of_inference_tensors(t, make):
    with t.inference_mode():
        made = make(2, 3).clone()

    def run():
        return t.utils.checkpoint.checkpoint(lambda x: x * 2, made, use_reentrant=False).is_inference()
    with t.no_grad():
        found = run()
    return found, outcome_of(run)


# --- names of nodes, which results print ------------------------------------------------------------------------------

@case
def nodes_with_digits_in_their_names(t, make):
    a, image = make(3), make(1, 1, 4, 4)
    functional = t.nn.functional
    results = [a.log1p(), a.deg2rad() * 1, functional.max_pool2d(image, 2), functional.avg_pool2d(image, 2),
               functional.interpolate(image, scale_factor=2), functional.unfold(image, 2), t.special.i0e(a)]
    return [result.grad_fn.name() for result in results]


@case
def nodes_of_overloads(t, make):
    a = make(2, 3)
    one, where, index = t.ones((), device=a.device), a > 0, t.tensor([0], device=a.device)
    results = [a.sum(), a.mean(), a.prod(), a.prod(0), a.max(), a.max(0)[0], a.median(),
               a.median(0)[0], a.nanmedian(0)[0], a.sort(stable=True)[0], a.round(decimals=1), a.fmod(2), a.fmod(a),
               a % 2, a % a, a.masked_fill(where, 1), a.masked_fill(where, one), a.index_fill(0, index, 1),
               a.index_fill(0, index, one), a.lerp(a, 0.5), a.lerp(a, a), a.clamp(0, 1), a.clamp(a, a), a.square()]
    return [result.grad_fn.name() for result in results]


@case
def nodes_of_losses_and_matrices(t, make):
    a, target = make(2, 3), t.tensor([1, 0], device=make.device)
    square = a @ a.mT + 9 * t.eye(2, device=a.device)
    results = [t.nn.functional.cross_entropy(a, target), t.nn.functional.nll_loss(a, target), t.cdist(a, a * 2),
               t.nn.functional.pdist(a), t.linalg.inv(square), t.linalg.cholesky(square), t.fft.ifft2(a * 1j)]
    return [result.grad_fn.name() for result in results]


@case
def operands_are_packed_by_name(t, make):
    a, b = make(2, 2), make(2, 2, seed=1) * 2
    packed = []

    def pack(tensor):
        packed.append(tensor.detach().tolist())
        return tensor

    with t.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        a * b, a / b, t.atan2(a, b), t.lerp(a, b, b * 3), t.addcmul(a, a, b)
    return packed


# --- grad_dtype -------------------------------------------------------------------------------------------------------

@case
def gradients_in_another_dtype(t, make):
    a = make(3)
    before = a.grad_dtype
    a.grad_dtype = t.float16
    loss = (a * 2).sum()
    loss.backward()
    return before, a.grad_dtype, a.grad, a.detach().grad_dtype, t.autograd.grad((a * 3).sum(), a)


@case
def gradients_in_a_dtype_set_after_the_graph(t, make):
    a = make(3)
    loss = (a * 2).sum()
    a.grad_dtype = t.bfloat16
    loss.backward()
    return a.grad.dtype, a.grad.float()


@case
def gradients_in_any_dtype(t, make):
    a = make(3)
    a.grad_dtype = None
    (a * 2).sum().backward()
    found = [a.grad_dtype, a.grad]
    a.grad = t.ones(3, dtype=t.float16, device=a.device)
    return found, a.grad


@case
def refused_dtypes_of_gradients(t, make):
    a, result = make(3), make(3) * 2
    (a * 2).sum().backward()

    def put(tensor, value):
        tensor.grad_dtype = value

    return [outcome_of(lambda: put(a, t.float16)), outcome_of(lambda: put(a, t.float32)), outcome_of(lambda: put(a, 3)),
            a.grad_dtype, outcome_of(lambda: result.grad_dtype)]


@case
def results_of_hooks_after_accumulation(t, make):
    a, b = make(3), make(3)
    a.register_post_accumulate_grad_hook(lambda leaf: leaf.mul_(2))
    b.register_post_accumulate_grad_hook(lambda leaf: 3)
    a.sum().backward()
    return a.detach(), outcome_of(lambda: b.sum().backward())


@pytest.mark.quick
@pytest.mark.parametrize("name", CASES)
def test_as_torch(name, device):
    compare(CASES[name], device)
