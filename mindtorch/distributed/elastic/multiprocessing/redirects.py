"""torch.distributed.elastic.multiprocessing.redirects: the output of this process in files."""
from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
from collections.abc import Iterator

__all__ = ["get_libc", "redirect", "redirect_stderr", "redirect_stdout"]


def get_libc() -> ctypes.CDLL:
    """The C library, which has buffers of its own for the streams.

    Example:
        >>> from mindtorch.distributed.elastic.multiprocessing.redirects import get_libc
        >>> get_libc().abs(-2)
        2
    """
    return ctypes.CDLL(None)


def _flush(stream):
    """Writes what Python and C still hold."""
    stream.flush()
    get_libc().fflush(None)


@contextlib.contextmanager
def redirect(std: str, to_file: str) -> Iterator[None]:
    """Within the block a stream of this process goes to a file, also what C code and child processes write to it.

    Arguments:
        std: "stdout" or "stderr"; another name is a ValueError
        to_file: the path of the file, which is written anew

    Example:
        >>> import os, tempfile
        >>> from mindtorch.distributed.elastic.multiprocessing.redirects import redirect
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "err.log")
        ...     with redirect("stderr", path):
        ...         os.write(2, b"lost") == 4
        ...     open(path).read()
        True
        'lost'
    """
    if std not in ("stdout", "stderr"):
        raise ValueError(f"unknown standard stream <{std}>, must be one of stdout, stderr")
    descriptor = 1 if std == "stdout" else 2
    stream = getattr(sys, std)
    before = os.dup(descriptor)
    try:
        with open(to_file, "wb") as file:
            _flush(stream)
            os.dup2(file.fileno(), descriptor)
        # What is printed goes to the descriptor, whatever has taken the place of sys.stdout.
        with open(descriptor, "w", closefd=False) as printed:
            setattr(sys, std, printed)
            try:
                yield
            finally:
                setattr(sys, std, stream)
                _flush(printed)
    finally:
        os.dup2(before, descriptor)
        os.close(before)


redirect_stdout = functools.partial(redirect, "stdout")
redirect_stderr = functools.partial(redirect, "stderr")
