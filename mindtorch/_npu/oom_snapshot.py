"""OOM_SNAPSHOT_ENABLE: memory history from the first use on, written to a file each time that memory runs out.

1: all events; 2: only what is allocated. The file oom_snapshot_<process>_<time>.pickle lies in OOM_SNAPSHOT_PATH (else
the current folder), for the same viewers as those of torch.npu.memory._dump_snapshot.
"""
import os
import time
import warnings
from pathlib import Path

from mindtorch._npu import allocator
from mindtorch._npu.memory_history import MemoryHistory

ENABLED = {"1": "all", "2": "state"}


def follow_environment():
    """Does what the process's environment asks for. ValueError for a choice that there is not."""
    chosen = os.environ.get("OOM_SNAPSHOT_ENABLE", "0")
    if chosen not in (*ENABLED, "0", ""):
        raise ValueError(f"OOM_SNAPSHOT_ENABLE must be 0, 1 or 2, got {chosen}")
    if chosen in ENABLED:
        allocator.record_history(lambda: MemoryHistory(ENABLED[chosen]))
        allocator.OOM_OBSERVERS.append(write_snapshot)


def write_snapshot(device, wanted, limit, free):
    """An observer of running out. A file that cannot be written is no reason to lose sight of the error itself."""
    from mindtorch.npu.memory import _dump_snapshot
    name = f"oom_snapshot_{os.getpid()}_{time.strftime('%Y%m%d%H%M%S')}.pickle"
    try:
        _dump_snapshot(Path(os.environ.get("OOM_SNAPSHOT_PATH") or ".") / name)
    except OSError as error:
        warnings.warn(f"no snapshot of the memory that ran out was written: {error}", RuntimeWarning, stacklevel=2)
