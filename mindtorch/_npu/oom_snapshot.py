"""OOM_SNAPSHOT_ENABLE: records memory history and writes it to a file at each out-of-memory error.

1: all events; 2: live memory only. The file is oom_snapshot_<process>_<time>.pickle in OOM_SNAPSHOT_PATH (default: the
current folder), in the format of torch.npu.memory._dump_snapshot.
"""
import os
import time
import warnings
from pathlib import Path

from mindtorch._npu import allocator, memory_history

ENABLED = {"1": "all", "2": "state"}


def follow_environment():
    """Records history if the environment says so. ValueError for a value other than 0, 1 and 2."""
    chosen = os.environ.get("OOM_SNAPSHOT_ENABLE", "0")
    if chosen not in (*ENABLED, "0", ""):
        raise ValueError(f"OOM_SNAPSHOT_ENABLE must be 0, 1 or 2, got {chosen}")
    if chosen in ENABLED:
        allocator.record_history(lambda: memory_history.MemoryHistory(ENABLED[chosen]))
        allocator.OOM_OBSERVERS.append(write_snapshot)


def write_snapshot(device, wanted, limit, free):
    """Writes the file; the allocator calls this before it raises. A file that cannot be written is only a warning."""
    name = f"oom_snapshot_{os.getpid()}_{time.strftime('%Y%m%d%H%M%S')}.pickle"
    try:
        memory_history.dump(Path(os.environ.get("OOM_SNAPSHOT_PATH") or ".") / name, memory_history.snapshot())
    except OSError as error:
        warnings.warn(f"no snapshot of the memory that ran out was written: {error}", RuntimeWarning, stacklevel=2)
