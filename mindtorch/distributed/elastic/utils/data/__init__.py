"""torch.distributed.elastic.utils.data: samples for a job that restarts in the middle of an epoch."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import mindtorch
from mindtorch.utils.data import DistributedSampler

__all__ = ["CyclingIterator", "ElasticDistributedSampler"]


class CyclingIterator:
    """The iterators that `generator_fn` makes for the epochs from `start_epoch` to n - 1, one behind the other.

    Arguments:
        n: the epoch before which to end
        generator_fn: a function of the epoch that gives an iterator
        start_epoch: the first epoch

    Example:
        >>> from mindtorch.distributed.elastic.utils.data import CyclingIterator
        >>> list(CyclingIterator(2, lambda epoch: iter([epoch, epoch])))
        [0, 0, 1, 1]
    """

    def __init__(self, n: int, generator_fn: Callable[[int], Iterator[Any]], start_epoch: int = 0) -> None:
        self._n, self._epoch, self._generator_fn = n, start_epoch, generator_fn
        self._iter = generator_fn(start_epoch)

    def __iter__(self) -> CyclingIterator:
        return self

    def __next__(self) -> Any:
        while True:
            try:
                return next(self._iter)
            except StopIteration:
                if self._epoch >= self._n - 1:
                    raise
                self._epoch += 1
                self._iter = self._generator_fn(self._epoch)


class ElasticDistributedSampler(DistributedSampler):
    """DistributedSampler from the sample `start_index` on.

    Arguments:
        dataset: the dataset
        num_replicas: the number of processes that share the dataset; None means the world size
        rank: the number of this process among them; None means its rank
        start_index: the number of the first sample

    Example:
        >>> from mindtorch.distributed.elastic.utils.data import ElasticDistributedSampler
        >>> len(ElasticDistributedSampler(range(10), num_replicas=2, rank=0, start_index=4))
        3
    """

    def __init__(self, dataset: Any, num_replicas: int | None = None, rank: int | None = None,
                 start_index: int = 0) -> None:
        super().__init__(dataset, num_replicas, rank)
        if start_index >= len(dataset):
            raise ValueError(f"Start index {start_index} should be less than dataset size {len(dataset)}")
        self.start_index = start_index
        self.num_samples = math.ceil((len(dataset) - start_index) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        generator = mindtorch.Generator()
        generator.manual_seed(self.epoch)
        order = mindtorch.randperm(len(self.dataset) - self.start_index, generator=generator)
        indices = (order + self.start_index).tolist()
        indices += indices[:self.total_size - len(indices)]
        return iter(indices[self.rank:self.total_size:self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples
