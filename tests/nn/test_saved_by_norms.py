"""What normalisation keeps for its backward pass, and its derivatives of any order, beside torch."""
import numpy as np
import pytest
import torch

import mindtorch


def numbers(*shape, phase=0.0):
    return (np.cos(np.arange(int(np.prod(shape))) * 1.7 + phase) * 2).reshape(shape)


def batch_norm(training):
    def call(f, x, w, b):
        mean, variance = w.detach() * 0 + 0.5, w.detach() * 0 + 2
        return f.batch_norm(x, mean, variance, w, b, training)
    return call


# name -> (call of (functional, x, weight, bias), shape of x, of the parameters)
NORMS = {
    "group_norm": (lambda f, x, w, b: f.group_norm(x, 2, w, b), (2, 4, 3), (4,)),
    "batch_norm": (batch_norm(True), (3, 4, 2), (4,)),
    "batch_norm by running statistics": (batch_norm(False), (3, 4, 2), (4,)),
    "rms_norm": (lambda f, x, w, b: f.rms_norm(x, (4,), w), (2, 3, 4), (4,)),
    "instance_norm": (lambda f, x, w, b: f.instance_norm(x), (2, 3, 4), (3,)),
    "layer_norm": (lambda f, x, w, b: f.layer_norm(x, (4,), w, b), (2, 3, 4), (4,)),
    "layer_norm of two dims": (lambda f, x, w, b: f.layer_norm(x, (3, 4), w, b), (2, 3, 4), (3, 4)),
}


# torch has operators for the parts of rms_norm on the CPU, which keep more.
@pytest.mark.parametrize("name", [name for name in NORMS if name != "rms_norm"])
def test_kept(name, device):
    """The tensors that a step holds until its backward pass: a transformer's memory goes by these."""
    call, shape, of_parameters = NORMS[name]

    def kept(lib, device):
        x, w, b = (lib.tensor(numbers(*s), device=device, dtype=lib.float32).requires_grad_()
                   for s in (shape, of_parameters, of_parameters))
        found = []
        with lib.autograd.graph.saved_tensors_hooks(lambda t: found.append(tuple(t.shape)), lambda t: t):
            call(lib.nn.functional, x, w, b)
        return sorted(found)
    assert kept(mindtorch, device) == kept(torch, "cpu")


def test_rms_norm_keeps(device):
    """The input, the weight, and a number for each line."""
    x, w = (mindtorch.tensor(numbers(*s), device=device).float().requires_grad_() for s in ((2, 3, 4), (4,)))
    found = []
    with mindtorch.autograd.graph.saved_tensors_hooks(lambda t: found.append(tuple(t.shape)), lambda t: t):
        mindtorch.nn.functional.rms_norm(x, (4,), w)
    assert sorted(found) == [(2, 3, 1), (2, 3, 4), (4,)]


def derivatives(lib, call, arrays, device, dtype):
    """The gradient of a sum, and that of the sum of its squares."""
    leaves = [lib.tensor(a, device=device, dtype=dtype).requires_grad_() for a in arrays]
    result, found = call(lib.nn.functional, *leaves), []
    for _ in range(2):
        last = [g for g in found[-1] if g is not None] if found else [result]
        total = sum((g * g * g if g is result else g * g).sum() for g in last)
        found.append(lib.autograd.grad(total, leaves, create_graph=True, allow_unused=True))
    return [np.zeros(()) if g is None else np.array(g.tolist()) for grads in found for g in grads]


@pytest.mark.parametrize("name", NORMS)
def test_derivatives(name, device):
    call, shape, of_parameters = NORMS[name]
    arrays = [numbers(*shape), numbers(*of_parameters, phase=0.3) + 1.5, numbers(*of_parameters, phase=0.6)]
    ours = derivatives(mindtorch, call, arrays, device, mindtorch.float32)
    theirs = derivatives(torch, call, arrays, "cpu", torch.float64)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3 * np.abs(other).max())


@pytest.mark.parametrize("name", NORMS)
def test_third_derivatives(name):
    """Of float64 and by small differences: torch takes the saved statistics for constants there."""
    call, shape, of_parameters = NORMS[name]
    arrays = [numbers(*shape), numbers(*of_parameters, phase=0.3) + 1.5, numbers(*of_parameters, phase=0.6)]
    leaves = [mindtorch.tensor(a).requires_grad_() for a in arrays]

    def gradient(x, w, b):
        result = call(mindtorch.nn.functional, x, w, b)
        found = mindtorch.autograd.grad((result ** 3).sum(), (x, w), create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)
    assert mindtorch.autograd.gradgradcheck(gradient, leaves, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_double_backward_after_the_statistics_moved(dtype, device):
    def run(lib, device):
        norm = lib.nn.BatchNorm1d(2).to(device=device, dtype=getattr(lib, dtype))
        x = lib.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]], dtype=getattr(lib, dtype), device=device)
        (gradient,) = lib.autograd.grad(norm(x.requires_grad_()).pow(3).sum(), x, create_graph=True)
        norm(x)
        gradient.pow(2).sum().backward()
        return [*x.grad.flatten().tolist(), *norm.running_mean.tolist(), *norm.running_var.tolist()]
    assert run(mindtorch, device) == pytest.approx(run(torch, "cpu"), abs=1e-4, rel=1e-4)


@pytest.mark.parametrize("training", [True, False])
def test_the_parameters_of_an_empty_batch_norm_have_gradients(training, device):
    def gradients(lib, device):
        x = lib.zeros(0, 3, 2, 2, device=device, requires_grad=True)
        layer = lib.nn.BatchNorm2d(3).to(device).train(training)
        layer(x).sum().backward()
        return [p.grad.tolist() for p in (layer.weight, layer.bias)], tuple(x.grad.shape)

    assert gradients(mindtorch, device) == gradients(torch, "cpu")


@pytest.mark.parametrize("name", ["group_norm", "rms_norm"])
def test_which_gradients_of_norms_require_a_gradient(name, device):
    """Those of parameters depend on less than that of the input, as in torch, which computes these norms in parts."""
    norm = {"group_norm": lambda lib, x, w, b: lib.nn.functional.group_norm(x, 2, w, b),
            "rms_norm": lambda lib, x, w, b: lib.nn.functional.rms_norm(x.mT, (4,), w) + b}[name]

    def gradients(lib, where, input_too, power):
        leaves = [lib.tensor(numbers(*shape), device=where).float() for shape in ((2, 4, 3), (4,), (4,))]
        leaves = [leaf.requires_grad_(input_too or place > 0) for place, leaf in enumerate(leaves)]
        found = lib.autograd.grad((norm(lib, *leaves) ** power).sum(), leaves[not input_too:], create_graph=True)
        return [g.requires_grad for g in found], np.concatenate([g.detach().cpu().numpy().ravel() for g in found])

    for input_too in (False, True):
        for power in (1, 2):
            ours, theirs = (gradients(*lib, input_too, power) for lib in ((mindtorch, device), (torch, "cpu")))
            assert ours[0] == theirs[0]
            np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("wanted", [(2,), (1,), (1, 2), (0,), (0, 2), (0, 1, 2)])
def test_gradients_of_layer_norm_have_a_history_whichever_are_wanted(wanted, device):
    def flags(lib, where):
        leaves = [lib.ones(shape, device=where).mul_(1.5) for shape in ((2, 3), (3,), (3,))]
        for index in wanted:
            leaves[index].requires_grad_()
        result = lib.nn.functional.layer_norm(leaves[0], (3,), *leaves[1:])
        inputs = [leaves[index] for index in wanted]
        first = lib.autograd.grad(result.sum(), inputs, create_graph=True)
        second = lib.autograd.grad(sum(each.sum() for each in first), inputs, allow_unused=True)
        return [each.requires_grad for each in first], [each is None for each in second]

    assert flags(mindtorch, device) == flags(torch, "cpu")
