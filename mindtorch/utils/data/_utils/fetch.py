"""From keys to a batch: one fetcher for data sets with keys, one for those that only go forward."""
from __future__ import annotations

import itertools
from typing import Any

__all__ = ["_IterableDatasetFetcher", "_MapDatasetFetcher"]


class _MapDatasetFetcher:
    def __init__(self, dataset: Any, auto_collation: Any, collate_fn: Any, drop_last: Any) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn

    def fetch(self, keys: Any) -> Any:
        """The batch of the list `keys`, or without batching the sample at that one key."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[keys])
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(keys))
        return self.collate_fn([self.dataset[key] for key in keys])


class _IterableDatasetFetcher:
    def __init__(self, dataset: Any, auto_collation: Any, collate_fn: Any, drop_last: Any) -> None:
        self.samples = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, keys: Any) -> Any:
        """The next batch, as long as the list `keys`. StopIteration where nothing is left."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        batch = list(itertools.islice(self.samples, len(keys)))
        self.ended = len(batch) < len(keys)
        if not batch or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(batch)
