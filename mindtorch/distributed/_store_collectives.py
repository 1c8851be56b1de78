"""Collectives of a few bytes by a store, for processes that have no group yet. Each key serves one collective."""
from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from mindtorch.distributed._stores import DistStoreError

__all__ = ["_ControlCollectives", "_StoreCollectives"]

_MINUTES = timedelta(minutes=5)


class _ControlCollectives:
    """What such collectives have in common: barrier, broadcast, gather, scatter, all_gather and all_sum."""


class _StoreCollectives(_ControlCollectives):
    """Those of a store, for rank `rank` of `world_size`.

    Example:
        >>> collectives = dist._StoreCollectives(dist.HashStore(), 0, 1)
        >>> collectives.all_sum("steps", 3)
        3
    """

    def __init__(self, store: Any, rank: int, world_size: int) -> None:
        self._store, self._rank, self._size, self._used = store, rank, world_size, set()

    def _use(self, key):
        if key in self._used:
            raise ValueError(f"Key {key} has already been used")
        self._used.add(key)

    def _wait_for(self, name, keys, timeout):
        """Error with the ranks whose key does not come."""
        try:
            self._store.wait(keys, timeout)
        except DistStoreError as error:
            missing = [str(rank) for rank, key in enumerate(keys) if not self._store.check([key])]
            raise DistStoreError(f"{name} failed -- missing ranks: {', '.join(missing)}: {error}") from error

    def _all(self, name, key, data, timeout):
        keys = [f"{key}:{rank}" for rank in range(self._size)]
        self._store.set(keys[self._rank], data)
        self._wait_for(name, keys, timeout)
        return self._store.multi_get(keys)

    def barrier(self, key: str, timeout: timedelta = _MINUTES, blocking: bool = True) -> None:
        """Wait until all ranks have come; with blocking=False only say that this one has."""
        self._use(key)
        if blocking:
            self._all("barrier", key, "1", timeout)
        else:
            self._store.set(f"{key}:{self._rank}", "1")

    def broadcast_send(self, key: str, data: Any, timeout: timedelta = _MINUTES) -> None:
        """Give the other ranks `data`."""
        self._use(key)
        self._store.set(key, data)

    def broadcast_recv(self, key: str, timeout: timedelta = _MINUTES) -> bytes:
        """What one rank sends to all."""
        self._use(key)
        self._store.wait([key], timeout)
        return self._store.get(key)

    def gather_send(self, key: str, data: Any, timeout: timedelta = _MINUTES) -> None:
        """Give `data` to the rank that gathers."""
        self._use(key)
        self._store.set(f"{key}:{self._rank}", data)

    def gather_recv(self, key: str, data: Any, timeout: timedelta = _MINUTES) -> list[bytes]:
        """What all ranks send, this one `data`, in their order."""
        self._use(key)
        return self._all("gather", key, data, timeout)

    def scatter_send(self, key: str, data: Sequence[Any], timeout: timedelta = _MINUTES) -> bytes:
        """Give each rank its part. Returns that of this one."""
        self._use(key)
        for rank, part in enumerate(data):
            self._store.set(f"{key}:{rank}", part)
        return self._store.get(f"{key}:{self._rank}")

    def scatter_recv(self, key: str, timeout: timedelta = _MINUTES) -> bytes:
        """This rank's part of what one rank scatters."""
        self._use(key)
        self._store.wait([f"{key}:{self._rank}"], timeout)
        return self._store.get(f"{key}:{self._rank}")

    def all_gather(self, key: str, data: Any, timeout: timedelta = _MINUTES) -> list[bytes]:
        """What all ranks send, for each."""
        self._use(key)
        return self._all("all_gather", key, data, timeout)

    def all_sum(self, key: str, value: int, timeout: timedelta = _MINUTES) -> int:
        """The sum of the numbers of all ranks."""
        self._use(key)
        self._store.add(f"{key}:sum", value)
        self._all("barrier", key, "1", timeout)
        return self._store.add(f"{key}:sum", 0)
