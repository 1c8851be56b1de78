"""Results of a profile: FunctionEvent, a call; FunctionEventAvg, calls of one name; EventList, with its table.

Times are microseconds; memory is that of the NPU's allocator. The time on the device is that of the launches inside a
call, each measured by two events on its stream. It is 0 where launches are not profiled.
"""
from __future__ import annotations

import itertools
import json
import os
from collections import defaultdict
from typing import Any

from mindtorch.autograd._profiler_kinds import DeviceType
from mindtorch.autograd._profiler_table import build_table, time_text

__all__ = ["EventList", "FormattedTimesMixin", "FunctionEvent", "FunctionEventAvg", "Interval"]


class Interval:
    """A stretch of time in microseconds.

    Arguments:
        start: where it begins, in microseconds
        end: where it ends

    Example:
        >>> torch.autograd.profiler_util.Interval(10, 14).elapsed_us()
        4
    """

    def __init__(self, start: Any, end: Any) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> Any:
        """How long it is."""
        return self.end - self.start


def _as_text(name):
    return property(lambda self: time_text(getattr(self, name)), doc=f"{name} with its unit.")


def _mean(name):
    return property(lambda self: getattr(self, name) / self.count if self.count else 0.0, doc=f"{name} of a call.")


class FormattedTimesMixin:
    """Means of the totals, and the times as text.

    Example:
        >>> event = torch.autograd.profiler_util.FunctionEvent(0, "aten::add", 1, 10, 14)
        >>> event.cpu_time_total_str
        '4.000us'
    """

    cpu_time = _mean("cpu_time_total")
    device_time = _mean("device_time_total")
    cpu_time_str = _as_text("cpu_time")
    device_time_str = _as_text("device_time")
    cpu_time_total_str = _as_text("cpu_time_total")
    device_time_total_str = _as_text("device_time_total")
    self_cpu_time_total_str = _as_text("self_cpu_time_total")
    self_device_time_total_str = _as_text("self_device_time_total")


class FunctionEvent(FormattedTimesMixin):
    """One call, with the calls inside it as cpu_children and the call it was in as cpu_parent.

    Arguments:
        id: the number of the event
        name: its name
        thread: the number of the thread
        start_us: when it began, in microseconds
        end_us: when it ended
        overload_name: the overload of the operator
        fwd_thread: the thread of the forward operator
        input_shapes: the shapes of the inputs
        stack: the Python lines
        scope: the kind of the region, a number
        use_device: the type of the accelerator, such as "npu"; None means none
        cpu_memory_usage: the bytes allocated on the CPU, less those freed
        device_memory_usage: the bytes allocated on the device, less those freed
        sequence_nr: the number that a forward operator and its backward share
        flops: the number of floating-point operations
        trace_name: the name in the trace
        is_user_annotation: whether record_function made it
        activity_type: the kind of activity
        kernel_time: the time of its kernels, in microseconds
        node_id: the number of the process

    Example:
        >>> event = torch.autograd.profiler_util.FunctionEvent(0, "aten::add", 1, 10, 14)
        >>> event.name, event.cpu_time_total
        ('aten::add', 4)
    """

    count = 1
    is_async = is_remote = is_legacy = False
    device_type, device_index = DeviceType.CPU, 0

    def __init__(self, id: Any, name: str, thread: Any, start_us: Any, end_us: Any, overload_name: Any = None,
                 fwd_thread: Any = None, input_shapes: Any = None, stack: Any = None, scope: float = 0,
                 use_device: Any = None, cpu_memory_usage: float = 0, device_memory_usage: float = 0,
                 sequence_nr: Any = -1, flops: Any = None, trace_name: Any = None, is_user_annotation: bool = False,
                 activity_type: Any = None, kernel_time: float = 0, node_id: int = -1) -> None:
        self.id = id
        self.node_id = node_id
        self.name = name
        self.trace_name = name if trace_name is None else trace_name
        self.overload_name = overload_name
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.input_shapes = input_shapes
        self.stack = stack
        self.scope = scope
        self.use_device = use_device
        self.cpu_memory_usage = cpu_memory_usage
        self.device_memory_usage = device_memory_usage
        self.sequence_nr = sequence_nr
        self.flops = flops
        self.is_user_annotation = is_user_annotation
        self.activity_type = activity_type
        self.self_device_time_total = kernel_time
        self.cpu_children = []
        self.cpu_parent = None

    @property
    def key(self) -> Any:
        """The key that groups calls."""
        return self.name

    def append_cpu_child(self, child: Any) -> None:
        """Note that `child` took place inside."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: Any) -> None:
        """Note that this took place inside `parent`."""
        self.cpu_parent = parent

    @property
    def cpu_time_total(self) -> Any:
        """Microseconds from start to end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> Any:
        """Microseconds outside the calls inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self) -> Any:
        """Microseconds of the device in the launches inside."""
        return self.self_device_time_total + sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> Any:
        """Bytes of host memory outside the calls inside."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self) -> Any:
        """Bytes of device memory outside the calls inside."""
        return self.device_memory_usage - sum(child.device_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return (f"<FunctionEvent id={self.id} name={self.name} thread={self.thread} cpu_time={self.cpu_time_str} "
                f"start_us={self.time_range.start} end_us={self.time_range.end} "
                f"cpu_children={[child.id for child in self.cpu_children]} input_shapes={self.input_shapes} "
                f"device_memory_usage={self.device_memory_usage} seq_nr={self.sequence_nr}>")


_SUMS = ("cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total", "cpu_memory_usage",
         "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage", "count")


class FunctionEventAvg(FormattedTimesMixin):
    """Calls of one name (and shapes, or callers) together: sums, and means a call.

    Example:
        >>> average = torch.autograd.profiler_util.FunctionEventAvg()
        >>> for end in (14, 16):
        ...     _ = average.add(torch.autograd.profiler_util.FunctionEvent(0, "aten::add", 1, 10, end))
        >>> average.count, average.cpu_time
        (2, 5.0)
    """

    def __init__(self) -> None:
        self.key = None
        self.input_shapes = self.stack = self.overload_name = self.scope = self.use_device = None
        self.node_id = -1
        self.is_async = self.is_remote = self.is_legacy = self.is_user_annotation = False
        self.device_type = DeviceType.CPU
        self.cpu_children, self.cpu_parent = [], None
        self.flops = 0
        for name in _SUMS:
            setattr(self, name, 0)

    def add(self, other: Any) -> Any:
        """Add `other`, an event or average. AssertionError if its name differs."""
        if self.key is None:
            for name in ("key", "input_shapes", "stack", "overload_name", "scope", "use_device", "device_type",
                         "is_user_annotation", "cpu_parent", "cpu_children"):
                setattr(self, name, getattr(other, name))
        assert isinstance(other, (FunctionEvent, FunctionEventAvg))
        assert other.key == self.key
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
                f"cpu_time={self.cpu_time_str} count={self.count} input_shapes={self.input_shapes} "
                f"device_memory_usage={self.device_memory_usage}>")


class EventList(list):
    """Events, or sums of events, and how they are shown.

    Arguments:
        *args: the events
        use_device: the type of the accelerator, such as "npu"; None means none
        profile_memory: whether allocations are recorded
        with_flops: whether floating-point operations are estimated

    Example:
        >>> with torch.autograd.profiler.profile() as prof:
        ...     _ = torch.ones(2) + 1
        >>> type(prof.function_events).__name__, "aten::add" in prof.function_events.table()
        ('EventList', True)
    """

    def __init__(self, *args: Any, use_device: Any = None, profile_memory: bool = False,
                 with_flops: bool = False) -> None:
        super().__init__(*args)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops

    def __str__(self) -> str:
        return self.table()

    def _like(self, events):
        return EventList(events, use_device=self._use_device, profile_memory=self._profile_memory,
                         with_flops=self._with_flops)

    @property
    def self_cpu_time_total(self) -> Any:
        """Microseconds in all events; overlaps count once."""
        return sum(event.self_cpu_time_total for event in self)

    def table(self, sort_by: Any = None, row_limit: float = 100, max_src_column_width: float = 75,
              max_name_column_width: float = 55, max_shapes_column_width: float = 80, header: Any = None,
              top_level_events_only: bool = False, time_unit: Any = None) -> Any:
        """The events as a table, largest `sort_by` first, of at most row_limit rows (-1: all).

        sort_by: an attribute of the events, as cpu_time_total, self_cpu_time_total, count or device_memory_usage.
        time_unit: s, ms or us for all times; None: whichever suits each. AttributeError for what is no attribute.
        """
        return build_table(self, sort_by, row_limit, max_src_column_width, max_name_column_width,
                           max_shapes_column_width, header, top_level_events_only, time_unit, self._use_device,
                           self._profile_memory, self._with_flops)

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> Any:
        """One FunctionEventAvg for the calls of a name, or of a name with like shapes, or called from the same
        group_by_stack_n innermost Python frames.
        """
        groups = defaultdict(FunctionEventAvg)
        for event in self:
            key = [event.key, event.scope, event.is_user_annotation]
            if group_by_overload_name:
                key.append(event.overload_name)
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            if group_by_stack_n:
                key += (event.stack or ())[:group_by_stack_n]
            groups[tuple(key)].add(event)
        found = self._like(groups.values())
        for group in found:
            group.stack = (group.stack or [])[:group_by_stack_n]
            if not group_by_input_shapes:
                group.input_shapes = ""
            if not group_by_overload_name:
                group.overload_name = ""
        return found

    def total_average(self) -> Any:
        """All events as one FunctionEventAvg, of the key Total."""
        total = FunctionEventAvg()
        for event in self:
            total.key = event.key
            total.add(event)
        total.key = "Total"
        return total

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events as a list that chrome://tracing and Perfetto show."""
        events = [{"name": event.trace_name, "ph": "X", "ts": event.time_range.start, "dur": event.cpu_time_total,
                   "tid": event.thread, "pid": "CPU functions", "args": {}} for event in self]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(events, file)

    def supported_export_stacks_metrics(self) -> Any:
        """The metrics by which export_stacks can weigh stacks."""
        return ["self_cpu_time_total", "self_device_time_total"]

    def export_stacks(self, path: str, metric: str) -> None:
        """Write a line `outermost;...;innermost microseconds` for each Python stack, from which flame graphs are drawn.

        ValueError for a metric that supported_export_stacks_metrics does not list.
        """
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()}")
        spaces = str.maketrans(" ;\t\n", "____")
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            for event in self:
                weight = int(getattr(event, metric))
                if event.stack and weight > 0:
                    names = itertools.chain(reversed(event.stack), (event.name,))
                    file.write(";".join(name.translate(spaces) for name in names) + f" {weight}\n")
