"""The table of torch.npu.memory_summary, laid out as torch_npu prints it: lines of 77 characters."""

from __future__ import annotations

from typing import Any

# (heading, key of the counters, whether they are bytes)
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


def summary(stats: Any, index: Any, abbreviated: Any) -> Any:
    """The table of the counters `stats` of device `index`."""
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
