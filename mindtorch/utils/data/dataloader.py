"""torch.utils.data.DataLoader: batches of a data set, made here or in worker processes."""
from __future__ import annotations

import itertools
import multiprocessing
import os
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import mindtorch
from mindtorch import _backend
from mindtorch._core.python.profiling import begin_user_range, end_user_range
from mindtorch.utils.data._utils.collate import default_collate, default_convert
from mindtorch.utils.data._utils.fetch import _IterableDatasetFetcher, _MapDatasetFetcher
from mindtorch.utils.data._utils.pin_memory import PinningThread, pin_memory
from mindtorch.utils.data._utils.pool import Pool
from mindtorch.utils.data._utils.worker import RESUME, Failure, Finished, Job, get_worker_info
from mindtorch.utils.data.dataset import IterableDataset
from mindtorch.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

if TYPE_CHECKING:
    from mindtorch import Generator
    from mindtorch.utils.data.dataset import Dataset

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T_co = TypeVar("_T_co", covariant=True)


class _DatasetKind:
    """Whether samples are reached by a key or come one after another."""

    Map = 0
    Iterable = 1


_FETCHERS = {_DatasetKind.Map: _MapDatasetFetcher, _DatasetKind.Iterable: _IterableDatasetFetcher}


class _InfiniteConstantSampler(Sampler):
    """The keys of a data set that has none: it is asked until it ends."""

    def __iter__(self) -> Any:
        return itertools.repeat(None)


def _check_numbers(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor option could only be specified in multiprocessing."
                         "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None.")
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_choice(kind, batch_size, shuffle, sampler, batch_sampler, drop_last):
    """ValueError for arguments that choose keys or batches twice, or choose them for an iterable data set."""
    if kind == _DatasetKind.Iterable:
        for name, given in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
            if given is not None:
                raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, "
                                 f"but got {name}={given}")
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError("batch_sampler option is mutually exclusive "
                             "with batch_size, shuffle, sampler, and drop_last")
    elif batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


_collate_fn_t = Callable[[list], Any]         # the type of `collate_fn`, for annotations


class DataLoader(Generic[_T_co]):
    """Iterates over batches of `dataset`, one pass for each `iter()`.

    Keys come from `batch_sampler`, or from `sampler` (by default all in order, or with `shuffle` in random order)
    `batch_size` at a time; `batch_size=None` gives single samples. With `num_workers` > 0, that many processes fetch
    `prefetch_factor` batches each in advance; the process itself does it otherwise. Workers are forked where that is
    the system's way: one that uses the NPU needs `multiprocessing_context="spawn"` if this process has used it.

    Arguments:
        sampler: a Sampler, or an iterable, of indices; None means by shuffle
        batch_sampler: a Sampler of lists of indices, in place of batch_size, shuffle, sampler and drop_last
        num_workers: the number of processes that load; 0 loads in this one
        collate_fn: a function of a list of samples that makes the batch; None means default_collate
        pin_memory: whether batches lie in pinned memory, from which copies to the NPU are faster
        timeout: the seconds that a worker may take for a batch; 0 means any time
        worker_init_fn: a function of the worker's number, which runs in it first
        multiprocessing_context: how workers are started: "fork", "spawn" or a context
        prefetch_factor: how many batches each worker loads ahead; None means 2
        persistent_workers: whether workers stay for the next epoch
        pin_memory_device: the device whose pinned memory is meant; "" means the accelerator
        in_order: whether batches come in the order of the sampler, not as they are ready

    Example:
        >>> pairs = torch.utils.data.TensorDataset(torch.arange(4.0), torch.arange(4))
        >>> for x, y in torch.utils.data.DataLoader(pairs, batch_size=2):
        ...     print(x, y)
        tensor([0., 1.]) tensor([0, 1])
        tensor([2., 3.]) tensor([2, 3])
    """

    dataset: Dataset[_T_co]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Sampler | Iterable
    pin_memory_device: str
    prefetch_factor: int | None

    _initialized_ = False

    def __init__(self, dataset: Dataset[_T_co], batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Sampler | Iterable | None = None, batch_sampler: Sampler[list] | Iterable[list] | None = None,
                 num_workers: int = 0, collate_fn: Any = None, pin_memory: bool = False, drop_last: bool = False,
                 timeout: float = 0, worker_init_fn: Any = None, multiprocessing_context: Any = None,
                 generator: Generator | None = None, *, prefetch_factor: int | None = None,
                 persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True) -> None:
        _check_numbers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers

        iterable = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if iterable else _DatasetKind.Map
        _check_choice(self._dataset_kind, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if sampler is None:
            sampler = self._default_sampler_(shuffle)
        if batch_sampler is not None:
            batch_size = None
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self._initialized_ = True
        self._IterableDataset_len_called = None
        self._iterator = None
        self.check_worker_number_rationality()

    def _default_sampler_(self, shuffle):
        if self._dataset_kind == _DatasetKind.Iterable:
            return _InfiniteConstantSampler()
        return RandomSampler(self.dataset, generator=self.generator) if shuffle else SequentialSampler(self.dataset)

    @property
    def multiprocessing_context(self) -> Any:
        """The multiprocessing context that starts the workers; None for Python's default."""
        return self._multiprocessing_context_

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None and self.num_workers == 0:
            raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                             f"but got num_workers={self.num_workers}")
        if isinstance(context, str):
            methods = multiprocessing.get_all_start_methods()
            if context not in methods:
                raise ValueError("multiprocessing_context option should specify a valid start method in "
                                 f"{methods!r}, but got multiprocessing_context={context!r}")
            context = multiprocessing.get_context(context)
        if context is not None and not isinstance(context, multiprocessing.context.BaseContext):
            raise TypeError("multiprocessing_context option should be a valid context object or a string specifying "
                            f"the start method, but got multiprocessing_context={context}")
        self._multiprocessing_context_ = context

    def __setattr__(self, attr: Any, val: Any) -> None:
        if self._initialized_ and attr in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset",
                                           "persistent_workers"):
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    def _get_iterator(self):
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warns of more workers than this process may use processors."""
        allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if allowed is not None and self.num_workers > allowed:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. "
                f"Our suggested max number of worker in current system is {allowed}, which is smaller than what this "
                "DataLoader is going to create. Please be aware that excessive worker creation might get DataLoader "
                "running slow or even freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3)


class _BaseDataLoaderIter:
    """One pass over a loader; subclasses say in `_next_data` where the next batch comes from."""

    def __init__(self, loader: DataLoader) -> None:
        # Not the loader itself, which holds the iterator of persistent workers: they would end at a garbage collection.
        self._dataset = loader.dataset
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"
        self._persistent_workers = loader.persistent_workers
        if loader.pin_memory and loader.pin_memory_device:
            warnings.warn("pin_memory_device is deprecated, the current accelerator will be used as the device,"
                          f"ignore pin_memory_device='{loader.pin_memory_device}'.", stacklevel=3)
        self._pin_memory = loader.pin_memory and _backend.npu_available()
        if loader.pin_memory and not self._pin_memory:
            warnings.warn("'pin_memory' argument is set as true but no accelerator is found, "
                          "then device pinned memory won't be used.", stacklevel=3)
        self._start_epoch(loader)
        # Drawn at this point whether or not there are workers, as torch does: it moves the generator on.
        self._base_seed = mindtorch.empty((), dtype=mindtorch.int64).random_(generator=loader.generator).item()

    def _start_epoch(self, loader):
        self._sampler_iter = iter(loader._index_sampler)
        self._num_yielded = 0
        self._promised_length = loader._IterableDataset_len_called

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        opened = begin_user_range(self._profile_name)
        try:
            return self._counted_data()
        finally:
            end_user_range(opened)

    def _counted_data(self):
        data = self._next_data()
        self._num_yielded += 1
        if self._promised_length is not None and self._num_yielded > self._promised_length:
            self._warn_of_length()
        return data

    def _warn_of_length(self):
        message = (f"Length of IterableDataset {self._dataset} was reported to be {self._promised_length}"
                   f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. ")
        if self._num_workers > 0:
            message += ("For multiprocessing data-loading, this could be caused by not properly configuring the "
                        "IterableDataset replica at each worker. Please see "
                        "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples.")
        warnings.warn(message, stacklevel=3)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        fetcher = _FETCHERS[loader._dataset_kind]
        self._fetcher = fetcher(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next_data(self):
        data = self._fetcher.fetch(next(self._sampler_iter))
        return pin_memory(data) if self._pin_memory else data


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Tasks are numbered and go to the workers in turn; answers are handed on in the order of their tasks.

    `_workers` maps each task whose answer has not been handed on to its worker, `_arrived` those that have one to it.
    """

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._in_order = loader.in_order
        self._ahead = loader.prefetch_factor * loader.num_workers
        job = Job(loader.dataset, _FETCHERS[loader._dataset_kind], loader._auto_collation, loader.collate_fn,
                  loader.drop_last, self._base_seed, loader.num_workers, loader.worker_init_fn)
        self._pool = Pool(loader.multiprocessing_context or multiprocessing, job)
        self._finalizer = weakref.finalize(self, self._pool.close)
        # After the fork of the workers, which could not use the device otherwise.
        self._answers = PinningThread(self._pool, mindtorch.npu.current_device()) if self._pin_memory else self._pool
        self._task = 0                  # never reset: an answer must not be taken for that of a later pass
        self._schedule()

    def _schedule(self):
        self._workers, self._arrived = {}, {}
        self._turn = deque(range(self._num_workers))     # workers that have not come to their end
        for _ in range(self._ahead):
            self._put_task()

    def _reset(self, loader):
        """Begin another pass with the workers of the last one. Answers that are still to come of that are ignored."""
        self._start_epoch(loader)
        for number in range(loader.num_workers):
            self._pool.send(number, RESUME)
        self._schedule()

    def _put_task(self):
        """Gives the next keys to the next worker, or where order does not matter to the one with least to do."""
        if not self._turn:
            return
        try:
            keys = next(self._sampler_iter)
        except StopIteration:
            return
        if self._in_order:
            number = self._turn[0]
            self._turn.rotate(-1)
        else:
            busy = [self._workers[task] for task in self._workers if task not in self._arrived]
            number = min(self._turn, key=busy.count)
        self._workers[self._task] = number
        self._pool.send(number, (self._task, keys))
        self._task += 1

    def _receive(self):
        """Waits for one answer, and keeps it if its task still matters."""
        try:
            task, answer = self._answers.receive(self._timeout or None)
        except TimeoutError:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None
        if task in self._workers:
            self._arrived[task] = answer

    def _next_answer(self):
        """(worker, answer) of the oldest task, or where order is free of the first one answered; Nones at the end.

        It is acted upon in its turn, not when it arrives: so the order of batches never depends on time.
        """
        while self._workers:
            task = next(iter(self._workers if self._in_order else self._arrived), None)
            if task in self._arrived:
                return self._workers.pop(task), self._arrived.pop(task)
            self._receive()
        return None, None

    def _drop(self, number):
        """A worker has come to its end: others take over the tasks that it was given beyond that."""
        self._turn.remove(number)
        for task in [task for task, worker in self._workers.items() if worker == number]:
            del self._workers[task]
            self._arrived.pop(task, None)
            self._put_task()
        self._put_task()

    def _next_data(self):
        number, answer = self._next_answer()
        while isinstance(answer, Finished):
            self._drop(number)
            number, answer = self._next_answer()
        if number is None:
            if not self._persistent_workers:
                self._finalizer()
            raise StopIteration
        self._put_task()
        if isinstance(answer, Failure):
            answer.reraise()
        return answer
