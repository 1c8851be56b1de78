"""torch.distributed.elastic.utils.store: processes that exchange bytes, or wait for each other, by a store."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from mindtorch.distributed._stores import DistStoreError

__all__ = ["barrier", "get_all", "store_timeout", "synchronize"]

_MEMBER_KEY, _LAST_KEY = ".num_members", ".last_member"


@contextmanager
def store_timeout(store: Any, timeout: float) -> Iterator[None]:
    """The store waits at most `timeout` seconds inside."""
    before = store.timeout
    store.set_timeout(timedelta(seconds=timeout))
    try:
        yield
    finally:
        store.set_timeout(before)


def get_all(store: Any, rank: int, prefix: str, world_size: int) -> list[bytes]:
    """What all ranks have set under `prefix`. Rank 0, which may serve the store, waits until all have read it.

    Example:
        >>> from mindtorch.distributed.elastic.utils.store import get_all
        >>> store = dist.HashStore()
        >>> store.set("word0", "a")
        >>> get_all(store, 0, "word", 1)
        [b'a']
    """
    found = store.multi_get([f"{prefix}{other}" for other in range(world_size)])
    last = _count(store, world_size, f"{prefix}/finished")
    if rank == 0:
        store.get(last)
    return found


def synchronize(store: Any, data: bytes, rank: int, world_size: int, key_prefix: str,
                timeout: float = 300) -> list[bytes]:
    """Give all ranks the bytes of each."""
    with store_timeout(store, timeout):
        store.set(f"{key_prefix}{rank}", data)
        return get_all(store, rank, key_prefix, world_size)


def _count(store, world_size, prefix):
    """Counts this process. The last one sets the key whose name is returned."""
    last = prefix + _LAST_KEY
    if store.add(prefix + _MEMBER_KEY, 1) == world_size:
        store.set(last, "<val_ignored>")
    return last


def barrier(store: Any, world_size: int, key_prefix: str, barrier_timeout: float = 300, rank: int | None = None,
            rank_tracing_decoder: Callable[[int], str] | None = None, trace_timeout: float = 10) -> None:
    """Wait until `world_size` processes have called it. With a rank, rank 0's error names those that are missing, as
    `rank_tracing_decoder` calls them."""
    with store_timeout(store, barrier_timeout):
        if rank is not None:
            store.set(f"{key_prefix}{rank}.TRACE", "<val_ignored>")
        last = _count(store, world_size, key_prefix)
        try:
            store.wait([last])
        except DistStoreError as error:
            if rank != 0:
                raise
            named = rank_tracing_decoder or str
            missing = [named(other) for other in range(world_size) if not store.check([f"{key_prefix}{other}.TRACE"])]
            raise DistStoreError(f"Timed out waiting on barrier on rank {rank}, for key prefix: {key_prefix} "
                                 f"(world_size={world_size}, missing_ranks=[{', '.join(missing)}], "
                                 f"timeout={barrier_timeout})") from error
