"""Repeating, turning, splitting, joining, picking and memory formats against torch, on both devices."""
import pytest
from oracle import check, expressions

import mindtorch as torch

VALUES = """
a.repeat(2, 1, 3) | a.repeat((1, 2)) | torch.tile(a, (2,)) | a.tile(2, 2, 1) | torch.repeat_interleave(a, 2)
torch.repeat_interleave(a, 2, 0) | c.repeat_interleave(torch.tensor([1, 0, 2], device=dev), 1)
torch.flip(c, (0, -1)) | a.flip(1) | a.flip(dims=(0,)) | a.fliplr() | a.flipud() | torch.roll(a, 1)
torch.roll(c, (1, -2), (0, 2)) | a.roll(4, 1) | torch.rot90(a) | torch.rot90(c, -1, (0, 2)) | a.rot90(2) | a.rot90(4)
a.tril() | a.triu(1) | c.tril(-1) | e.triu() | torch.tril_indices(3, 4, 1) | torch.triu_indices(4, 3, -1)
torch.triu_indices(2**62, 1) | torch.tril_indices(1, 2**62) | torch.tril_indices(2**62, 0)
torch.triu_indices(0, 2**62) | torch.vander(i[0], 5) | torch.vander(a[0], 4, increasing=True)
torch.vander(i[0], 0) | torch.linalg.vander(i, N=4)
torch.diag(a) | torch.diag(a[0], -1) | torch.diag_embed(a) | torch.diag_embed(a, 1, 0, 2) | torch.diagflat(a, 1)
torch.block_diag(a, a[0]) | torch.meshgrid(a[0], a[1], indexing='ij')[1].clone()
torch.meshgrid(a[0], a[:, 0], indexing='xy')[0].clone() | torch.atleast_1d(z) | torch.atleast_2d(a[0])
torch.atleast_3d(a).clone() | torch.hstack((a, a)) | torch.vstack((a, a[0])) | torch.dstack((a, a))
torch.column_stack((a, a[:, 0])) | c.tensor_split(3, 2)[1] | c.tensor_split((1, 3), 2)[2] | c.hsplit(3)[1]
c.vsplit(2)[1] | c.dsplit((1,))[1] | c.unfold(2, 3, 1).clone() | torch.constant_pad_nd(a, (1, -1, 0, 2), 5)
torch.eye(2, 3) | torch.eye(3) | torch.take(a, torch.tensor([[0, -1]], device=dev))
a.put(torch.tensor([1, 3], device=dev), a[0, :2]) | a.masked_select(a > 2) | a.masked_scatter(a > 2, a + 10)
torch.take_along_dim(a, torch.tensor([[-1]], device=dev), 1)
a.index_copy(1, torch.tensor([2, 0], device=dev), a[:, :2]) | a.index_fill(0, torch.tensor([1], device=dev), 9)
a.select_scatter(a[:, 0], 1, 2) | a.slice_scatter(a[:, :2], 1, 0, 3, 2) | a.diagonal_scatter(a[:, 0])
torch.stack(torch.unravel_index(i, (2, 3))) | torch.nonzero(a).tolist() | torch.broadcast_shapes((2, 1), (3,), 1)
torch.argwhere(a > 2).tolist() | torch.nonzero(a, as_tuple=True)[1].clone() | torch.permute_copy(c, (2, 0, 1))
torch.transpose_copy(a, 0, 1) | torch.unbind_copy(a)[1] | c[None].half(memory_format=torch.channels_last)
c[None].clone(memory_format=torch.channels_last) | c[None].to(torch.float64, memory_format=torch.channels_last)
torch.repeat_interleave(torch.tensor([1, 2], device=dev)) | c.double().roll(1, 0)
torch.repeat_interleave(repeats=torch.tensor([2], device=dev)) | a.to(torch.complex64).repeat_interleave(2, 1)
a.double().repeat_interleave(torch.tensor([2, 1], device=dev), 0) | a.to(torch.complex64).masked_select(a > 2)
a.to(torch.complex64).masked_scatter(a > 2, a.to(torch.complex64) + 1j)
torch.masked_select(a, a > 2, out=a.new_empty(0))
torch.unique(a % 2, return_inverse=True, return_counts=True)[1] | torch.unique(a % 2, dim=1, return_counts=True)[1]
a.long().unique(return_counts=True)[1] | a.unique_consecutive(return_inverse=True)[1] | torch.unique(a > 2)
c[None].contiguous(memory_format=torch.channels_last) | c[None, None].contiguous(memory_format=torch.channels_last_3d)
"""

ERRORS = """
a.repeat(2) | a.flip((0, 0)) | a[0].fliplr() | z.flipud() | torch.roll(a, (1, 2), (0,)) | a.rot90(1, (0, 0))
a[0].tril() | torch.diag(c) | torch.meshgrid(a[0], indexing='ji') | torch.meshgrid(a[0], i[0], indexing='ij')
torch.meshgrid([], indexing='ij') | torch.meshgrid(z, z.float(), indexing='xy') | torch.tril_indices(3, -1)
torch.triu_indices(-3, 1) | torch.vander(i[0], -1) | torch.tensor_split(i, 0)
a.unfold(0, 3, 1) | a.unfold(0, 1, 0) | torch.eye(-1) | a.take(a) | a.put(i, a[0]) | a.masked_select(a)
a.masked_scatter(a > 2, a[0, :2]) | a.index_copy(0, torch.tensor([0], device=dev), a) | a.index_fill(0, a, 1)
torch.isin(a, True) | torch.isin(a > 2, 1) | torch.isin(1j, a) | torch.isin(a, a > 2) | a.flip()
a.repeat() | a.repeat('x') | torch.repeat_interleave(a, 1.5) | a.repeat_interleave(1.5) | a.repeat_interleave()
torch.repeat_interleave() | torch.unique(a.to(torch.complex64))
torch.unique(a, dim=2) | z.unique(dim=0) | torch.masked_select(a, a > 2, out=i)
torch.constant_pad_nd(a, (1,)) | a.contiguous(memory_format=torch.channels_last)
a.index_reduce(0, torch.tensor([0], device=dev), a, 'sum')
"""


@pytest.mark.quick
@pytest.mark.parametrize("expression", expressions(VALUES) + expressions(ERRORS))
def test_rearranging(expression, device):
    check(expression, device)


def test_gradients_reach_what_was_rearranged(device):
    a = torch.arange(6.0).reshape(2, 3).to(device).requires_grad_()
    result = a.repeat(2, 1).flip(0).roll(1, 1).tril() * 2
    result.sum().backward()
    assert a.grad.sum().item() == 18
    assert a.grad.shape == (2, 3)


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (1, 5), (5, 1), (3, 3), (0, 3), (3, 0)])
@pytest.mark.parametrize("offset", [*range(-6, 7), 2 ** 40, -2 ** 40])
def test_places_of_triangles(shape, offset):
    check(f"[f(*{shape}, {offset}) for f in (torch.tril_indices, torch.triu_indices)]")


@pytest.mark.parametrize("call", [
    lambda x: torch.triu_indices(2 ** 62, 2 ** 62), lambda x: torch.tril_indices(2 ** 62, 1),
    lambda x: torch.triu_indices(1, 2 ** 62), lambda x: torch.tril_indices(2, 2 ** 62, 2 ** 62),
    lambda x: torch.tensor_split(x, 2 ** 62), lambda x: torch.tensor_split(x, 2 ** 45),
    lambda x: torch.tensor_split(x, torch.tensor(2 ** 62)), lambda x: torch.vander(x, 2 ** 45),
    lambda x: torch.vander(x, 2 ** 62), lambda x: torch.linalg.vander(x, N=2 ** 45),
    lambda x: torch.linalg.vander(x, N=2 ** 62)])
def test_what_no_memory_can_hold_is_refused_at_once(call):
    with pytest.raises(RuntimeError, match=r"memory|overflow"):
        call(torch.arange(3))
