"""The profile with a schedule. Operators, nodes of backward and launches are recorded by mindtorch.autograd.profiler's
machinery.
"""
from __future__ import annotations

import json
import os
import socket
import time
import uuid
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Self

from mindtorch import _backend
from mindtorch.autograd._profile import STEP, Profile
from mindtorch.autograd._profiler_kinds import ProfilerAction, ProfilerActivity
from mindtorch.autograd._trace import write_trace
from mindtorch.autograd.profiler import EventList, record_function

__all__ = ["ProfilerAction", "profile", "schedule", "supported_activities", "tensorboard_trace_handler"]

_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def supported_activities() -> Any:
    """The activities that can be profiled here: the CPU, and launches where there is an NPU.

    Example:
        >>> sorted(activity.name for activity in torch.profiler.supported_activities())
        ['CPU', 'PrivateUse1']
    """
    return {ProfilerActivity.CPU, *([ProfilerActivity.PrivateUse1] if _backend.npu_available() else [])}


def kineto_available() -> Any:
    """Whether profiles of this module can be recorded: always.

    Example:
        >>> torch.profiler.kineto_available()
        True
    """
    return True


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable:
    """A function from the number of a step to a ProfilerAction.

    After `skip_first` steps come cycles of `wait` steps without a profile, `warmup` ones and `active` recorded ones;
    `repeat` cycles, 0 for no end. With skip_first_wait the first cycle does not wait. AssertionError for numbers that
    make no schedule.

    Arguments:
        wait: the steps of a cycle that are left out first
        warmup: the steps that then run without being kept
        active: the steps that are recorded
        repeat: the number of cycles; 0 means until the end
        skip_first: the steps before the first cycle
        skip_first_wait: the cycles that begin without `wait`

    Example:
        >>> steps = torch.profiler.schedule(wait=1, warmup=1, active=2)
        >>> [steps(step).name for step in range(4)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']
    """
    def action(step):
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle, place = divmod(step, wait + warmup + active)
        if (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0).")
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Any:
    """For on_trace_ready: writes each trace to a file of its own in `dir_name`, which is made.

    The files are called worker_name (host and process where it is None), time, and .pt.trace.json, with .gz where
    use_gzip is set. RuntimeError where the folder cannot be made.

    Arguments:
        dir_name: the folder of the files
        worker_name: the name of this process in the files' names; None means host and process number
        use_gzip: whether the files are compressed

    Example:
        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(folder)):
        ...     x = torch.ones(4) + 1
        >>> len(os.listdir(folder))
        1
    """
    def handle(prof):
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(f"Can't create directory: {dir_name}") from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' if use_gzip else ''}"
        prof.export_chrome_trace(os.path.join(dir_name, name))
    return handle


def _default_schedule_fn(step):
    return ProfilerAction.RECORD


class _KinetoProfile:
    """A profile without steps, which records between start and stop. Its arguments are those of `profile`."""

    def __init__(self, *, activities: Iterable[ProfilerActivity | dict[ProfilerActivity, list[str]]] | None = None,
                 record_shapes: bool = False, profile_memory: bool = False, with_stack: bool = False,
                 with_flops: bool = False, with_modules: bool = False, experimental_config: Any = None,
                 execution_trace_observer: Any = None, acc_events: bool = False,
                 custom_trace_id_callback: Callable[[], str] | None = None,
                 post_processing_timeout_s: float | None = None) -> None:
        if experimental_config is not None or execution_trace_observer is not None:
            raise NotImplementedError("profile: experimental_config and execution_trace_observer are Kineto's, which "
                                      "has no part in mindtorch's profiles")
        given = supported_activities() if activities is None else activities
        self.activities = {one for one in given if isinstance(one, ProfilerActivity)}
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self._metadata, self._preset_metadata = {}, {}
        self._profile = self._events = None
        self._running = self._saved = False
        self._trace_id = ""

    def start(self) -> None:
        """Begin to record."""
        self.start_trace()

    def stop(self) -> None:
        """End. AssertionError before `start`."""
        self.stop_trace()

    def start_trace(self) -> None:
        """Begin to record, whatever the schedule says."""
        profile = Profile(
            self.record_shapes or self.with_flops, self.with_stack, self.profile_memory, self.with_flops,
            ProfilerActivity.CPU in self.activities, ProfilerActivity.PrivateUse1 in self.activities)
        profile.start()
        self._profile, self._running, self._saved = profile, True, False
        self._metadata = dict(self._preset_metadata)
        callback = self.custom_trace_id_callback
        self._trace_id = callback() if callback else uuid.uuid4().hex.upper()

    def stop_trace(self) -> None:
        """Stop recording. AssertionError where nothing has been recorded."""
        if self._profile is None:
            raise AssertionError("Profiler must be initialized before stopping trace")
        if not self._running:
            return
        self._running = False
        self._profile.stop()
        found = self._profile.events()
        if self.acc_events and self._events is not None:
            found[:0] = self._events
        self._events = found

    # Results

    def _require(self, purpose):
        if self._profile is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")

    def events(self) -> Any:
        """The calls that were recorded, an EventList. AssertionError before the first profile."""
        self._require("accessing events")
        return self._events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
                     group_by_overload_name: bool = False) -> Any:
        """The calls of each name together; see EventList.key_averages."""
        self._require("getting key averages")
        return self._events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: Any) -> None:
        """Write the last profile as a trace, once: RuntimeError the second time. Gzipped where path ends in .gz."""
        self._require("exporting chrome trace")
        if self._saved:
            raise RuntimeError("Trace is already saved.")
        write_trace(path, self._recording_events(), self._profile, {"trace_id": self._trace_id, **self._metadata})
        self._saved = True

    def _recording_events(self):
        return self._profile.events() if self.acc_events else self._events

    def export_stacks(self, path: Any, metric: str = "self_cpu_time_total") -> None:
        """Write stacks for flame graphs; see EventList.export_stacks. AssertionError without with_stack."""
        self._require("exporting stacks")
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self._events.export_stacks(path, metric)

    # Metadata of traces

    def add_metadata(self, key: Any, value: Any) -> None:
        """A text that the trace of the running profile holds under `key`."""
        self._metadata[key] = value

    def add_metadata_json(self, key: Any, value: Any) -> None:
        """A value, given as JSON, that the trace of the running profile holds under `key`."""
        self._metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: Any, value: Any) -> None:
        """As add_metadata_json, for every profile from now on."""
        self._preset_metadata[key] = json.loads(value)


class profile(_KinetoProfile):
    """Records between start and stop, or in a `with`; with a `schedule`, in the steps that it chooses.

    activities: a set of ProfilerActivity; all that are supported where it is None. on_trace_ready: called with the
    profile whenever a cycle is recorded. record_shapes, profile_memory, with_stack, with_flops: as for
    autograd.profiler.profile. acc_events: keep the events of all cycles, not the last one's alone. with_modules and
    post_processing_timeout_s change nothing: they are about TorchScript and Kineto. AssertionError for activities that
    are none, NotImplementedError for options of Kineto; RuntimeError from `start` where another profile runs.

    Arguments:
        activities: what is recorded: ProfilerActivity members; None means CPU and NPU
        schedule: a function of the number of the step that gives a ProfilerAction; None records all
        on_trace_ready: a function of the profiler, called when a cycle is recorded
        record_shapes: whether the shapes of inputs are recorded
        profile_memory: whether allocations are recorded
        with_stack: whether the Python lines are recorded
        with_flops: whether floating-point operations are estimated
        with_modules: not read
        experimental_config: refused: it is Kineto's
        execution_trace_observer: refused: it is Kineto's
        acc_events: whether events of several cycles are kept
        use_cuda: deprecated: see activities
        custom_trace_id_callback: a function that gives the name of a trace
        post_processing_timeout_s: not read

    Example:
        >>> with torch.profiler.profile() as profile:
        ...     x = torch.ones(4, 4) @ torch.ones(4, 4)
        >>> "aten::matmul" in profile.key_averages().table()
        True
    """

    def __init__(self, *, activities: Iterable[ProfilerActivity | dict[ProfilerActivity, list[str]]] | None = None,
                 schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
                 with_modules: bool = False, experimental_config: Any = None, execution_trace_observer: Any = None,
                 acc_events: bool = False, use_cuda: bool | None = None,
                 custom_trace_id_callback: Callable[[], str] | None = None,
                 post_processing_timeout_s: float | None = None) -> None:
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
        super().__init__(
            activities=activities, record_shapes=record_shapes, profile_memory=profile_memory, with_stack=with_stack,
            with_flops=with_flops, with_modules=with_modules, experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer, acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback, post_processing_timeout_s=post_processing_timeout_s)
        self.schedule = schedule or _default_schedule_fn
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.step_rec_fn = None

    # Running.

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with step 0."""
        self._change(None, self.current_action)
        self._open_step()

    def stop(self) -> None:
        """End; what has been recorded in an unfinished cycle is ready then. AssertionError before `start`."""
        self._close_step()
        self._change(self.current_action, None)

    def step(self) -> None:
        """One step is over, and the next one begins."""
        self._close_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._change(before, self.current_action)
        self._open_step()

    def _open_step(self):
        if self.record_steps:
            self.step_rec_fn = record_function(f"{STEP}{self.step_num}")
            self.step_rec_fn.__enter__()

    def _close_step(self):
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _change(self, before, action):
        save = ProfilerAction.RECORD_AND_SAVE
        goes_on = before is ProfilerAction.RECORD and action in _RECORDS
        if action in (ProfilerAction.NONE, ProfilerAction.WARMUP) and (
                before is ProfilerAction.RECORD or (before, action) == (ProfilerAction.WARMUP, ProfilerAction.NONE)):
            warnings.warn(f"Incorrect schedule: {before.name} followed by {action.name}", stacklevel=3)
        if before in _RECORDS and not goes_on:
            self.stop_trace()
            if self.on_trace_ready and (before is save or action is None):
                self.on_trace_ready(self)
        elif action is None and self._profile is None and before in _RECORDS:
            raise AssertionError("Profiler must be initialized before stopping trace")
        if action is ProfilerAction.WARMUP and not self.acc_events:
            self._events = EventList()
        if action in _RECORDS and not goes_on:
            self.start_trace()

    def set_custom_trace_id_callback(self, callback: Any) -> None:
        """Let `callback()` name the traces to come."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> Any:
        """What names the last trace; None before one."""
        return self._trace_id or None
