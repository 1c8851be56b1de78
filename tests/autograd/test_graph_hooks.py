"""Hooks on several tensors, on what is saved, and switches of torch.autograd, beside torch."""
import pytest
from compared import Cases, compare

CASES = Cases()
case = CASES


@case
def hook_of_all_gradients(t, make):
    a, b, c, seen = make(2), make(2), make(2), []
    handle = t.autograd.graph.register_multi_grad_hook(
        (a, b, c), lambda grads: seen.append([g is not None and g.clone() for g in grads]))
    out = (a * b).sum()
    out.backward(retain_graph=True)
    out.backward(inputs=(b,), retain_graph=True)
    out.backward(inputs=(a, c), retain_graph=True)
    handle.remove()
    out.backward(inputs=(a, b))
    return seen


@case
def hook_of_all_gradients_comes_with_the_last(t, make):
    a, seen = make(2), []
    b, c = a.exp(), a.sin()
    t.autograd.graph.register_multi_grad_hook((b, c), lambda grads: seen.append("all"))
    a.register_hook(lambda grad: seen.append("a"))
    (b * c).sum().backward()
    return seen


@case
def hook_of_any_gradient(t, make):
    a, b, seen = make(2), make(2), []
    with t.autograd.graph.register_multi_grad_hook((a, b), lambda grad: seen.append(grad.clone()), mode="any"):
        for _ in range(2):
            (a * 2 + b * 2).sum().backward()
    (a + b).sum().backward()
    return seen


@case
def hook_after_an_error(t, make):
    a, b, seen = make(2), make(2), []
    t.autograd.graph.register_multi_grad_hook((a, b), lambda grads: seen.append(len(grads)))

    def refuse(grad):
        raise ValueError("no")
    y = a * 2
    handle = y.register_hook(refuse)
    out = (y * b).sum()
    try:
        out.backward(retain_graph=True)
    except ValueError:
        seen.append("error")
    handle.remove()
    out.backward()
    return seen


@case
def hook_of_an_unknown_mode(t, make):
    t.autograd.graph.register_multi_grad_hook((make(2),), print, mode="some")


@case
def hooks_that_are_not_allowed(t, make):
    graph = t.autograd.graph
    with graph.disable_saved_tensors_hooks("outer"), graph.disable_saved_tensors_hooks("inner"):
        enabled = t._C._autograd._saved_tensors_hooks_is_enabled()
        try:
            with graph.saved_tensors_hooks(lambda x: x, lambda x: x):
                pass
        except RuntimeError as error:
            return enabled, t._C._autograd._saved_tensors_hooks_is_enabled(), str(error)


@case
def refusing_hooks_where_some_are_active(t, make):
    with t.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x), \
            t.autograd.graph.disable_saved_tensors_hooks("too late"):
        pass


@case
def refusing_hooks_after_backward_has_entered_some(t, make):
    y = make(2) * 2
    hooks = t.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)
    y.register_hook(lambda grad: hooks.__enter__() and None)
    y.sum().backward()
    with t.autograd.graph.disable_saved_tensors_hooks("no"):
        return t._C._autograd._saved_tensors_hooks_is_enabled()


@case
def writing_to_what_is_saved(t, make):
    found, a = [], make(2, 3)
    with t.autograd.graph.allow_mutation_on_saved_tensors() as context:
        b = a.clone()
        view = b[:1]
        squares, cubes = b ** 2, b ** 3
        found.append(len(context.cloned))
        view *= 10
        found.append(len(context.cloned))
        b[0, 0] = 5
        t.add(b.detach(), 1, out=b.detach())
        later = b * b
        b.sin_()
        (squares + cubes + later).sum().backward()
        found.append(len(context.cloned))
    return found, a.grad, len(context.cloned)


@case
def backward_after_the_end_of_allowed_writes(t, make):
    with t.autograd.graph.allow_mutation_on_saved_tensors():
        out = (make(2) ** 2).sum()
    try:
        out.backward()
    except AssertionError as error:
        return str(error)[:70]


@case
def allowed_writes_within_allowed_writes(t, make):
    with t.autograd.graph.allow_mutation_on_saved_tensors(), t.autograd.graph.allow_mutation_on_saved_tensors():
        pass


@case
def switches(t, make):
    found = []
    for switch, state in ((t.autograd.set_multithreading_enabled, t.autograd.is_multithreading_enabled),
                          (t.autograd._force_original_view_tracking, t.autograd.is_view_replay_enabled)):
        before = state()
        with switch(not before):
            found.append(state())
            switch(before)
            found.append(state())
        found.append(state())
        switch(not before)
        found.append(state())
        switch(before)
    return found


@case
def callback_at_the_end_of_backward(t, make):
    a, seen = make(2), []
    queue = t.autograd.Variable._execution_engine.queue_callback
    a.register_hook(lambda grad: queue(lambda: seen.append(a.grad is not None)))
    a.sum().backward()
    return seen


@pytest.mark.parametrize("name", CASES)
def test_as_torch(name, device):
    compare(CASES[name], device)
