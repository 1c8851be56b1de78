"""Python data as tensors and as arguments, beside torch: lists in lists, indices of other libraries, memory shared."""
import warnings

import numpy
import pytest
import torch

import mindtorch


def told(library, call):
    """What a call returns, or the type and text of its error."""
    try:
        return call(library)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return type(error).__name__, str(error).replace("mindtorch", "torch").split("\nException raised")[0]


def in_itself():
    data = [0]
    data.append(data)
    return data


def arrays_of_several_lengths(t):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")         # torch warns once that a list of arrays is slow
        return t.tensor([numpy.ones((3, 3)), numpy.ones((3, 0))])


class Two:
    def __index__(self):
        return 2


CALLS = {
    "list in itself": lambda t: t.tensor(in_itself()),
    "list in itself, of a dtype": lambda t: t.tensor(in_itself(), dtype=t.float32),
    "empty arrays": lambda t: t.as_tensor((numpy.empty(0, numpy.int32), numpy.empty(0, numpy.int32))).shape,
    "coordinates in empty arrays": lambda t: str(t.sparse_coo_tensor(
        (numpy.empty(0, numpy.int32), numpy.empty(0, numpy.int32)), numpy.empty(0), size=(5, 3),
        check_invariants=True)),
    "list of a list in itself": lambda t: t.as_tensor([[1, 2], in_itself()]),
    "deeper than others": lambda t: t.tensor([[1, 2], [0, [3]]], dtype=t.float64),
    "deeper than others, int": lambda t: t.tensor([[1, 2], [0, [3]]], dtype=t.int32),
    "arrays": lambda t: t.ones((numpy.array(3), numpy.int64(4))).shape,
    "varargs": lambda t: t.ones(numpy.array(3), numpy.int64(4)).shape,
    "index": lambda t: t.ones(Two(), 3).view(-1, Two()).narrow(0, 1, Two()).tolist(),
    "dims": lambda t: t.ones(2, 3).permute(numpy.array(1), 0).shape,
    "array of floats": lambda t: t.ones((2, numpy.array(2.0))),
    "array of one": lambda t: t.ones((2, numpy.array([2]))),
    "array of bool": lambda t: t.ones(numpy.array(True)),
    "alias of a dtype": lambda t: t.asarray(t.ones(2), dtype=t.float64, copy=False),
    "alias on a device": lambda t: t.asarray(t.ones(2), device="meta", copy=False),
    "arrays of several lengths": arrays_of_several_lengths,
    "alias of an array": lambda t: t.asarray(numpy.ones(2), dtype=t.float32, copy=False),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    assert told(mindtorch, CALLS[name]) == told(torch, CALLS[name])


def test_lists_that_contain_each_other():
    """An error, where torch's stack overflows."""
    first = [1]
    first.append([first])
    with pytest.raises((TypeError, ValueError)):
        mindtorch.tensor(first)


@pytest.mark.parametrize("name", ["hann", "hamming", "bartlett", "blackman", "kaiser"])
@pytest.mark.parametrize("options", [{"dtype": "int64"}, {"layout": "sparse_coo"},
                                     {"dtype": "int64", "layout": "sparse_coo"}])
def test_windows_refuse(name, options):
    def error(library):
        values = {key: getattr(library, value) for key, value in options.items()}
        with pytest.raises(RuntimeError) as found:
            getattr(library, f"{name}_window")(3, **values)
        return str(found.value).partition(" got: ")[0]
    assert error(mindtorch) == error(torch)


def test_storages_of_storages():
    def run(library):
        class Own(library._C.StorageBase):
            __slots__ = ["note"]

        source = library.UntypedStorage([1, 2, 3])
        own = Own(source)
        own.note = 3
        return type(own).__name__, own.nbytes(), own.data_ptr() == source.data_ptr(), own.note
    assert run(mindtorch) == run(torch)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "uint16", "uint32"])
def test_floats_beyond_integers_are_refused(dtype):
    """By a fraction, too, and below 0; integers below 0 wrap in bytes."""
    def outcomes(library):
        most = library.iinfo(getattr(library, dtype)).max
        least = library.iinfo(getattr(library, dtype)).min
        values = (-2.0, -0.5, 0.9, most + 0.9, least - 0.5, most + 1, least - 1, float(least), float("nan"), -1)
        return [told(library, lambda lib, value=value: lib.tensor([value], dtype=getattr(lib, dtype)).tolist())
                for value in values]
    assert outcomes(mindtorch) == outcomes(torch)
