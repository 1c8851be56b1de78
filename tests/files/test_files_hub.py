"""torch.hub's weights from addresses; those of the tests are files."""
import hashlib
import os
import shutil

import pytest
import torch

import mindtorch
from mindtorch import hub
from mindtorch.utils.model_zoo import load_url


@pytest.fixture
def weights(tmp_path):
    """A checkpoint whose name ends in the beginning of its hash."""
    plain = tmp_path / "model.pth"
    mindtorch.save({"weight": mindtorch.arange(3.0)}, plain)
    named = tmp_path / f"model-{hashlib.sha256(plain.read_bytes()).hexdigest()[:8]}.pth"
    return plain.rename(named)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder that downloads are kept in."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(hub, "_folder", None)           # as before set_dir
    return tmp_path / "home" / "hub" / "checkpoints"


def test_once_only(weights, folder, capsys):
    found = hub.load_state_dict_from_url(weights.as_uri(), check_hash=True, progress=False)
    assert found["weight"].tolist() == [0, 1, 2]
    assert [path.name for path in folder.iterdir()] == [weights.name]
    assert f'Downloading: "{weights.as_uri()}" to {folder / weights.name}' in capsys.readouterr().err
    assert oct((folder / weights.name).stat().st_mode) == oct(weights.stat().st_mode)
    weights.unlink()
    assert load_url(weights.as_uri())["weight"].tolist() == [0, 1, 2]
    assert capsys.readouterr().err == ""


def test_names_and_places(weights, tmp_path, device):
    place = tmp_path / "else" / "where"
    found = hub.load_state_dict_from_url(weights.as_uri(), model_dir=str(place), file_name="a.pth", weights_only=True,
                                         map_location=device, progress=False)
    assert found["weight"].device.type == device
    assert os.listdir(place) == ["a.pth"]


def test_a_wrong_hash_leaves_nothing(weights, folder):
    other = weights.with_name("model-00000000.pth")
    shutil.copy(weights, other)
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    with pytest.raises(RuntimeError, match=f'invalid hash value \\(expected "00000000", got "{digest}"\\)'):
        hub.load_state_dict_from_url(other.as_uri(), check_hash=True, progress=False)
    assert list(folder.iterdir()) == []
    with pytest.raises(OSError, match="No such file"):
        hub.download_url_to_file((weights.parent / "none").as_uri(), str(folder / "x"), progress=False)
    assert list(folder.iterdir()) == []


def test_the_folder_is_torchs(monkeypatch, tmp_path):
    monkeypatch.delenv("TORCH_HOME", raising=False)
    monkeypatch.setattr(hub, "_folder", None)
    monkeypatch.setenv("XDG_CACHE_HOME", "~/other")
    assert hub.get_dir() == torch.hub.get_dir()
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert hub.get_dir() == torch.hub.get_dir()
    hub.set_dir("~/mine")
    assert hub.get_dir() == os.path.expanduser("~/mine")
