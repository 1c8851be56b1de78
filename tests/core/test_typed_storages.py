"""Storages with a dtype and Tensor.set_, beside torch 2.13."""
import warnings

import pytest
import torch
from oracle import check, expressions

import mindtorch

TYPED = """
a.storage().dtype | len(a.storage()) | a[1].storage().size() | a.storage().nbytes() | a.storage().element_size()
a.storage().type() | a.storage()[1] | a.storage()[1:3] | a.storage()[-1] | a.storage()[7]
a.storage().tolist() | list(h.storage()) | type(a.storage()) is torch.TypedStorage | m.storage().tolist()
a.storage().is_cuda | a.storage().is_sparse | a.storage().data_ptr() == a.data_ptr()
a.storage().pickle_storage_type() | a.storage().is_pinned() | a.storage().untyped() == a.untyped_storage()
isinstance(a.storage(), torch.LongStorage) | torch.is_storage(i.storage())
torch.is_storage(a.untyped_storage()) | torch.is_storage(a) | torch.FloatStorage.dtype | torch.LongStorage.__name__
a.storage().fill_(3).tolist() | a.storage().clone().tolist()
a.storage().double().tolist() | a.storage().long().tolist()
a.storage().half().dtype | a.storage().cpu().tolist() | a.storage().bool().tolist()
copy.deepcopy(a.storage()).tolist() | a.storage().copy_(torch.FloatStorage([1, 2, 3, 4, 5, 6])).tolist()
a.storage().copy_(torch.FloatStorage([1, 2, 3])) | a.storage().complex_float().tolist()
a.storage_type().__name__ | i.storage_type() is torch.LongStorage | a.bfloat16().storage_type().__name__
a.cfloat().storage_type().__name__
a.storage().resize_(8) | a.storage()._resize_(2) | torch.TypedStorage([1, 2], device='meta').resize_(3)
torch.TypedStorage([1, 2], device='meta')._share_fd_cpu_()
torch.TypedStorage([1], device='meta')._share_filename_cpu_()
"""

MADE = """
isinstance(a.storage(), torch.FloatStorage) | isinstance(a.double().storage(), torch.FloatStorage)
torch.FloatStorage(3).size() | torch.FloatStorage([1, 2, 3]).tolist() | torch.FloatStorage().size() | a.storage()
torch.TypedStorage([1, 2], dtype=torch.int32).tolist() | torch.TypedStorage(2).dtype | torch.FloatStorage('a')
torch.TypedStorage(2, dtype=torch.float64).nbytes() | torch.FloatStorage(wrap_storage=a.untyped_storage()).tolist()
torch.TypedStorage(wrap_storage=a.untyped_storage(), dtype=torch.int32).tolist() | torch.FloatStorage(0)
torch._utils._rebuild_tensor(torch.FloatStorage([1, 2, 3]), 1, (2,), (1,))
torch._utils._rebuild_tensor_v2(a.storage(), 0, (2, 2), (1, 2), True, None)
torch._utils._rebuild_tensor(torch.TypedStorage(device='meta'), 2, (3,), (1,)).storage_offset()
torch._utils._rebuild_tensor(torch.TypedStorage(device='meta'), 2, (3,), (1,)).untyped_storage().nbytes()
"""

SET = """
a.set_().shape | a.set_(c.float()) | a.set_(c.float().permute(2, 0, 1)) | a.set_(a, 1, (2,), (2,)) | a.set_(a, 1, (2,))
a.set_(a.storage()) | a.set_(a.untyped_storage()) | a.set_(a.untyped_storage(), 1, (2, 2))
i.set_(i.storage(), 2, (1,)) | a.set_(i) | a.set_(i.storage()) | a.set_(a, -1, (2,), (1,)) | a.set_(a, 0, (2,), (1, 1))
a.set_(source=a[1]) | a.set_(source=a.untyped_storage(), storage_offset=1, size=(2,)) | w.set_(a.untyped_storage())
a.set_(h) | a.clone().requires_grad_().set_(a) | a[1:].set_(a[0])._version
"""


@pytest.mark.parametrize("expression", expressions(TYPED) + expressions(SET))
def test_on_both_devices(expression, device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                 # torch calls them deprecated
        check(expression, device)


@pytest.mark.parametrize("expression", expressions(MADE))
def test_made_in_host_memory(expression):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(expression)


def test_the_elements_are_the_tensors(device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for lib, where in ((torch, "cpu"), (mindtorch, device)):
            tensor = lib.arange(6., device=where)
            tensor.storage()[0] = 9
            tensor.storage()[1:3] = 8
            assert tensor.tolist() == [9, 8, 8, 3, 4, 5]
            assert tensor.storage().untyped() == tensor[2:].storage().untyped()


def test_set_shares_the_storage_and_counts_as_a_write(device):
    base, other = mindtorch.zeros(2, device=device), mindtorch.arange(4., device=device)
    assert base.set_(other, 1, (3,)) is base
    assert base._version == 1
    base.fill_(7)
    assert other.tolist() == [0, 7, 7, 7]


def test_set_refuses_what_has_no_room_or_is_elsewhere():
    tensor = mindtorch.arange(4.)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 16"):
        tensor.set_(tensor, 1, (2,), (5,))
    with pytest.raises(RuntimeError, match="the devices must match"):
        tensor.set_(mindtorch.ones(2, device="npu"))
    with pytest.raises(TypeError, match=r"set_\(\) received an invalid combination of arguments - got \(int\)"):
        tensor.set_(3)
    assert tensor.tolist() == [0, 1, 2, 3]


def test_typed_storages_are_called_deprecated_once(monkeypatch):
    from mindtorch._core import once
    monkeypatch.setattr(once, "_given", set())
    with pytest.warns(UserWarning, match="TypedStorage is deprecated") as caught:
        [mindtorch.ones(1).storage() for _ in range(2)]
    assert len(caught) == 1
    assert caught[0].filename == __file__
