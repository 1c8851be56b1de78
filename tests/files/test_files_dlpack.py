"""DLPack: memory shared with torch and NumPy, both ways."""
import numpy as np
import pytest
import torch

import mindtorch
import mindtorch.utils.dlpack

NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64",
         "complex128")
VIEWS = {"whole": lambda t: t, "transposed": lambda t: t.reshape(2, 3).t(), "offset": lambda t: t[2:],
         "stepped": lambda t: t[::2], "0-d": lambda t: t[1]}


@pytest.mark.parametrize(("giver", "taker"), [(mindtorch, torch), (torch, mindtorch), (mindtorch, mindtorch)])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", NAMES)
def test_memory_is_shared(giver, taker, view, name):
    given = VIEWS[view](giver.arange(6).to(getattr(giver, name)))
    taken = taker.from_dlpack(given)
    assert str(taken.dtype) == str(given.dtype)
    assert tuple(taken.shape) == tuple(given.shape)
    assert taken.tolist() == given.tolist()
    assert taken.data_ptr() == given.data_ptr()
    taken.fill_(0)
    assert not np.any(given.tolist())


def test_arrays_of_numpy():
    array = np.arange(3.0)
    mindtorch.from_dlpack(array).fill_(7)
    assert array.tolist() == [7, 7, 7]
    assert np.from_dlpack(mindtorch.arange(3)).tolist() == [0, 1, 2]


def test_copies_and_devices(device):
    array = np.arange(3.0)
    taken = mindtorch.from_dlpack(array, device=device, copy=True)
    taken.fill_(7)
    assert taken.device.type == device
    assert array.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("giver", "taker"), [(mindtorch, torch), (torch, mindtorch)])
def test_capsules(giver, taker):
    given = giver.arange(6).reshape(2, 3).t()
    taken = taker.utils.dlpack.from_dlpack(giver.utils.dlpack.to_dlpack(given))
    assert taken.tolist() == given.tolist()
    given.fill_(4)
    del given
    assert taken.tolist() == [[4, 4]] * 3


def test_devices_are_named(device):
    assert mindtorch.ones(1, device=device).__dlpack_device__() == ((1, 0) if device == "cpu" else (12, 0))


@pytest.mark.parametrize("make", [
    lambda lib: lib.ones(2, requires_grad=True), lambda lib: lib.ones(2).to_sparse(),
    lambda lib: lib.ones(2, device="meta")])
def test_what_cannot_be_given(make):
    refusals = []
    for library in (mindtorch, torch):
        with pytest.raises(BufferError) as refused:
            make(library).__dlpack__()
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1]


@pytest.mark.parametrize(("make", "said"), [
    (lambda: mindtorch.ones(2, device="npu"), "on npu:0: no other library reads its memory. Use Tensor.cpu()"),
    (lambda: mindtorch.ones(2, dtype=mindtorch.bfloat16), "of torch.bfloat16: NumPy, which serves DLPack here, has no"),
])
def test_what_torch_would_give_and_why_it_is_not(make, said):
    with pytest.raises(BufferError, match=said):
        make().__dlpack__()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e5m2"])
def test_a_tensor_of_ours_is_taken_on_its_device(device, dtype):
    given = mindtorch.ones(3, device=device).to(getattr(mindtorch, dtype))
    taken = mindtorch.from_dlpack(given)
    assert (taken.data_ptr(), taken.dtype, taken.device) == (given.data_ptr(), given.dtype, given.device)
    assert mindtorch.from_dlpack(given, copy=True).data_ptr() != given.data_ptr()
    with pytest.raises(BufferError, match="require gradient"):
        mindtorch.from_dlpack(mindtorch.ones(2, device=device, requires_grad=True))


def test_what_cannot_be_taken():
    for package in (mindtorch, torch):
        with pytest.raises(RuntimeError, match="invalid capsule"):
            package.from_dlpack(3)
    with pytest.raises(ValueError, match="without copying"):
        mindtorch.from_dlpack(np.arange(3), device="npu", copy=False)


class Given:
    """An object of another library."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_constructors_take_what_is_exchanged():
    source = mindtorch.arange(6.).reshape(2, 3)
    for make in (mindtorch.tensor, mindtorch.as_tensor, mindtorch.asarray):
        made = make(Given(source), dtype=mindtorch.float64)
        assert made.tolist() == source.tolist()
        assert made.dtype is mindtorch.float64
        assert (make(Given(source)).data_ptr() == source.data_ptr()) is (make is not mindtorch.tensor)
    capsule = mindtorch.utils.dlpack.to_dlpack
    assert mindtorch.asarray(capsule(source)).data_ptr() == source.data_ptr()
    assert mindtorch.asarray(capsule(source), copy=True).data_ptr() != source.data_ptr()


@pytest.mark.parametrize("stream", [object(), 1, None, -1])
def test_streams(stream):
    def call(library):
        try:
            return type(library.ones(2).__dlpack__(stream=stream)).__name__
        except (TypeError, AssertionError) as error:
            return type(error).__name__, str(error)
    assert call(mindtorch) == call(torch)
