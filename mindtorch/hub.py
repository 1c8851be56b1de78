"""torch.hub: models that a repository's hubconf.py makes, and weights from URLs, in a cache folder."""
from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlparse
from urllib.request import Request, urlopen

from mindtorch import serialization

try:
    from tqdm import tqdm
except ModuleNotFoundError:
    class tqdm:
        """Replaces tqdm if it is not installed: counts and shows nothing."""

        def __init__(self, iterable=(), total=None, disable=False, **options):
            self.iterable, self.total, self.disable, self.n = iterable, total, disable, 0

        def __iter__(self):
            for item in self.iterable:
                yield item
                self.update(1)

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            self.close()

        def update(self, n=1):
            """Adds `n` to the count."""
            self.n += n

        def close(self):
            """Does nothing."""

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")           # in a file's name: resnet18-f37072fd.pth
_CHUNK = 1 << 17
_GITHUB = "https://github.com"
_TRUSTED_OWNERS = ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")
_folder = None


def _get_torch_home():
    """The folder of all that torch keeps: $TORCH_HOME, $XDG_CACHE_HOME/torch or ~/.cache/torch."""
    cache = os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch")
    return os.path.expanduser(os.getenv("TORCH_HOME", cache))


def get_dir() -> str:
    """The folder of set_dir, else `hub` in that of _get_torch_home().

    Example:
        >>> before = torch.hub.get_dir()
        >>> torch.hub.set_dir("models")
        >>> torch.hub.get_dir()
        'models'
        >>> torch.hub.set_dir(before)
    """
    return os.path.join(_get_torch_home(), "hub") if _folder is None else _folder


def set_dir(d: Any) -> None:
    """Sets the folder of downloads.

    Arguments:
        d: the folder

    Example:
        >>> before = torch.hub.get_dir()
        >>> torch.hub.set_dir("/models")
        >>> torch.hub.get_dir()
        '/models'
        >>> torch.hub.set_dir(before)
    """
    global _folder
    _folder = os.path.expanduser(d)


def _fetched(url, file, progress):
    """Writes the content of the URL to `file`. Returns its SHA-256."""
    digest = hashlib.sha256()
    with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
        length = source.headers.get("Content-Length")
        with tqdm(total=int(length) if length else None, disable=not progress, unit="B", unit_scale=True,
                  unit_divisor=1024) as bar:
            while chunk := source.read(_CHUNK):
                file.write(chunk)
                digest.update(chunk)
                bar.update(len(chunk))
    return digest.hexdigest()


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Downloads a URL to the file `dst`, atomically.

    RuntimeError unless its SHA-256, in hexadecimal digits, begins with `hash_prefix`.

    Arguments:
        url: the address
        dst: the path of the file
        hash_prefix: the beginning of the file's SHA-256; None means no check
        progress: whether a progress bar is shown

    Example:
        >>> import os, pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> source, copy = (pathlib.Path(folder.name, name) for name in ("model.bin", "copy.bin"))
        >>> _ = source.write_bytes(b"weights")
        >>> torch.hub.download_url_to_file(source.as_uri(), str(copy), progress=False)
        >>> copy.read_bytes()
        b'weights'
        >>> folder.cleanup()
    """
    dst = os.path.expanduser(dst)
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(os.path.abspath(dst)), prefix=os.path.basename(dst) + ".",
                                     suffix=".partial", delete=False) as file:
        try:
            digest = _fetched(url, file, progress)
            if hash_prefix is not None and not digest.startswith(hash_prefix):
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
        except BaseException:
            os.unlink(file.name)
            raise
    os.chmod(file.name, 0o666 & ~_umask())
    os.replace(file.name, dst)


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load_state_dict_from_url(url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True,
                             check_hash: bool = False, file_name: str | None = None,
                             weights_only: bool = False) -> dict[str, Any]:
    """torch.load of a URL, downloaded once to `model_dir` or to `checkpoints` in get_dir().

    With `check_hash` the file's name has to end in digits of its SHA-256: `name-<digits>.pth`.

    Arguments:
        url: the address
        model_dir: the folder; None means `checkpoints` in get_dir()
        map_location: as of torch.load
        progress: whether a progress bar is shown
        check_hash: whether the file's name has to end in the beginning of its SHA-256
        file_name: the name of the file; None means that of the address
        weights_only: as of torch.load

    Example:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> file = pathlib.Path(folder.name, "model.pth")
        >>> torch.save({"weight": torch.ones(2)}, file)
        >>> torch.hub.load_state_dict_from_url(file.as_uri(), model_dir=folder.name + "/cache", progress=False)
        {'weight': tensor([1., 1.])}
        >>> folder.cleanup()
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name if file_name is not None else PurePosixPath(unquote(urlparse(url).path)).name
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress=progress)
    return serialization.load(path, map_location=map_location, weights_only=weights_only)


def _ask(address):
    """Whether the server has this address."""
    try:
        with urlopen(Request(address, headers={"User-Agent": "torch.hub"}, method="HEAD")):
            return True
    except HTTPError as error:
        if error.code == 404:
            return False
        raise


def _parse(github):
    """owner/repository:ref -> (owner, repository, ref); without a ref the branch main, or else master."""
    repository, colon, ref = github.partition(":")
    owner, slash, name = repository.partition("/")
    if not slash or "/" in name:
        raise ValueError(f"torch.hub: expected owner/repository or owner/repository:ref, but got {github!r}")
    if not colon:
        cached = next((each for each in ("main", "master") if _cached(owner, name, each).exists()), None)
        ref = cached or ("main" if _ask(f"{_GITHUB}/{owner}/{name}/tree/main/") else "master")
    return owner, name, ref


def _cached(owner, name, ref):
    return Path(get_dir(), "_".join([owner, name, ref.replace("/", "_")]))


def _check_trust(owner, name, ref, trust_repo):
    """Asks on the terminal whether the code of this repository may run, unless it is known already. Remembers a yes."""
    file = Path(get_dir(), "trusted_list")
    entry = f"{owner}_{name}"
    known = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    is_trusted = entry in known or _cached(owner, name, ref).exists() or owner in _TRUSTED_OWNERS
    if trust_repo is False or (trust_repo == "check" and not is_trusted):
        answer = input(f"Loading from {owner}/{name} runs the code of that repository in this process. Do you trust "
                       "it? (y/N) ").lower()
        if answer in ("n", "no", ""):
            raise Exception("Untrusted repository.")
        if answer not in ("y", "yes"):
            raise ValueError(f"Unrecognized response {answer}.")
    if not is_trusted:
        with open(file, "a", encoding="utf-8") as trusted:
            trusted.write(f"{entry}\n")


def _download(github, force_reload, trust_repo, verbose):
    """The folder with the files of a repository on GitHub, downloaded unless it is in get_dir()."""
    owner, name, ref = _parse(github)
    os.makedirs(get_dir(), exist_ok=True)
    _check_trust(owner, name, ref, trust_repo)
    folder = _cached(owner, name, ref)
    if folder.exists() and not force_reload:
        if verbose:
            sys.stderr.write(f"Using cache found in {folder}\n")
        return folder
    with tempfile.TemporaryDirectory(dir=get_dir()) as scratch:
        address = f"{_GITHUB}/{owner}/{name}/zipball/{ref}"
        sys.stderr.write(f'Downloading: "{address}" to {get_dir()}\n')
        archive = Path(scratch, "repository.zip")
        download_url_to_file(address, str(archive), progress=False)
        with zipfile.ZipFile(archive) as content:
            top = content.namelist()[0].partition("/")[0]
            content.extractall(scratch)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(Path(scratch, top), folder)
    return folder


@contextmanager
def _hubconf(github, source, force_reload, trust_repo, verbose):
    """The module hubconf.py of a repository. Within the context what lies beside it can be imported."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    folder = Path(github) if source == "local" else _download(github, force_reload, trust_repo, verbose)
    found = importlib.util.spec_from_file_location("hubconf.py", folder / "hubconf.py")
    module = importlib.util.module_from_spec(found)
    sys.path.insert(0, str(folder))
    try:
        found.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(folder))


def _entry(module, name):
    """The function of a hubconf that makes a model."""
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    absent = [each for each in getattr(module, "dependencies", ()) if importlib.util.find_spec(each) is None]
    if absent:
        raise RuntimeError(f"Missing dependencies: {', '.join(absent)}")
    function = getattr(module, name, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return function


def list(github: Any, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check",
         verbose: bool = True) -> Any:
    """The names of the models that the hubconf.py of a repository on GitHub can make.

    Arguments:
        github: `owner/repository`, or `owner/repository:ref` with a branch or tag
        force_reload: whether it is downloaded again
        skip_validation: not read: nothing is asked of GitHub but the files
        trust_repo: as of `load`
        verbose: whether a message says that the cache is used

    Example:
        >>> torch.hub.list("pytorch/vision", trust_repo=True)             # doctest: +SKIP
        ['alexnet', 'convnext_base', ...]
    """
    with _hubconf(github, "github", force_reload, trust_repo, verbose) as module:
        return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help(github: Any, model: Any, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: Any = "check") -> Any:
    """The docstring of the function that makes a model.

    Arguments:
        github: as of `list`
        model: the name of the function in hubconf.py
        force_reload: whether the repository is downloaded again
        skip_validation: not read
        trust_repo: as of `load`

    Example:
        >>> print(torch.hub.help("pytorch/vision", "resnet18", trust_repo=True))      # doctest: +SKIP
    """
    with _hubconf(github, "github", force_reload, trust_repo, True) as module:
        return _entry(module, model).__doc__


def load(repo_or_dir: Any, model: Any, *args: Any, source: Any = "github", trust_repo: Any = "check",
         force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any) -> Any:
    """What a function of a repository's hubconf.py returns: model(*args, **kwargs).

    The code of the repository runs in this process. What its `import torch` finds is mindtorch only where the alias is
    on (`python -m mindtorch`, `alias_torch()`).

    Arguments:
        repo_or_dir: `owner/repository` or `owner/repository:ref` of GitHub; with source="local" a folder
        model: the name of the function
        *args: its arguments
        source: "github" or "local"
        trust_repo: True trusts the repository from now on; "check" asks on the terminal unless it is trusted; False
            asks always
        force_reload: whether the repository is downloaded again
        verbose: whether a message says that the cache is used
        skip_validation: not read
        **kwargs: the function's arguments by name

    RuntimeError where hubconf.py has no such function, or names packages in `dependencies` that are not installed.

    Example:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> _ = pathlib.Path(folder.name, "hubconf.py").write_text("def double(x): return 2 * x")
        >>> torch.hub.load(folder.name, "double", torch.ones(2), source="local")
        tensor([2., 2.])
        >>> folder.cleanup()
    """
    with _hubconf(repo_or_dir, str(source).lower(), force_reload, trust_repo, verbose) as module:
        return _entry(module, model)(*args, **kwargs)
