"""What normalisation keeps for its backward pass, and its derivatives of any order, beside torch."""
import numpy as np
import pytest
import torch

import mindtorch


def numbers(*shape, phase=0.0):
    return (np.cos(np.arange(int(np.prod(shape))) * 1.7 + phase) * 2).reshape(shape)


# name -> (call of (functional, x, weight, bias), shape of x, of the parameters, how often torch differentiates rightly)
NORMS = {
    "layer_norm": (lambda f, x, w, b: f.layer_norm(x, (4,), w, b), (2, 3, 4), (4,), 2),
    "layer_norm of two dims": (lambda f, x, w, b: f.layer_norm(x, (3, 4), w, b), (2, 3, 4), (3, 4), 2),
}


@pytest.mark.parametrize("name", NORMS)
def test_kept(name, device):
    """The tensors that a step holds until its backward pass: a transformer's memory goes by these."""
    call, shape, of_parameters, _ = NORMS[name]

    def kept(lib, device):
        x, w, b = (lib.tensor(numbers(*s), device=device, dtype=lib.float32).requires_grad_()
                   for s in (shape, of_parameters, of_parameters))
        found = []
        with lib.autograd.graph.saved_tensors_hooks(lambda t: found.append(tuple(t.shape)), lambda t: t):
            call(lib.nn.functional, x, w, b)
        return sorted(found)
    assert kept(mindtorch, device) == kept(torch, "cpu")


def derivatives(lib, call, arrays, device, dtype, order):
    """The gradient of a sum, of the sum of that gradient's squares, and so on."""
    leaves = [lib.tensor(a, device=device, dtype=dtype).requires_grad_() for a in arrays]
    result, found = call(lib.nn.functional, *leaves), []
    for _ in range(order):
        total = (result * result * result).sum() if not found else sum((g * g).sum() for g in found[-1])
        found.append(lib.autograd.grad(total, leaves, create_graph=True))
    return [np.array(g.tolist()) for grads in found for g in grads]


@pytest.mark.parametrize("name", NORMS)
def test_derivatives(name, device):
    call, shape, of_parameters, order = NORMS[name]
    arrays = [numbers(*shape), numbers(*of_parameters, phase=0.3) + 1.5, numbers(*of_parameters, phase=0.6)]
    ours = derivatives(mindtorch, call, arrays, device, mindtorch.float32, order)
    theirs = derivatives(torch, call, arrays, "cpu", torch.float64, order)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3 * np.abs(other).max())


@pytest.mark.parametrize("name", NORMS)
def test_third_derivatives(name):
    """Of float64 and by small differences: torch takes the saved statistics for constants there."""
    call, shape, of_parameters, _ = NORMS[name]
    arrays = [numbers(*shape), numbers(*of_parameters, phase=0.3) + 1.5, numbers(*of_parameters, phase=0.6)]
    leaves = [mindtorch.tensor(a).requires_grad_() for a in arrays]

    def gradient(x, w, b):
        result = call(mindtorch.nn.functional, x, w, b)
        return mindtorch.autograd.grad((result ** 3).sum(), (x, w), create_graph=True)
    assert mindtorch.autograd.gradgradcheck(gradient, leaves, atol=1e-3, rtol=1e-3)
