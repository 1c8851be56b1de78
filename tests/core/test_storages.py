"""Storages, buffers and mapped files, beside torch 2.13; the names of devices that have no tensors here."""
import re
from pathlib import Path

import pytest
import torch as oracle
from oracle import check, expressions

import mindtorch as torch

STORAGES = """
[torch.UntypedStorage(n).__sizeof__() - torch.UntypedStorage(0).__sizeof__() for n in (3, 50)]
(lambda s: [setattr(s, 'mark', 3), s.mark, weakref.ref(s)() is s])(a.untyped_storage())
list(a.untyped_storage()) | a.untyped_storage() | a.untyped_storage()[0] | a.untyped_storage()[-1]
a.untyped_storage()[99] | a.untyped_storage()['x'] | a.untyped_storage()[2:8:2] | a.untyped_storage()[4:8].tolist()
a.untyped_storage()[6:2].tolist() | a.untyped_storage()[4:8].data_ptr() - a.data_ptr() | a.untyped_storage().size()
len(a.untyped_storage()) | a.untyped_storage().element_size() | a.untyped_storage().device | bytes(h.untyped_storage())
a.untyped_storage().cpu() == a.untyped_storage() | a.untyped_storage().fill_(3) | i.untyped_storage().clone()
a.untyped_storage().copy_(torch.ones(6).untyped_storage()) | a.untyped_storage().untyped() == a.untyped_storage()
a[0].untyped_storage() == a.untyped_storage() | a.untyped_storage().is_pinned() | a.untyped_storage().is_cuda
torch.UntypedStorage(3).size() | torch.UntypedStorage([1, 2]) | torch.UntypedStorage(bytearray(b'ab'))
torch.UntypedStorage(1.5) | torch.UntypedStorage().nbytes() | torch.UntypedStorage(2, device='cpu').device
torch.is_storage(a.untyped_storage()) | torch.is_storage(a) | torch.asarray(a.untyped_storage(), dtype=torch.uint8)
torch.asarray(a.untyped_storage()) | torch.asarray(a.untyped_storage(), dtype=torch.int32)
torch.asarray(a.untyped_storage(), dtype=torch.uint8).data_ptr() == a.data_ptr()
torch.tensor(w.untyped_storage(), dtype=torch.int32) | torch.tensor(w.untyped_storage(), dtype=torch.uint8)
torch.tensor(w.untyped_storage()) | torch.tensor(w.untyped_storage(), dtype=torch.float32)
torch.tensor(a.untyped_storage()) | torch.Tensor(a.untyped_storage())
torch.Tensor(a.storage()).data_ptr() == a.data_ptr()
torch.tensor(w[1:].untyped_storage(), dtype=torch.int16) | w.new_tensor(w.untyped_storage())
torch.tensor(w.untyped_storage(), dtype=torch.bool) | torch.as_tensor(w.untyped_storage(), dtype=torch.int16)
(lambda c: [c[0].data_ptr() == c[1].data_ptr(), c[0].nbytes()])(copy.deepcopy([a.untyped_storage(), a]))
(lambda c: c[0].data_ptr() == c[1].data_ptr())(copy.deepcopy([a[1], a[1].untyped_storage()]))
(lambda s: copy.deepcopy([s, s])[0] == copy.deepcopy(s))(a.untyped_storage())
(lambda c: [c[0] == c[1], c[2] is c[0]])(copy.deepcopy([a.untyped_storage(), a[1].untyped_storage()] * 2))
copy.deepcopy(a.untyped_storage()).data_ptr() == a.data_ptr() | a.untyped_storage().to(device='cpu').tolist()
"""

BUFFERS = """
torch.frombuffer(bytearray(range(16)), dtype=torch.int32) | torch.frombuffer(bytearray(4), dtype=torch.bfloat16)
torch.frombuffer(bytearray(range(16)), dtype=torch.bfloat16, count=2, offset=2)
torch.frombuffer(bytearray(range(16)), dtype=torch.int32, offset=3)
torch.frombuffer(bytearray(range(16)), dtype=torch.int32, count=9)
torch.frombuffer(bytearray(range(16)), dtype=torch.int32, count=0)
torch.frombuffer(bytearray(range(16)), dtype=torch.int32, count=-2)
torch.frombuffer(bytearray(range(16)), dtype=torch.int32, offset=16)
torch.frombuffer(bytearray(range(16)), dtype=torch.int32, offset=-1)
torch.frombuffer(bytearray(range(16)), dtype=torch.int32, offset=14) | torch.frombuffer(bytearray(), dtype=torch.int8)
torch.frombuffer([1], dtype=torch.int32) | torch.frombuffer(bytearray(4), dtype='x')
torch.frombuffer(np.ones(2), dtype=torch.float64, requires_grad=True).requires_grad
torch.frombuffer(np.ones(2), dtype=torch.int8, requires_grad=True) | torch.asarray(bytearray(range(8)))
torch.asarray(memoryview(bytearray(range(8))), dtype=torch.int16) | torch.asarray(np.float32(2)) | torch.asarray('x')
torch.device('cuda:1') | torch.device('meta') | torch.device('mps', 0) | a.device == torch.device('meta')
torch.ones(2, device='cuda') | a.cuda() | a.to('xpu') | torch.nn.Linear(1, 1).cuda() | torch.nn.ReLU().cuda()
"""


@pytest.mark.parametrize("expression", expressions(STORAGES) + expressions(BUFFERS))
def test_storages_and_buffers(expression):
    check(expression)


def test_a_buffer_is_shared_and_kept_alive():
    data = bytearray(8)
    tensor = torch.frombuffer(data, dtype=torch.float32)
    tensor[1] = 1.0
    assert bytes(data[4:]) == b"\x00\x00\x80?"
    del data
    assert tensor.tolist() == [0, 1]


def test_a_constant_buffer_is_warned_of():
    with pytest.warns(UserWarning, match="The given buffer is not writable"):
        assert torch.frombuffer(b"\x01\x02", dtype=torch.uint8).tolist() == [1, 2]


def test_slices_keep_the_memory_alive(device):
    part = torch.arange(100000, dtype=torch.int32).to(torch.uint8).to(device).untyped_storage()[257:261]
    assert part.tolist() == [1, 2, 3, 4]
    part[1:3] = 9
    part[3:][0] = 7
    assert part.tolist() == [1, 9, 9, 7]
    assert part[1:][1:].fill_(6).tolist() == [6, 6]
    assert part.copy_(part.clone()).tolist() == [1, 9, 6, 6]
    assert (part.nbytes(), part.device.type, part.resizable(), part[2:2].tolist()) == (4, device, False, [])


def test_a_tensor_of_a_slice(device):
    storage = torch.arange(16.0, device=device).untyped_storage()
    tensor = torch.empty(0, device=device).set_(storage[32:48])
    tensor += 1
    assert tensor.tolist() == [9, 10, 11, 12]
    assert storage.elements(torch.float32)[7:10].tolist() == [7, 9, 10]


def test_storages_on_a_device(device):
    tensor = torch.tensor([1, 2], dtype=torch.int16, device=device)
    storage = tensor.untyped_storage()
    assert (storage.is_cpu, storage.is_npu, storage.device) == (device == "cpu", device == "npu", tensor.device)
    storage[0] = 5
    assert tensor.tolist() == [5, 2]
    assert storage.clone().tolist() == storage.cpu().tolist() == [5, 0, 2, 0]
    assert storage.npu().to(device="npu").copy_(storage).tolist() == [5, 0, 2, 0]


@pytest.mark.parametrize("lib", [torch, oracle])
def test_files(lib, tmp_path):
    """The same results from both."""
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(8)))
    tensor = lib.from_file(str(path), size=4, dtype=lib.int16)
    assert tensor.tolist() == [256, 770, 1284, 1798]
    tensor[0] = 0                                        # in memory only
    assert path.read_bytes() == bytes(range(8))
    shared = lib.UntypedStorage.from_file(str(path), shared=True, nbytes=10)
    shared[9] = 7
    del shared
    assert path.read_bytes() == bytes(range(8)) + b"\0\x07"
    assert lib.from_file(str(path), True, 1).dtype is lib.float32
    assert lib.from_file(str(path)).shape == (0,)
    assert lib.UntypedStorage.from_file(str(path)).tolist() == []
    with pytest.raises(RuntimeError, match=r"file <.*bytes> size <10> is smaller than the required mapping size <11>"):
        lib.UntypedStorage.from_file(str(path), nbytes=11)
    with pytest.raises(RuntimeError, match=r"unable to open file <.*none> in read-only mode: No such file"):
        lib.UntypedStorage.from_file(str(tmp_path / "none"), nbytes=11)


@pytest.mark.parametrize("lib", [torch, oracle])
def test_what_an_array_shows_is_not_exchanged(lib):
    tensor = lib.ones(3)
    array = tensor.numpy()
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        tensor.resize_(4)
    assert not tensor.untyped_storage().resizable()
    assert tensor.resize_(2).shape == (2,)
    tensor[0] = 7
    assert array.tolist() == [7, 1, 1]


@pytest.mark.parametrize("count", [0, 2, 5])
def test_a_storage_is_resized_below_its_tensors(count, device):
    x = torch.arange(3.0).to(device)
    row, allocated = x[1:], torch.npu.memory_allocated()
    storage = x.untyped_storage()
    assert storage.resize_(4 * count) is storage
    assert [t.untyped_storage().nbytes() for t in (x, row)] == [4 * count, 4 * count]
    assert (torch.npu.memory_allocated() < allocated) == (device == "npu" and count == 0)
    storage.resize_(12)
    assert (x + row.untyped_storage().nbytes()).shape == (3,)
    kept = min(count, 3)
    assert x[:kept].tolist() == [0.0, 1.0, 2.0][:kept]
    assert row.data_ptr() == x.data_ptr() + 4


def test_views_follow_a_tensor_that_grows(device):
    x = torch.arange(3.0).to(device)
    row = x[1:]
    x.resize_(1000)
    x[2] = 7
    assert row.tolist() == [1, 7]
    assert x.untyped_storage() == row.untyped_storage()


@pytest.mark.parametrize("lib", [torch, oracle])
def test_storages_that_are_not_resized(lib):
    array = lib.ones(3).numpy()
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        lib.from_numpy(array).untyped_storage().resize_(24)
    with pytest.raises(RuntimeError, match="resize_ expects an int, but got str"):
        lib.ones(3).untyped_storage().resize_("x")
    with pytest.raises(RuntimeError):
        lib.ones(3).untyped_storage().resize_(-1)
    leaf = lib.ones(3, requires_grad=True)
    for resize in (lambda: leaf.resize_(3), lambda: leaf.resize_as_(leaf), lambda: (leaf * 2).resize_(4)):
        with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
            resize()


def test_pinned_memory_stays_pinned():
    x = torch.arange(3.0).pin_memory()
    x.resize_(2000)
    assert x.is_pinned()
    assert x[:3].tolist() == [0, 1, 2]


@pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="the kernel has no huge pages")
def test_long_memory_lies_on_huge_pages():
    tensor = torch.ones(4 << 20)
    middle, flags = tensor.data_ptr() + (8 << 20), None
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        if re.match("[0-9a-f]+-[0-9a-f]+ ", line):
            first, last = (int(number, 16) for number in line.split()[0].split("-"))
        elif line.startswith("VmFlags:") and first <= middle < last:
            flags = line.split()
    assert "hg" in flags
