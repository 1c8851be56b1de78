"""Python numbers beside tensors: what a dtype cannot hold wraps around or is refused, and either operand may be one."""
import operator

import numpy as np
import pytest
import torch
from oracle import check, expressions

import mindtorch

WRAP = """
u == 300 | u != 256 | u < 300 | u <= 511 | u > -1 | u >= 256 | 300 == u | u == -1 | u < -1 | u.eq_(300) | u.lt_(-1)
s == 300 | s == 128 | s < 128 | s < -129 | s >= 255 | s != 255 | w == 2**32 + 1 | w < 2**40 | i == 2**63 | u == 2**63
torch.lt(u, 300) | u == 3.5 | u < 300.0 | u == True | m == 2 | u == torch.tensor(300) | torch.tensor(-1) == u
u + 300 | u * -3 | u - 300 | 300 - u | s + 200 | u + 2**63 | u & 300 | u & -1 | s // 300 | u // 300
torch.add(u, 300, alpha=2) | torch.add(u, u, alpha=-1) | torch.rsub(u, 300) | torch.pow(300, u)
torch.addmm(i, i[:, :2], i, beta=2.5, alpha=1.5) | torch.addmm(w, w[:1, None], w[None], beta=-1.5, alpha=1.5)
a < 2**63 | a == 2**64 - 1 | a + 2**63 | a * (2**64 - 1) | h == 70000 | h * 70000 | a == 1e300 | a.fill_(2**63)
"""
REFUSED = """
u.clamp(-1, 300) | u.clamp(max=300) | s.clamp(-200, 200) | w.clamp(max=2**40) | w.clamp_(max=2**40) | h.clamp(max=1e6)
a.clamp(max=1e39) | i.clamp(max=2**63) | u.clamp(min=-1) | u.pow(300) | s.pow(300) | i.pow(2**63) | s.pow(-1)
torch.add(u, u, alpha=300) | torch.add(i, i, alpha=2**63) | u.add_(1, alpha=300) | torch.sub(u, 1, alpha=-300)
torch.where(u > 3, u, 300) | torch.where(u > 3, 300, u) | torch.where(u > 3, u, -1) | torch.where(u > 3, 2**63, u)
u.fill_(300) | u.fill_(-1) | u.fill_(-1.0) | u.fill_(255.9) | a.fill_(1e39) | h.fill_(70000) | i.fill_(1j)
i.fill_(2**63) | torch.full((2,), 70000, dtype=torch.float16) | torch.full((2,), 2**63)
torch.full((2,), 1e39, dtype=torch.float32)
u == 2**64 | a == 10**30
torch.addmm(a, a[:, :2], a, alpha=1j) | torch.addmm(a, a[:, :2], a, beta=1e40) | torch.addmm(i, i[:, :2], i, beta=1e30)
torch.addmm(a, a[:, :0], e, beta=1j) | torch.addmm(h[:, None], h[:, None], h[None, :1], alpha=1e40)
torch.addmm(a + 0j, a[:, :2] + 0j, a + 0j, alpha=1e40j) | a.addmm_(a[:, :2].clone(), a.clone(), beta=1j)
torch.addmv(a[:, 0], a, a[0], alpha=1e40) | torch.addmv(h[:1], h[None], h, beta=1e5)
torch.addbmm(a, a[None, :, :2], a[None], beta=1j) | torch.baddbmm(a, a[None, :, :2], a[None], alpha=1e40)
torch.addr(a, a[:, 0], a[0], beta=1j) | torch.addr(i, i[:, 0], i[0], beta=1.5) | torch.addr(i, i[:, 0], i[0], alpha=1j)
torch.constant_pad_nd(a, (1, 1), 1j) | torch.constant_pad_nd(u, (-1, 1), 300) | F.pad(u, (1, 1), value=-1)
F.pad(h, (1, 0), value=-1e9) | F.pad(a, (1, 0), value=1j) | F.pad(i, (1, 0), value=float("nan"))
torch.addr(i, i[:, 0], i[0], beta=True) | a[0, :0].exponential_(-1) | u.scatter(0, z.reshape(1) - 5, 300)
"""
# What is not looked at where nothing is computed, and what vanishes.
NOTHING = """
u.scatter(0, i[0, :0], 300) | a[:, :0].cumsum(1, dtype=torch.bool) | a[0, :0].cumprod(0, dtype=torch.bool)
torch.addmm(a, a[:, :0], e, alpha=1e40) | torch.ones(2, dtype=torch.uint8, device="meta").fill_(300).shape
torch.ones(2, device="meta").cumsum(0, dtype=torch.bool).dtype
torch.linalg.matrix_rank(torch.ones(0, 3, 3, device=dev), rtol=a[:, 0])
torch.constant_pad_nd(u, (-1, 0), 300) | torch.constant_pad_nd(u, (1, 1), -1) | F.pad(i, (1, 0), value=2**53 + 1)
F.silu(a[1] * -30) | torch.sigmoid(a[1] * -30)
"""
# Squares that float32 cannot hold.
SPREAD = """
torch.std(torch.tensor([3e38, -3e38], device=dev)) | torch.std(torch.tensor([1e30, -1e30], device=dev))
torch.var(torch.tensor([[1e30, -1e30]], device=dev), 1) | torch.std(torch.tensor([1e-30, -1e-30], device=dev))
torch.std_mean(torch.tensor([[3e38, 3e38]], device=dev), 1)
"""
FIRST = """
torch.add(1, a) | torch.add(1, 2) | torch.add(1.5, i) | torch.add(1j, a) | torch.add(1, a, alpha=2) | torch.add(True, 2)
torch.add(1, 2, alpha=2) | torch.add(1, a, out=a) | torch.add(input=1, other=a) | torch.add(300, u) | torch.add(1, z)
torch.sub(1, a) | torch.sub(5, 2) | torch.sub(1, u) | torch.sub(1, m) | torch.sub(True, a) | torch.subtract(1, a)
torch.mul(2, a) | torch.mul(2, 3) | torch.mul(2.0, u) | torch.mul(True, u) | torch.multiply(2, a) | torch.div(2, w)
torch.div(2, 4) | torch.true_divide(2, w) | torch.div(2, w, rounding_mode="trunc") | torch.floor_divide(7, w)
torch.bitwise_and(3, i) | torch.bitwise_and(300, u) | torch.add(1, None) | torch.add(1, "x") | torch.add("x", 1)
torch.eq(1, a) | torch.lt(1, 2) | torch.maximum(1, a) | torch.max(1, a) | torch.clamp(1, 0, 2) | torch.exp(1)
torch.rsub(1, a) | torch.pow(2, 3) | torch.remainder(7, 3) | torch.bitwise_and(3, 1) | torch.where(m, 1, 2)
"""
RANGES = """
torch.arange(2**62, 2**62 + 3, device=dev) | torch.arange(2**62, 2**62 + 3, 2, device=dev)
torch.arange(2**53 + 1, 2**53 + 4, device=dev) | torch.arange(-2**63, -2**63 + 3, device=dev)
torch.arange(2**62 + 3, 2**62, -2, device=dev) | torch.arange(2**62, 2**62 + 3, dtype=torch.float32, device=dev)
torch.arange(0, 2**62, 2**61, device=dev) | torch.arange(3, 0.5, -1, dtype=torch.int64, device=dev)
torch.arange(0.5, 3.6, 1, dtype=torch.int32, device=dev)
"""


BOUNDS = """
z.clamp(z, i[0].int()) | z.int().clamp(z, i[0].int()) | z.clamp(a[0, 0], i[0]) | z.clamp(a[0, 0], a[0].half())
z.clamp(a[0, 0], i[0].int()) | i[0].int().clamp(z, a[0, 0]) | i[0].int().clamp(z, z) | z.int().clamp(min=i[0].byte())
i[0].byte().clamp(z.int(), a[0].half()) | a[0].half().clamp(a[0, 0].double(), z) | z.clamp(z.int(), z.short())
torch.clamp(z.byte(), max=i[0].short()) | torch.clamp(i[0].short(), z, 9 * z) | torch.clip(z, z, i[0].int())
"""


@pytest.mark.parametrize("expression", expressions(BOUNDS))
def test_dtype_among_bounds(expression):
    """Tensors without dimensions count less than those that have some, wherever among the three they stand."""
    check(expression)


@pytest.mark.parametrize("expression", expressions(WRAP + REFUSED + NOTHING + SPREAD + FIRST + RANGES))
def test_as_torch(expression, device):
    check(expression, device)


@pytest.mark.parametrize("expression", ["e.nonzero()", "(a > 9).nonzero()", "torch.argwhere(a > 9)", "a.nonzero()"])
def test_places_lie_by_columns(expression):
    check(expression)


@pytest.mark.parametrize("array", [np.ones(3), np.float32(1), np.arange(3)])
@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.ge])
def test_arrays_beside_tensors_are_compared_as_in_torch(array, compare):
    """`==` by element either way round; the others raise, but for `!=`, which Python makes of identity."""
    def outcomes(library):
        tensor = library.tensor([1.0, 2.0, 1.0])
        for operands in ((array, tensor), (tensor, array)):
            try:
                result = compare(*operands)
            except TypeError as error:
                yield str(error)
            else:
                yield result.tolist() if isinstance(result, library.Tensor) else result
    assert list(outcomes(mindtorch)) == list(outcomes(torch))
