"""The watchdog: a thread that checks each group, and logs which collective has failed and which rank is late.

No collective pays for it: a group counts its collectives and keeps their kinds, and the thread asks the streams. When a
rank has called no collective for half the group's time-out (at most 30 s), it says in the store where it stands. A rank
that waits in a collective compares, and logs the ranks that have not come or have called another collective.

After a failure that HCCL has found, such as its time-out, TORCH_HCCL_ASYNC_ERROR_HANDLING decides: 0 does nothing
more, so the next synchronization raises the error; 1 (default) and 3 abort the process, as torch does; 2 aborts the
group alone. On MPI a Work that times out raises its error, in which `describe_ranks` stands.
"""
from __future__ import annotations

import atexit
import logging
import os
import pickle
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from mindtorch.distributed._checked_backend import line_of_program
from mindtorch.distributed._stores import DistError, PrefixStore

if TYPE_CHECKING:
    from mindtorch.distributed._backend import Backend

__all__ = ["describe_ranks", "unwatch", "watch"]

INTERVAL = 0.5          # seconds between two checks
MAX_PAUSE = 30.0        # seconds without a new collective after which a rank writes its state to the store
_log = logging.getLogger(__name__)
_lock, _stop = threading.Lock(), threading.Event()
_watched: dict[Any, _Watched] = {}
_thread: threading.Thread | None = None


class _Watched:
    """A watched group, and the state that was seen last."""

    def __init__(self, engine: Backend) -> None:
        self.engine, self._store = engine, None
        self.called, self.done, self.since = 0, 0, time.monotonic()
        self.has_published = self.has_compared = False

    def check(self) -> str | None:
        """The error of a collective that has failed. Publishes and compares where the ranks stand after a pause."""
        engine = self.engine
        called = engine._sequence_number
        error = engine.failure()
        if error is not None:
            return error
        is_idle = engine.is_idle()
        if is_idle:
            self.done = called
        if called != self.called:
            self.called, self.since, self.has_compared = called, time.monotonic(), False
            if self.has_published:
                self._publish(b"")
                self.has_published = False
            return None
        paused, timeout = time.monotonic() - self.since, engine._timeout.total_seconds()
        if paused < min(timeout / 2, MAX_PAUSE):
            return None
        if not self.has_published:
            self._publish(pickle.dumps(self._state()))
            self.has_published = True
        if not is_idle and not self.has_compared:
            self._compare(is_late=paused > 0.75 * timeout)
        return None

    def _shared(self):
        """The store in which ranks write their last collective."""
        if self._store is None:
            try:
                store = self.engine._store.clone()
            except NotImplementedError:     # a store that a program has written
                store = self.engine._store
            self._store = PrefixStore("watchdog", store)
        return self._store

    def _publish(self, state):
        self._shared().set(str(self.engine._rank), state)

    def _state(self):
        frame = sys._current_frames().get(threading.main_thread().ident)
        return {"called": self.engine._sequence_number, "kinds": [kind.name for kind in self.engine._recent],
                "line": line_of_program(frame)}

    def _compare(self, is_late):
        """Logs where the ranks stand, once all have published it, or what is known if `is_late`."""
        states = self.states()
        if not is_late and None in states.values():
            return
        self.has_compared = True
        _log.error("[Rank %d] waits in group %r for %s:\n%s", self.engine.global_rank(self.engine._rank),
                   self.engine.group_name, self.collectives(), described(self.done, states))

    def states(self) -> dict[int, Any]:
        """What each rank has written of its last collective, by global rank; None for a rank that has not."""
        engine, store = self.engine, self._shared()
        keys = [str(rank) for rank in range(engine._size)]
        texts = [store.get(key) if store.check([key]) else b"" for key in keys]
        return {engine.global_rank(rank): pickle.loads(text) if text else None for rank, text in enumerate(texts)} | {
            engine.global_rank(engine._rank): self._state()}

    def collectives(self) -> str:
        """The collectives since the last time that all had ended, as text: one of them has failed, or waits."""
        kinds = list(self.engine._recent)
        first = max(self.done + 1, self.called - len(kinds) + 1)
        named = [f"{kind.name} (number {number})" for number, kind in enumerate(kinds, self.called - len(kinds) + 1)
                 if number >= first]
        return " or ".join(named) or f"number {self.called}"


def described(done: int, states: dict[int, Any]) -> str:
    """A line for each rank's last collective, with how they differ after the collective number `done`."""
    lines, kinds = [], {}
    for rank, state in sorted(states.items()):
        if state is None:
            lines.append(f"  rank {rank} has not said where it is: it runs on, or is gone")
            continue
        last = state["kinds"][-1] if state["kinds"] else "none"
        lines.append(f"  rank {rank} has called {state['called']} collectives, the last {last}, and is at "
                     f"{state['line']}")
        first = state["called"] - len(state["kinds"]) + 1
        for number, kind in enumerate(state["kinds"], first):
            kinds.setdefault(number, {})[rank] = kind
    known = [state for state in states.values() if state is not None]
    for number in sorted(kinds):
        if number > done and len(set(kinds[number].values())) > 1:
            lines.append(f"  collective number {number} differs: " + ", ".join(
                f"rank {rank} {kind}" for rank, kind in kinds[number].items()))
            break
    most = max(state["called"] for state in known)
    behind = [str(rank) for rank, state in states.items() if state is not None and state["called"] < most]
    if behind:
        lines.append(f"  behind: rank {', '.join(behind)}")
    return "\n".join(lines)


def watch(engine: Backend) -> None:
    """Start watching the engine's collectives."""
    global _thread
    with _lock:
        _watched[engine] = _Watched(engine)
        if _thread is None or not _thread.is_alive():       # a forked process has not its parent's
            _stop.clear()
            _thread = threading.Thread(target=_run, name="watchdog", daemon=True)
            _thread.start()
            atexit.unregister(stop)
            atexit.register(stop)       # now, so that it ends before the NPU is shut down, which it asks


def unwatch(engine: Backend) -> None:
    """Stop watching an engine. The thread ends with the last one."""
    with _lock:
        _watched.pop(engine, None)
        is_last = not _watched
    if is_last:
        stop()


def describe_ranks(engine: Backend) -> str:
    """A line for each rank of a watched engine: its last collective, as far as the store has it."""
    watched = _watched.get(engine)
    try:
        return "" if watched is None else described(watched.done, watched.states())
    except DistError as error:
        return f"the store does not answer: {error}"


def stop() -> None:
    """End the thread."""
    global _thread
    with _lock:
        ended, _thread = _thread, None
        _stop.set()
    if ended is not None and ended is not threading.current_thread():
        ended.join()


def _run():
    while not _stop.wait(INTERVAL):
        for watched in list(_watched.values()):
            try:
                error = watched.check()
            except DistError:       # the store ended with rank 0, so there is nothing to compare
                continue
            if error is not None and _watched.pop(watched.engine, None) is not None:
                _handle(watched, error)


def _handle(watched, error):
    engine = watched.engine
    mode = os.environ.get("TORCH_HCCL_ASYNC_ERROR_HANDLING", "1")
    consequence = {"0": "", "2": " The group is aborted."}.get(mode, " The process is aborted.")
    _log.critical("[Rank %d] a collective of group %r has failed: %s: %s%s", engine.global_rank(engine._rank),
                  engine.group_name, watched.collectives(), error, consequence)
    if mode in ("1", "2"):
        engine.abort()
    if mode not in ("0", "2"):
        os.abort()
