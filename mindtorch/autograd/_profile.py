"""A profile: turns the ranges of _core/python/profiling.pyx into an EventList."""
from __future__ import annotations

import math
import os
import time
from typing import Any

from mindtorch import _backend
from mindtorch._core.python import profiling
from mindtorch.autograd._profiled_functions import enter_profiled
from mindtorch.autograd.profiler_util import EventList, FunctionEvent

STEP = "ProfilerStep#"         # steps are counted in traces, and have one name in tables
USER_SCOPE = 7

# name -> floating point operations, from the shapes of the arguments and the number of results.
_PRODUCTS = {"aten::mm": 0, "aten::bmm": 0, "aten::matmul": 0, "aten::linear": 0, "aten::addmm": 1, "aten::baddbmm": 1}


def _flops(name, shapes, result):
    """The operator's floating-point operations as torch counts them: a multiply-add is two. 0: not known."""
    if name in _PRODUCTS:
        return 2 * result.numel() * shapes[_PRODUCTS[name]][-1]
    if name == "aten::conv2d":
        return 2 * result.numel() * math.prod(shapes[1][1:])
    return result.numel() if name in ("aten::add", "aten::mul") else 0


_running = []                  # the profile that runs


def _stop_in_child():
    while _running:
        _running[-1].stop()


# A child process, as a loader's worker, would record to a list that nobody reads.
os.register_at_fork(after_in_child=_stop_in_child)


class Profile:
    """Records from `start` to `stop`; RuntimeError where another profile runs."""

    def __init__(self, shapes: bool = False, stacks: bool = False, memory: bool = False, flops: bool = False,
                 operators: bool = True, launches: bool = False) -> None:
        self.shapes, self.stacks, self.memory, self.flops = shapes, stacks, memory, flops
        self.operators, self.launches = operators, launches
        self.ranges = []
        self.began = self.began_at = self.ended = 0

    def start(self) -> None:
        memory = _backend.allocated_bytes if self.memory else None
        self.ranges = profiling.start(self.shapes, self.stacks, memory, _flops if self.flops else None)
        self.began_at, self.began = time.time_ns(), profiling.monotonic_ns()
        _running.append(self)
        try:
            if self.operators:
                enter_profiled(True)
            if self.launches:
                _backend.profile_launches(True)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop recording. Does nothing if it has stopped, as in a forked child."""
        if self not in _running:
            return
        self.ended = profiling.monotonic_ns()
        _running.remove(self)
        try:
            if self.operators:
                enter_profiled(False)
            if self.launches:
                _backend.profile_launches(False)
        finally:
            profiling.stop()

    def events(self) -> Any:
        """The ranges as FunctionEvents, in order of their start."""
        device = "npu" if self.memory or self.launches else None
        made = {}
        events = EventList(use_device=device, profile_memory=self.memory, with_flops=self.flops)
        for one in self.ranges:
            if not one.end_ns:             # failed before it began
                continue
            event = made[one] = self._event(len(made), one, device)
            parent = made.get(one.parent)
            if parent is not None:
                event.set_cpu_parent(parent)
                parent.append_cpu_child(event)
            events.append(event)
        return events

    def _event(self, number, one, device):
        name = f"{STEP[:-1]}*" if one.name.startswith(STEP) else one.name
        return FunctionEvent(
            number, name, 1, (one.start_ns - self.began) / 1000, (one.end_ns - self.began) / 1000, overload_name="",
            input_shapes=one.shapes or [], stack=one.stack or [], scope=one.scope, use_device=device,
            device_memory_usage=one.memory_delta, sequence_nr=one.sequence_nr, flops=one.flops or None,
            kernel_time=one.device_time.microseconds() if one.device_time is not None else 0,
            trace_name=one.name, is_user_annotation=one.scope == USER_SCOPE, activity_type=one.category)
