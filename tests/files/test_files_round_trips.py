"""torch.save and torch.load beside torch's: each package reads what the other wrote."""
import io
import zipfile
from collections import Counter, OrderedDict

import numpy as np
import pytest
import torch

import mindtorch

NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
         "complex128")
# name -> a view made of a tensor of 24 elements
VIEWS = {
    "whole": lambda t: t, "transposed": lambda t: t.reshape(4, 6).t(), "offset": lambda t: t[5:17],
    "stepped": lambda t: t[1::3], "expanded": lambda t: t[:1].expand(4, 1), "0-d": lambda t: t[7],
    "empty": lambda t: t[:0], "empty in the middle": lambda t: t[:0].reshape(2, 0, 3),
    "permuted": lambda t: t.reshape(2, 3, 4).permute(2, 0, 1)[1:], "no storage": lambda t: t.new_empty(0),
}


def saved(package, obj, **options):
    file = io.BytesIO()
    package.save(obj, file, **options)
    file.seek(0)
    return file


def values(package, name):
    numbers = package.arange(24).reshape(24)
    return numbers.remainder(2).to(package.bool) if name == "bool" else numbers.to(getattr(package, name))


def assert_same(ours, theirs):
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert tuple(ours.stride()) == tuple(theirs.stride())
    assert ours.storage_offset() == theirs.storage_offset()
    assert ours.requires_grad == theirs.requires_grad
    assert ours.is_leaf
    assert ours.untyped_storage().nbytes() == theirs.untyped_storage().nbytes()
    assert ours.detach().cpu().tolist() == theirs.detach().tolist()


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_torch_reads_what_mindtorch_writes(name, weights_only):
    views = {key: make(values(mindtorch, name)) for key, make in VIEWS.items()}
    read = torch.load(saved(mindtorch, views), weights_only=weights_only)
    assert list(read) == list(VIEWS)
    for key, theirs in read.items():
        assert_same(views[key], theirs)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_mindtorch_reads_what_torch_writes(name, weights_only):
    views = {key: make(values(torch, name)) for key, make in VIEWS.items()}
    read = mindtorch.load(saved(torch, views), weights_only=weights_only)
    assert list(read) == list(VIEWS)
    for key, ours in read.items():
        assert_same(ours, views[key])


@pytest.mark.parametrize("writer", [mindtorch, torch])
@pytest.mark.parametrize("reader", [mindtorch, torch])
def test_a_shared_storage_stays_shared(writer, reader):
    whole = writer.arange(12.0)
    file = saved(writer, {"whole": whole, "part": whole[4:8], "alone": whole[4:8].clone()})
    assert len([name for name in zipfile.ZipFile(file).namelist() if "/data/" in name]) == 2
    file.seek(0)
    read = reader.load(file)
    read["whole"].fill_(1)
    assert read["part"].tolist() == [1] * 4
    assert read["alone"].tolist() == [4, 5, 6, 7]
    assert read["part"].untyped_storage().data_ptr() == read["whole"].untyped_storage().data_ptr()


CONTAINERS = {
    "state dict": lambda t: OrderedDict([("layer.weight", t.ones(2, 3)), ("layer.bias", t.zeros(2))]),
    "nested": lambda t: {"a": [1, (2.5, None, {"b": t.ones(1)}), "text"], 3: {True, False}, "n": {"m": {}}},
    "numbers": lambda t: [0, -1, 255, 256, 65536, -2 ** 31, 2 ** 31, 10 ** 40, -10 ** 40, 1.5, float("inf"), 1 + 2j],
    "texts": lambda t: ["", "\u00e4\u4e16\U0001f600", "x" * 300, b"\x00\xff", bytearray(b"abc")],
    "same twice": lambda t: [[1]] * 3,
    "size, dtype, device": lambda t: (t.Size([2, 3]), t.bfloat16, t.device("cpu")),
    "counter": lambda t: Counter("abca"),
    "many": lambda t: list(range(3000)),
}


def plain(obj):
    """`obj` with the tensors and names of either package made comparable."""
    if hasattr(obj, "stride"):
        return ("tensor", str(obj.dtype), obj.tolist())
    if isinstance(obj, dict):
        return type(obj).__name__, [(key, plain(item)) for key, item in obj.items()]
    if isinstance(obj, (list, tuple)):
        return type(obj).__name__, [plain(item) for item in obj]
    return str(obj) if type(obj).__module__.startswith(("torch", "mindtorch")) else (type(obj), obj)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(("writer", "reader"), [(mindtorch, torch), (torch, mindtorch), (mindtorch, mindtorch)])
@pytest.mark.parametrize("case", CONTAINERS)
def test_containers(case, writer, reader, weights_only):
    obj = CONTAINERS[case](writer)
    assert plain(reader.load(saved(writer, obj), weights_only=weights_only)) == plain(obj)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("weights_only", [True, False])
def test_every_protocol_is_read_back(protocol, weights_only):
    obj = {"t": mindtorch.ones(2), "s": {1, 2}, "f": [b"ab", "x" * 400], "o": OrderedDict(a=frozenset([1]))}
    if protocol < 4:
        obj.pop("o")
    file = saved(mindtorch, obj, pickle_protocol=protocol)
    assert plain(mindtorch.load(file, weights_only=weights_only)) == plain(obj)


def test_containers_that_hold_themselves():
    knot = []
    knot.append(knot)
    read = mindtorch.load(saved(mindtorch, knot))
    assert read[0] is read


@pytest.mark.parametrize(("writer", "reader"), [(mindtorch, torch), (torch, mindtorch)])
def test_gradients_and_attributes(writer, reader):
    leaf = writer.ones(2, requires_grad=True)
    result = leaf * 2
    marked = writer.ones(3)
    marked.note = "kept"
    read = reader.load(saved(writer, [leaf, result, marked]))
    assert [t.requires_grad for t in read] == [True, True, False]
    assert all(t.is_leaf for t in read)
    assert read[2].note == "kept"


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(("writer", "reader"), [(mindtorch, torch), (torch, mindtorch), (mindtorch, mindtorch)])
def test_parameters(writer, reader, weights_only):
    plain_one = writer.nn.Parameter(writer.arange(6.0).reshape(2, 3).t()[1:])
    frozen = writer.nn.Parameter(writer.ones(2), requires_grad=False)
    marked = writer.nn.Parameter(writer.zeros(2))
    marked.note = "kept"
    read = reader.load(saved(writer, [plain_one, frozen, marked]), weights_only=weights_only)
    assert [type(parameter) for parameter in read] == [reader.nn.Parameter] * 3
    assert [parameter.requires_grad for parameter in read] == [True, False, True]
    assert read[0].tolist() == [[1, 4], [2, 5]]
    assert read[0].stride() == (1, 3)
    assert read[2].note == "kept"


def test_a_parameter_shares_its_storage_in_a_file():
    parameter = mindtorch.nn.Parameter(mindtorch.zeros(3))
    read = mindtorch.load(saved(mindtorch, [parameter, parameter.data[1:], parameter]))
    assert read[0] is read[2]
    read[1].fill_(5)
    assert read[0].tolist() == [0, 5, 5]


@pytest.mark.parametrize("lazy", ["conj", "neg"])
def test_lazy_views_of_torch_are_resolved(lazy):
    made = torch.tensor([1 + 2j, 3 - 4j])
    made = made.conj() if lazy == "conj" else torch._neg_view(made)
    assert mindtorch.load(saved(torch, made)).tolist() == made.tolist()


def test_dtypes_that_mindtorch_lacks_are_named():
    file = saved(torch, torch.zeros(2, dtype=torch.float4_e2m1fn_x2))
    with pytest.raises(Exception, match="float4_e2m1fn_x2"):
        mindtorch.load(file)


@pytest.mark.parametrize("writer", [mindtorch, torch])
@pytest.mark.parametrize("reader", [mindtorch, torch])
def test_mapped_files(tmp_path, writer, reader):
    path = tmp_path / "model.pt"
    writer.save([writer.arange(5.0), writer.ones(3, dtype=writer.bool), writer.empty(0)], path)
    before = path.read_bytes()
    read = reader.load(path, mmap=True)
    assert [t.tolist() for t in read] == [[0, 1, 2, 3, 4], [True] * 3, []]
    assert read[0].data_ptr() % 64 == 0
    read[0].fill_(7)
    assert path.read_bytes() == before


def test_records_begin_at_multiples_of_64_bytes(tmp_path):
    path = tmp_path / "model.pt"
    mindtorch.save({str(n): mindtorch.ones(n) for n in range(9)}, path)
    content = path.read_bytes()
    records = zipfile.ZipFile(path).infolist()
    assert {info.filename.partition("/")[0] for info in records} == {"model"}
    for info in records:
        name, extra = np.frombuffer(content[info.header_offset + 26:info.header_offset + 30], "<u2").astype(int)
        assert (info.header_offset + 30 + name + extra) % 64 == 0, info.filename


def test_files_of_the_other_byte_order():
    source = saved(torch, [torch.tensor([1.5, -2.0]), torch.tensor([1 + 2j]), torch.tensor([True])])
    swapped = io.BytesIO()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(swapped, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name in ("archive/data/0", "archive/data/1"):
                data = np.frombuffer(data, "u4").byteswap().tobytes()
            new.writestr(name, b"big" if name == "archive/byteorder" else data)
    swapped.seek(0)
    assert [t.tolist() for t in mindtorch.load(swapped)] == [[1.5, -2.0], [1 + 2j], [True]]


@pytest.mark.parametrize("kind", ["text", "path", "file", "buffer"])
def test_where_files_may_be(tmp_path, kind):
    path = tmp_path / "a.b.pt"
    if kind in ("text", "path"):
        place = str(path) if kind == "text" else path
        mindtorch.save(mindtorch.ones(2), place)
        assert mindtorch.load(place).tolist() == torch.load(path).tolist() == [1, 1]
        return
    with open(path, "w+b") if kind == "file" else io.BytesIO() as file:
        mindtorch.save(mindtorch.ones(2), file)
        file.seek(0)
        assert mindtorch.load(file).tolist() == [1, 1]


def test_a_stream_that_cannot_seek_can_be_written():
    class Stream:
        content = b""

        def write(self, data):
            self.content += bytes(data)
            return len(data)

        def flush(self):
            pass

    stream = Stream()
    mindtorch.save(mindtorch.ones(2), stream)
    assert torch.load(io.BytesIO(stream.content)).tolist() == [1, 1]


class Model:
    """A class of the user's."""

    def __init__(self, weight):
        self.weight = weight


def test_any_object_with_weights_only_off():
    read = mindtorch.load(saved(mindtorch, Model(mindtorch.ones(2))), weights_only=False)
    assert type(read) is Model
    assert read.weight.tolist() == [1, 1]
