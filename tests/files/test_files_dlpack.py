"""DLPack: memory shared with torch and NumPy, both ways."""
import sys

import numpy as np
import pytest
import torch

import mindtorch
import mindtorch.utils.dlpack

NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64",
         "complex128", "bfloat16", "uint16", "uint32", "uint64")
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


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", NAMES)
def test_memory_of_the_npu_is_shared(view, name):
    given = VIEWS[view](mindtorch.arange(6).to(getattr(mindtorch, name)).npu())
    for taken in (mindtorch.from_dlpack(given), mindtorch.from_dlpack(mindtorch.utils.dlpack.to_dlpack(given))):
        assert (taken.device, taken.dtype, taken.data_ptr()) == (given.device, given.dtype, given.data_ptr())
        assert taken.tolist() == given.tolist()
    wanted = given.tolist()
    del given
    assert taken.clone().tolist() == wanted


def test_what_nobody_takes_is_freed():
    given = mindtorch.arange(3, device="npu")
    before = sys.getrefcount(given)
    for version in (None, (1, 0)):
        capsule = given.__dlpack__(max_version=version)
        assert sys.getrefcount(given) == before + 1
        del capsule
        assert sys.getrefcount(given) == before


@pytest.mark.parametrize("make", [
    lambda library: library.ones(2, requires_grad=True), lambda library: library.ones(2).to_sparse()])
def test_what_cannot_be_given(make):
    for library in (mindtorch, torch):
        with pytest.raises(BufferError, match="Can't export tensors"):
            make(library).__dlpack__()


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
