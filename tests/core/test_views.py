"""Views: shapes, strides, offsets and errors as torch has them, on both devices; memory shared, never copied."""
import oracle
import pytest
from oracle import check, expressions

import mindtorch as torch

VALUES = """
a.view(3, 2) | a.view(6) | a.view(-1) | a.view(2, -1, 1) | a.view((3, 2)) | a.view(size=(3, 2)) | a.view(torch.int32)
a.view(torch.int16) | torch.zeros(3, 4).view(torch.float64) | z.view(1, 1) | a.t().view(3, 2) | a[:, :2].view(2, 2, 1)
e.view(3, 0) | e.view(0, 3) | e.view(-1, 3) | c.permute(1, 0, 2).view(3, 2, 2, 2) | c[:, ::2].view(2, 2, 2, 2)
a.reshape(3, 2) | a.t().reshape(6) | a.t().reshape(3, 1, 2) | torch.reshape(a, (3, 2)) | e.reshape(0) | z.reshape(())
c.permute(2, 0, 1).reshape(4, 6) | a.view_as(a.t().reshape(3, 2)) | a.reshape_as(i.view(3, 2)) | torch.ravel(a.t())
a.flatten() | c.flatten(1) | c.flatten(0, 1) | c.transpose(0, 1).flatten() | z.flatten() | c.flatten(1, 1)
torch.flatten(a, start_dim=0, end_dim=1) | c.unflatten(-1, (2, -1)) | a.unflatten(1, [3]) | c.unflatten(0, (1, 2))
a.transpose(0, 1) | a.transpose(-1, -2) | torch.transpose(a, dim0=0, dim1=1) | z.transpose(0, -1) | a.swapaxes(0, 1)
a.t() | z.t() | a[0].t() | a.T | a.mT | c.mT | a.H | a.adjoint() | a.transpose(np.int64(1), 0) | a.permute(1, 0)
a.permute((1, 0)) | a.permute(dims=(1, 0)) | torch.permute(c, (2, 0, 1)) | c.permute(-1, 0, 1) | c.movedim(0, -1)
c.movedim((0, 1), (2, 0)) | torch.movedim(a, source=0, destination=1) | z.movedim((), ()) | c[:1].squeeze()
c[:1].squeeze(0) | c.squeeze(0) | c[:1, :, :1].squeeze((0, 2)) | z.squeeze(0) | z.squeeze((0,)) | a.unsqueeze(0)
a.unsqueeze(1) | a.unsqueeze(-1) | z.unsqueeze(0) | a.t().unsqueeze(1) | e.unsqueeze(1) | a.expand(4, 2, 3)
a.expand(4, -1, 3) | z.expand(2, 3) | z.expand(1, 1) | a.expand(1, 1, 2, 3) | a[:1].expand(5, 3)
a.expand(size=(2, 3)) | a[:, :1].expand_as(a) | torch.broadcast_to(a, (2, 2, 3)) | a[0].expand(0, 3) | a.select(0, -1)
torch.select(a, dim=1, index=1) | c.select(1, 2) | a.narrow(0, 1, 1) | a.narrow(1, -2, 2) | a.narrow(0, 2, 0)
torch.narrow(a, 0, torch.tensor(0), 1) | a.unbind() | c.unbind(1) | e.unbind() | torch.unbind(a, dim=1) | c.split(2, 2)
c.split(3, 2) | c.split([1, 2], 1) | torch.split(a, split_size_or_sections=1, dim=0) | e.split(0) | e.split(2)
a.split(5) | torch.arange(140).split([2] * 70) | torch.arange(10).chunk(4) | e.chunk(3)
torch.chunk(input=a, chunks=2) | c.chunk(3, -1) | a.split_with_sizes([1, 1]) | a.diagonal() | a.diagonal(1)
a.diagonal(-1, 1, 0) | a.diagonal(5) | c.diagonal(1, 0, 2) | c.diagonal(-1, -1, -2) | a.as_strided((2, 2), (1, 1))
a.as_strided((2, 2), (1, 2), 1) | a.detach()
a.squeeze_(0).unsqueeze_(0).transpose_(0, 1) | a.t_() | a.data | a.resize_(3, 1)
a.view((1,) * 8 + (2, 3)) | a.view((1,) * 8 + (2, 3)).resize_(3, 1) | a.resize_((1,) * 10 + (6,))
a.resize_((1,) * 9 + (2, 3)).resize_((1,) * 11 + (5,)) | a.view((1,) * 8 + (6,)).squeeze_()
"""

ERRORS = """
a.view(-1, -1) | a.view(-1, 4) | a.view(7) | a.t().view(6) | a.view(-2, 3) | e.view(-1, 0) | a.view('x') | a.view(2.5)
a.view() | a.view(2, torch.int32) | a.view(torch.float64) | z.view(torch.int32) | a.t().view(torch.int64)
a.reshape(4, 2) | a.reshape(-1, 0) | a.reshape(-3, 1) | a.reshape(()) | a.reshape('x') | a.reshape()
a.reshape(2, 'x') | a.flatten(1, 0) | a.flatten(0, 5) | a.unflatten(1, (2, 2)) | a.unflatten(1, (-1, 2))
a.unflatten(1, ()) | a.unflatten(5, (1, 3)) | a.unflatten(1, 'x') | a.transpose(0, 5) | a.transpose('x', 1)
a.transpose(True, 0) | c.t() | c.H | a[0].mT | a.permute(0) | a.permute(0, 0) | a.permute(0, 3) | a.permute()
a.movedim(0, 5) | a.movedim((0, 1), (0,)) | a.movedim((0, 0), (0, 1)) | a.movedim((0, 1), (1, 1)) | a.movedim('x', 0)
a.squeeze(5) | a.squeeze((0, 0)) | a.squeeze('x') | z.unsqueeze(2) | a.unsqueeze(5) | a.unsqueeze(-4) | a.expand(3, 3)
a.expand(3) | a.expand(-1, 2, 3) | a.expand(2, -2) | a.expand(2, 1) | a.expand('x') | a.expand()
a.expand_as(torch.zeros(3, 3)) | a.view_as(3) | a.select(5, 0) | a.select(0, 5) | a.select(0, -3) | z.select(0, 0)
a.narrow(0, 3, 1) | a.narrow(0, 1, 5) | a.narrow(0, 0, -1) | z.narrow(0, 0, 1) | a.narrow(0, -5, 1) | a.unbind(5)
z.unbind() | a.split(0) | a.split(-1) | a.split(2, 5) | a.split([1, 1], 1) | a.split([4, -1], 1) | z.split(1)
a.split('x') | a.split([1, 'x']) | a.chunk(0) | a.chunk(2, 5) | z.chunk(2) | a.diagonal(0, 0, 0) | z.diagonal()
a.as_strided((2, 2), (1, 1), 5) | a.as_strided((2, 2), (1, -1)) | c.T | z.T | z.mT
"""


@pytest.mark.quick
@pytest.mark.parametrize("expression", expressions(VALUES))
def test_view(expression, device):
    check(expression, device)


@pytest.mark.quick
@pytest.mark.parametrize("expression", expressions(ERRORS))
def test_view_error(expression, device):
    check(expression, device)


@pytest.mark.parametrize("view", [
    lambda t: t.view(6), lambda t: t.reshape(3, 2), lambda t: t.t(), lambda t: t.permute(1, 0), lambda t: t[1],
    lambda t: t[:, ::2], lambda t: t.unsqueeze(0), lambda t: t[:1].squeeze(0), lambda t: t.expand(3, 2, 3),
    lambda t: t.narrow(1, 1, 2), lambda t: t.flatten(), lambda t: t.unbind(1)[0], lambda t: t.split(1)[1],
    lambda t: t.diagonal(), lambda t: t.detach(), lambda t: t.T, lambda t: t.view(torch.int32)])
def test_views_share_the_storage(view, device):
    base = torch.zeros(2, 3, device=device)
    shown = view(base)
    assert shown.untyped_storage() == base.untyped_storage()
    if shown.numel() <= base.numel():          # an expanded tensor cannot be written to
        before = base._version
        shown[...] = 1
        assert shown._version == base._version == before + 1
        assert base.sum().item() != 0


def test_tensors_of_many_dimensions(device):
    base = torch.arange(2, device=device).view([1] * 20 + [2])
    assert base.dim() == 21
    assert base.transpose(0, 20).shape == (2, *[1] * 20)
    assert base.squeeze().tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="at most 64 are supported"):
        base.view([1] * 64 + [2])


@pytest.mark.parametrize("geometry", [
    ((2,), (2 ** 63 - 1,)), ((2 ** 62,), (4,)), ((2,), (1,), 2 ** 62), ((2 ** 40, 2 ** 40), (0, 0)), ((2,), (2 ** 62,)),
    ((2,), (3,)), ((3,), (1,), 1), ((), (), 3), ((0,), (2 ** 62,)), ((2, 2), (1, 1)), ((), (), 2), ((3, 4), (1, 0)),
])
def test_as_strided_stays_in_the_storage(geometry, device):
    """Whatever would overflow on the way to the last element."""
    found = []
    for lib, where in ((oracle.torch, "cpu"), (torch, device)):
        try:
            found.append(tuple(lib.as_strided(lib.zeros(3, device=where), *geometry).shape))
        except RuntimeError as error:
            found.append(str(error))
    assert found[0] == found[1]


ADJOINTS = """
x.H | x.mH | x.adjoint() | torch.adjoint(x) | x.mT | x[None].mH | x[None].adjoint().shape | x[0].H | x[0].mH
x[0].adjoint() | x[None].H | x[0, 1].adjoint() | x[0, 1].H | x[0, 1].mH | x.real.H | x.real.mH | x.real[0].mH
x.real[0].adjoint() | x.real[None].mH | x @ x.mH | x.H @ x
torch.autograd.grad((x.requires_grad_().mH * 2j).real.sum(), x)[0]
"""


@pytest.mark.parametrize("expression", expressions(ADJOINTS))
def test_adjoint(expression):
    check(f"(lambda x: {expression})(torch.arange(6.).view(2, 3) * (1 + 2j))")


def test_adjoint_on_the_device(device):
    x = torch.arange(6.0).view(2, 3) * (1 + 2j)
    assert x.to(device).mH.cpu().tolist() == x.mH.tolist() == x.conj().T.tolist()


@pytest.mark.parametrize("expression", expressions("""
a.T.reshape(-1)._is_view() | a.T.flatten()._is_view() | a.flatten()._is_view() | a.ravel()._is_view()
a[:, 0].ravel().stride() | a[:, ::2].ravel().stride() | a[:, 0].ravel()._is_view() | a[:, 0].flatten().stride()
a.resize_(2, 1)._version | a.resize_(2, 3)._version | a.resize_as_(a.t())._version | a.t().resize_(3, 2).stride()
torch.tensor_split(a, torch.tensor(1.5)) | torch.tensor_split(a, torch.tensor([[1]])) | a.new_empty_strided((2,), ())
torch.tensor_split(a, torch.tensor([1, 2]), 1) | torch._neg_view(a) | a._neg_view()
"""))
def test_copies_are_no_views(expression, device):
    check(expression, device)


@pytest.mark.parametrize("view", [
    lambda t, x: x[0], lambda t, x: x.t()[1:], lambda t, x: x.expand(2, 2, 3), lambda t, x: x.clone(),
    lambda t, x: x.unfold(1, 2, 1)])
def test_functions_of_views(view):
    """_view_func gives the view of another base, _rev_view_func_unsafe the base of another view."""
    def outcome(t):
        x = t.arange(6.).view(2, 3) + 1
        y = view(t, x)
        found = [y._view_func(x + 1), y._view_func(t.zeros(5)), y._view_func_unsafe(x - 1)]
        found = [None if each is None else (each.tolist(), each.stride()) for each in found]
        if y._base is not None and y.dtype == x.dtype:
            back = y._rev_view_func_unsafe(y.detach())
            found.append((back.tolist(), back.stride()))
        return found
    with oracle.torch.autograd._force_original_view_tracking(True):
        expected = outcome(oracle.torch)
    assert outcome(torch) == expected


def test_functions_of_conjugate_views():
    x = torch.tensor([1 + 1j, 2 - 3j])
    assert x.conj()._view_func(x + 1).tolist() == [2 - 1j, 3 + 3j]
    assert torch.view_as_real(x)._view_func(x + 1).tolist() == [[2, 1], [3, -3]]
    negated = x.conj().imag._view_func(x + 1)
    assert negated.is_neg()
    assert negated.tolist() == [-1, 3]
