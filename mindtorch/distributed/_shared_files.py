"""The files of MPI's shared memory. MPI maps them by name and leaves the names: a rank that is killed removes none."""
from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from mindtorch.distributed.elastic.guard import MARK, NOTE

__all__ = ["announce", "remove_named", "remove_stale"]

_FOLDER = Path("/dev/shm")
# Of MPICH, of UCX, which it sends with, and our notes.
_PATTERNS = "mpich_shm_*", "ucx_shm_posix_*", NOTE.format("*", "*")
_YOUNG = 60     # seconds in which a file may have an owner that is not seen, in another container


def _mapped(process):
    with open(f"/proc/{process}/maps", encoding="utf-8") as maps:
        return {line.rstrip("\n").split(maxsplit=5)[5] for line in maps if str(_FOLDER) in line}


_note: Path | None = None


def announce(name: str) -> None:
    """Leave a note for the guard of torchrun, if that has started this process: MPI makes files for this job now.

    MPICH names them by a hash of the job's name, FNV-1a.
    """
    global _note
    if MARK not in os.environ:
        return
    code = 2166136261
    for byte in name.encode():
        code = (code ^ byte) * 16777619 & 0xFFFFFFFF
    _note = _FOLDER / NOTE.format(os.environ[MARK], f"{code:x}")
    _note.touch()


def remove_named() -> None:
    """Remove the names of what MPI has mapped in this process: its memory then ends with the last process."""
    for path in map(Path, _mapped("self")):
        if path.match(_PATTERNS[0]):
            path.unlink(missing_ok=True)
    if _note is not None:
        _note.unlink(missing_ok=True)


def _in_use() -> Iterator[str]:
    """What the processes of this user have mapped or opened in the folder."""
    for process in filter(str.isdecimal, os.listdir("/proc")):
        try:
            yield from _mapped(process)
            for descriptor in Path("/proc", process, "fd").iterdir():
                yield os.readlink(descriptor)
        except OSError:
            continue        # it has ended, or is another user's, whose files are not ours to remove


def remove_stale() -> None:
    """Remove the files of ranks that were killed before they could: older than a minute and of no living process."""
    limit = time.time() - _YOUNG
    stale = set()
    for path in (path for pattern in _PATTERNS for path in _FOLDER.glob(pattern)):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        if status.st_mtime < limit and status.st_uid == os.getuid():
            stale.add(path)
    if stale:
        for path in stale.difference(map(Path, _in_use())):
            path.unlink(missing_ok=True)
