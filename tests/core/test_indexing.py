"""Basic indexing, read and assignment, as torch has it, on both devices."""
import pytest
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
assigned(e, ..., 1)
"""

WRITE_ERRORS = """
assigned(a, 0, [1, 2, 3]) | assigned(a, 0, torch.ones(2)) | assigned(a, 0, torch.ones(2, 3)) | assigned(a, 5, 1)
assigned(a, slice(None), torch.ones(3, 3)) | assigned(a, 0, 'x') | assigned(i, 0, 2j)
assigned(a, (0, 0), torch.ones(2)) | assigned(a, 0, np.float32(3)) | assigned(a, 0, np.ones(3)) | assigned(a, 0, None)
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


def test_advanced_indexing_says_that_it_is_missing(device):
    a = torch.ones(2, 3, device=device)
    for index in ([0, 1], torch.tensor([0, 1]), True, torch.tensor(True), (0, [1])):
        with pytest.raises(NotImplementedError, match="advanced indexing"):
            a[index]


def test_a_write_through_an_expanded_view_is_refused(device):
    expanded = torch.ones(1, 3, device=device).expand(2, 3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        expanded[0:] = 1
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        expanded.copy_(torch.ones(2, 3))


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
