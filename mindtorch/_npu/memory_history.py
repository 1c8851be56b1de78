"""The history of an allocator: its events with their Python stacks, for PyTorch's memory viewer."""
import pickle
import sys
from collections import deque

PROTOCOL = 4            # the highest that the viewer's own unpickler knows
LEVELS = ("never", "state", "alloc", "all")


class Context:
    """A Python stack. It keeps code objects and line numbers; names are looked up on demand."""
    __slots__ = ("lines",)

    def __init__(self):
        frame, self.lines = sys._getframe(1).f_back, []        # empty when the interpreter frees at exit
        while frame is not None:
            self.lines.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back

    def frames(self):
        return [{"name": code.co_qualname, "filename": code.co_filename, "line": line} for code, line in self.lines]


class MemoryHistory:
    """The last `max_entries` events of one device. `context` is one of LEVELS: which entries have stacks.

    Blocks and segments have one from "state" on, allocations from "alloc" on. Frees have their own at "all"; below that
    they have the stack of the allocation.
    """

    def __init__(self, enabled="all", context="all", max_entries=sys.maxsize):
        self.level = LEVELS.index(context)
        # "state" needs no events; torch keeps one.
        self.entries = deque(maxlen=1 if enabled == "state" else min(max_entries, sys.maxsize))

    def gather(self):
        return Context() if self.level >= LEVELS.index("state") else None

    def of_allocation(self, context):
        return context if self.level >= LEVELS.index("alloc") else None

    def of_free(self, context):
        if self.level >= LEVELS.index("all"):
            return Context()
        return self.of_allocation(context)

    def record(self, action, address, size, stream, pool_id, context):
        self.entries.append((action, address, size, stream, pool_id, context))

    def trace(self):
        """The events, oldest first, as dictionaries."""
        return [describe(*entry) for entry in list(self.entries)]


def describe(action, address, size, stream, pool_id, context):
    key = "device_free" if action == "oom" else "addr"
    entry = {"action": action, key: address, "size": size, "stream": stream, "pool_id": pool_id}
    if context is not None:
        entry["frames"] = context.frames()
    return entry


def snapshot():
    """{"segments": all segments with their blocks, "device_traces": for each device its recorded events}."""
    from mindtorch._npu import allocator, runtime
    segments, traces = [], [[] for _ in range(runtime.device_count())]
    for index in runtime.started_devices():
        memory = allocator.get_allocator(index)
        history = memory.get_history()
        traces[index] = [] if history is None else history.trace()
        found = memory.snapshot()
        if history is not None:
            history.record("snapshot", 0, sum(segment["active_size"] for segment in found), 0, (0, 0), None)
        segments += found
    return {"segments": segments, "device_traces": traces}


def dump(filename, content):
    """Writes a snapshot to a file."""
    with open(filename, "wb") as file:
        pickle.dump(content, file, protocol=PROTOCOL)
