"""Graphs: work of a stream that is captured once and replayed by one call."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch import npu
from mindtorch._npu.graph import GraphBase
from mindtorch._tensor.docstrings import complete as _complete_docstrings
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

    Example:
        >>> x = torch.zeros(2, device="npu")
        >>> graph = torch.npu.NPUGraph()
        >>> with torch.npu.graph(graph):
        ...     y = x + 1
        >>> x.fill_(5)
        tensor([5., 5.], device='npu:0')
        >>> graph.replay()
        >>> y
        tensor([6., 6.], device='npu:0')
    """

    def __del__(self) -> None:
        self._abort()


def is_current_stream_capturing() -> bool:
    """Whether the current stream is capturing a graph. Starts no device.

    Example:
        >>> torch.npu.is_current_stream_capturing()
        False
    """
    if not is_initialized():
        return False
    from mindtorch._npu import streams
    return streams.is_current_capturing()


class graph:
    """with torch.npu.graph(npu_graph): ... captures the work inside on a separate stream.

    pool: memory to share, as in NPUGraph.capture_begin, as is capture_error_mode. stream: the
    capturing stream, by default one per device for all graphs. auto_dispatch_capture has no effect: it is for operators
    that mindtorch does not have.

    Arguments:
        npu_graph: the NPUGraph that is captured
        auto_dispatch_capture: not read

    Example:
        >>> x = torch.ones(2, device="npu")
        >>> graph = torch.npu.NPUGraph()
        >>> with torch.npu.graph(graph):
        ...     y = x * 2
        >>> graph.replay()
        >>> y
        tensor([2., 2.], device='npu:0')
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
    """Starts a group of captured tasks of `stream`. graph_task_update_begin can replace their arguments later.

    Example:
        >>> x, out = torch.ones(2, device="npu"), torch.zeros(2, device="npu")
        >>> graph = torch.npu.NPUGraph()
        >>> with torch.npu.graph(graph):
        ...     torch.npu.graph_task_group_begin(torch.npu.current_stream())
        ...     y = torch.mul(x, 3, out=out)
        ...     group = torch.npu.graph_task_group_end(torch.npu.current_stream())
        >>> graph.replay()
        >>> out
        tensor([3., 3.], device='npu:0')
    """
    from mindtorch._npu.graph import task_group_begin
    task_group_begin(stream)


def graph_task_group_end(stream: Any) -> Any:
    """Ends the group and returns its handle for graph_task_update_begin.

    Example:
        >>> x, out = torch.ones(2, device="npu"), torch.zeros(2, device="npu")
        >>> graph = torch.npu.NPUGraph()
        >>> with torch.npu.graph(graph):
        ...     torch.npu.graph_task_group_begin(torch.npu.current_stream())
        ...     y = torch.mul(x, 3, out=out)
        ...     group = torch.npu.graph_task_group_end(torch.npu.current_stream())
        >>> graph.replay()
        >>> out
        tensor([3., 3.], device='npu:0')
    """
    from mindtorch._npu.graph import task_group_end
    return task_group_end(stream)


def graph_task_update_begin(stream: Any, handle: Any) -> None:
    """Starts an update: operators launched on `stream`, which must not be capturing, replace those of group `handle`.

    They must be the operators of the group in the same order; only arguments may differ, and must be kept alive.

    Arguments:
        handle: what graph_task_group_end returned

    Example:
        >>> x, out = torch.ones(2, device="npu"), torch.zeros(2, device="npu")
        >>> graph, stream = torch.npu.NPUGraph(), torch.npu.Stream()
        >>> with torch.npu.graph(graph):
        ...     torch.npu.graph_task_group_begin(torch.npu.current_stream())
        ...     y = torch.mul(x, 3, out=out)
        ...     group = torch.npu.graph_task_group_end(torch.npu.current_stream())
        >>> with torch.npu.stream(stream):
        ...     torch.npu.graph_task_update_begin(stream, group)
        ...     y = torch.mul(x, 5, out=out)
        ...     torch.npu.graph_task_update_end(stream)
        ...     graph.replay()
        >>> torch.npu.synchronize()
        >>> out
        tensor([5., 5.], device='npu:0')
    """
    from mindtorch._npu.graph import task_update_begin
    task_update_begin(stream, handle)


def graph_task_update_end(stream: Any) -> None:
    """Ends the update, which takes effect in the order of `stream`. RuntimeError if the operators differ.

    Example:
        >>> x, out = torch.ones(2, device="npu"), torch.zeros(2, device="npu")
        >>> graph, stream = torch.npu.NPUGraph(), torch.npu.Stream()
        >>> with torch.npu.graph(graph):
        ...     torch.npu.graph_task_group_begin(torch.npu.current_stream())
        ...     y = torch.mul(x, 3, out=out)
        ...     group = torch.npu.graph_task_group_end(torch.npu.current_stream())
        >>> with torch.npu.stream(stream):
        ...     torch.npu.graph_task_update_begin(stream, group)
        ...     y = torch.mul(x, 5, out=out)
        ...     torch.npu.graph_task_update_end(stream)
        ...     graph.replay()
        >>> torch.npu.synchronize()
        >>> out
        tensor([5., 5.], device='npu:0')
    """
    from mindtorch._npu.graph import task_update_end
    task_update_end(stream)


_complete_docstrings(globals(), "npu")
