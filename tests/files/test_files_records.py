"""torch.PyTorchFileReader beside torch's, on a file of torch.save."""
import gc
import io

import pytest
import torch

import mindtorch


def reader(library):
    file = io.BytesIO()
    torch.save({"a": torch.arange(3.0)}, file)
    file.seek(0)
    return library.PyTorchFileReader(file)


def test_records():
    ours, theirs = reader(mindtorch), reader(torch)
    assert ours.get_all_records() == theirs.get_all_records()
    assert ours.get_record("version") == theirs.get_record("version")
    assert ours.get_record_size("data.pkl") == theirs.get_record_size("data.pkl")
    assert [ours.has_record(name) for name in ("data/0", "data/1")] == [True, False]
    assert ours.serialization_id() == theirs.serialization_id()


@pytest.mark.parametrize(("numel", "kind"), [(3, "float32"), (12, "UntypedStorage")])
def test_storages(numel, kind):
    found = reader(mindtorch).get_storage_from_record("data/0", numel, getattr(mindtorch, kind))
    assert (found.numel(), found.untyped_storage().nbytes()) == (0, 12)
    assert found._typed_storage()._untyped_storage.nbytes() == 12
    assert mindtorch.empty(0).set_(found.untyped_storage(), 0, (3,)).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match=r"record data/0 has 12 bytes, not 4 elements of torch\.float32"):
        reader(mindtorch).get_storage_from_record("data/0", 4, mindtorch.float32)


def test_files_are_closed(tmp_path):
    """ResourceWarning, an error here, tells of one that was not."""
    torch.save({"a": 1}, tmp_path / "whole")
    tmp_path.joinpath("broken").write_bytes(b"123")
    assert mindtorch.PyTorchFileReader(tmp_path / "whole").get_record("version") == b"3\n"
    with pytest.raises(RuntimeError, match="failed reading zip archive"):
        mindtorch.PyTorchFileReader(str(tmp_path / "broken"))
    gc.collect()


@pytest.mark.parametrize("read", [
    lambda library: reader(library).get_record("nope"), lambda library: library.PyTorchFileReader("/nonexistent"),
    lambda library: library.PyTorchFileReader(io.BytesIO(b"123"))])
def test_refusals(read):
    for library in (torch, mindtorch):
        with pytest.raises(RuntimeError, match=r"^(PytorchStreamReader failed|open file failed because of errno 2)"):
            read(library)
