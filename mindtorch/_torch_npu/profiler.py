"""torch_npu.profiler: torch.profiler with torch_npu's names. It has no device measurements."""
import json
import os
import socket
import time
from enum import Enum

from mindtorch import _backend, profiler
from mindtorch.profiler import ProfilerAction
from mindtorch.profiler import schedule as _schedule

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "schedule", "supported_activities",
           "tensorboard_trace_handler"]


class ProfilerActivity(Enum):
    """The activities of a profile: CPU, the operators that Python calls; NPU, launches on the NPU."""
    CPU = 0
    NPU = 1


_THEIRS = {ProfilerActivity.CPU: profiler.ProfilerActivity.CPU,
           ProfilerActivity.NPU: profiler.ProfilerActivity.PrivateUse1}


def supported_activities():
    """The activities that can be profiled here."""
    return {ProfilerActivity.CPU, *([ProfilerActivity.NPU] if _backend.npu_available() else [])}


def schedule(wait, active, warmup=0, repeat=0, skip_first=0):
    """torch.profiler.schedule, in torch_npu's order of arguments."""
    return _schedule(wait=wait, warmup=warmup, active=active, repeat=repeat, skip_first=skip_first)


class profile(profiler.profile):
    """torch.profiler.profile for the activities of this module: both where none are given."""

    def __init__(self, *, activities=None, **options):
        given = supported_activities() if activities is None else activities
        super().__init__(activities=[_THEIRS[one] for one in given if one in _THEIRS], **options)


def tensorboard_trace_handler(dir_name, worker_name=None):
    """For on_trace_ready: writes each trace as MindStudio expects it, to a folder of its own in `dir_name`.

    That is <worker_name>_<time>_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json, a list of trace events.
    """
    def handle(prof):
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        folder = os.path.join(dir_name, f"{worker}_{time.time_ns()}_ascend_pt", "ASCEND_PROFILER_OUTPUT")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "trace_view.json")
        prof.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(events, file)
    return handle
