"""Memory of the devices: what is in use, what is cached, and pinned host memory. Sizes are bytes."""
from mindtorch import npu
from mindtorch.npu.device import _get_device_index, _lazy_init, is_initialized


class _Unused:
    """The allocator of a process that has used no device: no figures at all, as torch has it."""

    def memory_stats(self):
        return {}

    def nested_stats(self):
        return {}

    def snapshot(self):
        return {"segments": [], "device": 0, "allocator": "native"}

    def reset_peak(self):
        """There are no peaks."""

    def reset_accumulated(self):
        """There are no sums."""


def _get_allocator(device=None):
    if not is_initialized():
        return _Unused()
    from mindtorch._npu import allocator, runtime
    index = _get_device_index(device, optional=True)
    runtime.get_runtime(index)
    return allocator.get_allocator(index)


def memory_stats(device=None):
    """All counters in one flat dictionary, as torch.cuda.memory_stats names them; {} before the first use."""
    return npu._get_allocator(device).memory_stats()


def memory_stats_as_nested_dict(device=None):
    """The counters of memory_stats as dictionaries in dictionaries."""
    return npu._get_allocator(device).nested_stats()


def memory_allocated(device=None):
    """Bytes that tensors (and operators' workspaces) occupy now."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device=None):
    """The most that memory_allocated has been since the start or reset_peak_memory_stats."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device=None):
    """Bytes taken from the device, in use or cached."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device=None):
    """The most that memory_reserved has been since the start or reset_peak_memory_stats."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def reset_peak_memory_stats(device=None):
    """Sets every peak to the current figure."""
    npu._get_allocator(device).reset_peak()


def reset_accumulated_memory_stats(device=None):
    """Sets the sums of all allocations and frees, and the counts of retries and failures, to zero."""
    npu._get_allocator(device).reset_accumulated()


def mem_get_info(device=None):
    """(free, total) bytes of the device, as the driver has them."""
    _lazy_init()
    return npu._get_allocator(device)._mem_get_info()


def empty_cache():
    """Gives all cached memory of all devices back, idle streams, events and pinned host memory included."""
    if not is_initialized():
        return
    from mindtorch._npu import allocator, handles, host_memory, runtime
    for index in runtime.started_devices():
        allocator.get_allocator(index).empty_cache()
        handles.release_idle(index)
    host_memory.release_idle()


def host_empty_cache():
    """Gives the pinned host memory that nobody uses back."""
    if is_initialized():
        from mindtorch._npu import host_memory
        host_memory.release_idle()


def set_per_process_memory_fraction(fraction, device=None):
    """Limits what this process may take from the device to `fraction` of its memory; 1.0 takes the limit away."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _lazy_init()
    npu._get_allocator(device).set_memory_fraction(fraction)


def get_per_process_memory_fraction(device=None):
    """The limit of set_per_process_memory_fraction; 1.0 where there is none."""
    _lazy_init()
    return npu._get_allocator(device).memory_fraction()


def memory_snapshot(device=None):
    """Every segment with its blocks: {"segments": [...], "device": index, "allocator": name}."""
    return npu._get_allocator(device).snapshot()


def pin_memory(tensor):
    """A copy of a CPU tensor in pinned memory, from which copies to the device need not wait for each other."""
    from mindtorch._npu import host_memory
    return host_memory.pin_memory(tensor)


def is_pinned(tensor):
    """Whether a tensor lies in pinned host memory."""
    from mindtorch._npu import host_memory
    return host_memory.is_pinned(tensor)


# The table of memory_summary: (heading, key of the counters, whether they are bytes).
_ROWS = (
    ("Allocated memory", "allocated_bytes", True), ("Active memory", "active_bytes", True),
    ("NPU reserved memory", "reserved_bytes", True), ("Non-releasable memory", "inactive_split_bytes", True),
    ("Allocations", "allocation", False), ("Active allocs", "active", False),
    ("NPU reserved segments", "segment", False), ("Non-releasable allocs", "inactive_split", False),
)
_OVERSIZE_ROWS = (("Oversize allocations", "oversize_allocations"), ("Oversize NPU segments", "oversize_segments"))
_METRICS = ("current", "peak", "allocated", "freed")


def _cell(value, reference, is_bytes):
    """`value` in the unit that suits `reference`, 10 characters wide."""
    units, base, limit = (("B ", "KB", "MB", "GB", "TB", "PB"), 1024, 768) if is_bytes else ((" ", "K", "M"), 1000, 750)
    unit = 0
    while reference >= limit * base and unit < len(units) - 1:
        unit += 1
        reference //= base
        value //= base
    return f"{value:7d} {units[unit]}".ljust(10)


def _row(name, stats, keys, is_bytes, reference_keys):
    cells = [_cell(stats.get(key, 0), stats.get(reference, 0), is_bytes)
             for key, reference in zip(keys, reference_keys, strict=True)]
    return f" {name:<21} | " + " | ".join(cells) + " "


def memory_summary(device=None, abbreviated=False):
    """A table of memory_stats for people, laid out as torch_npu prints it."""
    stats = memory_stats(device)
    index = _get_device_index(device, optional=True)
    lines = ["=" * 75,
             f"{'':18}PyTorch NPU memory summary, device ID {index:<18d} ",
             "-" * 75,
             f"{'':12}NPU OOMs: {stats.get('num_ooms', 0):<13d} | {'':7}"
             f"npuMalloc retries: {stats.get('num_alloc_retries', 0):<9d}  ",
             "=" * 75,
             "        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  "]
    for heading, key, is_bytes in _ROWS:
        lines.append("-" * 75)
        reference = [f"{key}.all.{metric}" for metric in _METRICS]
        lines.append(_row(heading, stats, reference, is_bytes, reference))
        if not abbreviated:
            for pool in ("large", "small"):
                keys = [f"{key}.{pool}_pool.{metric}" for metric in _METRICS]
                lines.append(_row(f"      from {pool} pool", stats, keys, is_bytes, reference))
    for heading, key in _OVERSIZE_ROWS:
        keys = [f"{key}.{metric}" for metric in _METRICS]
        lines += ["-" * 75, _row(heading, stats, keys, False, keys)]
    lines.append("=" * 75)
    return "".join(f"|{line}|\n" for line in lines)
