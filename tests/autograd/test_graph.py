"""backward, grad and the graph they follow, case by case beside torch: values, errors, names, versions."""
import subprocess
import sys

import pytest
import torch
from compared import Cases, compare

import mindtorch

CASES = Cases()
case = CASES


def names(node):
    """A node and what it leads to, by name."""
    return None if node is None else [node.name(), [names(edge) for edge, _ in node.next_functions]]


@case
def names_of_nodes(t, make):
    a, b = make(2, 3), make(2, 3, seed=1)
    results = [a + b, a + 1, 1 - a, a * b, a / b, -a, a ** 2, 2 ** a, a.exp(), (a * a).log(), a.abs(), a.relu(),
               a.sigmoid(), a.tanh(), a.sum(), a.sum(0), a.mean(), a.mean(1), a.max(), a.max(0)[0], a.softmax(0),
               a.log_softmax(0), a.t().mm(b), a.reshape(6), a.view(6), a.permute(1, 0), a[0], a[0:1],
               a.unsqueeze(0), a[:, None].squeeze(), a.expand(4, 2, 3), a.clone(), a.to(t.float64),
               t.cat([a, b]), t.stack([a, b]), t.where(a > 0, a, b), a.clamp(0, 1), t.maximum(a, b), a.transpose(0, 1),
               a.narrow(0, 0, 1), a.split(1)[1], a.unbind(1)[2], a.as_strided((2,), (1,)), a.diagonal(), a.contiguous(),
               t.addmm(a[0], b @ b.t(), b), a.mv(b[0]), a[0].dot(b[0]), a.sqrt(), a.rsqrt(), a.reciprocal(), a.detach()]
    # Overloads share a row here, which torch numbers.
    return [r.grad_fn and r.grad_fn.name().rstrip("0123456789") for r in results]


@case
def operators_that_return_no_tensors(t, make):
    a, aten = make(0, 3), t.ops.aten
    return [len(found) for found in (
        list(a), a.unbind(), a.split_with_sizes([]), a.split([]), t.unbind_copy(a), t.split_with_sizes_copy(a, []),
        aten.unbind(a), aten.unbind_copy(a), aten.split_with_sizes(a, []), aten.split_with_sizes_copy(a, []))]


def comparison_in_place(name):
    def compared(t, make):
        a, b = make(3), make(3, seed=1)
        results = []
        for write in (lambda y: getattr(y, name)(0.5), lambda y: getattr(y, name)(b),
                      lambda y: getattr(y[:1], name)(2)):
            y = a * 2
            write(y)
            results += [y, *t.autograd.grad(y.sum(), a)]
        plain = getattr(make(3, grad=False), name)(b)
        return results, plain, t.autograd.grad(plain.sum(), b), getattr(a, name.strip("_"))(b)
    return compared


for _name in ("eq_", "ne_", "lt_", "le_", "gt_", "ge_"):
    CASES[f"in_place_{_name}"] = comparison_in_place(_name)
    CASES[f"in_place_{_name}_of_a_leaf"] = lambda t, make, name=_name: getattr(make(3), name)(1)


@case
def unique_has_no_derivative(t, make):
    a, found = make(4), []
    for distinct in (t.unique(a), t.unique(a, dim=0), t.unique_consecutive(a), *t.unique(a, return_inverse=True)):
        found.append([distinct.requires_grad, distinct.grad_fn and distinct.grad_fn.name()])
        if distinct.requires_grad:
            with pytest.raises(NotImplementedError) as raised:
                distinct.sum().backward()
            found.append(str(raised.value))
    return found


UNKNOWN_TO_AUTOGRAD = {
    "heaviside of self": lambda a, b: a.heaviside(b.detach()),
    "heaviside of values": lambda a, b: a.detach().heaviside(b),
    "heaviside_": lambda a, b: (a * 2).heaviside_(b.detach())}


@pytest.mark.parametrize("name", UNKNOWN_TO_AUTOGRAD)
def test_operators_without_a_derivative_in_torch(name, device):
    """torch names the forms in place with a line at the end."""
    for lib, place in ((torch, "cpu"), (mindtorch, device)):
        a, b = (lib.tensor([-1.0, 3.0, 1.0], device=place, requires_grad=True) for _ in range(2))
        result = UNKNOWN_TO_AUTOGRAD[name](a, b)
        assert result.requires_grad
        assert type(result.grad_fn).__name__ == "NotImplemented"
        with pytest.raises(RuntimeError, match=r"derivative for aten::\w+ is not implemented"):
            result.sum().backward()


@case
def shape_of_the_graph(t, make):
    a, b = make(2), make(2, seed=1)
    return names(((a * b - a) * a.detach()).sum().grad_fn), names((a + b.detach()).grad_fn)


@case
def one_accumulator_per_leaf(t, make):
    a = make(2)
    y = a * a
    (first, _), (second, _) = y.grad_fn.next_functions
    return first is second, first.variable is a, (a + 1).grad_fn.next_functions[0][0] is first


@case
def second_backward(t, make):
    y = make(2).exp().sum()
    y.backward()
    y.backward()


@case
def second_backward_where_nothing_is_saved(t, make):
    a = make(2)
    y = (a + 1).sum()
    y.backward()
    y.backward()
    return a.grad


@case
def retained_graph(t, make):
    a = make(2)
    y = a.exp().sum()
    for _ in range(3):
        y.backward(retain_graph=True)
    y.backward()
    return a.grad


@case
def backward_of_part_after_release(t, make):
    a = make(2)
    h = a.exp()
    (h * 2).sum().backward()
    (h * 3).sum().backward()


@case
def create_graph(t, make):
    a = make(3)
    (a ** 3).sum().backward(create_graph=True)
    first = a.grad
    a.grad = None
    first.sum().backward()
    return first, a.grad


@case
def gradient_given(t, make):
    a = make(2, 3)
    (a * 2).backward(make(2, 3, seed=4, grad=False))
    return a.grad


@case
def gradient_missing(t, make):
    (make(2, 3) * 2).backward()


@case
def gradient_of_wrong_shape(t, make):
    (make(2, 3) * 2).backward(make(3, 2, grad=False))


@case
def gradient_of_wrong_type(t, make):
    (make(2, 3) * 2).backward(3)


@case
def gradients_that_are_given_in_other_dtypes(t, make):
    """They are cast before any node sees them: a product, a leaf and a hook get those of their own dtype."""
    found = []
    for dtype in ("float64", "float16", "int64", "bool"):
        a, seen = make(2, 2), []
        product = a @ a
        product.register_hook(lambda grad, seen=seen: seen.append(grad.dtype))
        given = t.ones(2, 2).to(getattr(t, dtype)).to(a.device)
        grads = [*t.autograd.grad((product, a), a, (given, given)), *t.autograd.grad(a, a, given)]
        edge = t.autograd.graph.get_gradient_edge(a * 2)
        edge_grad = t.autograd.grad(edge, a, given)[0]
        a.backward(given)
        found += [*[str(dtype).rpartition(".")[2] for dtype in seen], *grads, edge_grad, a.grad]
    return found


@case
def gradient_of_other_dtype(t, make):
    a = make(2)
    (a * 2).backward(make(2, grad=False, dtype="float64"))
    return a.grad


@case
def gradients_of_several(t, make):
    a = make(2)
    t.autograd.backward([a.exp(), (a * 2).sum()], [make.ones(2), None])
    return a.grad


@case
def gradients_of_several_too_few(t, make):
    a = make(2)
    t.autograd.backward([a.exp(), (a * 2).sum()], [make.ones(2)])


@case
def no_history(t, make):
    make(2, grad=False).sum().backward()


@case
def backward_of_a_leaf(t, make):
    a = make()
    a.backward()
    a.backward(t.full_like(a, 3.))
    return a.grad


@case
def backward_into_inputs(t, make):
    a, b = make(2), make(2, seed=1)
    h = a * b
    (h * a).sum().backward(inputs=[b, h])
    return a.grad, b.grad, h.grad


@case
def backward_into_one_input(t, make):
    a, b = make(2), make(2, seed=1)
    (a * b).sum().backward(inputs=a)
    return a.grad, b.grad


@case
def backward_into_no_inputs(t, make):
    make(2).sum().backward(inputs=[])


@case
def grad_of_intermediate(t, make):
    a = make(2)
    h = a * 3
    y = (h * h).sum()
    return t.autograd.grad(y, h, retain_graph=True), t.autograd.grad(y, [h, a]), a.grad


@case
def grad_unused(t, make):
    t.autograd.grad(make(2).sum(), make(2, seed=1))


@case
def grad_unused_allowed(t, make):
    a, b = make(2), make(2, seed=1)
    return t.autograd.grad(a.sum(), [b, a], allow_unused=True)


@case
def grad_unused_materialized(t, make):
    a, b = make(2), make(2, seed=1)
    return t.autograd.grad(a.sum(), [b, a], materialize_grads=True)


@case
def grad_materialized_but_not_allowed(t, make):
    a = make(2)
    return t.autograd.grad(a.sum(), a, allow_unused=False, materialize_grads=True)


@case
def grad_of_what_an_output_does_not_need_leaves_its_node(t, make):
    a, b = make(2), make(2, seed=1)
    y = a.exp()
    found = t.autograd.grad(y, b, t.ones_like(y), allow_unused=True)
    y.sum().backward()
    return found, a.grad


@case
def grad_of_tensor_without_gradient(t, make):
    t.autograd.grad(make(2).sum(), make(2, grad=False))


@case
def grad_of_the_same_input_twice(t, make):
    a = make(2)
    return t.autograd.grad((a * a).sum(), [a, a])


@case
def grad_of_the_output_itself(t, make):
    a = make(2)
    y = a.sum()
    return t.autograd.grad(y, [y, a])


@case
def grad_of_several_outputs(t, make):
    a = make(3)
    return t.autograd.grad([a.sum(), a.exp()], [a], [None, make(3, grad=False, seed=2)])


@case
def grad_of_the_same_output_twice(t, make):
    a = make(3)
    y = a.exp().sum()
    return t.autograd.grad([y, y], [a])


@case
def grad_of_an_empty_list(t, make):
    return t.autograd.grad(make(2).sum(), [])


@case
def grad_of_no_tensor(t, make):
    t.autograd.grad(make(2).sum(), [3])


@case
def higher_orders(t, make):
    a = make(3)
    value, found = (a ** 5).sum(), []
    for _ in range(4):
        value = t.autograd.grad(value, a, create_graph=True)[0].sum()
        found.append(value)
    return found


@case
def overwritten_operand(t, make):
    a = make(2)
    b = a * 2
    y = b.exp() * b
    b.add_(1)
    y.sum().backward()


@case
def overwritten_result(t, make):
    y = make(2, 3).exp()
    y.mul_(2)
    y.sum().backward()


@case
def overwritten_through_a_view(t, make):
    b = make(2, 3) * 2
    y = b * b
    b[0].zero_()
    y.sum().backward()


@case
def overwritten_but_not_needed(t, make):
    a = make(2)
    b = a * 2
    y = b + 1
    b.add_(1)
    y.sum().backward()
    return a.grad


@case
def overwritten_under_no_grad(t, make):
    a = make(2)
    y = a * a
    with t.no_grad():
        a.add_(1)
    y.sum().backward()


@case
def overwritten_data(t, make):
    a = make(2)
    y = a * a
    a.data.add_(1)
    y.sum().backward()
    return a.grad, a._version


@case
def overwritten_detached(t, make):
    a = make(2)
    y = a * a
    a.detach().add_(1)
    y.sum().backward()


@case
def versions(t, make):
    a = make(2, 3) * 1
    v, d, data = a[0], a.detach(), a.data
    found = [a._version]
    for write in (lambda: a.add_(1), lambda: v.mul_(2), d.zero_, lambda: data.fill_(1), lambda: a.copy_(d),
                  lambda: a.__setitem__(0, 1.)):
        write()
        found.append([a._version, v._version, d._version, data._version])
    return found


@case
def saved_attributes(t, make):
    a, b = make(2), make(2, seed=1)
    y = a * b
    kept = y.grad_fn._saved_self, y.grad_fn._saved_other
    return kept, a.exp().grad_fn._saved_result


@case
def saved_attributes_after_release(t, make):
    a = make(2)
    y = a.exp()
    y.sum().backward()
    return y.grad_fn._saved_result


@case
def accumulation(t, make):
    a = make(2)
    (a * 2).sum().backward()
    kept = a.grad
    (a * 3).sum().backward()
    return kept is a.grad, kept


@case
def accumulation_with_create_graph(t, make):
    a = make(2)
    (a ** 2).sum().backward(create_graph=True)
    kept = a.grad
    (a ** 3).sum().backward(create_graph=True)
    return kept is a.grad, kept, a.grad


@case
def accumulation_into_a_given_grad(t, make):
    a = make(2, 3)
    a.grad = make.ones(3, 2).t()
    (a * 2).sum().backward()
    return a.grad


@case
def retained_gradients(t, make):
    a = make(2)
    h = a * 2
    h.retain_grad()
    h.retain_grad()
    y = (h * h).sum()
    y.retain_grad()
    y.backward()
    return h.grad, y.grad, h.retains_grad, a.retains_grad


@case
def retained_gradient_after_in_place(t, make):
    h = make(2) * 2
    h.retain_grad()
    h.mul_(3)
    h.sum().backward()
    return h.grad


@case
def grad_of_a_tensor_that_is_no_leaf(t, make):
    h = make(2) * 2
    h.sum().backward()
    return h.grad


@case
def retain_grad_without_gradient(t, make):
    make(2, grad=False).retain_grad()


@case
def strange_grads(t, make):
    a = make(2)
    for value in (3, a, make(3, grad=False), make(2, grad=False, dtype="float64")):
        try:
            a.grad = value
        except (TypeError, RuntimeError) as error:
            yield_error.append([type(error).__name__, str(error).split(".")[0].replace("mindtorch", "torch")])
    found, yield_error[:] = list(yield_error), []
    return found, a.grad


yield_error = []


@case
def integer_operands(t, make):
    i = t.arange(3, device=make.device)
    a = make(3)
    y = (a * i + i.to(t.float32)).sum()
    y.backward()
    return a.grad, (a > 0).requires_grad, a.argmax().requires_grad


@case
def no_gradient_of_integers(t, make):
    t.tensor([1, 2], requires_grad=True)


@case
def half_and_float(t, make):
    a = make(2, 3)
    h = a.half()
    (h.float() * 2 + h).sum().backward()
    return a.grad


@case
def gradient_edge_as_input(t, make):
    a = make(2)
    edge = t.autograd.graph.get_gradient_edge(a)
    return edge.node.name(), edge.output_nr, t.autograd.grad((a * 2).sum(), edge)


@case
def saved_tensors_hooks(t, make):
    a, b, seen = make(2), make(2, seed=1), []

    def pack(tensor):
        seen.append(["pack", tuple(tensor.shape)])
        return tensor * 2

    def unpack(tensor):
        seen.append(["unpack", tuple(tensor.shape)])
        return tensor / 2
    with t.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (a * b).exp()
    y.sum().backward()
    return seen, a.grad, b.grad


@case
def saved_tensors_hooks_and_retained_graph(t, make):
    a, count = make(2), []
    with t.autograd.graph.saved_tensors_hooks(lambda x: x.detach().clone(), lambda x: count.append(1) or x):
        y = (a * a).sum()
    y.backward(retain_graph=True)
    y.backward()
    return len(count), a.grad


@case
def saved_on_cpu(t, make):
    a = make(2, 3)
    with t.autograd.graph.save_on_cpu():
        y = a.exp() * a
    y.sum().backward()
    return a.grad


@case
def copied(t, make):
    import copy
    a = make(2)
    a.grad = make.ones(2)
    b = copy.deepcopy(a)
    return b.grad, b.is_leaf, b.grad is a.grad


@case
def copied_with_history(t, make):
    import copy
    copy.deepcopy(make(2) * 2)


@case
def numpy_of_a_tracked_tensor(t, make):
    make(2).cpu().numpy()


@case
def printed(t, make):
    a = t.tensor([1., 2.], requires_grad=True)
    y = a * 2
    return repr(a), repr(y), repr(y.detach()), repr(y[0]), repr(a.view(2, 1))


@pytest.mark.quick
@pytest.mark.parametrize("name", CASES)
def test_as_torch(name, device):
    compare(CASES[name], device)


IN_THREADS = """
import sys, threading
import mindtorch

sys.setswitchinterval(1e-6)
sums = [(x * x).sum() for x in (mindtorch.ones(3, requires_grad=True) for _ in range(16))]
start, errors = threading.Barrier(len(sums)), []

def backward(y):
    start.wait()
    try:
        y.backward()
    except Exception as error:
        errors.append(error)

threads = [threading.Thread(target=backward, args=(y,)) for y in sums]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
"""


def test_the_first_backward_may_be_in_several_threads():
    """The first one imports the derivatives."""
    subprocess.run([sys.executable, "-c", IN_THREADS], check=True, timeout=120)
