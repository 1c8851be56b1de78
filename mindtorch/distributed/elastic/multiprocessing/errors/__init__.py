"""torch.distributed.elastic.multiprocessing.errors: how a failed rank reports its error to torchrun.

A function decorated by `record` writes what it raises to the file that TORCHELASTIC_ERROR_FILE names. torchrun reads
the files of the ranks and raises ChildFailedError.
"""
from __future__ import annotations

import faulthandler
import functools
import json
import os
import shutil
import signal
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]

_NO_TRACEBACK = ("<N/A>: decorate the main function by torch.distributed.elastic.multiprocessing.errors.record "
                 "to have it here")


class ErrorHandler:
    """Writes errors to the file that TORCHELASTIC_ERROR_FILE names.

    Example:
        >>> errors = dist.elastic.multiprocessing.errors
        >>> isinstance(errors.get_error_handler(), errors.ErrorHandler)
        True
    """

    def initialize(self) -> None:
        """Have a fatal signal print the Python stack."""
        try:
            faulthandler.enable(all_threads=True)
        except (OSError, ValueError, RuntimeError):     # a standard error that is no file
            return

    def _file(self):
        path = os.environ.get("TORCHELASTIC_ERROR_FILE")
        return Path(path) if path else None

    def record_exception(self, error: BaseException) -> None:
        """Write `error` and its traceback."""
        path = self._file()
        if path is not None:
            message = {"message": f"{type(error).__name__}: {error}",
                       "extraInfo": {"py_callstack": "".join(traceback.format_exception(error)),
                                     "timestamp": str(int(time.time()))}}
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"message": message}), encoding="utf-8")

    def dump_error_file(self, rootcause_error_file: str, error_code: int = 0) -> None:
        """Copy the error file of a rank to that of this process, for the parent process."""
        path = self._file()
        if path is not None and Path(rootcause_error_file).is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(rootcause_error_file, path)


def get_error_handler() -> ErrorHandler:
    """What `record` uses.

    Example:
        >>> handler = dist.elastic.multiprocessing.errors.get_error_handler()
        >>> handler.initialize()
    """
    return ErrorHandler()


@dataclass
class ProcessFailure:
    """How a rank has failed; `message` is read from its error file.

    Arguments:
        local_rank: the number of the process on its node
        pid: the number of the process
        exitcode: how the process has ended
        error_file: the file with its exception

    Example:
        >>> failure = dist.elastic.multiprocessing.ProcessFailure(local_rank=1, pid=4711, exitcode=-9, error_file="")
        >>> failure.local_rank, failure.exitcode
        (1, -9)
    """

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict = field(init=False)
    message: Any = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        self.error_file_data, self.timestamp = {}, int(time.time())
        if os.path.isfile(self.error_file):
            try:
                self.error_file_data = json.loads(Path(self.error_file).read_text(encoding="utf-8"))
                self.message = self.error_file_data["message"]
                details = self.message["extraInfo"] if isinstance(self.message, dict) else self.error_file_data
                self.timestamp = int(details["timestamp"])
                return
            except (ValueError, KeyError, TypeError) as error:
                self.message = f"the error file {self.error_file} cannot be read: {error!r}"
                return
        self.error_file = "<N/A>"
        self.message = (f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
                        if self.exitcode < 0 else _NO_TRACEBACK)

    def signal_name(self) -> str:
        """The name of the signal that has ended the process, or "<N/A>"."""
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return "<N/A>"

    def timestamp_isoformat(self) -> str:
        """When it failed."""
        return time.strftime("%Y-%m-%d_%H:%M:%S", time.localtime(self.timestamp))

    def traceback_text(self) -> str:
        """The traceback from the error file, or what stands for it."""
        if isinstance(self.message, dict):
            return self.message.get("extraInfo", {}).get("py_callstack") or self.message.get("message", "<N/A>")
        return self.message


class ChildFailedError(Exception):
    """Ranks have failed: `failures` by global rank. The message shows each, the first last.

    Arguments:
        name: the name
        failures: how ranks have failed: rank -> ProcessFailure
    """

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        if not failures:
            raise AssertionError("a ChildFailedError needs a failure")
        self.name, self.failures = name, failures
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """(rank, failure) of the rank that failed first; within one second, of the one that was seen first."""
        rank = min(self.failures, key=lambda rank: self.failures[rank].timestamp)
        return rank, self.failures[rank]

    def format_msg(self, boundary_delimiter: str = "=", section_delimiter: str = "-") -> str:
        """The report."""
        first, _ = self.get_first_failure()
        others = "\n".join(self._entry(index, rank) for index, rank in
                           enumerate((rank for rank in self.failures if rank != first), 1)) or "  <NO_OTHER_FAILURES>"
        lines = [f"{self.name} FAILED", section_delimiter * 60, "Failures:", others, section_delimiter * 60,
                 "Root Cause (first observed failure):", self._entry(0, first)]
        edge = boundary_delimiter * 60
        return "\n".join(["", edge, *lines, edge])

    def _entry(self, index, rank):
        failure = self.failures[rank]
        name = f" ({failure.signal_name()})" if failure.exitcode < 0 else ""
        text = failure.traceback_text().rstrip().replace("\n", "\n    ")
        return (f"[{index}]:\n  time      : {failure.timestamp_isoformat()}\n  host      : {socket.gethostname()}\n"
                f"  rank      : {rank} (local_rank: {failure.local_rank})\n"
                f"  exitcode  : {failure.exitcode} (pid: {failure.pid}){name}\n"
                f"  error_file: {failure.error_file}\n  traceback : {text}")


def record(fn: Callable, error_handler: ErrorHandler | None = None) -> Callable:
    """A decorator: `fn` writes its exception to the error file before it raises it.

    Arguments:
        fn: the function
        error_handler: an ErrorHandler; None means that of this process

    Example:
        >>> @dist.elastic.multiprocessing.errors.record
        ... def main():
        ...     return 0
        >>> main()
        0
    """
    handler = error_handler or get_error_handler()

    @functools.wraps(fn)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit as error:
            if error.code == 0:
                return None
            if error.code is not None:
                handler.record_exception(error)
            raise
        except ChildFailedError as error:
            _, failure = error.get_first_failure()
            if failure.error_file != "<N/A>":
                handler.dump_error_file(failure.error_file, failure.exitcode)
            raise
        except Exception as error:
            handler.record_exception(error)
            raise
    return recorded
