"""The worker processes of DataLoader."""
from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import random
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

import mindtorch
from mindtorch import _backend
from mindtorch._utils import ExceptionWrapper
from mindtorch.utils.data._utils import MP_STATUS_CHECK_INTERVAL, transport
from mindtorch.utils.data._utils.fetch import _IterableDatasetFetcher

__all__ = ["RESUME", "Failure", "Finished", "Job", "WorkerInfo", "get_worker_info", "run"]

RESUME = "resume"               # the task that has a persistent worker begin another pass

_worker_info = None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker's number, the number of workers, its seed and its copy of the data set."""

    id: int
    num_workers: int
    seed: int
    dataset: object
    rng: object = None
    worker_method: str | None = "multiprocessing"


def get_worker_info() -> WorkerInfo | None:
    """The WorkerInfo of the worker process that this is; None elsewhere.

    Example:
        >>> print(torch.utils.data.get_worker_info())
        None
    """
    return _worker_info


@dataclass(frozen=True)
class Job:
    """The settings that all workers of an iterator share."""

    dataset: object
    fetcher: type
    auto_collation: bool
    collate_fn: object
    drop_last: bool
    base_seed: int
    num_workers: int
    init_fn: object

    def make_fetcher(self) -> Any:
        return self.fetcher(self.dataset, self.auto_collation, self.collate_fn, self.drop_last)


@dataclass(frozen=True)
class Finished:
    """The answer of a worker at the end of its iterable data set."""


class Failure(ExceptionWrapper):
    """The answer of a worker in which something was raised."""


def _seed(job, worker_id):
    """Seeds every generator of the process with what the worker's number adds to the parent's draw."""
    seed = job.base_seed + worker_id
    random.seed(seed)
    mindtorch.manual_seed(seed)
    np.random.seed(_generate_state(job.base_seed, worker_id))
    return seed


def _generate_state(base_seed, worker_id):
    """The four numbers by which torch, and so mindtorch, seeds NumPy in a worker."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32]
    return np.random.SeedSequence(entropy).generate_state(4).tolist()


def _listen(tasks, waiting, closing):
    """Puts what arrives into `waiting`. Being always ready to read, it never keeps the parent waiting to write.

    A worker whose parent has died has nobody to answer to, and may be stuck doing so: it ends at once.
    """
    parent, owner = os.getppid(), multiprocessing.parent_process()
    while True:
        try:
            while not tasks.poll(MP_STATUS_CHECK_INTERVAL):
                # The second question sees a parent that died before the first number was asked for.
                if os.getppid() != parent or not (owner is None or owner.is_alive()):
                    os._exit(1)
            task = tasks.recv()
        except (EOFError, OSError):
            task = None
        if task is None:
            closing.set()
        waiting.put(task)
        if task is None:
            return


def _answer(results, index, answer, where):
    """Sends (index, answer), or what kept it from being pickled."""
    try:
        transport.send(results, (index, answer))
    except BrokenPipeError:
        raise
    except Exception:  # noqa: BLE001 - the parent raises it again
        if isinstance(answer, Failure):
            answer.exc_type = RuntimeError      # a type that only this process knows
        else:
            answer = Failure(where=where)
        _answer(results, index, answer, where)


class _Worker:
    """Fetches batches; after an error in its preparation every task is answered with that error."""

    def __init__(self, job: Any, worker_id: Any) -> None:
        self.job = job
        self.where = f"in DataLoader worker process {worker_id}"
        self.failure = None
        self.fetcher = None
        try:
            global _worker_info
            seed = _seed(job, worker_id)
            _worker_info = WorkerInfo(worker_id, job.num_workers, seed, job.dataset)
            if job.init_fn is not None:
                job.init_fn(worker_id)
            self.fetcher = job.make_fetcher()
        except Exception:  # noqa: BLE001 - the parent raises it again
            self.failure = Failure(where=self.where)

    def resume(self) -> None:
        try:
            self.fetcher = self.job.make_fetcher()
        except Exception:  # noqa: BLE001
            self.failure = Failure(where=self.where)

    def fetch(self, keys: Any) -> Any:
        if self.failure is not None:
            return self.failure
        try:
            return self.fetcher.fetch(keys)
        except StopIteration:
            return Finished() if self.job.fetcher is _IterableDatasetFetcher else Failure(where=self.where)
        except Exception:  # noqa: BLE001
            return Failure(where=self.where)


def run(job: Any, worker_id: Any, tasks: Any, results: Any) -> None:
    """Answers tasks, (index, keys), with (index, batch); once None has come, no more."""
    waiting, closing = queue.SimpleQueue(), threading.Event()
    threading.Thread(target=_listen, args=(tasks, waiting, closing), daemon=True).start()
    _backend.cpu_threads().set_blas_threads(1)      # there may be as many workers as cores
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):       # the parent gets Ctrl-C, too
        worker = _Worker(job, worker_id)
        while (task := waiting.get()) is not None and not closing.is_set():
            if task == RESUME:
                worker.resume()
                continue
            index, keys = task
            _answer(results, index, worker.fetch(keys), worker.where)
