"""torch.autograd.profiler: profile, and record_function for named ranges.

A profile records the operators that its thread calls, the nodes of backward, and, where asked, launches on the NPU.
"""
from __future__ import annotations

import functools
import warnings
from typing import Any, Self

from mindtorch import cuda
from mindtorch._core.python import profiling
from mindtorch.autograd._profile import Profile
from mindtorch.autograd._trace import write_trace
from mindtorch.autograd.profiler_util import EventList, FunctionEvent

__all__ = ["EventList", "FunctionEvent", "emit_nvtx", "profile", "record_function"]


class record_function:
    """A named range in the profile that is running: a context manager, and a decorator of functions.

    args: a text that is kept beside the name.

    Arguments:
        name: the name of the region
        args: a further text; None means none

    Example:
        >>> with torch.profiler.profile() as profile, torch.profiler.record_function("my step"):
        ...     x = torch.ones(4)
        >>> "my step" in profile.key_averages().table()
        True
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._opened = None

    def __enter__(self) -> Self:
        if not isinstance(self.name, str):
            raise RuntimeError("profiler::_record_function_enter_new() Expected a value of type 'str' for argument "
                               f"'name' but instead found type '{type(self.name).__name__}'.")
        self._opened = profiling.begin_user_range(self.name)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        opened, self._opened = self._opened, None
        profiling.end_user_range(opened)

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def call(*args, **kwargs):
            with type(self)(self.name, self.args):
                return function(*args, **kwargs)
        return call


class profile:
    """Records what happens inside `with profile() as prof`; once only.

    record_shapes: the shapes of arguments. with_stack: the Python frames of calls. profile_memory: by how much the
    memory of the NPUs grows. with_flops: what products, convolutions, sums and scalings compute. use_device: "npu"
    (or "privateuse1") for launches too. RuntimeError where another profile runs.

    Arguments:
        enabled: whether it records
        use_device: the type of the accelerator, such as "npu"; None means none
        record_shapes: whether the shapes of inputs are recorded
        with_flops: whether floating-point operations are estimated
        profile_memory: whether allocations are recorded
        with_stack: whether the Python lines are recorded
        with_modules: not read
        use_kineto: not read
        use_cpu: has to be True
        acc_events: whether events of several cycles are kept

    Example:
        >>> with torch.autograd.profiler.profile() as prof:
        ...     _ = torch.ones(2) + 1
        >>> [event.name for event in prof.function_events if event.name == "aten::add"]
        ['aten::add']
    """

    def __init__(self, enabled: bool = True, *, use_device: Any = None, record_shapes: bool = False,
                 with_flops: bool = False, profile_memory: bool = False, with_stack: bool = False,
                 with_modules: bool = False, use_kineto: bool = False, use_cpu: bool = True,
                 acc_events: bool = False) -> None:
        self.enabled = enabled
        self.use_device = use_device
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.entered = False
        self.metadata = {}
        if not use_cpu and use_device is None:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        if use_device not in (None, "npu", "privateuse1", "privateuseone"):
            warnings.warn(f"{use_device} is not a device of this build: its launches are not profiled", stacklevel=2)
            self.use_device = None
        self._profile = Profile(self.record_shapes, with_stack, profile_memory, with_flops, use_cpu,
                                    self.use_device is not None)
        self._events = None

    def _start_trace(self):
        self.entered = True
        self._profile.start()

    def __enter__(self) -> Self:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._start_trace()
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if not self.enabled:
            return False
        self._profile.stop()
        self._events = self._profile.events()
        return False

    @property
    def function_events(self) -> Any:
        """All calls as an EventList. RuntimeError before the profile has ended."""
        self._check_finish()
        return self._events

    def _check_finish(self):
        if self._events is None:
            raise RuntimeError("Profiler didn't finish running")

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else repr(self._events)

    def __str__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self._events is None else str(self._events)

    def table(self, *args: Any, **kwargs: Any) -> Any:
        """EventList.table of all calls."""
        return self.function_events.table(*args, **kwargs)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> Any:
        """EventList.key_averages of all calls."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> Any:
        """All calls as one FunctionEventAvg."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> Any:
        """Microseconds in all calls together."""
        return self.function_events.self_cpu_time_total

    def export_chrome_trace(self, path: Any) -> None:
        """Write a trace for chrome://tracing or Perfetto; gzipped where the path ends in .gz."""
        write_trace(path, self.function_events, self._profile, self.metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """EventList.export_stacks of all calls. AssertionError without with_stack."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)


class emit_nvtx:
    """Ranges for CUDA's profilers, around each operator: entered, it says that there is no CUDA.

    Arguments:
        enabled: whether it is entered
        record_shapes: whether the shapes of inputs are recorded

    Example:
        >>> torch.autograd.profiler.emit_nvtx(enabled=False).__enter__()
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.entered, self.record_shapes = enabled, False, record_shapes

    def __enter__(self) -> Self:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("NVTX annotation context manager is not reentrant")
        self.entered = True
        cuda.synchronize()          # torch's way to the error: AssertionError
        return self

    def __exit__(self, *exception: Any) -> None:
        return None
