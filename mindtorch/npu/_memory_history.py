"""The recorded history of device memory and its files, which PyTorch's memory viewer reads."""
import sys

from mindtorch import npu
from mindtorch.npu.device import _get_device_index, _lazy_init, is_initialized


def _check_option(name, value, allowed, none):
    if value not in allowed and not (none and value is None):
        words = ", ".join(repr(word) for word in allowed)
        raise RuntimeError(f"expected {name} to be {words}{', or None' if none else ''}, but got {value!r}")


def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None):
    """Keeps the last `max_entries` events of device memory, and where live memory was allocated; None ends it.

    `enabled`: "all", or "state" for what is allocated now alone. `context`: what keeps Python frames: "state" (live
    memory), "alloc" (allocations too), "all" (frees too), None (nothing). `stacks`: "python" or "all"; both mean Python
    frames here. What was recorded before is forgotten.
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

    Of all devices, whatever `device` is. There are no traces of torch.fx that frames could be augmented with.
    """
    if not is_initialized():
        return {"segments": [], "device_traces": []}
    from mindtorch._npu import memory_history
    return memory_history.snapshot()


def _dump_snapshot(filename="dump_snapshot.pickle", augment_with_fx_traces=False):
    """Writes `_snapshot()` to a file that torch/cuda/_memory_viz.py and pytorch.org/memory_viz read."""
    from mindtorch._npu import memory_history
    memory_history.dump(filename, npu.memory._snapshot())


def memory_snapshot(mempool_id=None):
    """Every segment of device memory with its blocks, as dictionaries; only those of a pool given by its id."""
    if mempool_id is not None and (not isinstance(mempool_id, tuple | list) or len(mempool_id) != 2):
        raise TypeError(f"mempool_id must be a pair of ints, as MemPool.id is, not {mempool_id!r}")
    pool = () if mempool_id is None else (mempool_id,)
    if not is_initialized():
        return npu._get_allocator().snapshot(*pool)
    from mindtorch._npu import runtime
    first, *others = (npu._get_allocator(index).snapshot(*pool) for index in runtime.started_devices())
    return sum(others, first)


def _save_picture(stacks_of, filename, snapshot):
    from mindtorch.npu import _memory_flames
    segments = npu.memory.memory_snapshot() if snapshot is None else snapshot
    if isinstance(segments, dict):
        segments = segments["segments"]
    text = _memory_flames.picture(getattr(_memory_flames, stacks_of)(segments))
    with open(filename, "w", encoding="utf-8") as file:
        file.write(text)


def _save_segment_usage(filename="output.svg", snapshot=None):
    """Draws all memory taken from the driver, used or not, as a flame graph. `snapshot`: what memory_snapshot gave."""
    _save_picture("segment_stacks", filename, snapshot)


def _save_memory_usage(filename="output.svg", snapshot=None):
    """Draws the memory in use by where it was allocated. `snapshot`: what memory_snapshot gave."""
    _save_picture("memory_stacks", filename, snapshot)
