"""torch.hub: weights from addresses, which are files here; models of repositories, from a server of this process."""
import hashlib
import http.server
import io
import os
import shutil
import threading
import zipfile

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


HUBCONF = """
import beside
import torch
dependencies = ["torch"]

def doubled(size, scale=2):
    "A vector of numbers."
    import later
    return scale * torch.ones(size) * later.ONE

def _private():
    pass

constant = 3
"""


def write_repository(folder, hubconf=HUBCONF):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hubconf.py").write_text(hubconf)
    (folder / "beside.py").write_text("")
    (folder / "later.py").write_text("ONE = 1")
    return folder


def test_a_local_repository(tmp_path):
    folder = write_repository(tmp_path / "repository")
    for library in (mindtorch, torch):
        load = library.hub.load
        assert load(str(folder), "doubled", 3, source="local").tolist() == [2, 2, 2]
        assert load(str(folder), "doubled", 1, scale=5, source="LOCAL").tolist() == [5]
        with pytest.raises(RuntimeError, match=r"^Cannot find callable tripled in hubconf$"):
            load(str(folder), "tripled", source="local")
        with pytest.raises(ValueError, match=r'^Unknown source: "web". Allowed values: "github" | "local".$'):
            load(str(folder), "doubled", 3, source="web")
        with pytest.raises(ValueError, match=r"^Invalid input: model should be a string of function name$"):
            load(str(folder), 3, source="local")
    write_repository(folder, 'dependencies = ["no_such_package", "nor_this"]\ndef doubled(): pass')
    for library in (mindtorch, torch):
        with pytest.raises(RuntimeError, match=r"^Missing dependencies: no_such_package, nor_this$"):
            library.hub.load(str(folder), "doubled", source="local")


class GitHub(http.server.BaseHTTPRequestHandler):
    """A server with one repository, someone/models, whose branch is master."""

    requests = []

    def do_HEAD(self):
        self.requests.append(self.path)
        self.send_error(404)

    def do_GET(self):
        self.requests.append(self.path)
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for name, text in (("hubconf.py", HUBCONF), ("beside.py", ""), ("later.py", "ONE = 1")):
                archive.writestr(f"someone-models-0123abc/{name}", text)
        self.send_response(200)
        self.send_header("Content-Length", str(len(content.getvalue())))
        self.end_headers()
        self.wfile.write(content.getvalue())

    def log_message(self, *arguments):
        pass


@pytest.fixture
def github(monkeypatch, folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
    threading.Thread(target=server.serve_forever).start()
    monkeypatch.setattr(hub, "_GITHUB", f"http://127.0.0.1:{server.server_port}")
    GitHub.requests = []
    yield GitHub
    server.shutdown()
    server.server_close()


def test_a_repository_is_downloaded_once(github, folder, capsys, monkeypatch):
    answers = iter(["", "perhaps", "y"])
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    with pytest.raises(Exception, match=r"^Untrusted repository.$"):
        hub.load("someone/models", "doubled", 2)
    with pytest.raises(ValueError, match=r"^Unrecognized response perhaps.$"):
        hub.load("someone/models", "doubled", 2)
    assert hub.load("someone/models", "doubled", 2).tolist() == [2, 2]
    assert sorted(os.listdir(folder.parent)) == ["someone_models_master", "trusted_list"]
    assert (folder.parent / "trusted_list").read_text() == "someone_models\n"
    assert github.requests == 3 * ["/someone/models/tree/main/"] + ["/someone/models/zipball/master"]
    assert hub.list("someone/models") == ["doubled"]
    assert hub.help("someone/models:master", "doubled") == "A vector of numbers."
    assert len(github.requests) == 4
    assert capsys.readouterr().err.count("Using cache found in") == 2
    hub.load("someone/models:v1/a", "doubled", 2, force_reload=True)
    assert (folder.parent / "someone_models_v1_a" / "later.py").exists()
    assert github.requests[4:] == ["/someone/models/zipball/v1/a"]
    with pytest.raises(ValueError, match=r"expected owner/repository or owner/repository:ref, but got 'models'"):
        hub.load("models", "doubled")
