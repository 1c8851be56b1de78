"""conj, _neg_view, and views of them: the bits, the elements, writes both ways, gradients; beside torch."""
import copy
import io
import pickle

import numpy as np
import pytest
import torch as real_torch

import mindtorch as torch
from mindtorch._subclasses import FakeTensorMode

DEVICES = ("cpu", "npu")
ELEMENTS = [[1 + 2j, 3 - 1j], [0.5j, 2 - 3j]]


def described(value):
    """A value for comparison: of a tensor its dtype, shape, strides, bits and elements."""
    if isinstance(value, (torch.Tensor, real_torch.Tensor)):
        value = value.detach()
        return (str(value.dtype), tuple(value.shape), value.stride(), value.is_conj(), value.is_neg(), value.tolist())
    if isinstance(value, (list, tuple)):
        return [described(each) for each in value]
    if isinstance(value, np.ndarray):
        return "array", value.tolist()
    return value


def outcome(function, library, device):
    """What the function returns for a complex tensor, described, and that tensor afterwards; or its error."""
    x = library.tensor(ELEMENTS, device=device)
    try:
        return described(function(library, x)), described(x)
    except (RuntimeError, TypeError, BufferError) as error:
        return type(error), str(error)


def check_beside_torch(function, device):
    assert outcome(function, torch, device) == outcome(function, real_torch, "cpu")


VIEWS = {
    "conj": lambda t, x: x.conj(), "twice": lambda t, x: x.conj().conj(), "mH": lambda t, x: x.mH,
    "H": lambda t, x: x.H, "adjoint": lambda t, x: x.adjoint(), "real": lambda t, x: x.conj().real,
    "imag": lambda t, x: x.conj().imag, "imag_of_mH": lambda t, x: x.mH.imag, "neg_view": lambda t, x: t._neg_view(x),
    "neg_view_of_imag": lambda t, x: x.imag._neg_view(), "conj_of_neg_view": lambda t, x: x._neg_view().conj(),
    "imag_of_neg_view": lambda t, x: x._neg_view().imag, "select": lambda t, x: x.conj()[0],
    "view": lambda t, x: x.conj().view(4), "unbind": lambda t, x: x.conj().unbind(), "T": lambda t, x: x.conj().T,
    "split": lambda t, x: x.conj().split(1), "expand": lambda t, x: x.conj().expand(2, 2, 2),
    "as_strided": lambda t, x: x.conj().as_strided((2,), (2,), 1), "detach": lambda t, x: x.conj().detach(),
    "data": lambda t, x: x.conj().data, "contiguous": lambda t, x: x.conj().contiguous(),
    "same dtype": lambda t, x: x.conj().to(x.dtype), "conj of real": lambda t, x: x.real.conj(),
    "view_as_complex": lambda t, x: t.view_as_complex(t.stack([x.real, x.imag], -1)._neg_view()),
    "parameter": lambda t, x: t.nn.Parameter(x.conj()), "aten": lambda t, x: t.ops.aten._conj.default(x),
}
COPIES = {
    "clone": lambda t, x: x.conj().clone(), "resolve_conj": lambda t, x: x.conj().resolve_conj(),
    "resolve_neg": lambda t, x: (x.conj().imag.resolve_neg(), x.conj().resolve_neg().is_conj()),
    "reshape": lambda t, x: x.conj().T.reshape(4), "to": lambda t, x: x.conj().to(t.complex128),
    "to_real": lambda t, x: x.conj().imag.to(t.int32), "to_bool": lambda t, x: x.conj().imag.bool(),
    "mul": lambda t, x: x.conj() * 2, "mm": lambda t, x: x.mH @ x, "cat": lambda t, x: t.cat([x.conj(), x]),
    "stack": lambda t, x: t.stack([x, x.conj()]), "index": lambda t, x: x.conj()[x.abs() > 2.5],
    "where": lambda t, x: t.where(x.real > 1, x.conj(), x), "max": lambda t, x: x.conj().imag.max(0),
    "zeros_like": lambda t, x: t.zeros_like(x.conj()), "conj_physical": lambda t, x: t.conj_physical(x.conj()),
    "private conj_physical": lambda t, x: t.ops.aten._conj_physical(x.conj()),
    "foreach": lambda t, x: t._foreach_mul([x.conj(), x], [2j, 1.0]), "equal": lambda t, x: t.equal(x.conj(), x),
    "item": lambda t, x: (x.conj()[0, 0].item(), x.conj().imag[0, 0].item(), complex(x.conj()[1, 1])),
    "tolist": lambda t, x: (x.conj().tolist(), x.conj().imag.tolist()), "str": lambda t, x: str(x.conj().cpu()),
    "str_of_imag": lambda t, x: str(x.conj().imag.cpu()), "deepcopy": lambda t, x: copy.deepcopy(x.conj()),
    "forced numpy": lambda t, x: x.conj().imag.numpy(force=True), "fft": lambda t, x: t.fft.fft(x.conj()).is_conj(),
}
WRITES = {
    "mul_": lambda t, x, c: c.mul_(2j), "fill_": lambda t, x, c: c.fill_(2j), "zero_": lambda t, x, c: c.zero_(),
    "add_base": lambda t, x, c: c.add_(x), "mul_of_base": lambda t, x, c: x.mul_(c),
    "copy_": lambda t, x, c: c.copy_(t.arange(4, device=x.device).reshape(2, 2) * 1j),
    "copy_real": lambda t, x, c: c.copy_(t.ones(2, 2, dtype=t.bool, device=x.device)),
    "copy_to_base": lambda t, x, c: x.copy_(c), "copy_from_base": lambda t, x, c: c.copy_(x),
    "copy_bool_to_negative": lambda t, x, c: x.imag._neg_view().copy_(t.tensor([True, False], device=x.device)),
    "set_number": lambda t, x, c: c.__setitem__(0, 5j), "set_tensor": lambda t, x, c: c.__setitem__(0, x[1].clone()),
    "set_mask": lambda t, x, c: c.__setitem__(c.abs() > 2.5, 1j), "set_imag": lambda t, x, c: c.imag.fill_(7.0),
    "add_imag": lambda t, x, c: c.imag.add_(1.0), "slice": lambda t, x, c: c.view(4)[1:3].add_(1j),
    "out": lambda t, x, c: t.mul(x.clone(), 2j, out=c), "out_from_base": lambda t, x, c: t.mul(x, 2j, out=c),
    "index_add_": lambda t, x, c: c.index_add_(0, t.tensor([0, 0], device=x.device), x.clone()),
    "masked_fill_": lambda t, x, c: c.masked_fill_(t.tensor([True, False], device=x.device), 1j),
    "scatter_": lambda t, x, c: c.scatter_(0, t.tensor([[0, 1]], device=x.device), 2j),
    "conj_physical_": lambda t, x, c: c.conj_physical_(), "transpose_": lambda t, x, c: c.transpose_(0, 1),
    "set_data": lambda t, x, c: setattr(x, "data", c), "version": lambda t, x, c: (c.mul_(2)._version, x._version),
    "resized_out": lambda t, x, c: t.add(x, 1j, out=t.empty(0, dtype=x.dtype, device=x.device).conj()),
    "two_outs": lambda t, x, c: t.max(c.imag, 0, out=(t.zeros(2, device=x.device)._neg_view(),
                                                      t.zeros(2, dtype=t.long, device=x.device))),
}
REFUSED = {
    "numpy": lambda t, x: x.cpu().conj().numpy(), "numpy of imag": lambda t, x: x.cpu().conj().imag.numpy(),
    "array": lambda t, x: np.asarray(x.cpu().conj()), "view_as_real": lambda t, x: t.view_as_real(x.conj()),
    "view": lambda t, x: x.conj().view(t.float32), "view of imag": lambda t, x: x.conj().imag.view(t.int32),
    "dlpack": lambda t, x: x.conj().__dlpack__(), "no tensor": lambda t, x: t.is_conj(3),
    "no tensor, resolved": lambda t, x: t.resolve_neg(3), "no tensor, negative": lambda t, x: t._neg_view(3),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", [*VIEWS, *COPIES, *REFUSED])
def test_as_torch(name, device):
    check_beside_torch((VIEWS | COPIES | REFUSED)[name], device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WRITES)
def test_writes(name, device):
    def write(library, x):
        c = x.conj()
        result = WRITES[name](library, x, c)
        return result, c, c.data_ptr() == x.data_ptr()
    check_beside_torch(write, device)


@pytest.mark.parametrize("device", DEVICES)
def test_shares_memory(device):
    x = torch.tensor(ELEMENTS, device=device)
    c = x.conj()
    assert c.data_ptr() == x.data_ptr()
    assert c._base is x
    assert not c.is_set_to(x)
    assert c.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


@pytest.mark.parametrize("part", [lambda x: x.conj(), lambda x: x.conj().imag, lambda x: x._neg_view().conj()])
def test_copies_and_files(part):
    def saved(library, x):
        file = io.BytesIO()
        library.save(part(x), file)
        file.seek(0)
        return library.load(file, weights_only=True)
    check_beside_torch(saved, "cpu")
    check_beside_torch(lambda library, x: pickle.loads(pickle.dumps(part(x))), "cpu")
    check_beside_torch(lambda library, x: copy.copy(part(x)), "cpu")


def test_reads_what_torch_saved():
    file = io.BytesIO()
    real_torch.save([real_torch.tensor(ELEMENTS).conj(), real_torch.tensor(ELEMENTS).conj().imag], file)
    file.seek(0)
    conjugate, imaginary = torch.load(file)
    assert conjugate.is_conj()
    assert imaginary.is_neg()
    assert torch.equal(conjugate, torch.tensor(ELEMENTS).conj())
    assert torch.equal(imaginary, torch.tensor(ELEMENTS).conj().imag)


def test_hostile_mark():
    with pytest.raises(RuntimeError, match="has no conjugate"):
        torch._utils._rebuild_tensor_v2(torch.zeros(2), 0, (2,), (1,), False, None, {"conj": True})


WITH_GRADIENTS = {
    "conj": lambda t, x, w: x.conj() * w, "mH": lambda t, x, w: x.mH @ w,
    "imag": lambda t, x, w: x.conj().imag * w.real,
    "neg_view": lambda t, x, w: x._neg_view() * w, "abs": lambda t, x, w: x.conj().abs(),
    "solve": lambda t, x, w: t.linalg.solve(x.mH, w), "chain": lambda t, x, w: (x.conj() @ w).conj().T @ x,
    "foreach": lambda t, x, w: t._foreach_mul([x.conj()], [w])[0],
    "as_complex": lambda t, x, w: t.view_as_complex(t.view_as_real(x)).conj() * w,
    "as_real": lambda t, x, w: t.view_as_real(x.conj().resolve_conj()) * 2,
}
WITH_WRITES = {
    "mul": lambda y, w: y.conj().mul_(w), "slice": lambda y, w: y.conj()[0].mul_(w[1]),
    "imag": lambda y, w: y.conj().imag.mul_(w.real), "row_of_imag": lambda y, w: y.conj().imag[0].mul_(3.0),
    "copy": lambda y, w: y.conj().copy_(y * w), "set": lambda y, w: y.conj().__setitem__(0, (y * w)[1]),
    "negative": lambda y, w: y._neg_view()[0].add_(w[1]), "adjoint": lambda y, w: y.mH[0].mul_(w[1]),
}


def gradient(function, library, device):
    x = library.tensor(ELEMENTS, device=device, requires_grad=True)
    w = library.tensor([[1j, 2], [3, 1 - 1j]], device=device)
    result = function(library, x, w)
    total = result.sum()
    (total.real if total.is_complex() else total).backward()
    return x.grad.resolve_conj().tolist(), result.detach().resolve_conj().resolve_neg().tolist()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WITH_GRADIENTS)
def test_gradients(name, device):
    ours, theirs = (gradient(WITH_GRADIENTS[name], library, where)
                    for library, where in ((torch, device), (real_torch, "cpu")))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WITH_WRITES)
def test_gradients_of_writes(name, device):
    def write(library, x, w):
        y = x * w
        WITH_WRITES[name](y, w)
        return y * w

    def look_afterwards(library, x, w):
        y = x * 1
        views = y.conj(), y.conj().imag
        WITH_WRITES[name](y, w)
        return views[0] * views[0] + views[1]
    for function in (write, look_afterwards):
        ours, theirs = (gradient(function, library, where)
                        for library, where in ((torch, device), (real_torch, "cpu")))
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_leaf(device):
    x = torch.tensor(ELEMENTS, device=device).conj().requires_grad_()
    (x.view(4)[1:] * x.view(4)[1:]).sum().abs().backward()
    y = real_torch.tensor(ELEMENTS).conj().requires_grad_()
    (y.view(4)[1:] * y.view(4)[1:]).sum().abs().backward()
    np.testing.assert_allclose(x.grad.tolist(), y.grad.tolist(), rtol=2e-6)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
        x.mul_(2)


def test_gradcheck():
    x = torch.tensor(ELEMENTS, dtype=torch.complex128, requires_grad=True)

    def write(x):
        y = x * 1
        y.conj()[0].mul_(x[1])
        return y * x
    assert torch.autograd.gradcheck(lambda x: x.conj() * x.mH.imag, x)
    assert torch.autograd.gradgradcheck(lambda x: x.conj() * x.mH.imag, x)
    assert torch.autograd.gradcheck(lambda x: x.conj().imag._neg_view().sin(), x, check_forward_ad=True,
                                    check_batched_grad=True)
    assert torch.autograd.gradcheck(write, x, check_forward_ad=True)


def test_names_of_nodes():
    x = torch.tensor(ELEMENTS, requires_grad=True)
    assert x.conj().grad_fn.name() == "ConjBackward0"
    assert x._neg_view().grad_fn.name() == "NegViewBackward0"


@pytest.mark.parametrize("device", DEVICES)
def test_vmap(device):
    x = torch.tensor(ELEMENTS, device=device)
    assert torch.equal(torch.vmap(lambda row: row.conj() * 2)(x), x.conj() * 2)
    assert torch.equal(torch.vmap(lambda row: row.conj().imag)(x), x.conj().imag)
    assert torch.vmap(lambda row: row.conj())(x).is_conj()


def test_modes_see_the_operators():
    def seen(library):
        calls = []

        class Log(library.utils._python_dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                calls.append(str(function))
                return function(*args, **(kwargs or {}))
        x = library.tensor(ELEMENTS)
        with Log():
            x.conj() * 2
            part = x.mH.imag
        return calls, part.is_neg()
    assert seen(torch) == seen(real_torch)


def test_meta_and_fake_tensors():
    x = torch.empty(2, 3, dtype=torch.complex64, device="meta")
    assert x.conj().is_conj()
    assert x.conj().imag.is_neg()
    assert not (x.conj() * 2).is_conj()
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(torch.tensor(ELEMENTS).conj())
        assert fake.is_conj()
        assert not (fake * 2).is_conj()
        assert not fake.conj().is_conj()
        assert mode.from_tensor(torch.tensor(ELEMENTS).conj().imag).is_neg()


@pytest.mark.parametrize("to_sparse", [lambda x: x.to_sparse(), lambda x: x.to_sparse_csr()])
def test_sparse_tensors_have_no_bits(to_sparse):
    x = to_sparse(torch.tensor(ELEMENTS))
    assert not x.conj().is_conj()
    assert not x.is_neg()
    assert x.resolve_conj() is x
    assert x.resolve_neg() is x
    assert torch.equal(x.conj().to_dense(), torch.tensor(ELEMENTS).conj())


def test_pinned_and_shared():
    x = torch.tensor(ELEMENTS).conj()
    assert torch.equal(x.pin_memory(), x)
    assert torch.equal(x.clone().conj().share_memory_(), x.conj())


def test_set_conj():
    x = torch.tensor(ELEMENTS)
    torch._C._set_conj(x, True)
    torch._C._set_neg(x, True)
    assert x.is_conj()
    assert x.is_neg()
    assert x[0, 0].item() == -1 + 2j
    torch._C._set_conj(x, False)
    torch._C._set_neg(x, False)
    assert x.tolist() == ELEMENTS
