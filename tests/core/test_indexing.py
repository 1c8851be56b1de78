"""Indexing, read and assignment, as torch has it, on both devices."""
import pytest
import torch as theirs
from oracle import check, expressions

import mindtorch as torch

READS = """
a[0] | a[1] | a[-1] | a[1, 2] | a[-1, -1] | a[:] | a[:, 1] | a[1:] | a[:, ::2] | a[0:1, 1:] | a[5:] | a[-10:10:2]
a[None] | a[:, None] | a[..., None] | z[None] | a[...] | a[..., 0] | a[0, ...] | a[..., ...] | c[1, ..., -1]
c[..., 1:3] | c[:, 1:, ::2] | c[1][2][3] | c[1, 2, 3] | c[None, 1, None, ..., None] | a[()] | z[()] | z[...]
c[0, :, None, 1] | a[torch.tensor(1)] | a[torch.tensor(1), torch.tensor(2)] | a[torch.tensor(1):] | a[np.int64(1)]
e[:, 1] | e[0:0] | a.t()[1] | a.t()[1:, 1] | c.permute(2, 0, 1)[1:, 0] | a[slice(torch.tensor(1), None)] | c[5:]
c[:, 3:]
"""

READ_ERRORS = """
a[2] | a[-3] | a[0, 0, 0] | z[0] | a[5, 0] | a[:, 4] | a[::-1] | a[::0] | a[1.5] | a[torch.tensor(1.)] | a[z]
a[slice('x', None)] | a[10**30] | e[0] | z[:] | z[..., 0] | a[0, 'x'.__class__]
"""

WRITES = """
assigned(a, 0, 5) | assigned(a, (0, 1), 5) | assigned(a, slice(None), 2.5) | assigned(a, 0, True) | assigned(i, 0, 2.7)
assigned(a, 0, torch.ones(3)) | assigned(a, 0, torch.ones(1, 3)) | assigned(a, 0, torch.ones(1, 1, 3))
assigned(a, (slice(None), 1), torch.tensor([7, 8])) | assigned(a, (0, 0), torch.ones(1)) | assigned(z, (), 7)
assigned(z, ..., 7) | assigned(a, 0, torch.tensor(3)) | assigned(a.t(), 1, torch.tensor([9., 8.]))
assigned(c, (slice(None), slice(1, None), slice(None, None, 2)), -1) | assigned(a, ..., 1e30)
assigned(a.bool(), 0, 0.5) | assigned(a.to(torch.complex64), 0, 2j) | assigned(i.to(torch.uint8), 0, -1)
assigned(e, ..., 1) | assigned(u, u > 40, torch.tensor(-1)) | u.index_put((u > 40,), torch.tensor(7.5))
"""

WRITE_ERRORS = """
assigned(a, 0, [1, 2, 3]) | assigned(a, 0, torch.ones(2)) | assigned(a, 0, torch.ones(2, 3)) | assigned(a, 5, 1)
assigned(a, slice(None), torch.ones(3, 3)) | assigned(a, 0, 'x') | assigned(i, 0, 2j)
assigned(a, (0, 0), torch.ones(2)) | assigned(a, 0, np.float32(3)) | assigned(a, 0, np.ones(3)) | assigned(a, 0, None)
assigned(u, u > 300, torch.tensor(-0.5)) | assigned(u, u > 40, torch.tensor([300])) | assigned(u, u > 40, -0.5)
u.index_put((u > 300,), torch.tensor(-0.5)) | assigned(h, h > 9, torch.tensor(1e10))
torch.ones(3).byte().masked_fill_(m.cpu(), torch.tensor(-0.5)) | torch.ones(3).byte().masked_fill(m.cpu(), -0.5)
torch.ones(3).byte().index_fill(0, torch.tensor([1]), torch.tensor(-0.5))
assigned(i.to(torch.uint8), 0, 300) | assigned(i, 0, 1e30) | assigned(i.int(), 0, 2**40) | assigned(i, 0, float('nan'))
a.__delitem__(0)
"""


@pytest.mark.quick
@pytest.mark.parametrize("expression", expressions(READS) + expressions(READ_ERRORS))
def test_read(expression, device):
    check(expression, device)


@pytest.mark.quick
@pytest.mark.parametrize("expression", expressions(WRITES) + expressions(WRITE_ERRORS))
def test_write(expression, device):
    check(expression, device)


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
@pytest.mark.parametrize("expression", expressions("""
assigned(a, torch.tensor(0).byte(), 5) | assigned(a, torch.tensor(1).byte(), 2.5)
assigned(z, torch.tensor(1).byte(), 2)
"""))
def test_write_where_a_byte_is_true(expression, device):
    check(expression, device)


ADVANCED = """
[0, 1] | [[0, 1], [1, 0]] | (0, [1, 2]) | [None, 0] | [True, False] | [] | True | False | torch.tensor(True)
[slice(0, 1)] | (slice(None), [0, 1]) | ([0, 1], [0, 1, 1]) | ([0, 1], [0, 1]) | [-2] | c > 2 | c[:, 0, 0] > 2
np.array([0, 1]) | np.array([True, False]) | (..., [0]) | (None, [0, 1]) | ([0, 1], None) | ([0, 1], None, [0, 1])
(slice(None), 0, [1, 2]) | ([0, 1], slice(None), [1, 2]) | (slice(None), [0, 1], [1, 2])
(slice(0, 2), [0, 1], slice(1, 3)) | range(2) | (0, True) | ([[0], [1]], slice(None), [1, 2])
torch.tensor([0, 1], dtype=torch.int32) | (True, [0, 1]) | (torch.tensor(1), [0, 1])
(slice(None), torch.tensor([True, False, True])) | (slice(None), torch.tensor([True, False, True]), [0, 1])
(torch.tensor([[True, False, True], [True, True, False]]), 1) | torch.zeros(0, dtype=torch.int64) | [Ellipsis, 0]
(torch.zeros(0, dtype=torch.int64), 1) | torch.tensor([[0, 1], [1, 1]]) | torch.tensor([1, -1])
"""

ADVANCED_ERRORS = """
c[torch.tensor([0, 1], dtype=torch.int16)] | c[c.float()] | c[[0], [0], [0], [0]] | c[(c > 2)[:, :2]] | c[{1}]
c['x'] | c[[0, 1], [0, 1, 2]] | c[np.bool_(True)]
"""


@pytest.mark.quick
@pytest.mark.parametrize("index", expressions(ADVANCED))
def test_advanced_index(index, device):
    """Index tensors, masks, lists and arrays: read, and written with a number and with a tensor."""
    for expression in (f"c[{index}]", f"assigned(c, ({index}), 7)", f"assigned(c, ({index}), c[{index}] + 100)"):
        check(expression, device)


@pytest.mark.quick
@pytest.mark.parametrize("expression", expressions(ADVANCED_ERRORS))
def test_advanced_errors(expression, device):
    check(expression, device)


def test_index_out_of_range():
    a = torch.arange(12).reshape(3, 4)
    for call in (lambda: a[[3]], lambda: a[:, [-5]], lambda: a[[0, 5], [0, 1]]):
        with pytest.raises(IndexError, match=r"index -?\d is out of bounds for dimension [01] with size [34]"):
            call()


def test_gradients_of_advanced_indices(device):
    """What is picked twice gets both gradients; what is overwritten gets none."""
    a = torch.arange(6.0).reshape(2, 3).to(device).requires_grad_()
    picked = a[[0, 0, 1], [1, 1, 2]]
    (picked * torch.tensor([1.0, 2.0, 4.0], device=device)).sum().backward()
    assert a.grad.tolist() == [[0, 3, 0], [0, 0, 4]]
    values = torch.ones(2, device=device).requires_grad_()
    b = a * 2
    b[:, 1][[0, 1]] = values
    b[b > 8] = 0
    gradient, of_values = torch.autograd.grad(b.sum(), (a, values))
    assert gradient.tolist() == [[2, 0, 2], [2, 0, 0]]
    assert of_values.tolist() == [1, 1]


def test_accumulation(device):
    a = torch.zeros(3, device=device)
    index = torch.tensor([0, 0, 2], device=device)
    a.index_put_((index,), torch.tensor(1.0, device=device), accumulate=True)
    a[index] += 5
    assert a.tolist() == [7, 0, 6]


def test_a_write_through_an_expanded_view_is_refused(device):
    expanded = torch.ones(1, 3, device=device).expand(2, 3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        expanded[0:] = 1
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        expanded.copy_(torch.ones(2, 3))


EXPANDED_WRITES = {
    "masked_fill_": lambda a, lib: a.masked_fill_(lib.tensor([[True, False, False]] * 2, device=a.device), 5),
    "masked_fill_ of a tensor": lambda a, lib: a.masked_fill_(lib.tensor([[True], [False]], device=a.device),
                                                              lib.tensor(6.0, device=a.device)),
    "index_fill_": lambda a, lib: a.index_fill_(-1, lib.tensor([1, -1], device=a.device), 7),
    "index_fill_ along the expanded one": lambda a, lib: a.index_fill_(0, lib.tensor([1], device=a.device), 8),
    "index_put_": lambda a, lib: a.index_put_((lib.tensor([1, 0], device=a.device),),
                                              lib.tensor([[1.0], [2.0]], device=a.device)),
    "index_put_ that adds up": lambda a, lib: a.index_put_((lib.tensor([1, 0], device=a.device),),
                                                           lib.tensor([[1.0], [2.0]], device=a.device), True),
    "by a mask": lambda a, lib: a.__setitem__(lib.tensor([True, False], device=a.device), 3),
    "by indices": lambda a, lib: a.__setitem__((slice(None), lib.tensor([0, 2], device=a.device)),
                                               lib.tensor([[1.0, 2], [3, 4]], device=a.device)),
}


@pytest.mark.parametrize("write", EXPANDED_WRITES)
@pytest.mark.parametrize("with_history", [False, True])
def test_writes_by_masks_and_indices_to_expanded_tensors(write, with_history, device):
    """torch has deprecated them: what is written last to a place in memory stays."""
    def run(lib, device):
        base = lib.tensor([[1.0, 2, 3]], device=device, requires_grad=with_history) * 1
        expanded = base.expand(2, 3)
        before = base._version
        with pytest.warns(UserWarning, match="on expanded tensors is deprecated. Please clone"):
            EXPANDED_WRITES[write](expanded, lib)
        return base.tolist(), expanded.tolist(), base._version - before, type(base.grad_fn).__name__
    assert run(torch, device) == run(theirs, "cpu")


def test_a_write_to_an_expanded_tensor_by_a_mask_that_does_not_fit(device):
    expanded = torch.zeros(1, 3, device=device).expand(2, 3)
    with pytest.raises(RuntimeError, match=r"output with shape \[2, 3\] doesn't match the broadcast shape \[2, 2, 3\]"):
        expanded.masked_fill_(torch.ones(2, 2, 3, dtype=torch.bool, device=device), 1)
    meta = torch.empty(1, 3, device="meta").expand(2, 3)
    with pytest.warns(UserWarning, match="on expanded tensors is deprecated"):
        assert meta.masked_fill_(torch.ones(2, 3, dtype=torch.bool, device="meta"), 1) is meta


def test_a_write_counts_one_version(device):
    a = torch.zeros(2, 3, device=device)
    before = a._version
    a[0] = 1
    a[:, 1] = torch.tensor([2, 3], device=device)
    assert a._version == before + 2
    assert a.tolist() == [[1, 2, 1], [0, 3, 0]]


def test_a_write_takes_a_tensor_of_another_device(device):
    a = torch.zeros(2, 2, device=device)
    a[1] = torch.tensor([1, 2])
    host = torch.zeros(2, 2)
    host[0] = a[1]
    assert host.tolist() == [[1, 2], [0, 0]]


@pytest.mark.parametrize("write", [
    lambda a: a.__setitem__(slice(1, None), a[:-1]), lambda a: a[1:].copy_(a[:-1]), lambda a: a.copy_(a[0]),
    lambda a: a.view(2, 3).t().copy_(a.view(3, 2)),
], ids=["assignment", "copy_", "element", "transposed"])
def test_overlapping_copies_are_refused(write, device):
    a = torch.arange(6).to(device)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        write(a)
    assert a.tolist() == [0, 1, 2, 3, 4, 5]
    a[:] = a
    a[1:] = a[:1]
    a[::2] = a[1::2]
    assert a.tolist() == [0] * 6


def test_a_number_through_an_expanded_view_with_a_history_is_refused(device):
    expanded = (torch.ones(1, 3, device=device, requires_grad=True) * 2).expand(2, 3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        expanded[:] = 0.5


@pytest.mark.parametrize("shape", [(1,), (1, 3), (1, 1, 2), (2, 1)])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_view_is_changed_by_its_index(requires_grad, shape, device):
    """`a[...] += 1` writes the view to itself, which is no overlap, whatever dimensions of size 1 it has."""
    leaf = torch.ones(shape, device=device, requires_grad=requires_grad)
    a = leaf * 2
    a[...] += 1
    a[None] *= 2
    a[-1:] -= a[-1:].detach().clone() / 2
    expected = torch.full(shape, 6.0)
    expected[-1:] = 3
    assert a.tolist() == expected.tolist()
    if requires_grad:
        a.sum().backward()
        assert leaf.grad.tolist() == torch.full(shape, 4.0).tolist()


def test_writes_of_nothing_count_once(device):
    a = torch.ones(3, device=device, requires_grad=True) * 2
    a[torch.zeros(3, dtype=torch.bool, device=device)] = a.sum()
    assert a._version == 1


def test_one_value_where_a_mask_is_true_may_have_any_dtype(device):
    a = torch.zeros(3, dtype=torch.complex64, device=device)
    a[torch.tensor([True, False, True], device=device)] = torch.ones((), device=device)
    assert a.tolist() == [1, 0, 1]
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.zeros(3, device=device)[torch.tensor([True, False, True], device=device)] = a[0] * 1j
    for index in (torch.tensor([0], device=device), (True, ...)):
        with pytest.raises(RuntimeError, match="source and destination dtypes match"):
            a[index] = torch.ones((), device=device)


def test_nothing_is_selected_from_a_dimension_without_elements(device):
    a = torch.ones(2, 0, device=device)
    with pytest.raises(RuntimeError, match="self indexing axis dim should be positive"):
        a.index_select(1, torch.tensor([0], device=device))
    assert a.index_select(0, torch.tensor([0, 0], device=device)).shape == (2, 0)
    assert a.index_select(1, torch.tensor([], dtype=torch.long, device=device)).shape == (2, 0)
