"""binary_cross_entropy where its logarithms are infinite, and of what is no probability."""
import numpy as np
import pytest
import torch

import mindtorch

INPUTS, TARGETS = [0.0, 1.0, 0.0, 1.0, 0.3, 1e-30], [1.0, 0.0, 0.0, 1.0, 0.4, 1.0]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weight", [None, 2.0])
def test_slopes_are_finite(reduction, weight, device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        input = lib.tensor(INPUTS, device=place, requires_grad=True)
        weights = None if weight is None else lib.tensor(weight, device=place)
        loss = lib.nn.functional.binary_cross_entropy(input, lib.tensor(TARGETS, device=place), weights,
                                                      reduction=reduction)
        loss.sum().backward()
        found.append([each.detach().cpu().numpy() for each in (loss, input.grad)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_second_derivatives(device):
    found = []
    for lib, place in ((mindtorch, device), (torch, "cpu")):
        input, target = (lib.tensor(values, device=place, requires_grad=True) for values in ([0.2, 0.7], [0.5, 0.1]))
        loss = lib.nn.functional.binary_cross_entropy(input, target)
        (slope,) = lib.autograd.grad(loss, input, create_graph=True)
        found.append([each.cpu().numpy() for each in lib.autograd.grad(slope.sum(), (input, target))])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@pytest.mark.parametrize(("input", "target"), [
    ([2.0], [0.5]), ([0.5], [2.0]), ([float("nan")], [0.5]), ([-1e-9], [0.5]), ([0.5], [float("nan")])])
def test_what_is_no_probability(input, target):
    said = []
    for lib in (mindtorch, torch):
        with pytest.raises(RuntimeError) as caught:
            lib.nn.functional.binary_cross_entropy(lib.tensor(input), lib.tensor(target))
        said.append(str(caught.value))
    assert said[0] == said[1]
