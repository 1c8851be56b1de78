"""torch.distributed.elastic.timer.file_based_local_timer: timers whose requests go through a named pipe.

Any process that knows the path may be a client, which a multiprocessing.Queue does not allow.
"""
from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import signal as signals
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mindtorch.distributed.elastic.timer import TimerClient

__all__ = ["FileTimerClient", "FileTimerRequest", "FileTimerServer"]

_log = logging.getLogger(__name__)


@dataclass
class FileTimerRequest:
    """A timer of a process for a scope, which runs out at a time since 1970. A negative time releases it.

    Arguments:
        worker_pid: the number of the process
        scope_id: the name of the scope
        expiration_time: the time in seconds since 1970; negative to release the timer
        signal: what ends the process then; 0 for nothing

    Example:
        >>> from mindtorch.distributed.elastic.timer import FileTimerRequest
        >>> FileTimerRequest(17, "step", 1.5e9, signal=9).to_json()
        '{"pid": 17, "scope_id": "step", "expiration_time": 1500000000.0, "signal": 9}'
    """

    worker_pid: int
    scope_id: str
    expiration_time: float
    signal: int = 0

    def to_json(self) -> str:
        """The request as a line of JSON."""
        return json.dumps({"pid": self.worker_pid, "scope_id": self.scope_id,
                           "expiration_time": self.expiration_time, "signal": int(self.signal)})


class FileTimerClient(TimerClient):
    """A worker of this machine that writes its requests to the named pipe of a FileTimerServer.

    Arguments:
        file_path: the path of the pipe; without a server a request is a BrokenPipeError
        signal: what ends this process when a timer has run out

    Example:
        >>> from mindtorch.distributed.elastic import timer
        >>> with timer.expires(after=1, client=timer.FileTimerClient("/no/such/pipe")):
        ...     pass
        Traceback (most recent call last):
        BrokenPipeError: Could not send the FileTimerRequest because FileTimerServer is not available.
    """

    def __init__(self, file_path: str, signal: Any = signals.SIGKILL) -> None:
        self._path, self._signal = file_path, signal

    def _send_request(self, request):
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)       # fails where nobody reads
        except OSError as error:
            raise BrokenPipeError("Could not send the FileTimerRequest because FileTimerServer is not available."
                                  ) from error
        try:
            os.set_blocking(descriptor, True)
            line = (request.to_json() + "\n").encode()
            if len(line) > select.PIPE_BUF:
                raise RuntimeError(f"FileTimerRequest larger than {select.PIPE_BUF} bytes is not supported: "
                                   f"{request.to_json()}")
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def acquire(self, scope_id: str, expiration_time: float) -> None:
        self._send_request(FileTimerRequest(os.getpid(), scope_id, expiration_time, self._signal))

    def release(self, scope_id: str) -> None:
        self._send_request(FileTimerRequest(os.getpid(), scope_id, -1))


class FileTimerServer:
    """A thread that reads requests from a named pipe, and ends the processes whose timers have run out.

    Arguments:
        file_path: the path of the pipe, which it makes
        run_id: the name of the job
        max_interval: seconds between two looks at the timers
        daemon: whether the process may end while the thread runs
        log_event: called with the name of what has happened and the request or None

    Example:
        >>> import os, tempfile
        >>> from mindtorch.distributed.elastic import timer
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "pipe")
        ...     server = timer.FileTimerServer(path, "job", max_interval=0.01)
        ...     server.start()
        ...     with timer.expires(after=60, client=timer.FileTimerClient(path)):
        ...         x = torch.ones(2) + 1
        ...     server.stop()
        ...     os.path.exists(path)
        False
    """

    def __init__(self, file_path: str, run_id: str, max_interval: float = 10, daemon: bool = True,
                 log_event: Callable[[str, FileTimerRequest | None], None] | None = None) -> None:
        self._path, self._run_id, self._interval, self._daemon = file_path, run_id, max_interval, daemon
        self._log_event = log_event or (lambda name, request: None)
        self._timers: dict[tuple[int, str], FileTimerRequest] = {}
        self._request_count, self._last_progress = 0, int(time.time())
        self._ended, self._thread = threading.Event(), None
        self._descriptor, self._rest = -1, b""
        with contextlib.suppress(FileNotFoundError):
            os.remove(file_path)
        os.mkfifo(file_path)

    def start(self) -> None:
        """Start the thread."""
        self._ended.clear()
        self._open()
        self._thread = threading.Thread(target=self._watch, name="file timers", daemon=self._daemon)
        self._thread.start()
        self._log_event("watchdog started", None)

    def stop(self) -> None:
        """End the thread, and remove the pipe."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        with contextlib.suppress(FileNotFoundError):
            os.remove(self._path)
        self._log_event("watchdog stopped", None)

    def run_once(self) -> None:
        """End the thread, and take what has been sent so far."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._open()
        self._run_watchdog(self._descriptor)

    def _open(self):
        """For writing as well: then the pipe stays open when the last client closes its end."""
        if self._descriptor < 0:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)

    def _watch(self):
        while not self._ended.is_set():
            begun = time.monotonic()
            try:
                self._run_watchdog(self._descriptor)
            except Exception:       # noqa: BLE001 - the timers of other processes go on
                _log.exception("the timers of %s could not be looked at", self._run_id)
            self._ended.wait(max(0.0, self._interval - (time.monotonic() - begun)))

    def _run_watchdog(self, descriptor):
        """Takes the requests, and ends the processes whose timers have run out."""
        self.register_timers(self._get_requests(descriptor))
        ended = set()
        for pid, timers in self.get_expired_timers(time.time()).items():
            scopes = [timer.scope_id for timer in timers]
            _log.info("%s: process %s is ended: its timers %s have run out", self._run_id, pid, scopes)
            log_debug_info_for_expired_timers(self._run_id, {pid: scopes})
            if self._reap_worker(pid, max(timer.signal for timer in timers)):
                self._log_event("kill worker process", timers[0])
                ended.add(pid)
        self.clear_timers(ended)
        gone = {pid for pid, _ in self._timers if not self.is_process_running(pid)}
        self.clear_timers(gone)
        self._last_progress = int(time.time())

    def _get_requests(self, descriptor):
        while True:
            try:
                some = os.read(descriptor, 1 << 16)
            except BlockingIOError:
                break
            if not some:
                break
            self._rest += some
        *lines, self._rest = self._rest.split(b"\n")
        found = [FileTimerRequest(value["pid"], value["scope_id"], value["expiration_time"], value["signal"])
                 for value in map(json.loads, lines)]
        self._request_count += len(found)
        return found

    def register_timers(self, timer_requests: list[FileTimerRequest]) -> None:
        """Take new requests."""
        for request in timer_requests:
            key = request.worker_pid, request.scope_id
            if request.expiration_time < 0:
                self._timers.pop(key, None)
            else:
                self._timers[key] = request

    def clear_timers(self, worker_pids: set[int]) -> None:
        """Drop all timers of processes."""
        for key in [key for key in self._timers if key[0] in worker_pids]:
            del self._timers[key]

    def get_expired_timers(self, deadline: float) -> dict[int, list[FileTimerRequest]]:
        """The timers that have run out at `deadline`, by their processes."""
        expired: dict[int, list[FileTimerRequest]] = {}
        for request in self._timers.values():
            if request.expiration_time <= deadline:
                expired.setdefault(request.worker_pid, []).append(request)
        return expired

    def get_last_progress_time(self) -> int:
        """When the timers were looked at last, in seconds since 1970; now, where there are none."""
        return self._last_progress if self._timers else int(time.time())

    @staticmethod
    def is_process_running(pid: int) -> bool:
        """Whether a process is there."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:         # of another user
            return True
        return True

    def _reap_worker(self, worker_pid, signal):
        """Ends a process; whether it is gone."""
        try:
            os.kill(worker_pid, signal)
        except ProcessLookupError:
            _log.info("process %s has ended by itself", worker_pid)
        except OSError:
            _log.exception("process %s could not be ended", worker_pid)
            return False
        return True


def log_debug_info_for_expired_timers(run_id: str, expired_timers: dict[int, list[str]]) -> None:
    """Log the scopes whose timers have run out, by process."""
    _log.info("timers of %s have run out: %s", run_id, expired_timers)
