"""torch.hub: weights from addresses, kept in a folder. Models from repositories (torch.hub.load) are not there."""
import hashlib
import os
import re
import sys
import tempfile
from pathlib import PurePosixPath
from urllib.parse import unquote, urlparse
from urllib.request import Request, urlopen

from mindtorch.serialization import load

__all__ = ["download_url_to_file", "get_dir", "load_state_dict_from_url", "set_dir"]

_HASH = re.compile(r"-([a-f0-9]*)\.")           # in a file's name: resnet18-f37072fd.pth
_CHUNK = 1 << 17
_folder = None


def get_dir():
    """The folder of set_dir, else `hub` in $TORCH_HOME, in $XDG_CACHE_HOME/torch or in ~/.cache/torch."""
    if _folder is not None:
        return _folder
    cache = os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch")
    return os.path.join(os.path.expanduser(os.getenv("TORCH_HOME", cache)), "hub")


def set_dir(d):
    """Where downloads are kept from now on."""
    global _folder
    _folder = os.path.expanduser(d)


def _bar(total, progress):
    """A progress bar, where tqdm is installed; else something that counts nothing."""
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return None
    return tqdm(total=total, disable=not progress, unit="B", unit_scale=True, unit_divisor=1024)


def _fetched(url, file, progress):
    """Writes what the address holds to `file`. Returns its SHA-256."""
    digest = hashlib.sha256()
    with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
        length = source.headers.get("Content-Length")
        bar = _bar(int(length) if length else None, progress)
        while chunk := source.read(_CHUNK):
            file.write(chunk)
            digest.update(chunk)
            if bar is not None:
                bar.update(len(chunk))
        if bar is not None:
            bar.close()
    return digest.hexdigest()


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """The content of an address as the file `dst`, which is there whole or not at all.

    RuntimeError unless its SHA-256, in hexadecimal digits, begins with `hash_prefix`.
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


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None,
                             weights_only=False):
    """What torch.load finds at an address. It is downloaded once, to `model_dir` or to `checkpoints` in get_dir().

    With `check_hash` the file's name has to end in digits of its SHA-256: `name-<digits>.pth`.
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name if file_name is not None else PurePosixPath(unquote(urlparse(url).path)).name
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        found = _HASH.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress=progress)
    return load(path, map_location=map_location, weights_only=weights_only)
