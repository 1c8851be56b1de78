"""Python's pickle and copy.deepcopy of tensors, beside torch's."""
import copy
import io
import pickle

import pytest
import torch

import mindtorch


def pickled(protocol):
    return lambda obj: pickle.loads(pickle.dumps(obj, protocol))


WAYS = {"deepcopy": copy.deepcopy, **{f"protocol {n}": pickled(n) for n in range(6)}}

# name -> what is copied, of either package
OBJECTS = {
    "whole": lambda t: [t.arange(6.0)],
    "view": lambda t: [t.arange(12.0).reshape(3, 4).t()[1:]],
    "expanded": lambda t: [t.ones(1).expand(3, 2)],
    "0-d": lambda t: [t.tensor(5)],
    "empty": lambda t: [t.empty(0, 2)],
    "gradient": lambda t: [t.ones(2, requires_grad=True)],
    "bfloat16": lambda t: [t.ones(3, dtype=t.bfloat16)],
    "complex": lambda t: [t.tensor([1 + 2j])],
    "bool": lambda t: [t.tensor([True, False])],
    "shared": lambda t: [*(lambda x: (x, x[2:], x.reshape(2, 3)))(t.arange(6.0)), t.zeros(1)],
    "two dtypes": lambda t: (lambda x: [x, x.view(t.int32)])(t.ones(2)),
    "twice": lambda t: [t.ones(2)] * 2,
    "parameter": lambda t: [t.nn.Parameter(t.ones(2)), t.nn.Parameter(t.ones(2), requires_grad=False)],
}


def described(tensors, with_sharing):
    first = tensors[0].untyped_storage().data_ptr()
    return [(type(t).__name__, str(t.dtype), tuple(t.shape), tuple(t.stride()), t.storage_offset(), t.requires_grad,
             t.is_leaf, t._is_view(), t.untyped_storage().nbytes(), t is tensors[0], t.tolist(),
             with_sharing and t.untyped_storage().data_ptr() == first) for t in tensors]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", OBJECTS)
def test_copies_are_torchs(case, way):
    ours, theirs = (WAYS[way](OBJECTS[case](package)) for package in (mindtorch, torch))
    # In a pickle torch writes each tensor's storage anew; mindtorch's tensors share it, as after deepcopy.
    assert described(ours, way == "deepcopy") == described(theirs, way == "deepcopy")


@pytest.mark.parametrize("way", WAYS)
def test_copies_share_nothing_with_the_original(device, way):
    original = mindtorch.arange(6.0, device=device)
    made, part = WAYS[way]([original, original[2:]])
    assert made.device == part.device == original.device
    made.fill_(9)
    assert part.tolist() == [9] * 4
    assert original.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("way", WAYS)
def test_attributes_are_copied(way):
    original = mindtorch.ones(2)
    original.notes = ["kept"]
    made = WAYS[way](original)
    assert made.notes == ["kept"]
    assert made.notes is not original.notes


def test_a_pickle_keeps_the_elements_of_its_time():
    original = mindtorch.zeros(2)
    first = pickle.dumps(original)
    original.fill_(1)
    second = pickle.dumps(original)
    assert [pickle.loads(data).tolist() for data in (first, second)] == [[0, 0], [1, 1]]


def test_gradients_are_deep_copied():
    leaf = mindtorch.ones(2, requires_grad=True)
    (leaf * 3).sum().backward()
    made = copy.deepcopy(leaf)
    made.grad.zero_()
    assert leaf.grad.tolist() == [3, 3]


def test_a_result_of_autograd_is_not_deep_copied():
    for package in (mindtorch, torch):
        with pytest.raises(RuntimeError, match="created explicitly by the user"):
            copy.deepcopy(package.ones(2, requires_grad=True) * 2)


def test_a_copy_can_be_written_in_place_and_saved():
    made = copy.deepcopy(mindtorch.arange(4.0).reshape(2, 2).t())
    made.add_(1)
    file = io.BytesIO()
    mindtorch.save(made, file)
    file.seek(0)
    assert torch.load(file).tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize("name", ["float32", "bool", "complex64"])
def test_dtypes_are_pickled_by_their_public_name(name):
    """Without one, pickle looks through all modules there are: a millisecond for each tensor."""
    pickled = pickle.dumps(getattr(mindtorch, name), 2)
    assert f"cmindtorch\n{name}\n".encode() in pickled
    assert pickle.loads(pickled) is getattr(mindtorch, name)


def storages(lib):
    matrix, ones = lib.arange(25.).reshape(5, 5), lib.ones(3)
    parts = ones.storage(), ones.storage(), ones.clone().storage(), ones
    return [matrix, matrix.storage(), matrix[1:].storage(), parts]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("is_zip", [True, False])
@pytest.mark.parametrize("reader", [torch, mindtorch])
@pytest.mark.parametrize("writer", [torch, mindtorch])
def test_storages_in_files(writer, reader, is_zip, weights_only):
    file = io.BytesIO()
    writer.save(storages(writer), file, _use_new_zipfile_serialization=is_zip)
    file.seek(0)
    matrix, storage, other, (first, same, copied, ones) = reader.load(file, weights_only=weights_only)
    assert type(storage) is reader.storage.TypedStorage
    assert (storage.dtype, storage.tolist()) == (reader.float32, list(range(25)))
    assert storage._cdata == other._cdata == matrix.untyped_storage()._cdata
    assert first._cdata == same._cdata == ones.untyped_storage()._cdata != copied._cdata
    storage[0] = 9
    assert matrix[0, 0] == 9


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_bytes_in_files_and_pickles_of_storages():
    file = io.BytesIO()
    mindtorch.save(mindtorch.tensor([1, 2, 3], dtype=mindtorch.uint8).untyped_storage(), file)
    for lib in (torch, mindtorch):
        file.seek(0)
        assert lib.load(file).tolist() == [1, 2, 3]
    assert pickle.loads(pickle.dumps(mindtorch.ones(2).storage())).tolist() == [1, 1]
