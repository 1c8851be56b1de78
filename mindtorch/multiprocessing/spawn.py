"""Runs a function in several processes, which all end if one fails."""
from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
import time
import traceback
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

__all__ = ["ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
           "spawn", "start_processes"]

_GRACE = 30                     # seconds that the other processes have to end when one has failed


class ProcessException(Exception):
    """A process has failed: `error_index` is its number, `error_pid` its process id.

    Arguments:
        msg: the message
        error_index: the number of the process that failed
        pid: its process number
    """

    def __init__(self, msg: str, error_index: int, pid: Any) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function has raised; the message holds the traceback of its process.

    Arguments:
        msg: the message
        error_index: the number of the process that failed
        error_pid: its process number
    """

    def __init__(self, msg: Any, error_index: Any, error_pid: Any) -> None:
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process has ended by itself, or by a signal.

    Arguments:
        msg: the message
        error_index: the number of the process that failed
        error_pid: its process number
        exit_code: its exit code
        signal_name: the name of the signal that ended it; None for none
    """

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int,
                 signal_name: str | None = None) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _call(fn, index, args, report):
    """The main function of a process. It writes a traceback to the file `report`, which the parent reads."""
    threading.Thread(target=_end_with_parent, name="end with the parent", daemon=True).start()
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass                    # the parent is told of Ctrl-C as well
    except Exception:           # noqa: BLE001 - the parent raises it again
        Path(report).write_text(traceback.format_exc(), encoding="utf-8")
        raise SystemExit(1) from None


def _end_with_parent():
    """A parent that has been killed has ended no process of its."""
    multiprocessing.parent_process().join()
    os.kill(os.getpid(), signal.SIGKILL)


class ProcessContext:
    """The processes that start_processes has started.

    Arguments:
        processes: the processes
        reports: the files with their errors

    Example:
        >>> context = torch.multiprocessing.start_processes(print, nprocs=2, join=False, start_method="fork")
        >>> while not context.join():
        ...     pass
        >>> len(context.pids())
        2
    """

    def __init__(self, processes: Any, reports: Any) -> None:
        self.processes = processes
        self._reports = reports         # a folder with a file for each process that has failed
        self._running = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> Any:
        """The ids of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> Any:
        """Waits until a process has ended: True once all have, False if some still run.

        One that has failed ends the others, after `grace_period` seconds by force, and raises ProcessRaisedException
        or ProcessExitedException.
        """
        if not self._running:
            return True
        ended = [self._running.pop(sentinel) for sentinel in wait(self._running, timeout)]
        for index in ended:
            self.processes[index].join()
        failed = next((index for index in ended if self.processes[index].exitcode != 0), None)
        if failed is None:
            if not self._running:
                self._join_all()
            return not self._running
        self._end_others(_GRACE if grace_period is None else grace_period)
        error = self._error(failed)
        self._join_all()
        raise error

    def _end_others(self, grace_period):
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        deadline = time.monotonic() + grace_period
        for process in self.processes:
            process.join(max(0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
        self._running.clear()

    def _join_all(self):
        for process in self.processes:
            process.join()
        self._reports.cleanup()

    def _error(self, index):
        process, report = self.processes[index], Path(self._reports.name, str(index))
        if report.exists():
            text = report.read_text(encoding="utf-8")
            return ProcessRaisedException(f"\n\n-- Process {index} terminated with the following error:\n{text}", index,
                                          process.pid)
        code = process.exitcode
        if code > 0:
            return ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        return ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """The processes that `spawn` has started.

    Arguments:
        processes: the processes
        reports: the files with their errors

    Example:
        >>> context = torch.multiprocessing.spawn(print, join=False)
        >>> while not context.join():
        ...     pass
        >>> type(context).__name__
        'SpawnContext'
    """


def start_processes(fn: Any, args: Any = (), nprocs: float = 1, join: bool = True, daemon: bool = False,
                    start_method: str = "spawn") -> Any:
    """Runs fn(i, *args) in `nprocs` processes, i from 0 on. None once all have ended well; with join=False at once, a
    ProcessContext. Raises what ProcessContext.join does.

    Arguments:
        fn: a function of the number of the process and the arguments
        args: further arguments of the function
        nprocs: the number of processes
        join: whether to wait until all have ended
        daemon: whether they end with this process
        start_method: "spawn", "fork" or "forkserver"

    Example:
        >>> torch.multiprocessing.start_processes(print, nprocs=2, start_method="fork")
    """
    context = multiprocessing.get_context(start_method)
    reports = tempfile.TemporaryDirectory(prefix="mindtorch-processes-")
    processes = [context.Process(target=_call, args=(fn, index, args, str(Path(reports.name, str(index)))),
                                 daemon=daemon) for index in range(nprocs)]
    for process in processes:
        process.start()
    kind = SpawnContext if start_method == "spawn" else ProcessContext
    started = kind(processes, reports)
    if not join:
        return started
    while not started.join():
        continue
    return None


def spawn(fn: Any, args: Any = (), nprocs: float = 1, join: bool = True, daemon: bool = False,
          start_method: str = "spawn") -> Any:
    """start_processes, each process being a fresh interpreter.

    Arguments:
        fn: a function of the number of the process and the arguments
        args: further arguments of the function
        nprocs: the number of processes
        join: whether to wait until all have ended
        daemon: whether they end with this process
        start_method: "spawn", "fork" or "forkserver"

    Example:
        >>> torch.multiprocessing.spawn(print, nprocs=2)        # each prints its number
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
