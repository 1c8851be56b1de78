"""The worker processes of one iterator, as the parent sees them.

Each worker has two pipes of its own, one for tasks and one for answers: one that is killed leaves no lock behind and
garbles nobody else's answers.
"""
from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from multiprocessing.connection import wait
from typing import Any

from mindtorch.utils.data._utils import MP_STATUS_CHECK_INTERVAL, transport, worker

__all__ = ["Pool"]


class Pool:
    def __init__(self, context: Any, job: Any) -> None:
        self._owner = os.getpid()
        self._processes, self._tasks, self._answers = [], [], []
        self._ready = []                # workers with answers that have not been read
        self.receiver = None            # the thread that calls `receive`, where it is not the owner's
        self.closing = False
        self._woken, self._wake = multiprocessing.Pipe(duplex=False)
        try:
            for number in range(job.num_workers):
                self._start(context, job, number)
        except BaseException:
            self.close()
            raise

    def _start(self, context, job, number):
        tasks_end, tasks = context.Pipe(duplex=False)
        answers, answers_end = context.Pipe(duplex=True)      # a socket: descriptors go through no other pipe
        # A child that inherited an end would keep others from seeing the end of its file: they are closed at once.
        with tasks_end, answers_end:
            process = context.Process(target=worker.run, args=(job, number, tasks_end, answers_end), daemon=True)
            process.start()
        self._processes.append(process)
        self._tasks.append(tasks)
        self._answers.append(answers)

    def send(self, number: Any, task: Any) -> None:
        """Hands `task` to a worker. One that has died is noticed by `receive`."""
        with contextlib.suppress(BrokenPipeError):
            self._tasks[number].send(task)

    def receive(self, timeout: Any) -> Any:
        """The answer that is first. TimeoutError, RuntimeError where a worker has died, EOFError once closed."""
        if not self._ready:
            sentinels = [process.sentinel for process in self._processes]
            found = set(wait([*self._answers, *sentinels, self._woken], timeout))
            if not found:
                raise TimeoutError
            if self._woken in found:
                raise EOFError
            self._ready = [number for number, end in enumerate(self._answers) if end in found]
            if not self._ready:
                self._raise_dead_workers()
        number = self._ready.pop()
        try:
            return transport.receive(self._answers[number])
        except (EOFError, ConnectionError):
            self._raise_dead_workers()

    def _raise_dead_workers(self):
        ended = wait([process.sentinel for process in self._processes], MP_STATUS_CHECK_INTERVAL)
        pids = ", ".join(str(process.pid) for process in self._processes if process.sentinel in ended)
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")

    def close(self) -> None:
        """Has every worker end, and waits for it. Those that take too long are killed."""
        if os.getpid() != self._owner:          # the copy of a pool that a forked child holds is not its own
            return
        self.closing = True
        if self.receiver is not None:
            self._wake.send(None)
            self.receiver.join()
            self.receiver = None
        for tasks in self._tasks:
            with contextlib.suppress(OSError):
                os.set_blocking(tasks.fileno(), False)
                tasks.send(None)
        self._drain(time.monotonic() + MP_STATUS_CHECK_INTERVAL)
        for process in self._processes:
            if process.is_alive():
                process.kill()
            process.join()
            process.close()
        for end in (*self._tasks, *self._answers, self._woken, self._wake):
            end.close()
        self._processes, self._tasks, self._answers, self._ready = [], [], [], []

    def _drain(self, deadline):
        """Throws away answers until no worker lives: one that is writing could not end otherwise."""
        running = {process.sentinel for process in self._processes}
        answers = set(self._answers)
        while running and (found := wait([*running, *answers], max(0, deadline - time.monotonic()))):
            running.difference_update(found)
            for end in answers.intersection(found):
                if not os.read(end.fileno(), 1 << 20):
                    answers.remove(end)
