"""Graphs: work of a stream that is captured once and replayed by one call."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch import npu
from mindtorch._npu.graph import GraphBase
from mindtorch.npu.device import is_initialized, synchronize
from mindtorch.npu.streams import StreamContext

if TYPE_CHECKING:
    from mindtorch._npu.streams import Stream

__all__ = ["NPUGraph", "graph", "graph_task_group_begin", "graph_task_group_end", "graph_task_update_begin",
           "graph_task_update_end", "is_current_stream_capturing"]

_capture_streams: dict = {}      # by device, so that graphs which share a pool can use each other's memory


class NPUGraph(GraphBase):
    """Work of a stream that is captured between capture_begin and capture_end, and repeated by replay.

    Its tensors have fixed addresses: fill the inputs by copy_, read the outputs after replay. The graph owns their
    memory until reset. Each replay draws new random numbers, the same as eager execution would draw. Operators that
    copy to the host cannot be captured.
    """

    def __del__(self) -> None:
        self._abort()


def is_current_stream_capturing() -> bool:
    """Whether the current stream is capturing a graph. Starts no device."""
    if not is_initialized():
        return False
    from mindtorch._npu import streams
    return streams.is_current_capturing()


class graph:
    """with torch.npu.graph(npu_graph): ... captures the work inside on a separate stream.

    pool: memory to share, as in NPUGraph.capture_begin, as is capture_error_mode. stream: the
    capturing stream, by default one per device for all graphs. auto_dispatch_capture has no effect: it is for operators
    that mindtorch does not have.
    """

    def __init__(self, npu_graph: Any, pool: Any = None, stream: Stream | None = None,
                 auto_dispatch_capture: bool = False, capture_error_mode: str = "global") -> None:
        self.npu_graph = npu_graph
        self.pool = pool
        self.capture_stream = _capture_stream() if stream is None else stream
        self.stream_ctx = StreamContext(self.capture_stream)
        self.auto_dispatch_capture = auto_dispatch_capture
        self.capture_error_mode = capture_error_mode

    def __enter__(self) -> None:
        synchronize()
        npu.empty_cache()
        self.stream_ctx.__enter__()
        try:
            self.npu_graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException:
            self.stream_ctx.__exit__()
            raise

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        try:
            self.npu_graph.capture_end()
        except RuntimeError:
            if value is None:        # else that is why the capture failed, and what the caller should see
                raise
        finally:
            self.stream_ctx.__exit__()


def _capture_stream():
    index = npu.current_device()
    if index not in _capture_streams:
        _capture_streams[index] = npu.Stream(index)
    return _capture_streams[index]


def graph_task_group_begin(stream: Any) -> None:
    """Starts a group of captured tasks of `stream`. graph_task_update_begin can replace their arguments later."""
    from mindtorch._npu.graph import task_group_begin
    task_group_begin(stream)


def graph_task_group_end(stream: Any) -> Any:
    """Ends the group and returns its handle for graph_task_update_begin."""
    from mindtorch._npu.graph import task_group_end
    return task_group_end(stream)


def graph_task_update_begin(stream: Any, handle: Any) -> None:
    """Starts an update: operators launched on `stream`, which must not be capturing, replace those of group `handle`.

    They must be the operators of the group in the same order; only arguments may differ, and must be kept alive.
    """
    from mindtorch._npu.graph import task_update_begin
    task_update_begin(stream, handle)


def graph_task_update_end(stream: Any) -> None:
    """Ends the update, which takes effect in the order of `stream`. RuntimeError if the operators differ."""
    from mindtorch._npu.graph import task_update_end
    task_update_end(stream)
