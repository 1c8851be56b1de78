"""First and second derivatives of torch.nn.functional, on both devices, against torch's."""
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as theirs

import mindtorch
import mindtorch.nn.functional as ours

ACTIVATIONS = [
    ("relu", {}), ("relu6", {}), ("hardtanh", {"min_val": -0.5}), ("leaky_relu", {}), ("elu", {"alpha": 1.3}),
    ("selu", {}), ("celu", {"alpha": 1.5}), ("silu", {}), ("mish", {}), ("hardswish", {}), ("hardsigmoid", {}),
    ("threshold", {"threshold": 0.1, "value": 2}), ("softsign", {}), ("tanhshrink", {}), ("glu", {}),
    ("softmax", {"dim": 1}), ("softmin", {"dim": 0}), ("log_softmax", {"dim": 1}), ("gelu", {}),
    ("gelu", {"approximate": "tanh"}), ("logsigmoid", {}), ("softplus", {"beta": 2}), ("hardshrink", {}),
    ("softshrink", {}), ("sigmoid", {}), ("tanh", {}), ("rrelu", {})]


def numbers(shape, phase):
    """Values of both signs, none near 0."""
    values = np.cos(np.arange(np.prod(shape)) * 1.7 + phase) * 3
    return (values + np.sign(values) * 0.05).reshape(shape).astype("float32")


FIRST_ONLY = ("hardsigmoid",)        # torch cannot differentiate their backward


def derivatives(lib, call, arrays, device, second=True):
    """The value of call(*tensors), its gradients, and with `second` the gradients of those."""
    tensors = [lib.tensor(array, device=device).requires_grad_(True) for array in arrays]

    def weighted(tensor):
        return (tensor * lib.tensor(numbers(tuple(tensor.shape), 1.0), device=device)).sum()
    value = call(*tensors)
    first = lib.autograd.grad(weighted(value), tensors, create_graph=True)
    found = [value, *first]
    if second and any(one.requires_grad for one in first):
        total = sum(weighted(one) for one in first if one.requires_grad)
        again = lib.autograd.grad(total, tensors, allow_unused=True)
        found += [lib.zeros_like(t) if one is None else one for one, t in zip(again, tensors, strict=True)]
    elif second:
        found += [lib.zeros_like(t) for t in tensors]
    return [np.array(one.detach().cpu().tolist(), "float32") for one in found]


@pytest.mark.parametrize(("name", "options"), ACTIVATIONS, ids=str)
def test_activations(name, options, device):
    arrays = [numbers((4, 6), 0.0)]
    second = name not in FIRST_ONLY
    expected = derivatives(torch, partial(getattr(theirs, name), **options), arrays, "cpu", second)
    found = derivatives(mindtorch, partial(getattr(ours, name), **options), arrays, device, second)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["relu", "relu6", "hardtanh", "leaky_relu", "elu", "selu", "celu", "silu", "mish",
                                  "hardswish", "hardsigmoid", "rrelu"])
def test_activations_in_place(name, device):
    x = mindtorch.tensor(numbers((4, 6), 0.0), device=device)
    result = getattr(ours, name)(x, inplace=True)
    assert result is x
    expected = getattr(theirs, name)(torch.tensor(numbers((4, 6), 0.0)))
    np.testing.assert_allclose(np.array(x.cpu().tolist()), expected.numpy(), rtol=2e-5, atol=2e-6)
