"""torch.distributed.elastic.timer: a server ends worker processes whose timers have run out.

A worker calls `configure(client)` and puts what may hang into `with expires(after=60):`. The client tells the server
when the timer would run out, and that it is released.
"""
from __future__ import annotations

import contextlib
import logging
import multiprocessing as mp
import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from queue import Empty
from typing import Any

__all__ = ["FileTimerClient", "FileTimerRequest", "FileTimerServer", "LocalTimerClient", "LocalTimerServer",
           "MultiprocessingRequestQueue", "RequestQueue", "TimerClient", "TimerRequest", "TimerServer",
           "configure", "expires"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TimerRequest:
    """A timer of a worker for a scope, which runs out at a time since 1970. A negative time releases it.

    Arguments:
        worker_id: the number of the worker
        scope_id: the name of the scope
        expiration_time: the time in seconds since 1970; negative to release the timer

    Example:
        >>> from mindtorch.distributed.elastic.timer import TimerRequest
        >>> TimerRequest(17, "step", 1.5e9)
        TimerRequest(worker_id=17, scope_id='step', expiration_time=1500000000.0)
    """

    worker_id: Any
    scope_id: str
    expiration_time: float


class TimerClient(ABC):
    """What a worker has of a server: a subclass says how a timer is started and stopped.

    Example:
        >>> from mindtorch.distributed.elastic import timer
        >>> class Shown(timer.TimerClient):
        ...     def acquire(self, scope_id, expiration_time):
        ...         print(scope_id, "begins")
        ...     def release(self, scope_id):
        ...         print(scope_id, "ends")
        >>> with timer.expires(after=60, scope="step", client=Shown()):
        ...     x = torch.ones(2) + 1
        step begins
        step ends
    """

    @abstractmethod
    def acquire(self, scope_id: str, expiration_time: float) -> None:
        """Start a timer."""

    @abstractmethod
    def release(self, scope_id: str) -> None:
        """Stop a timer."""


class RequestQueue(ABC):
    """The requests on their way from clients to the server: a subclass keeps them.

    Example:
        >>> from mindtorch.distributed.elastic.timer import RequestQueue, TimerRequest
        >>> class Listed(RequestQueue):
        ...     def __init__(self):
        ...         self.requests = [TimerRequest(17, "step", -1)]
        ...     def size(self):
        ...         return len(self.requests)
        ...     def get(self, size, timeout):
        ...         found, self.requests = self.requests[:size], self.requests[size:]
        ...         return found
        >>> queue = Listed()
        >>> len(queue.get(5, timeout=1)), queue.size()
        (1, 0)
    """

    @abstractmethod
    def size(self) -> int:
        """How many there are."""

    @abstractmethod
    def get(self, size: int, timeout: float) -> list[TimerRequest]:
        """At most `size` requests, after at most `timeout` seconds."""


class TimerServer(ABC):
    """A thread that looks for timers that have run out, at least every `max_interval` seconds.

    LocalTimerServer is the one of this machine; another subclass says what it does with timers and with workers.

    Arguments:
        request_queue: where the requests of the workers come from
        max_interval: seconds that it waits for a request before it looks at the timers
        daemon: whether the process may end while the thread runs

    Example:
        >>> import multiprocessing
        >>> from mindtorch.distributed.elastic.timer import LocalTimerServer, TimerServer
        >>> server = LocalTimerServer(multiprocessing.get_context("spawn").Queue(), max_interval=0.1)
        >>> isinstance(server, TimerServer)
        True
        >>> server.start()
        >>> server.stop()
    """

    def __init__(self, request_queue: RequestQueue, max_interval: float, daemon: bool = True) -> None:
        self._request_queue, self._max_interval, self._daemon = request_queue, max_interval, daemon
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    @abstractmethod
    def register_timers(self, timer_requests: list[TimerRequest]) -> None:
        """Take new requests."""

    @abstractmethod
    def clear_timers(self, worker_ids: set[Any]) -> None:
        """Drop all timers of workers."""

    @abstractmethod
    def get_expired_timers(self, deadline: float) -> dict[Any, list[TimerRequest]]:
        """The timers that have run out at `deadline`, by their workers."""

    @abstractmethod
    def _reap_worker(self, worker_id: Any) -> bool:
        """Ends a worker; whether it is gone."""

    def _run_watchdog(self):
        """Takes what is in the queue, and ends the workers whose timers have run out."""
        self.register_timers(self._request_queue.get(max(1, self._request_queue.size()), self._max_interval))
        ended = set()
        for worker, timers in self.get_expired_timers(time.time()).items():
            _log.info("worker %s is ended: its timers %s have run out", worker, [timer.scope_id for timer in timers])
            try:
                if self._reap_worker(worker):
                    ended.add(worker)
            except Exception:       # noqa: BLE001 - the timers of the other workers go on
                _log.exception("%s could not end worker %s", type(self).__name__, worker)
                ended.add(worker)
        self.clear_timers(ended)

    def _watch(self):
        while not self._ended.is_set():
            self._run_watchdog()

    def start(self) -> None:
        """Start the thread."""
        self._ended.clear()
        self._thread = threading.Thread(target=self._watch, name="timers", daemon=self._daemon)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(self._max_interval)
            self._thread = None


_client: TimerClient | None = None


def configure(timer_client: TimerClient) -> None:
    """Let the timers of this process be those of a client; `expires` without one raises RuntimeError before.

    Arguments:
        timer_client: a TimerClient

    Example:
        >>> import multiprocessing
        >>> from mindtorch.distributed.elastic import timer
        >>> requests = multiprocessing.get_context("spawn").Queue()
        >>> timer.configure(timer.LocalTimerClient(requests))
        >>> with timer.expires(after=60, scope="step"):
        ...     x = torch.ones(2) + 1
        >>> requests.get().scope_id, requests.get().expiration_time
        ('step', -1)
    """
    global _client
    _client = timer_client


@contextlib.contextmanager
def expires(after: float, scope: str | None = None, client: TimerClient | None = None) -> Iterator[None]:
    """The server ends this process if the block takes longer than `after` seconds.

    Arguments:
        after: the seconds that the block may take
        scope: the name of the block; None means its place in the program
        client: a TimerClient; None means that of this process

    Example:
        >>> import multiprocessing
        >>> from mindtorch.distributed.elastic import timer
        >>> requests = multiprocessing.get_context("spawn").Queue()
        >>> server = timer.LocalTimerServer(requests, max_interval=0.1)
        >>> server.start()
        >>> with timer.expires(after=60, client=timer.LocalTimerClient(requests)):
        ...     x = torch.ones(2) + 1
        >>> server.stop()
    """
    client = client or _client
    if client is None:
        raise RuntimeError("Configure timer client before using countdown timers.")
    scope = f"{os.getpid()}#{threading.get_ident()}" if scope is None else scope
    client.acquire(scope, time.time() + after)
    try:
        yield
    finally:
        client.release(scope)


class LocalTimerClient(TimerClient):
    """A worker of this machine, whose number is that of its process. `mp_queue` is a multiprocessing.Queue.

    Arguments:
        mp_queue: a multiprocessing.Queue

    Example:
        >>> import multiprocessing, os
        >>> from mindtorch.distributed.elastic.timer import LocalTimerClient
        >>> requests = multiprocessing.get_context("spawn").Queue()
        >>> LocalTimerClient(requests).release("step")
        >>> request = requests.get()
        >>> request.scope_id, request.worker_id == os.getpid()
        ('step', True)
    """

    def __init__(self, mp_queue: Any) -> None:
        self._queue = mp_queue

    def acquire(self, scope_id: str, expiration_time: float) -> None:
        self._queue.put(TimerRequest(os.getpid(), scope_id, expiration_time))

    def release(self, scope_id: str) -> None:
        self._queue.put(TimerRequest(os.getpid(), scope_id, -1))


class MultiprocessingRequestQueue(RequestQueue):
    """The requests in a multiprocessing.Queue.

    Arguments:
        mp_queue: a multiprocessing.Queue

    Example:
        >>> import multiprocessing
        >>> from mindtorch.distributed.elastic.timer import MultiprocessingRequestQueue, TimerRequest
        >>> requests = multiprocessing.get_context("spawn").Queue()
        >>> requests.put(TimerRequest(17, "step", -1))
        >>> MultiprocessingRequestQueue(requests).get(1, timeout=60)
        [TimerRequest(worker_id=17, scope_id='step', expiration_time=-1)]
    """

    def __init__(self, mp_queue: Any) -> None:
        self._queue = mp_queue

    def size(self) -> int:
        return self._queue.qsize()

    def get(self, size: int, timeout: float) -> list[TimerRequest]:
        found, wait, begun = [], timeout, time.monotonic()
        while len(found) < size and wait > 0:
            try:
                found.append(self._queue.get(timeout=wait))
            except Empty:
                break
            wait = timeout - (time.monotonic() - begun)
        return found


class LocalTimerServer(TimerServer):
    """Kills the processes of this machine whose timers have run out.

    Arguments:
        mp_queue: the multiprocessing.Queue of the workers' LocalTimerClient
        max_interval: seconds that it waits for a request before it looks at the timers
        daemon: whether the process may end while the server runs

    Example:
        >>> import multiprocessing
        >>> from mindtorch.distributed.elastic.timer import LocalTimerServer, TimerRequest
        >>> server = LocalTimerServer(multiprocessing.get_context("spawn").Queue(), max_interval=0.1)
        >>> server.register_timers([TimerRequest(17, "step", 10.0), TimerRequest(18, "step", 30.0)])
        >>> list(server.get_expired_timers(deadline=20.0))
        [17]
    """

    def __init__(self, mp_queue: mp.Queue, max_interval: float = 60, daemon: bool = True) -> None:
        super().__init__(MultiprocessingRequestQueue(mp_queue), max_interval, daemon)
        self._timers: dict[tuple[Any, str], TimerRequest] = {}

    def register_timers(self, timer_requests: list[TimerRequest]) -> None:
        for request in timer_requests:
            key = request.worker_id, request.scope_id
            if request.expiration_time < 0:
                self._timers.pop(key, None)
            else:
                self._timers[key] = request

    def clear_timers(self, worker_ids: set[int]) -> None:
        for key in [key for key in self._timers if key[0] in worker_ids]:
            del self._timers[key]

    def get_expired_timers(self, deadline: float) -> dict[Any, list[TimerRequest]]:
        expired: dict[Any, list[TimerRequest]] = {}
        for request in self._timers.values():
            if request.expiration_time <= deadline:
                expired.setdefault(request.worker_id, []).append(request)
        return expired

    def _reap_worker(self, worker_id: int) -> bool:
        try:
            os.kill(worker_id, signal.SIGKILL)
        except ProcessLookupError:
            _log.info("worker %s has ended by itself", worker_id)
        except OSError:
            _log.exception("worker %s could not be ended", worker_id)
            return False
        return True


from mindtorch.distributed.elastic.timer.file_based_local_timer import (  # noqa: E402 - needs TimerClient
    FileTimerClient,
    FileTimerRequest,
    FileTimerServer,
)
