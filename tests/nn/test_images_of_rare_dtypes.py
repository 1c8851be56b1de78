"""Convolutions, pooling, resizing and folding of dtypes that ACLNN lacks, with first and second derivatives."""
import random

import numpy as np
import pytest
import torch

import mindtorch

TOLERANCE = {"float64": 1e-10, "complex64": 1e-4, "complex128": 1e-10}


def convolution(seed, dtype):
    """The shapes of a random convolution's operands, the function's name, and its options."""
    draw = random.Random(f"{seed} {dtype}")
    dims, groups, transposed = draw.choice([1, 2, 3]), draw.choice([1, 2, 3]), draw.random() < 0.5
    channels, features = groups * draw.choice([1, 2]), groups * draw.choice([1, 2])

    def each(*numbers):
        return [draw.choice(numbers) for _ in range(dims)]

    kernel = each(1, 2, 3)
    options = {"stride": each(1, 2, 3), "padding": each(0, 1, 2), "dilation": each(1, 2), "groups": groups}
    if transposed:
        options["output_padding"] = [draw.randrange(max(pair)) for pair in zip(options["stride"], options["dilation"],
                                                                                strict=True)]
    weight = (channels, features // groups) if transposed else (features, channels // groups)
    shapes = [(draw.choice([1, 2]), channels, *each(5, 6, 7)), (*weight, *kernel), (features,)]
    return shapes, f"conv{'_transpose' * transposed}{dims}d", options


def derivatives(lib, device, dtype, values, call):
    """The result of a call, its gradients, and the gradients of these."""
    operands = [lib.tensor(value, dtype=getattr(lib, dtype), device=device, requires_grad=True) for value in values]
    result = call(lib.nn.functional, *operands)
    first = lib.autograd.grad((result.abs() ** 2).sum(), operands, create_graph=True)
    second = lib.autograd.grad(sum((grad.abs() ** 2).sum() for grad in first), operands)
    return [x.detach().cpu().numpy() for x in (result, *first, *second)]


def assert_as_torch(dtype, shapes, call):
    numbers = np.random.default_rng(1)
    values = [numbers.standard_normal(shape) for shape in shapes]
    if "complex" in dtype:
        values = [value + 1j * numbers.standard_normal(value.shape) for value in values]
    ours, theirs = (derivatives(lib, device, dtype, values, call) for lib, device in ((mindtorch, "npu"),
                                                                                      (torch, "cpu")))
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, TOLERANCE[dtype], TOLERANCE[dtype] * abs(expected).max())


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("seed", range(8))
def test_convolutions(seed, dtype):
    shapes, name, options = convolution(seed, dtype)
    assert_as_torch(dtype, shapes, lambda functional, *operands: getattr(functional, name)(*operands, **options))


@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (7, 4), (1, 2, 3), (4, 3, 1), (2, 5, 6)])
@pytest.mark.parametrize("kind", ["avg", "max"])
def test_adaptive_pooling(kind, sizes):
    name, shape = f"adaptive_{kind}_pool{len(sizes)}d", (2, 3, 5, 4, 6)[:2 + len(sizes)]
    assert_as_torch("float64", [shape], lambda functional, x: getattr(functional, name)(x, sizes))


@pytest.mark.parametrize(("mode", "dims"), [
    ("nearest", 1), ("linear", 1), ("nearest-exact", 1), ("nearest", 2), ("nearest-exact", 2), ("bilinear", 2),
    ("bicubic", 2), ("nearest-exact", 3), ("trilinear", 3)])
@pytest.mark.parametrize("size", [7, 3])
def test_interpolate(mode, dims, size):
    assert_as_torch("float64", [(2, 3, 5, 4, 6)[:2 + dims]],
                    lambda functional, x: functional.interpolate(x, size=(size,) * dims, mode=mode))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_fold(dtype):
    assert_as_torch(dtype, [(2, 12, 9)], lambda functional, x: functional.fold(x, (4, 5), (2, 3), 1, 1, (2, 2)))
