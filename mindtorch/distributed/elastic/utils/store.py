"""torch.distributed.elastic.utils.store: processes that exchange bytes, or wait for each other, by a store."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from mindtorch.distributed._stores import DistStoreError

__all__ = ["barrier", "get_all", "store_timeout", "synchronize"]

_MEMBERS, _LAST, _TRACE, _GATE = "/num_members", "/last_member", "/TRACE", "/TRACING_GATE"


@contextmanager
def store_timeout(store: Any, timeout: float) -> Iterator[None]:
    """The store waits at most `timeout` seconds inside.

    Arguments:
        store: the store
        timeout: the longest wait in seconds

    Example:
        >>> from mindtorch.distributed.elastic.utils.store import store_timeout
        >>> store = dist.HashStore()
        >>> with store_timeout(store, 5):
        ...     store.timeout
        datetime.timedelta(seconds=5)
    """
    before = store.timeout
    store.set_timeout(timedelta(seconds=timeout))
    try:
        yield
    finally:
        store.set_timeout(before)


def get_all(store: Any, rank: int, prefix: str, world_size: int) -> list[bytes]:
    """What all ranks have set under `prefix`. Rank 0, which may serve the store, waits until all have read it.

    Arguments:
        store: the store
        rank: the rank of this process or node
        prefix: what comes before each key
        world_size: the number of processes

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
        store.wait([last])
    return found


def synchronize(store: Any, data: bytes, rank: int, world_size: int, key_prefix: str,
                timeout: float = 300) -> list[bytes]:
    """Give all ranks the bytes of each.

    Arguments:
        store: the store of all ranks
        data: the bytes of this rank
        rank: its number, from 0
        world_size: how many ranks there are
        key_prefix: the beginning of the keys, which no other call uses
        timeout: seconds after which the store raises DistStoreError, as other ranks have not come

    Example:
        >>> from mindtorch.distributed.elastic.utils.store import synchronize
        >>> synchronize(dist.HashStore(), b"a", rank=0, world_size=1, key_prefix="word")
        [b'a']
    """
    with store_timeout(store, timeout):
        store.set(f"{key_prefix}{rank}", data)
        return get_all(store, rank, key_prefix, world_size)


def _count(store, world_size, prefix):
    """Counts this process. The last one sets the key whose name is returned."""
    last = prefix + _LAST
    if store.add(prefix + _MEMBERS, 1) == world_size:
        store.set(last, "<val_ignored>")
    return last


def barrier(store: Any, world_size: int, key_prefix: str, barrier_timeout: float = 300, rank: int | None = None,
            rank_tracing_decoder: Callable[[int], str] | None = None, trace_timeout: float = 10) -> None:
    """Wait until `world_size` processes have called it. After the time-out those that know their rank say so: rank 0
    waits for that `trace_timeout` seconds, and its error names the ranks that are missing, as `rank_tracing_decoder`
    calls them.

    Arguments:
        store: the store of all processes
        world_size: how many there are
        key_prefix: the beginning of the keys, which no other call uses
        barrier_timeout: seconds after which DistStoreError is raised
        rank: the number of this process, from 0, if it is known
        rank_tracing_decoder: the name of a rank in messages
        trace_timeout: seconds that rank 0 waits for each of the others after the time-out

    Example:
        >>> from mindtorch.distributed.elastic.utils.store import barrier
        >>> barrier(dist.HashStore(), world_size=1, key_prefix="start")
    """
    named = rank_tracing_decoder or str
    with store_timeout(store, barrier_timeout):
        last = _count(store, world_size, key_prefix)
        try:
            store.wait([last])
        except DistStoreError as error:
            if rank is None:
                raise
            trace = f"{key_prefix}{rank}{_TRACE}"
            store.set(trace, "<val_ignored>")
            gate, wait = f"{key_prefix}{_GATE}", timedelta(seconds=trace_timeout)
            if rank:
                with suppress(DistStoreError):
                    store.wait([gate], wait)
                found = f"check rank 0 ({named(0)}) for missing rank info"
            else:
                missing = [named(other) for other in range(1, world_size)
                           if not _comes(store, f"{key_prefix}{other}{_TRACE}", wait)]
                store.set(gate, "<val_ignored>")
                found = f"missing_ranks=[{', '.join(missing)}]"
            raise DistStoreError(f"Timed out waiting on barrier on rank {rank}, for key prefix: {key_prefix} "
                                 f"(world_size={world_size}, {found}, timeout={barrier_timeout})") from error


def _comes(store, key, wait):
    try:
        store.wait([key], wait)
    except DistStoreError:
        return False
    return True
