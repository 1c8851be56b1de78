"""A profile as a file in the trace event format, which chrome://tracing, Perfetto and TensorBoard read."""
from __future__ import annotations

import gzip
import json
import os
import socket
import threading
from typing import Any


def write_trace(path: Any, events: Any, recording: Any, metadata: Any) -> None:
    """Write `events` to `path`, gzipped where that ends in .gz. Times are microseconds since the epoch's start."""
    path = os.fspath(path)
    process, thread = os.getpid(), threading.get_native_id()
    began = recording.began_at / 1000
    traced = [{"ph": "M", "name": "process_name", "ts": began, "pid": process, "tid": 0, "args": {"name": "python"}},
              {"ph": "M", "name": "thread_name", "ts": began, "pid": process, "tid": thread,
               "args": {"name": f"thread {thread} (python)"}}]
    traced += [{"ph": "X", "cat": event.activity_type, "name": event.trace_name, "pid": process, "tid": thread,
                "ts": began + event.time_range.start, "dur": event.cpu_time_total, "args": _arguments(event, recording)}
               for event in events]
    traced.append({"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
                   "ts": began, "dur": (recording.ended - recording.began) / 1000, "args": {"Op count": 0}})
    document = {"schemaVersion": 1, "deviceProperties": [], "record_shapes": int(recording.shapes),
                "profile_memory": int(recording.memory), "with_stack": int(recording.stacks),
                "with_flops": int(recording.flops), **metadata, "host_name": socket.gethostname(),
                "displayTimeUnit": "ms", "traceEvents": traced, "traceName": path}
    with (gzip.open if path.endswith(".gz") else open)(path, "wt", encoding="utf-8") as file:
        json.dump(document, file)


def _arguments(event, recording):
    found = {"External id": event.id, "Ev Idx": event.id}
    if recording.shapes:
        found["Input Dims"] = event.input_shapes
    if recording.memory:
        found["Device Bytes"] = event.device_memory_usage
    if event.self_device_time_total:
        found["Device Time (us)"] = event.self_device_time_total
    if event.sequence_nr >= 0:
        found["Sequence number"] = event.sequence_nr
    if event.stack:
        found["Call stack"] = ";".join(event.stack)
    if event.flops:
        found["flops"] = event.flops
    return found
