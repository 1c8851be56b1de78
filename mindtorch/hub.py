"""torch.hub: downloads weights from URLs into a cache folder. torch.hub.load is not available."""
from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlparse
from urllib.request import Request, urlopen

from mindtorch.serialization import load

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

__all__ = ["download_url_to_file", "get_dir", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")           # in a file's name: resnet18-f37072fd.pth
_CHUNK = 1 << 17
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
    return load(path, map_location=map_location, weights_only=weights_only)
