"""The format from before release 1.6, both ways with torch; files that lie in it run and allocate nothing."""
import io
import pickle
import struct

import pytest
import torch

import mindtorch

MAGIC = 0x1950A86A20F9469CFC6C
NAMES = ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")


def saved(package, obj, **options):
    file = io.BytesIO()
    package.save(obj, file, _use_new_zipfile_serialization=False, **options)
    file.seek(0)
    return file


def things(t, name, **place):
    whole = t.arange(12, **place).remainder(2 if name == "bool" else 12).to(getattr(t, name))
    return {"whole": whole, "part": whole[3:], "turned": whole.reshape(3, 4).t(), "empty": t.zeros(0, 2, **place),
            "expanded": whole[:1].expand(3), "layer": t.nn.Parameter(t.ones(2, **place)), "number": 3, "text": "ü"}


def described(things):
    return {key: (str(value.dtype), tuple(value.shape), value.stride(), value.storage_offset(), value.requires_grad,
                  value.tolist()) if hasattr(value, "stride") else value for key, value in things.items()}


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(("writer", "reader"), [(mindtorch, torch), (torch, mindtorch), (mindtorch, mindtorch)])
@pytest.mark.parametrize("name", NAMES)
def test_either_package_reads_what_the_other_writes(writer, reader, name, weights_only):
    original = things(writer, name)
    read = reader.load(saved(writer, original), weights_only=weights_only)
    assert described(read) == described(original)
    read["whole"].zero_()
    assert not any(read["part"].tolist())


def test_devices(device):
    file = saved(mindtorch, things(mindtorch, "float32", device=device))
    for place in (None, "cpu", "npu", lambda storage, location: storage.npu()):
        file.seek(0)
        read = mindtorch.load(file, map_location=place)
        assert read["part"].device.type == (device if place is None else "cpu" if place == "cpu" else "npu")
        assert described(read) == described(things(mindtorch, "float32"))


def test_several_objects_in_one_file():
    file = saved(torch, torch.ones(2))
    file.seek(0, io.SEEK_END)
    torch.save([torch.zeros(1)], file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert mindtorch.load(file).tolist() == [1, 1]
    assert mindtorch.load(file)[0].tolist() == [0]


def test_such_files_are_not_mapped(tmp_path):
    path = tmp_path / "old.pt"
    path.write_bytes(saved(torch, 1).getvalue())
    for name in (path, str(path)):
        messages = []
        for package in (mindtorch, torch):
            with pytest.raises(RuntimeError, match="mmap can only be used") as error:
                package.load(name, mmap=True)
            messages.append(str(error.value))
        assert messages[0] == messages[1]


class Called:
    def __reduce__(self):
        return pytest.fail, ("the file has run something",)


def hostile(obj, keys=("0",), data=b"", head=(MAGIC, 1001, {})):
    return b"".join(pickle.dumps(part, 2) for part in (*head, obj, list(keys))) + data


class _Writer(pickle.Pickler):
    def persistent_id(self, obj):
        return obj[1:] if isinstance(obj, tuple) and obj[:1] == ("id",) else None


def storage(count, view=None, kind=b"FloatStorage"):
    """The pickle of one storage of that many elements."""
    file = io.BytesIO()
    _Writer(file, 2).dump(("id", "storage", "KIND", "0", "cpu", count, view))
    return file.getvalue().replace(pickle.dumps("KIND", 2)[2:-3], b"ctorch\n" + kind + b"\n")


def file_of(pickled, keys=("0",), data=b""):
    return b"".join(pickle.dumps(part, 2) for part in (MAGIC, 1001, {})) + pickled + pickle.dumps(list(keys), 2) + data


TWO = struct.pack("<qff", 2, 1, 2)
# what it is -> (content, exception, part of its message)
BROKEN = {
    "another version": (hostile(1, head=(MAGIC, 7, {})), RuntimeError, "Invalid protocol version: 7"),
    "another number": (hostile(1, head=(5,)), RuntimeError, "Invalid magic number; corrupt file"),
    "a call for a head": (hostile(1, head=(Called(),)), pickle.UnpicklingError, "Unsupported global"),
    "a call for keys": (hostile(1)[:-len(pickle.dumps(["0"], 2))] + pickle.dumps(Called(), 2), pickle.UnpicklingError,
                        "Unsupported global"),
    "a call": (hostile(Called()), pickle.UnpicklingError, "Unsupported global"),
    "no object": (hostile(1, head=(MAGIC, 1001))[:40], pickle.UnpicklingError, "neither"),
    "a huge storage": (file_of(storage(1 << 60), data=TWO), RuntimeError, "bytes for storages"),
    "a negative storage": (file_of(storage(-1), data=TWO), RuntimeError, "bytes for storages"),
    "a storage of text": (file_of(storage("2"), data=TWO), RuntimeError, "bytes for storages"),
    "a smaller storage": (file_of(storage(1), data=TWO), RuntimeError, "another size"),
    "a storage cut off": (file_of(storage(2), data=TWO[:-1]), RuntimeError, "unexpected EOF"),
    "a storage in a storage": (file_of(storage(2, ("1", 0, 1)), data=TWO), RuntimeError, "before release 0.4"),
    "other keys": (file_of(storage(2), keys=("1",), data=TWO), RuntimeError, "not those of its pickle"),
    "too many keys": (file_of(storage(2), keys=("0", "1"), data=TWO), RuntimeError, "not those of its pickle"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_files(case):
    content, error, text = BROKEN[case]
    with pytest.raises(error, match=text):
        mindtorch.load(io.BytesIO(content))


def test_every_truncation_is_an_error():
    whole = saved(torch, {"a": torch.arange(5.0)}).getvalue()
    for length in range(0, len(whole), 11):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            mindtorch.load(io.BytesIO(whole[:length]))
