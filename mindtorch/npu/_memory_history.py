"""The recorded history of device memory and its files, which PyTorch's memory viewer reads."""
from __future__ import annotations

import sys
from typing import Any

from mindtorch import npu
from mindtorch.npu.device import _get_device_index, _lazy_init, is_initialized


def _check_option(name, value, allowed, none):
    if value not in allowed and not (none and value is None):
        words = ", ".join(repr(word) for word in allowed)
        raise RuntimeError(f"expected {name} to be {words}{', or None' if none else ''}, but got {value!r}")


def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None):
    """Records the last `max_entries` events of device memory, with stack traces; enabled=None stops the recording.

    `enabled`: "all", or "state" for live memory alone. `context`: which entries have stack traces: "state" (live
    memory), "alloc" (allocations too), "all" (frees too), None (no entries). `stacks`: "python" or "all"; both record
    Python frames only. Earlier records are discarded.
    """
    _check_option("enabled", enabled, ("state", "all"), True)
    _check_option("context", context, ("state", "alloc", "all"), True)
    _check_option("stacks", stacks, ("python", "all"), False)
    if not isinstance(max_entries, int) or max_entries < 0:
        raise ValueError(f"max_entries is {max_entries!r}, expected an int of at least 0")
    _lazy_init()
    _get_device_index(device, optional=True)          # which must be an NPU; all of them are recorded
    from mindtorch._npu import allocator
    from mindtorch._npu.memory_history import MemoryHistory
    allocator.record_history(
        lambda: None if enabled is None else MemoryHistory(enabled, context or "never", max_entries))


def _snapshot(device=None, augment_with_fx_traces=False):
    """{"segments": all segments with their blocks, "device_traces": for each device its recorded events}.

    It always covers all devices. augment_with_fx_traces has no effect.
    """
    if not is_initialized():
        return {"segments": [], "device_traces": []}
    from mindtorch._npu import memory_history
    return memory_history.snapshot()


def _dump_snapshot(filename="dump_snapshot.pickle", augment_with_fx_traces=False):
    """Writes `_snapshot()` to a file that torch/cuda/_memory_viz.py and pytorch.org/memory_viz read."""
    from mindtorch._npu import memory_history
    memory_history.dump(filename, npu.memory._snapshot())


def memory_snapshot(mempool_id: Any = None) -> Any:
    """All segments of device memory with their blocks, as dictionaries; with `mempool_id` those of one pool.

    Arguments:
        mempool_id: the `id` of a MemPool; None means all memory

    Example:
        >>> x = torch.ones(1000, device="npu")
        >>> segment = torch.npu.memory_snapshot()[0]
        >>> segment["device"], {block["state"] for block in segment["blocks"]} != set()
        (0, True)
    """
    if mempool_id is not None and (not isinstance(mempool_id, tuple | list) or len(mempool_id) != 2):
        raise TypeError(f"mempool_id must be a pair of ints, as MemPool.id is, not {mempool_id!r}")
    pool = () if mempool_id is None else (mempool_id,)
    if not is_initialized():
        return npu._get_allocator().snapshot(*pool)
    from mindtorch._npu import runtime
    first, *others = (npu._get_allocator(index).snapshot(*pool) for index in runtime.started_devices())
    return sum(others, first)


def _save_picture(stacks_of, filename, snapshot):
    from mindtorch.npu import _flame_graph
    segments = npu.memory.memory_snapshot() if snapshot is None else snapshot
    if isinstance(segments, dict):
        segments = segments["segments"]
    text = _flame_graph.picture(getattr(_flame_graph, stacks_of)(segments))
    with open(filename, "w", encoding="utf-8") as file:
        file.write(text)


def _save_segment_usage(filename="output.svg", snapshot=None):
    """Writes an SVG flame graph of all memory from the driver. `snapshot`: a result of memory_snapshot."""
    _save_picture("segment_stacks", filename, snapshot)


def _save_memory_usage(filename="output.svg", snapshot=None):
    """Writes an SVG flame graph of the memory in use by stack trace. `snapshot`: a result of memory_snapshot."""
    _save_picture("memory_stacks", filename, snapshot)
