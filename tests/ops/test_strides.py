"""Elementwise results keep the operands' order of dimensions, as torch's do; and so does what is viewed from them."""
import itertools

import pytest
import torch

import mindtorch


def operands(lib, device):
    def zeros(*shape):
        return lib.zeros(shape).to(device)

    return [zeros(2, 3, 4), zeros(4, 3, 2).permute(2, 1, 0), zeros(3, 2, 4).transpose(0, 1),
            zeros(2, 4, 3).transpose(1, 2), zeros(4, 2, 6)[:, :, ::2].permute(1, 2, 0), zeros(1, 3, 1).expand(2, 3, 4),
            zeros(4, 3).t(), zeros(4), zeros(1, 1, 4), zeros(2, 1, 4), zeros(4, 1, 2).permute(2, 1, 0),
            zeros(3, 1).expand(3, 4), zeros(1, 4, 2).permute(2, 0, 1).expand(2, 3, 4), zeros()]


@pytest.mark.quick
def test_two_operands(device):
    pairs = zip(itertools.product(operands(mindtorch, device), repeat=2),
                itertools.product(operands(torch, "cpu"), repeat=2), strict=True)
    compared = 0
    for (a, b), (x, y) in pairs:
        try:
            expected = x + y
        except RuntimeError:
            with pytest.raises(RuntimeError):
                a + b
            continue
        assert (a + b).stride() == expected.stride(), (a.shape, a.stride(), b.shape, b.stride())
        assert (a <= b).stride() == (x <= y).stride()
        compared += 1
    assert compared > 100


@pytest.mark.parametrize("name", ["relu", "neg", "exp", "logical_not", "clone", "double"])
def test_one_operand(device, name):
    for a, x in zip(operands(mindtorch, device), operands(torch, "cpu"), strict=True):
        assert getattr(a, name)().stride() == getattr(x, name)().stride(), (a.shape, a.stride())


@pytest.mark.parametrize("count", [0, 7])
@pytest.mark.filterwarnings("ignore:An output with one or more elements")
def test_out_of_another_shape_gets_the_strides_of_a_new_result(device, count):
    for a, x in zip(operands(mindtorch, device), operands(torch, "cpu"), strict=True):
        if a.numel() != count:
            ours = mindtorch.exp(a, out=mindtorch.zeros(count, dtype=mindtorch.float64, device="cpu").to(device)
                                 if device == "cpu" else mindtorch.zeros(count, device=device))
            theirs = torch.exp(x, out=torch.zeros(count, dtype=torch.float64))
            assert ours.stride() == theirs.stride(), (a.shape, a.stride())
            assert ours.tolist() == theirs.tolist()


def test_three_operands(device):
    for a, x in zip(operands(mindtorch, device), operands(torch, "cpu"), strict=True):
        assert mindtorch.where(a > 0, a, a).stride() == torch.where(x > 0, x, x).stride(), (a.shape, a.stride())


@pytest.mark.parametrize(("sizes", "strides", "shape"), [
    ((3, 1), (1, 3), (3, 1, 1)), ((1, 1), (1, 6), (-1,)), ((2, 2, 1), (2, 1, 0), (2, 2, 1, 1)),
    ((3, 3, 1), (3, 1, 3), (1, 1, 3, 3, 1)), ((1, 1, 1, 1), (0, 3, 1, 0), (1, 1, 1)),
    ((2, 1, 3), (3, 7, 1), (2, 1, 3))])
def test_a_view_keeps_the_stride_of_a_last_dimension_of_size_1(device, sizes, strides, shape):
    ours, theirs = (lib.zeros(64).to(place).as_strided(sizes, strides).view(shape)
                    for lib, place in ((mindtorch, device), (torch, "cpu")))
    assert ours.stride() == theirs.stride()


@pytest.mark.parametrize("in_dim", [0, 1, -1])
@pytest.mark.parametrize("order", [(1, 0, 2), (2, 1, 0), (0, 1, 2)])
@pytest.mark.parametrize("size", [(1, 3, 2), (2, 1, 3), (1, 1, 3), (2, 3, 4)])
def test_expand_under_vmap(device, size, order, in_dim):
    def strides(lib, place):
        x = lib.zeros(size).to(place).permute(order)
        made = lib.vmap(lambda x: x.unsqueeze(0).expand(2, *x.shape), in_dims=in_dim)(x)
        return made.stride(), made.double().stride() if lib is torch or place == "cpu" else made.half().stride()
    assert strides(mindtorch, device) == strides(torch, "cpu")
