"""Tensors from Python data and arrays, moves and casts, conversions back: as torch has them."""
import numpy as np
import pytest
from oracle import check, expressions

import mindtorch as torch

NEW = """
torch.tensor([[1, 2.5], [3, 4]]) | torch.tensor([True, 2]) | torch.tensor([True, 2.5]) | torch.tensor([1, 2j])
torch.tensor([]) | torch.tensor([[]]) | torch.tensor([[], []]) | torch.tensor(()) | torch.tensor([True, False])
torch.tensor(2.5, dtype=torch.int32) | torch.tensor([2.5, 1], dtype=torch.int32) | torch.tensor(-1, dtype=torch.uint8)
torch.tensor([1e50], dtype=torch.float32) | torch.tensor(70000., dtype=torch.float16) | torch.tensor(range(3))
torch.tensor([2**63 - 1, -2**63]) | torch.tensor([2**53 + 1], dtype=torch.float64) | torch.tensor((1, 2))
torch.tensor([np.float32(1), np.float64(2)]) | torch.tensor([np.int32(1)]) | torch.tensor(np.float16(2))
torch.tensor(np.bool_(True)) | torch.tensor([np.float32(1.5), 2]) | torch.tensor([True, np.int8(1)])
torch.tensor(np.arange(6, dtype=np.int16).reshape(2, 3).T) | torch.tensor(np.arange(6)[::2])
torch.tensor([torch.tensor(1), torch.tensor(2.5)]) | torch.tensor([(1, 2), [3, 4]])
torch.tensor([range(3), range(3)]) | torch.tensor(torch.Size([2, 3]))
torch.tensor([torch.ones(1), torch.ones(1, 1)]) | torch.tensor([[torch.ones(1), 2.], [3, 4]])
torch.as_tensor([torch.ones(1)]) | torch.tensor([[1.], torch.ones(1)])
torch.tensor([0.5, float('nan'), 0], dtype=torch.bool) | torch.tensor([2j], dtype=torch.bool)
torch.tensor([1.00390625, 3.4e38], dtype=torch.bfloat16) | torch.as_tensor([1, 2]) | torch.as_tensor(a) is a
torch.as_tensor(2.5, dtype=torch.int8) | torch.as_tensor(np.arange(3)) | torch.asarray([1, 2.]) | torch.asarray(a) is a
torch.asarray(a, copy=True) is a | torch.from_numpy(np.array(1.5))
torch.from_numpy(np.arange(6).reshape(2, 3)[:, ::2]) | a.new_tensor([1, 2]) | i.new_tensor([1]) | a.new_zeros(2)
a.new_zeros((2, 3)) | i.new_ones(2) | i.new_full((2,), 2) | a.new_empty(2).shape | a.new_zeros(2, dtype=torch.int8)
torch.Tensor(2, 3).shape | torch.Tensor([1, 2]) | torch.Tensor().shape | torch.Tensor(torch.Size([2])).shape
torch.scalar_tensor(3)
"""

REFUSED = """
a.new_empty(2, out=a) | a.new_zeros(2, out=a) | a.new_ones(2, out=a) | a.new_full((2,), 1, out=a)
torch.tensor([torch.ones(2)]) | torch.tensor([1, torch.ones(2)]) | torch.as_tensor([torch.ones(0)])
torch.tensor([torch.ones(2, 2), torch.ones(2, 2)])
torch.tensor([[1, 2], [3]]) | torch.tensor([[1, 2], 3]) | torch.tensor(['x']) | torch.tensor('x') | torch.tensor(None)
torch.tensor([None]) | torch.tensor([1, None]) | torch.tensor({1, 2}) | torch.tensor({}) | torch.tensor(object())
torch.tensor([2j], dtype=torch.float32) | torch.tensor([2j], dtype=torch.int32)
torch.tensor([300], dtype=torch.uint8) | torch.tensor([70000], dtype=torch.int16)
torch.tensor([2**40], dtype=torch.int32) | torch.tensor([2**63]) | torch.tensor([1e30], dtype=torch.int64)
torch.tensor([float('nan')], dtype=torch.int32) | torch.tensor([1], dtype='x') | torch.tensor([[1, 2], 'ab'])
torch.tensor([b'x']) | torch.tensor(a) | torch.tensor(np.arange(3)[::-1]) | torch.from_numpy([1])
torch.from_numpy(np.arange(3)[::-1]) | torch.from_numpy(np.arange(3).astype('>i4'))
torch.from_numpy(np.zeros(3, dtype='i4,i1')['f0']) | torch.ones(2, dtype=torch.bfloat16).numpy()
"""

MOVES = """
a.to(torch.int8) | a.to('cpu', torch.int8) | a.to(dtype=torch.int8) | a.to(i).dtype | a.to(torch.int8, True, True)
a.to(device='cpu', dtype=torch.int8, non_blocking=True, copy=True) | a.to(None) is a | a.to(torch.float32) is a
a.to(torch.float32, copy=True) is a | a.to() is a | a.to('cpu', torch.int8, 'x') | a.t().to(torch.float64)
a.t().to(torch.float64, memory_format=torch.contiguous_format) | a.to(dtype=None) is a | a.to(a) is a | a.float() is a
z.double() | z.half() | z.bfloat16() | z.bool() | z.char() | z.byte() | z.short() | z.int() | z.long() | z.cfloat()
z.cdouble() | a.type() | i.type() | a.type(torch.int8) | a.type('torch.IntTensor') | a.type('x') | a.type_as(i)
torch.tensor([1.7, -1.7, 127., -5]).to(torch.int8) | torch.tensor([1 + 2j]).bool() | torch.tensor([1 + 2j]).float()
torch.tensor([3.99, -3.99]).long() | torch.tensor([1e-8, 65504., 70000.]).half() | a.copy_(torch.ones(3)) | a.copy_(3)
a.copy_(i.t().t() + 1) | a.copy_(torch.ones(4)) | a.copy_('x') | a.copy_(torch.ones(3, 2, 3)) | i.copy_(a + 0.5)
a.clone() | a.t().clone() | a.t().clone(memory_format=torch.contiguous_format) | a.t().contiguous()
a.contiguous() is a | a.expand(4, 2, 3).clone() | c.permute(2, 0, 1)[:, ::2].clone() | c[:, ::2].contiguous()
e.clone() | z.clone() | torch.empty_like(torch.zeros(4, 1, 2).transpose(0, 2)[:1]).stride()
torch.zeros(3, 1).t().clone() | copy.deepcopy(a.t()) | copy.copy(a)[0] | a.data.shape | a.detach() is a
"""

ATTRIBUTES = """
a.shape | a.size() | a.size(-1) | a.size(5) | z.size(0) | a.stride() | a.stride(0) | a.stride(5) | a.ndim | a.dim()
a.numel() | a.nelement() | torch.numel(a) | a.nbytes | a.itemsize | a.element_size() | a.dtype | a.layout
a[1].storage_offset() | a.t().is_contiguous() | e.is_contiguous() | a[:, :1].is_contiguous() | a.get_device()
a.is_cpu | a.is_cuda | a.untyped_storage().nbytes() | a[1].data_ptr() - a.data_ptr() | torch.is_floating_point(i)
a.is_complex() | a.is_contiguous(memory_format=torch.channels_last) | torch.is_tensor(a) | a.requires_grad | a.is_leaf
a.is_contiguous(memory_format=torch.preserve_format) | a.t().is_contiguous(memory_format=torch.preserve_format)
a.grad | torch.zeros(2, 4, 5, 3).permute(0, 3, 1, 2).is_contiguous(memory_format=torch.channels_last) | len(a) | len(z)
list(a) | list(z) | bool(a) | bool(e) | bool(z) | int(a) | float(z) | int(a[0, 1]) | complex(z) | range(30)[z]
range(3)[a[0, 0]] | int(torch.tensor(1 + 2j)) | int(torch.tensor(float('nan'))) | float(a) | a.item() | e.item()
z.item() | torch.tensor(True).item() | torch.tensor(1.5).item() | torch.tensor(2j).item() | 3. in a | 9 in a | 'x' in a
None in a | z in i | a == 'x' | a < 'x' | a + 'x' | a + None | hash(a) == id(a) | format(a, '.2f') | format(z, '04d')
format(torch.tensor(1.5), '.3f') | '{}'.format(a) | a.tolist() | z.tolist() | e.tolist() | a.numpy().tolist()
np.asarray(a).dtype | a.__array__(np.int32).dtype | a.t().numpy().strides | a.numpy(force=True).shape
pickle.loads(pickle.dumps(i)) | a.T.shape | torch.equal(a, a.clone()) | torch.equal(a, a.t())
torch.allclose(a, a + 1e-9) | torch.isclose(a, a * (1 + 1e-6)) | reversed(a).tolist()
"""


@pytest.mark.quick
@pytest.mark.parametrize("expression", expressions(NEW) + expressions(REFUSED))
def test_new(expression):
    check(expression)


@pytest.mark.quick
@pytest.mark.parametrize("expression", expressions(MOVES))
def test_move(expression):
    check(expression)


ARRAYS = """
torch.arange(3) == np.arange(3) | np.arange(3) == torch.arange(3) | torch.arange(3) == np.array([1.5, 1, 2])
np.array([[1], [2]]) == torch.arange(3) | torch.arange(4) == np.arange(3) | torch.arange(3) == np.array(['a'])
torch.arange(3) == np.array(1) | np.array(1) == torch.arange(3) | torch.arange(3) == np.array([object()])
torch.zeros(3, requires_grad=True) == np.arange(3) | torch.zeros(3) == np.arange(3)[::-1] | torch.arange(3) == [0, 1, 2]
torch.arange(3) == None | torch.arange(3) != np.arange(3) | torch.arange(3).__eq__([1])
"""
LARGE = """
torch.tensor([2**63], dtype=torch.float32) | torch.tensor(2**63, dtype=torch.float64) | torch.Tensor([2**70])
torch.tensor([-2**63 - 1], dtype=torch.bfloat16) | torch.tensor([2**64], dtype=torch.float16)
torch.tensor([2**63, 1.5]) | torch.tensor([1.5, 2**63]) | torch.tensor([2**63, 1j]) | torch.tensor([2**63])
torch.tensor([2**63], dtype=torch.int32) | torch.tensor([10**400], dtype=torch.float64)
torch.tensor([10**400, 0], dtype=torch.bool) | torch.tensor([2**64 - 1], dtype=torch.uint64)
torch.as_tensor([2**63], dtype=torch.float32) | torch.tensor([2**63], dtype=torch.complex64)
torch.ones(2).new_tensor([1.5], requires_grad=True)
torch.ones(2).new_tensor([1], dtype=torch.int64, requires_grad=True)
"""


@pytest.mark.parametrize("expression", expressions(ARRAYS + LARGE))
def test_arrays_and_large_numbers(expression):
    check(expression)


BORROWED = """
b.resize_(8) | b.resize_(4) | b.resize_(2) | b.resize_(2, 2) | b.resize_as_(torch.ones(8)) | b[1:].resize_(4)
b.resize_(0)
torch.sum(torch.ones(2, 4), 0, out=b) | torch.frombuffer(bytearray(16), dtype=torch.float32).resize_(8)
torch.from_dlpack(np.arange(4)).resize_(8) | b.untyped_storage().resizable()
torch.ones(4).untyped_storage().resizable() | torch.as_tensor(np.arange(4)).resize_(8)
"""


@pytest.mark.parametrize("expression", expressions(BORROWED))
def test_memory_of_an_array_does_not_grow(expression):
    check(f"(lambda b: {expression})(torch.from_numpy(np.arange(4, dtype=np.float32)))")


@pytest.mark.filterwarnings("ignore:An output with one or more elements", "ignore:The number of elements in the out")
@pytest.mark.parametrize("call", [
    lambda b: torch.add(torch.ones(8), 1, out=b), lambda b: torch.arange(8, out=b),
    lambda b: torch.cat([torch.ones(8)], out=b)])
def test_memory_of_an_array_does_not_grow_for_a_result(call):
    array = np.arange(4, dtype=np.float32)
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        call(torch.from_numpy(array))
    assert array.tolist() == [0, 1, 2, 3]


@pytest.mark.quick
@pytest.mark.parametrize("expression", expressions(ATTRIBUTES))
def test_attribute(expression):
    check(expression)


def test_from_numpy_shares_memory_and_keeps_the_array_alive():
    array = np.arange(4.0)
    shared = torch.from_numpy(array)
    array[0] = 7
    assert shared[0].item() == 7
    shared[1] = 8
    assert array[1] == 8
    del array
    assert shared.tolist() == [7, 8, 2, 3]


def test_numpy_outlives_the_tensor():
    tensor = torch.arange(1000)
    array = tensor.numpy()
    tensor.data = torch.zeros(1)
    del tensor
    assert array.sum() == 499500


def test_a_read_only_array_is_warned_of():
    array = np.arange(3)
    array.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        torch.from_numpy(array)


def test_round_trip_over_the_device():
    host = torch.arange(12, dtype=torch.float32).view(3, 4)
    for view in (host, host.t(), host[1:, ::2], host[:0], host[1, 1], host[:1].expand(3, 4)):
        there = view.npu()
        assert there.is_npu
        assert there.device == torch.device("npu:0")
        assert there.shape == view.shape
        assert there.cpu().tolist() == there.tolist() == view.tolist()
        assert there.to("cpu", torch.int64).tolist() == view.long().tolist()
        assert view.to("npu", torch.float16).dtype is torch.float16
    assert there.npu() is there.to("npu") is there


def test_numpy_of_an_npu_tensor_is_refused():
    tensor = torch.ones(2, device="npu")
    for convert in (torch.Tensor.numpy, np.asarray):
        with pytest.raises(TypeError, match="can't convert npu:0 device type tensor to numpy"):
            convert(tensor)
    assert tensor.numpy(force=True).tolist() == [1, 1]


def test_npu_takes_only_npus():
    with pytest.raises(RuntimeError, match="Invalid device, must be npu device"):
        torch.ones(2).npu("cpu")


def test_set_data_keeps_the_identity(device):
    tensor = torch.ones(2, device=device)
    tensor.data = torch.zeros(3, 1, dtype=torch.int64, device=device)
    assert tensor.shape == (3, 1)
    assert tensor.dtype is torch.int64
    assert tensor.sum().item() == 0


def test_pickle_keeps_the_device():
    import pickle
    tensor = torch.arange(6, device="npu").view(2, 3).t()
    back = pickle.loads(pickle.dumps(tensor))
    assert back.is_npu
    assert back.tolist() == tensor.tolist()


def test_resize_keeps_the_elements(device):
    tensor = torch.arange(3, device=device)
    assert tensor.resize_(2, 2).flatten()[:3].tolist() == [0, 1, 2]
    assert tensor.resize_(2).tolist() == [0, 1]
