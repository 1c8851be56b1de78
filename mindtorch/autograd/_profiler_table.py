"""The table of a profile: columns that hold text, as wide as they need to be."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindtorch.types import Device

_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
_NUMBER_WIDTH = 12


def time_text(microseconds: Any, unit: Any = None) -> Any:
    """The time in `unit`, else in the largest unit of which it is at least one."""
    unit = unit or next((name for name, size in _UNITS.items() if microseconds >= size), "us")
    return f"{microseconds / _UNITS[unit]:.3f}{unit}"


def memory_text(size: Any) -> Any:
    """Bytes, in the largest unit of which they are at least one."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(size) >= 1024 ** power:
            return f"{size / 1024 ** power:.2f} {unit}"
    return f"{size} B"


def _share(part, whole):
    if whole == 0:
        assert part == 0, f"Expected part to be zero when the whole is, got {part}"
        return "NaN"
    return f"{part * 100.0 / whole:.2f}%"


def _clipped(text, width, from_end=False):
    if len(text) <= width:
        return text
    return "..." + text[3 - width:] if from_end else text[:width - 3] + "..."


class _Columns:
    """(title, width, function of an event that gives the text, whether text stands at the left)."""

    def __init__(self, events: Any, time_unit: Any) -> None:
        self.events, self.unit, self.columns = events, time_unit, []

    def add(self, title: Any, text: Any, width: Any = _NUMBER_WIDTH, left: bool = False) -> None:
        self.columns.append((title, max(width, len(title)), text, left))

    def add_text(self, title: Any, text: Any, limit: Any, left: bool = False) -> None:
        width = min(limit, max([len(text(event)) for event in self.events] + [len(title) - 4]) + 4)
        self.add(title, lambda event: _clipped(text(event), width, left), width, left)

    def add_cpu_times(self) -> None:
        total, unit = sum(event.self_cpu_time_total for event in self.events), self.unit
        self.add("Self CPU %", lambda event: _share(event.self_cpu_time_total, total))
        self.add("Self CPU", lambda event: time_text(event.self_cpu_time_total, unit))
        self.add("CPU total %", lambda event: _share(event.cpu_time_total, total))
        self.add("CPU total", lambda event: time_text(event.cpu_time_total, unit))
        self.add("CPU time avg", lambda event: time_text(event.cpu_time, unit))

    def add_device_times(self, title: str, total: Any) -> None:
        unit = self.unit
        self.add(f"Self {title}", lambda event: time_text(event.self_device_time_total, unit))
        self.add(f"Self {title} %", lambda event: _share(event.self_device_time_total, total))
        self.add(f"{title} total", lambda event: time_text(event.device_time_total, unit))
        self.add(f"{title} time avg", lambda event: time_text(event.device_time, unit))

    def add_flops(self) -> None:
        known = [event.flops for event in self.events if event.flops]
        power = min(max(int(math.log10(min(known))) // 3, 0), 5) if known else 0
        unit = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")[power]
        self.add(f"Total {unit}", lambda event: f"{event.flops / 1000 ** power:8.3f}" if event.flops else "--")

    def row(self, event: Any) -> Any:
        cells = [(text(event), width, left) for _, width, text, left in self.columns]
        return "  ".join(text.ljust(width) if left else text.rjust(width) for text, width, left in cells) + "  "

    def titles(self) -> Any:
        cells = ((title, width, left) for title, width, _, left in self.columns)
        return "  ".join(title.ljust(width) if left else title.rjust(width) for title, width, left in cells) + "  "

    def line(self) -> Any:
        return "  ".join("-" * width for _, width, _, _ in self.columns) + "  "


def _columns(events, widths, time_unit, device, memory, flops):
    shapes_shown = any(event.input_shapes for event in events)
    columns = _Columns(events, time_unit)
    columns.add_text("Name", lambda event: event.key, widths["name"])
    columns.add_cpu_times()
    name = (device or "device").upper()
    device_total = sum(event.self_device_time_total for event in events)
    if device_total:
        columns.add_device_times(name, device_total)
    if memory:
        columns.add(f"{name} Mem", lambda event: memory_text(event.device_memory_usage))
        columns.add(f"Self {name} Mem", lambda event: memory_text(event.self_device_memory_usage))
    columns.add("# of Calls", lambda event: str(event.count))
    if any(event.overload_name for event in events):
        columns.add_text("Overload Name", lambda event: event.overload_name, widths["name"])
    if shapes_shown:
        columns.add_text("Input Shapes", lambda event: str(event.input_shapes)[:widths["shapes"]], widths["shapes"])
    if any(event.stack for event in events):
        columns.add_text("Source Location", lambda event: (event.stack or [""])[0], widths["source"], left=True)
    if flops:
        columns.add_flops()
    return columns


def build_table(events: Any, sort_by: Any, row_limit: Any, source_width: Any, name_width: Any, shapes_width: Any,
                header: Any, top_level_only: Any, time_unit: Any, device: Device, memory: Any, flops: Any) -> Any:
    """The text of EventList.table."""
    if not events:
        return ""
    if sort_by is not None:
        sort_by = sort_by.replace("cuda", "device").replace("npu", "device")
        events = sorted(events, key=lambda event: getattr(event, sort_by), reverse=True)
    widths = {"name": name_width, "shapes": shapes_width, "source": source_width}
    columns = _columns(events, widths, time_unit, device, memory, flops)
    line = columns.line()
    lines = []
    for heading in (header, "This report only display top-level ops statistics" if top_level_only else None):
        if heading is not None:
            lines += ["=" * (len(line) - 2), heading]
    shown = [event for event in events if not top_level_only or event.cpu_parent is None]
    if row_limit >= 0:
        shown = shown[:row_limit]
    lines += [line, columns.titles(), line]
    for event in shown:
        lines.append(columns.row(event))
        lines += _callers(event, columns)
    total = sum(event.self_cpu_time_total for event in events)
    lines += [line, f"Self CPU time total: {time_text(total, time_unit)}"]
    device_total = sum(event.self_device_time_total for event in events)
    if device_total:
        lines.append(f"Self {(device or 'device').upper()} time total: {time_text(device_total, time_unit)}")
    return "\n".join([*lines, ""])


def _callers(event, columns):
    """The stack below its innermost frame, a line each, under the column of the first."""
    found = []
    for place, (title, width, _, _) in enumerate(columns.columns):
        if title == "Source Location":
            before = sum(width for _, width, _, _ in columns.columns[:place]) + 2 * place
            found = [" " * before + _clipped(frame, width, from_end=True) for frame in (event.stack or ())[1:]]
    return found
