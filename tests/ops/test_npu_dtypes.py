"""Dtypes and ranks that CANN does not document for an operator: the NPU computes in a wider dtype, by other operators,
or on views of fewer dimensions."""
from math import inf, nan

import pytest
import torch

import mindtorch

COMPLEX = [3 + 4j, 0, complex(inf, -1), complex(nan, 1), complex(nan, inf)]
MASK = [True, False]


def _embedding(t, device, **options):
    weight = t.ones(4, 3, dtype=t.float64, device=device, requires_grad=True)
    found = t.nn.functional.embedding(t.tensor([[0, 1], [1, 3]], device=device), weight, **options)
    (found * t.arange(12, dtype=t.float64, device=device).reshape(2, 2, 3)).sum().backward()
    return weight.grad


def _interpolate(t, device, dtype, **options):
    image = (t.arange(60) * 37 % 255).reshape(1, 2, 5, 6).to(getattr(t, dtype)).to(device)
    return t.nn.functional.interpolate(image, size=(7, 4), **options)


def _matrices(t, device, dtype, shape, other):
    return [(t.arange(24)[:a * b * c].reshape(a, b, c).squeeze(0) * scale).to(getattr(t, dtype)).to(device)
            for (a, b, c), scale in ((shape, 1), (other, 2))]


def _product(t, device, dtype):
    a, b = _matrices(t, device, dtype, (1, 2, 3), (1, 3, 4))
    return a @ b


def _batches(t, device, dtype):
    a, b = _matrices(t, device, dtype, (2, 2, 3), (2, 3, 4))
    return t.bmm(a, b)


def _addmm(t, device, dtype, beta):
    a, b = _matrices(t, device, dtype, (1, 2, 3), (1, 3, 4))
    return t.addmm(t.full((4,), 2, dtype=a.dtype, device=device), a, b, beta=beta, alpha=3)


CASES = {
    "arange uint8": lambda t, d: t.arange(5, dtype=t.uint8, device=d),
    "arange int16": lambda t, d: t.arange(-3, 5, dtype=t.int16, device=d),
    "linspace int64": lambda t, d: t.linspace(2 ** 40, -7, 20, dtype=t.int64, device=d),
    "linspace complex64": lambda t, d: t.linspace(1, 2 - 3j, 7, device=d),
    "linspace complex128": lambda t, d: t.linspace(1j, 4, 6, dtype=t.complex128, device=d),
    **{f"{name} {other} {dtype}": lambda t, d, name=name, other=other, dtype=dtype: getattr(t, name)(
        t.tensor([1, 2, 40000], device=d).to(getattr(t, dtype)),
        other if isinstance(other, int) else t.tensor(other, device=d).to(getattr(t, dtype)))
        for name in ("eq", "ne") for other in (2, [1, 3, 40000]) for dtype in ("uint16", "uint32", "uint64")},
    **{f"isclose {dtype}": lambda t, d, dtype=dtype: t.isclose(
        t.tensor([1, 2, 40000], device=d).to(getattr(t, dtype)),
        t.tensor([1, 3, 40001], device=d).to(getattr(t, dtype)), rtol=1e-4, equal_nan=True)
        for dtype in ("uint16", "uint32", "uint64")},
    "mask complex128": lambda t, d: t.arange(4, device=d).to(t.complex128)[t.tensor([True, False] * 2, device=d)],
    "masked_fill_ uint8": lambda t, d: t.tensor([1, 250], dtype=t.uint8, device=d).masked_fill_(
        t.tensor(MASK, device=d), 7),
    "masked_fill float64": lambda t, d: t.tensor([1.5, 2], dtype=t.float64, device=d).masked_fill(
        t.tensor(MASK, device=d), 0.1),
    "masked_fill_ float64 tensor": lambda t, d: t.tensor([1.5, 2], dtype=t.float64, device=d).masked_fill_(
        t.tensor(MASK, device=d), t.tensor(0.1, dtype=t.float64)),
    "cosh bfloat16": lambda t, d: t.tensor([1, 2], dtype=t.bfloat16, device=d).cosh(),
    "add_ complex": lambda t, d: t.tensor([1j], device=d).add_(2),
    "abs complex128": lambda t, d: t.tensor(COMPLEX, dtype=t.complex128, device=d).abs(),
    "isinf complex": lambda t, d: t.tensor(COMPLEX, device=d).isinf(),
    "isfinite complex": lambda t, d: t.tensor(COMPLEX, device=d).isfinite(),
    "index complex128": lambda t, d: t.tensor([[1j, 2], [3, 4]], dtype=t.complex128, device=d)[
        :, t.tensor([1, 0], device=d)],
    "any complex": lambda t, d: t.tensor([[1j, 0], [0, 0]], device=d).any(1),
    "all complex": lambda t, d: t.tensor([[1j, 0], [0, 0]], dtype=t.complex128, device=d).all(),
    "erfinv float64": lambda t, d: t.tensor(
        [0, -0.0, 1e-300, 1e-160, 0.1, -0.3, 0.499, 0.5, -0.9, 0.999999, 1 - 2 ** -53, 1, -1, 2, nan], dtype=t.float64,
        device=d).erfinv(),
    "masked_select complex128": lambda t, d: t.masked_select(
        t.tensor([[1 + 2j, 3], [4, 5]], dtype=t.complex128, device=d), t.tensor(MASK, device=d)),
    **{f"multilabel_margin_loss float64 {reduction}": lambda t, d, reduction=reduction:
        t.nn.functional.multilabel_margin_loss(
            t.tensor([[0.1, 0.2, 0.4, 0.8], [1, -1, 0, 2]], dtype=t.float64, device=d),
            t.tensor([[3, 0, -1, 1], [-1, 2, 2, 2]], device=d), reduction=reduction)
        for reduction in ("none", "mean", "sum")},
    "multilabel_margin_loss float64 of one sample": lambda t, d: t.nn.functional.multilabel_margin_loss(
        t.tensor([0.1, 0.2, 0.4], dtype=t.float64, device=d), t.tensor([2, 2, -1], device=d), reduction="none"),
    "ones complex": lambda t, d: t.ones(2, 3, dtype=t.complex64, device=d),
    "cat complex128": lambda t, d: t.cat([t.full((2, 3), 2j, dtype=t.complex128, device=d)] * 2, -1),
    "ceil int32": lambda t, d: t.tensor([1, -1], dtype=t.int32, device=d).ceil(),
    "trunc float64": lambda t, d: t.tensor([1.5, -1.5], dtype=t.float64, device=d).trunc(),
    "round int16": lambda t, d: t.tensor([1, -1], dtype=t.int16, device=d).round(),
    "matmul float64": lambda t, d: _product(t, d, "float64"),
    "matmul int64": lambda t, d: _product(t, d, "int64"),
    "bmm complex128": lambda t, d: _batches(t, d, "complex128"),
    "addmm complex64": lambda t, d: _addmm(t, d, "complex64", 2),
    "addmm float64, beta 0": lambda t, d: _addmm(t, d, "float64", 0),
    "embedding float64": _embedding,
    "embedding float64 by frequency": lambda t, d: _embedding(t, d, padding_idx=0, scale_grad_by_freq=True),
    "bicubic float64": lambda t, d: _interpolate(t, d, "float64", mode="bicubic"),
    "bicubic float64 aligned": lambda t, d: _interpolate(t, d, "float64", mode="bicubic", align_corners=True),
    "tanh complex64": lambda t, d: t.tensor([0.5 + 1j, -3 - 2j, 20], dtype=t.complex64, device=d).tanh(),
    "sigmoid complex128": lambda t, d: t.tensor([0.5 + 1j, -3], dtype=t.complex128, device=d).sigmoid(),
    **{f"{name} float64": lambda t, d, name=name: getattr(t.nn.functional, name)(
        t.tensor([-1e3, -1, -1e-9, 0, 0.4, 3, 1e3, inf, -inf], dtype=t.float64, device=d))
       for name in ("sigmoid", "tanh", "elu", "celu", "leaky_relu", "hardshrink", "softplus", "hardsigmoid")},
    "expm1 float64": lambda t, d: t.tensor([-inf, -50, -1, -1e-12, 0, 1e-9, 2, 800, nan], dtype=t.float64,
                                           device=d).expm1(),
    "expm1 complex128": lambda t, d: t.tensor([1e-9 + 1e-9j, 2 - 3j], dtype=t.complex128, device=d).expm1(),
    "silu float64": lambda t, d: t.nn.functional.silu(t.tensor([-1e3, -1, 0, 2, 1e3], dtype=t.float64, device=d)),
    "sort float64": lambda t, d: t.stack(t.sort(t.tensor(
        [[1.5, -inf, nan, -2], [-1e-300, 1e300, inf, -1e300]], dtype=t.float64, device=d), descending=True)),
    "12 dimensions": lambda t, d: t.arange(288., device=d).reshape(2, 3, 1, 2, 1, 2, 2, 1, 3, 1, 2, 1) * t.arange(
        3., device=d).reshape(3, 1, 1, 1, 1),
    "10 permuted dimensions": lambda t, d: t.arange(1024, device=d).reshape([2] * 10).permute(
        3, 1, 0, 9, 8, 7, 2, 4, 6, 5).contiguous(),
    "sum of 10 dimensions": lambda t, d: t.arange(1024, device=d).reshape([2] * 10).mT.sum(),
    "all of 12 dimensions": lambda t, d: (t.arange(36, device=d).reshape([1, 3, 2] * 2 + [1] * 6) < 36).all(),
    "10 dimensions in place": lambda t, d: t.ones([1, 2] * 5, device=d).fill_(3).mul_(2),
}


@pytest.mark.parametrize("name", CASES)
def test_as_torch(name):
    ours, theirs = CASES[name](mindtorch, "npu"), CASES[name](torch, "cpu")
    assert str(ours.dtype) == str(theirs.dtype)
    torch.testing.assert_close(torch.tensor(ours.tolist(), dtype=theirs.dtype), theirs, equal_nan=True)


FLOAT8 = {
    "fill_": lambda t, x, mask: x.fill_(1.7),
    "full": lambda t, x, mask: t.full((2,), -3.3, dtype=x.dtype, device=x.device),
    "ones_like": lambda t, x, mask: t.ones_like(x),
    "where": lambda t, x, mask: t.where(mask, x, t.zeros_like(x)),
}


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("name", FLOAT8)
def test_floats_of_8_bits(name, dtype):
    ours, theirs = (FLOAT8[name](t, t.tensor([1.0, 2.5], device=d).to(getattr(t, dtype)), t.tensor(MASK, device=d))
                    for t, d in ((mindtorch, "npu"), (torch, "cpu")))
    assert str(ours.dtype) == str(theirs.dtype)
    assert ours.float().tolist() == theirs.float().tolist()


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("aligned", [False, True])
def test_images_of_bytes(mode, aligned):
    """torch rounds its weights to 16 bits."""
    ours = _interpolate(mindtorch, "npu", "uint8", mode=mode, align_corners=aligned)
    theirs = _interpolate(torch, "cpu", "uint8", mode=mode, align_corners=aligned)
    assert ours.dtype is mindtorch.uint8
    assert (torch.tensor(ours.tolist()) - theirs.int()).abs().max() <= 1


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_random_complex(name):
    dtype = getattr(mindtorch, name)
    normal = mindtorch.randn(4000, dtype=dtype, device="npu")
    assert abs(normal.abs().square().mean().item() - 1) < 0.1
    assert abs(normal.mean().item()) < 0.1
    uniform = mindtorch.rand(4000, dtype=dtype, device="npu")
    assert all(part.min() >= 0 and part.max() < 1 for part in (uniform.real, uniform.imag))


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_random_unsigned(name):
    drawn = mindtorch.empty(1000, dtype=getattr(mindtorch, name), device="npu")
    assert set(drawn.random_(3, 6).tolist()) == {3, 4, 5}
    assert max(drawn.random_().tolist()) > 1 << (drawn.itemsize * 8 - 2)
