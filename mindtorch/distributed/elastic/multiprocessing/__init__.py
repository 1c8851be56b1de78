"""torch.distributed.elastic.multiprocessing: the worker processes of a node, and where their output goes."""
from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntFlag
from pathlib import Path
from typing import Any

from mindtorch._submodules import module_getattr as _module_getattr
from mindtorch.distributed.elastic.multiprocessing.errors import ProcessFailure, record
from mindtorch.distributed.elastic.multiprocessing.tail_log import TailLog

__all__ = ["DefaultLogsSpecs", "LogsDest", "LogsSpecs", "MultiprocessContext", "PContext", "ProcessFailure",
           "RunProcsResult", "SignalException", "Std", "SubprocessContext", "start_processes", "to_map"]


class SignalException(Exception):
    """torchrun has received a signal.

    Arguments:
        msg: the message
        sigval: the number of the signal
    """

    def __init__(self, msg: str, sigval: signal.Signals) -> None:
        super().__init__(msg)
        self.sigval = sigval


class Std(IntFlag):
    """Standard streams: 0 none, 1 stdout, 2 stderr, 3 both."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = 3

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """"3" for all ranks, or "0:1,1:2" by local rank."""
        try:
            if ":" not in vm:
                return cls(int(vm))
            return {int(rank): cls(int(value)) for rank, value in (pair.split(":") for pair in vm.split(","))}
        except ValueError:
            raise ValueError(f"{vm} is neither one of 0 1 2 3 nor rank:value,rank:value") from None


def to_map(val_or_map: Std | dict[int, Std], local_world_size: int) -> dict[int, Std]:
    """The streams of each local rank.

    Arguments:
        val_or_map: one value for all ranks, or a dict by local rank
        local_world_size: the number of workers on this node

    Example:
        >>> multiprocessing = dist.elastic.multiprocessing
        >>> multiprocessing.to_map(multiprocessing.Std.OUT, local_world_size=2)
        {0: <Std.OUT: 1>, 1: <Std.OUT: 1>}
    """
    if isinstance(val_or_map, Std):
        return dict.fromkeys(range(local_world_size), val_or_map)
    return {rank: val_or_map.get(rank, Std.NONE) for rank in range(local_world_size)}


@dataclass
class LogsDest:
    """By local rank: the files of the streams ("" for none), those that are shown as well, and the error files.

    Arguments:
        stdouts: the files of the standard output, by local rank
        stderrs: the files of the errors, by local rank
        tee_stdouts: the files of standard output that the terminal shows as well
        tee_stderrs: the files of errors that the terminal shows as well
        error_files: the files of exceptions, by local rank

    Example:
        >>> dist.elastic.multiprocessing.LogsDest(stdouts={0: "stdout.log"}).stdouts[0]
        'stdout.log'
    """

    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)
    tee_stdouts: dict[int, str] = field(default_factory=dict)
    tee_stderrs: dict[int, str] = field(default_factory=dict)
    error_files: dict[int, str] = field(default_factory=dict)


class LogsSpecs(ABC):
    """Decides where the output of the workers goes. `reify` is called for each start.

    Arguments:
        log_dir: the folder of the files; None makes one
        redirects: which streams go to files: a Std, or one by local rank
        tee: which streams go to files and to the terminal: a Std, or one by local rank
        local_ranks_filter: the local ranks whose output the terminal shows; None means all

    Example:
        >>> multiprocessing = dist.elastic.multiprocessing
        >>> class NoLogs(multiprocessing.LogsSpecs):
        ...     def reify(self, envs):
        ...         return multiprocessing.LogsDest(*[dict.fromkeys(envs, "") for _ in range(2)])
        >>> NoLogs().reify({0: {}}).stdouts
        {0: ''}
    """

    def __init__(self, log_dir: str | None = None, redirects: Std | dict[int, Std] = Std.NONE,
                 tee: Std | dict[int, Std] = Std.NONE, local_ranks_filter: set[int] | None = None) -> None:
        self._root_log_dir, self._redirects, self._tee = log_dir, redirects, tee
        self._local_ranks_filter = local_ranks_filter

    @abstractmethod
    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        """The files for workers of these environments."""

    def discard(self) -> None:      # noqa: B027 - a class that keeps its files need not say so
        """All workers have succeeded: delete what was kept for the case of a failure."""

    @property
    def root_log_dir(self) -> str | None:
        """The folder of all logs."""
        return self._root_log_dir


class DefaultLogsSpecs(LogsSpecs):
    """<log_dir>/<run id>_<random>/attempt_<n>/<local rank>/{stdout.log,stderr.log,error.json}.

    Arguments:
        log_dir: the folder of the files; None makes one
        redirects: which streams go to files: a Std, or one by local rank
        tee: which streams go to files and to the terminal: a Std, or one by local rank
        local_ranks_filter: the local ranks whose output the terminal shows; None means all

    Example:
        >>> import os, tempfile
        >>> multiprocessing = dist.elastic.multiprocessing
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     specs = multiprocessing.DefaultLogsSpecs(folder, redirects=multiprocessing.Std.ALL)
        ...     os.path.basename(specs.reify({0: {}}).stdouts[0])
        'stdout.log'
    """

    def __init__(self, log_dir: str | None = None, redirects: Std | dict[int, Std] = Std.NONE,
                 tee: Std | dict[int, Std] = Std.NONE, local_ranks_filter: set[int] | None = None) -> None:
        if log_dir is not None and os.path.exists(log_dir) and not os.path.isdir(log_dir):
            raise NotADirectoryError(f"log_dir: {log_dir} is a file")
        super().__init__(log_dir, redirects, tee, local_ranks_filter)
        self._run_folder, self._is_temporary = None, log_dir is None

    def reify(self, envs: dict[int, dict[str, str]]) -> LogsDest:
        first = next(iter(envs.values()), {})
        if self._run_folder is None:
            if self._root_log_dir is None:
                self._root_log_dir = tempfile.mkdtemp(prefix="torchelastic_")
            os.makedirs(self._root_log_dir, exist_ok=True)
            self._run_folder = tempfile.mkdtemp(prefix=f"{first.get('TORCHELASTIC_RUN_ID', 'run')}_",
                                                dir=self._root_log_dir)
        attempt = Path(self._run_folder, f"attempt_{first.get('TORCHELASTIC_RESTART_COUNT', 0)}")
        redirects, tee = to_map(self._redirects, len(envs)), to_map(self._tee, len(envs))
        made = LogsDest()
        for rank in envs:
            folder = attempt / str(rank)
            folder.mkdir(parents=True, exist_ok=True)
            made.error_files[rank] = str(folder / "error.json")
            shown = self._local_ranks_filter is None or rank in self._local_ranks_filter
            for stream, files, tees in ((Std.OUT, made.stdouts, made.tee_stdouts),
                                        (Std.ERR, made.stderrs, made.tee_stderrs)):
                path = str(folder / f"std{stream.name.lower()}.log")
                files[rank] = path if stream in redirects[rank] | tee[rank] or not shown else ""
                if shown and stream in tee[rank]:
                    tees[rank] = path
        return made

    def discard(self) -> None:
        if self._is_temporary and self._redirects == self._tee == Std.NONE:
            shutil.rmtree(self._root_log_dir, ignore_errors=True)


@dataclass
class RunProcsResult:
    """What the workers have returned, or how they have failed, by local rank.

    Arguments:
        return_values: what each rank has returned
        failures: how ranks have failed: rank -> ProcessFailure
        stdouts: the files of the standard output, by local rank
        stderrs: the files of the errors, by local rank

    Example:
        >>> dist.elastic.multiprocessing.RunProcsResult(return_values={0: 1, 1: 4}).is_failed()
        False
    """

    return_values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, ProcessFailure] = field(default_factory=dict)
    stdouts: dict[int, str] = field(default_factory=dict)
    stderrs: dict[int, str] = field(default_factory=dict)

    def is_failed(self) -> bool:
        """Whether one has failed."""
        return bool(self.failures)


class PContext(ABC):
    """The workers of a node. Each is the first of its process group, which `close` ends.

    Arguments:
        name: the name
        entrypoint: a function, or a command as a str
        args: the arguments of the function or command, by local rank
        envs: the environment variables, by local rank
        logs_specs: a LogsSpecs: where output goes
        log_line_prefixes: what comes before each line of output, by local rank

    Example:
        >>> multiprocessing = dist.elastic.multiprocessing
        >>> issubclass(multiprocessing.SubprocessContext, multiprocessing.PContext)
        True
    """

    shutdown_timeout = 30.0     # seconds that workers have to end by themselves

    def __init__(self, name: str, entrypoint: Any, args: dict[int, tuple], envs: dict[int, dict[str, str]],
                 logs_specs: LogsSpecs, log_line_prefixes: dict[int, str] | None = None) -> None:
        self.name, self.entrypoint, self.args, self.envs = name, entrypoint, args, envs
        self.logs = logs_specs.reify(envs)
        self._prefixes, self._tails = log_line_prefixes or {}, []
        self._pidfds: dict[int, int] = {}       # descriptors of the workers that have not been seen to end
        self._pids: dict[int, int] = {}
        self.exitcodes: dict[int, int] = {}

    @abstractmethod
    def _start(self, rank) -> int:
        """Start a worker; its process id."""

    @abstractmethod
    def _exitcode(self, rank) -> int:
        """The exit code of a worker that has ended."""

    def start(self) -> None:
        """Start the workers."""
        for rank in self.envs:
            self.envs[rank]["TORCHELASTIC_ERROR_FILE"] = self.logs.error_files[rank]
            self._pids[rank] = self._start(rank)
            self._pidfds[rank] = os.pidfd_open(self._pids[rank])
        for files, stream in ((self.logs.tee_stdouts, sys.stdout), (self.logs.tee_stderrs, sys.stderr)):
            self._tails.append(TailLog(self.name, files, stream, self._prefixes).start())

    def pids(self) -> dict[int, int]:
        """The process ids by local rank."""
        return dict(self._pids)

    def _collect_exits(self, timeout):
        """Wait at most so many seconds for a worker to end, and take note of all that have."""
        poll = select.poll()
        ranks = {descriptor: rank for rank, descriptor in self._pidfds.items()}
        for descriptor in ranks:
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll(max(0, timeout) * 1000) if ranks else ():
            rank = ranks[descriptor]
            self.exitcodes[rank] = self._exitcode(rank)
            os.close(self._pidfds.pop(rank))

    def wait(self, timeout: float = -1, period: float = 1) -> RunProcsResult | None:
        """The result, once all workers have ended or one has failed; None if `timeout` seconds pass before (0: a look).

        A failure ends the others.
        """
        deadline = time.monotonic() + (timeout if timeout >= 0 else float("inf"))
        while True:
            self._collect_exits(min(period, deadline - time.monotonic()))
            failed = {rank: code for rank, code in self.exitcodes.items() if code}
            if failed or not self._pidfds:
                return self._result(failed)
            if time.monotonic() >= deadline:
                return None

    def _result(self, failed):
        if not failed:
            self._stop_tails()
            return RunProcsResult(self._return_values(), {}, self.logs.stdouts, self.logs.stderrs)
        failures = {rank: self._failure(rank) for rank in failed}
        self.close()
        failures |= {rank: self._failure(rank) for rank, code in self.exitcodes.items()
                     if code and rank not in failures}
        return RunProcsResult({}, failures, self.logs.stdouts, self.logs.stderrs)

    def _failure(self, rank):
        return ProcessFailure(rank, self._pids[rank], self.exitcodes[rank], self.logs.error_files[rank])

    def _return_values(self):
        return dict.fromkeys(self.envs)

    def close(self, death_sig: signal.Signals | None = None, timeout: float | None = None) -> None:
        """End the workers by `death_sig` (SIGTERM), and after `timeout` seconds their process groups by SIGKILL."""
        timeout = self.shutdown_timeout if timeout is None else timeout
        for descriptor in self._pidfds.values():
            signal.pidfd_send_signal(descriptor, death_sig or signal.SIGTERM)
        deadline = time.monotonic() + timeout
        while self._pidfds and time.monotonic() < deadline:
            self._collect_exits(deadline - time.monotonic())
        for descriptor in self._pidfds.values():
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        for pid in self._pids.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        while self._pidfds:
            self._collect_exits(60)
        self._stop_tails()

    def _stop_tails(self):
        for tail in self._tails:
            tail.stop()
        self._tails = []


class SubprocessContext(PContext):
    """Workers that run a command.

    Arguments:
        *args: the arguments of PContext
        **kwargs: the arguments of PContext by name

    Example:
        >>> import sys
        >>> multiprocessing = dist.elastic.multiprocessing
        >>> context = multiprocessing.start_processes("job", sys.executable, {0: ("-c", "pass")}, {0: {}},
        ...                                           multiprocessing.DefaultLogsSpecs())
        >>> type(context).__name__, context.wait().is_failed()
        ('SubprocessContext', False)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._processes: dict[int, subprocess.Popen] = {}

    def _start(self, rank):
        with contextlib.ExitStack() as files:
            streams = {name: files.enter_context(open(paths[rank], "ab")) if paths.get(rank) else None
                       for name, paths in (("stdout", self.logs.stdouts), ("stderr", self.logs.stderrs))}
            self._processes[rank] = subprocess.Popen([self.entrypoint, *map(str, self.args[rank])], process_group=0,
                                                     env=os.environ | self.envs[rank], **streams)
        return self._processes[rank].pid

    def _exitcode(self, rank):
        return self._processes[rank].wait()


class MultiprocessContext(PContext):
    """Workers that run a function of Python.

    Arguments:
        *args: the arguments of PContext
        start_method: how processes are started: "spawn", "fork" or "forkserver"
        **kwargs: further arguments of the base

    Example:
        >>> import math
        >>> multiprocessing = dist.elastic.multiprocessing
        >>> context = multiprocessing.start_processes("job", math.sqrt, {0: (4,)}, {0: {}},
        ...                                           multiprocessing.DefaultLogsSpecs())
        >>> type(context).__name__, context.wait().return_values
        ('MultiprocessContext', {0: 2.0})
    """

    def __init__(self, *args: Any, start_method: str = "spawn", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._context = multiprocessing.get_context(start_method)
        self._processes: dict[int, Any] = {}
        self._results = tempfile.TemporaryDirectory(prefix="torchelastic_results_")

    def _start(self, rank):
        process = self._context.Process(target=_call, args=(
            self.entrypoint, self.args[rank], self.envs[rank], self.logs.stdouts.get(rank),
            self.logs.stderrs.get(rank), str(Path(self._results.name, str(rank)))))
        process.start()
        self._processes[rank] = process
        return process.pid

    def _exitcode(self, rank):
        self._processes[rank].join()
        return self._processes[rank].exitcode

    def _return_values(self):
        return {rank: pickle.loads(Path(self._results.name, str(rank)).read_bytes()) for rank in self.envs}

    def close(self, death_sig: signal.Signals | None = None, timeout: float | None = None) -> None:
        super().close(death_sig, timeout)
        self._results.cleanup()


def _call(function, args, env, stdout, stderr, result):
    """What a worker does that runs a function."""
    os.setpgid(0, 0)
    os.environ.update(env)
    for path, stream in ((stdout, sys.stdout), (stderr, sys.stderr)):
        if path:
            with open(path, "ab") as file:
                os.dup2(file.fileno(), stream.fileno())
    value = record(function)(*args)
    Path(result).write_bytes(pickle.dumps(value))


def start_processes(name: str, entrypoint: Callable | str, args: dict[int, tuple], envs: dict[int, dict[str, str]],
                    logs_specs: LogsSpecs, log_line_prefixes: dict[int, str] | None = None,
                    start_method: str = "spawn") -> PContext:
    """Start a worker for each local rank: the command or the function `entrypoint` with its arguments.

    Arguments:
        name: the name
        entrypoint: a function, or a command as a str
        args: the arguments of the function or command, by local rank
        envs: the environment variables, by local rank
        logs_specs: a LogsSpecs: where output goes
        log_line_prefixes: what comes before each line of output, by local rank
        start_method: how processes are started: "spawn", "fork" or "forkserver"

    Example:
        >>> import math
        >>> multiprocessing = dist.elastic.multiprocessing
        >>> context = multiprocessing.start_processes("job", math.sqrt, {0: (4,), 1: (9,)}, {0: {}, 1: {}},
        ...                                           multiprocessing.DefaultLogsSpecs())
        >>> context.wait().return_values
        {0: 2.0, 1: 3.0}
    """
    if args.keys() != envs.keys():
        raise RuntimeError(f"args has the local ranks {sorted(args)}, envs has {sorted(envs)}")
    if isinstance(entrypoint, str):
        context = SubprocessContext(name, entrypoint, args, envs, logs_specs, log_line_prefixes)
    else:
        context = MultiprocessContext(name, entrypoint, args, envs, logs_specs, log_line_prefixes,
                                      start_method=start_method)
    try:
        context.start()
    except BaseException:
        context.close()
        raise
    return context


__getattr__ = _module_getattr(__name__)
