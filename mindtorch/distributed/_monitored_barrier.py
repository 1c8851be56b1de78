"""A barrier that names the ranks that have not come: each says in the store that it is there."""
from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

from mindtorch.distributed._stores import DistStoreError

if TYPE_CHECKING:
    from mindtorch.distributed._stores import Store

__all__ = ["monitored_barrier"]


def monitored_barrier(store: Store, rank: int, size: int, timeout: timedelta, wait_all_ranks: bool) -> None:
    """Wait for all ranks; `store` serves this barrier alone. Rank 0 raises for the first that does not come in time,
    or with `wait_all_ranks` for all of them; the others raise where rank 0 does not let them pass."""
    milliseconds = round(timeout.total_seconds() * 1000)
    if rank:
        store.set(f"here/{rank}", "")
        try:
            store.wait(["passed"], timeout)
        except DistStoreError:
            raise RuntimeError(
                f"Rank {rank} successfully reached monitoredBarrier, but received errors while waiting for send/recv "
                "from rank 0. Please check rank 0 logs for faulty rank.") from None
        return
    deadline, absent = time.monotonic() + timeout.total_seconds(), []
    for other in range(1, size):
        try:
            store.wait([f"here/{other}"], timedelta(seconds=max(deadline - time.monotonic(), 0.001)))
        except DistStoreError:
            absent.append(other)
            if not wait_all_ranks:
                break
    if absent:
        who = f"Rank{'s' if wait_all_ranks else ''} {', '.join(map(str, absent))}"
        raise RuntimeError(f"[Rank 0]: {who} failed to pass monitoredBarrier in {milliseconds} ms")
    store.set("passed", "")
