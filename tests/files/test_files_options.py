"""torch.serialization's options: byte order, mapping, storages without bytes, devices of one's own; kinds refused."""
import contextlib
import io
import mmap
import pickle
import warnings
import zipfile

import numpy as np
import pytest
import torch

import mindtorch
from mindtorch import serialization


@pytest.fixture(autouse=True)
def _options_as_before():
    yield
    for module in (serialization, torch.serialization):
        module.set_default_load_endianness(None)
        module.set_default_mmap_options(mmap.MAP_PRIVATE)
        getattr(module, "set_crc32_options", bool)(True)


def without(record, file):
    """The archive in `file` without one of its records."""
    made = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(made, "w") as new:
        for info in old.infolist():
            if not info.filename.endswith(record):
                new.writestr(info, old.read(info))
    made.seek(0)
    return made


def saved(package, obj, **options):
    file = io.BytesIO()
    package.save(obj, file, **options)
    file.seek(0)
    return file


@pytest.mark.parametrize("endianness", ["NATIVE", "LITTLE", "BIG", None])
def test_byte_order_of_files_without_a_mark(endianness):
    read = []
    for package in (mindtorch, torch):
        file = without("byteorder", saved(package, package.tensor([1, 256], dtype=package.int32)))
        order = endianness and package.serialization.LoadEndianness[endianness]
        package.serialization.set_default_load_endianness(order)
        assert package.serialization.get_default_load_endianness() is order
        read.append(package.load(file).tolist())
    assert read[0] == read[1]


@pytest.mark.parametrize("call", [
    lambda s: s.set_default_load_endianness("little"), lambda s: s.set_default_mmap_options(77),
    lambda s: s.get_unsafe_globals_in_checkpoint(io.BytesIO(b"text")),
    lambda s: s.default_restore_location(None, "nowhere")])
def test_misuse(call):
    errors = []
    for package in (mindtorch, torch):
        with pytest.raises((TypeError, ValueError, RuntimeError)) as error:
            call(package.serialization)
        errors.append(error.value)
    assert type(errors[0]) is type(errors[1])
    assert str(errors[0]).startswith(str(errors[1])[:40])


@pytest.mark.parametrize("package", [mindtorch, torch])
def test_mapped_files_may_be_shared(package, tmp_path):
    path = tmp_path / "file.pt"
    package.save(package.arange(4), path)
    with package.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        assert package.serialization.get_default_mmap_options() == mmap.MAP_SHARED
        package.load(path, mmap=True).fill_(7)
    assert package.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    package.load(path, mmap=True).fill_(5)
    assert package.load(path, mmap=True).tolist() == [7] * 4


@pytest.mark.parametrize(("writer", "reader"), [(mindtorch, torch), (torch, mindtorch), (mindtorch, mindtorch)])
def test_storages_without_their_bytes(writer, reader):
    tensor = writer.arange(1.0, 5.0)
    with writer.serialization.skip_data():
        empty = saved(writer, [tensor, tensor[2:]])
    assert len(empty.getvalue()) == len(saved(writer, [tensor, tensor[2:]]).getvalue())
    whole, part = reader.load(empty)
    assert whole.tolist() == [0] * 4
    whole.fill_(3)
    assert part.tolist() == [3, 3]
    with reader.serialization.skip_data():
        read = reader.load(saved(writer, tensor))
    assert tuple(read.shape) == (4,)
    assert read.untyped_storage().nbytes() == 16
    with pytest.raises(RuntimeError, match="Cannot use skip_data=True"), writer.serialization.skip_data():
        writer.save(1, io.BytesIO(), _use_new_zipfile_serialization=False)


def test_files_without_checksums():
    torch.serialization.set_crc32_options(False)
    file = saved(torch, torch.arange(4))
    assert mindtorch.load(file).tolist() == [0, 1, 2, 3]


def test_devices_of_ones_own(monkeypatch):
    """Asked before the CPU's own functions; where they answer None, those are asked."""
    monkeypatch.setattr("mindtorch._serialization.locations._packages", list(serialization.locations._packages))
    seen = []

    def restore(storage, location):
        if location == "cellar":
            seen.append(storage.nbytes)
            return storage
        return None

    mine = mindtorch.ones(3, dtype=mindtorch.float64)
    serialization.register_package(1, lambda storage: "cellar" if storage.dtype is mindtorch.float64 else None, restore)
    assert serialization.location_tag(mine) == "cellar"
    assert serialization.location_tag(mindtorch.ones(1)) == "cpu"
    file = saved(mindtorch, [mine, mindtorch.ones(2)])
    assert [tensor.tolist() for tensor in mindtorch.load(file)] == [[1, 1, 1], [1, 1]]
    assert seen == [24]
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"don't know how to restore data location .*tagged with cellar"):
        torch.load(file)
    monkeypatch.setattr("mindtorch._serialization.locations._packages", [])
    with pytest.raises(RuntimeError, match=r"don't know how to determine data location of numpy\.ndarray"):
        serialization.location_tag(np.zeros(1))


def dense(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"quantized": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
                "nested": lambda: torch.nested.nested_tensor([torch.ones(2)]),
                "complex32": lambda: torch.ones(2, dtype=torch.complex32)}[kind]()


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("kind", ["quantized", "nested", "complex32"])
def test_kinds_of_tensors_that_are_not_there(kind, weights_only):
    file = saved(torch, [dense(kind)])
    with pytest.raises(NotImplementedError, match=f"The file holds .*{kind}"):
        mindtorch.load(file, weights_only=weights_only)


def test_options_belong_to_a_thread():
    import threading
    seen = []
    with serialization.skip_data():
        thread = threading.Thread(target=lambda: seen.append(mindtorch.load(saved(mindtorch, mindtorch.ones(2)))))
        thread.start()
        thread.join()
    assert seen[0].tolist() == [1, 1]


def test_the_warning_can_be_named_in_filters():
    with contextlib.suppress(pickle.PickleError), warnings.catch_warnings():
        warnings.simplefilter("ignore", serialization.SourceChangeWarning)
        assert issubclass(serialization.SourceChangeWarning, Warning)


@pytest.mark.parametrize("wanted", [None, True, False])
@pytest.mark.parametrize("forced", ["", "WEIGHTS_ONLY_LOAD", "NO_WEIGHTS_ONLY_LOAD", "both"])
def test_the_environment_decides_whether_weights_alone_are_loaded(wanted, forced, monkeypatch):
    for name in ("WEIGHTS_ONLY_LOAD", "NO_WEIGHTS_ONLY_LOAD"):
        monkeypatch.setenv(f"TORCH_FORCE_{name}", "Yes" if forced in (name, "both") else "0")
    told = []
    for package in (mindtorch, torch):
        file = saved(package, [package.ones(2), Opened])
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                told.append(("loaded", package.load(file, weights_only=wanted)[1]))
            except (RuntimeError, pickle.UnpicklingError) as error:
                told.append((type(error), str(error) if type(error) is RuntimeError else ""))
        told[-1] += ([str(each.message) for each in warned],)
    assert told[0] == told[1]


class Opened:
    """A file that can seek, but has not the method `seekable`; and a class that no weights name."""

    def __init__(self, file):
        self.read, self.seek, self.tell = file.read, file.seek, file.tell


def test_a_file_without_the_method_seekable():
    assert mindtorch.load(Opened(saved(mindtorch, {"x": mindtorch.arange(3)})))["x"].tolist() == [0, 1, 2]
