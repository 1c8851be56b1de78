"""Graphs: the work of a stream, captured once and done again by one call each time."""
from mindtorch import npu
from mindtorch._npu.graph import GraphBase
from mindtorch.npu.device import is_initialized, synchronize
from mindtorch.npu.streams import StreamContext

__all__ = ["NPUGraph", "graph", "graph_task_group_begin", "graph_task_group_end", "graph_task_update_begin",
           "graph_task_update_end", "is_current_stream_capturing"]

_capture_streams: dict = {}      # by device, so that graphs which share a pool can use each other's memory


class NPUGraph(GraphBase):
    """Work of a stream that is captured between capture_begin and capture_end, and done again by replay.

    Its tensors have fixed addresses: fill the inputs by copy_, read the outputs after replay. Their memory is the
    graph's until reset. Each replay draws new random numbers, those that the same work would draw next. What reads from
    the device cannot be captured.
    """

    def __del__(self):
        self._abandon()


def is_current_stream_capturing():
    """Whether the work of the current stream is being stored in a graph. Starts no device."""
    if not is_initialized():
        return False
    from mindtorch._npu import stream
    return stream.is_current_capturing()


class graph:
    """with torch.npu.graph(npu_graph): ... captures the work inside, on a stream of its own.

    pool: memory to share, as in NPUGraph.capture_begin, as is capture_error_mode. stream: where to capture, instead of
    the stream that all such graphs of a device have in common. auto_dispatch_capture changes nothing: it is for
    operators that mindtorch does not have.
    """

    def __init__(self, npu_graph, pool=None, stream=None, auto_dispatch_capture=False, capture_error_mode="global"):
        self.npu_graph = npu_graph
        self.pool = pool
        self.capture_stream = _capture_stream() if stream is None else stream
        self.stream_ctx = StreamContext(self.capture_stream)
        self.auto_dispatch_capture = auto_dispatch_capture
        self.capture_error_mode = capture_error_mode

    def __enter__(self):
        if npu.get_task_queue_enable() == 2:
            raise RuntimeError("Do not support TASK_QUEUE_ENABLE = 2 during NPU graph capture, please export "
                               "TASK_QUEUE_ENABLE=1/0.")
        synchronize()
        npu.empty_cache()
        self.stream_ctx.__enter__()
        try:
            self.npu_graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException:
            self.stream_ctx.__exit__()
            raise

    def __exit__(self, kind, value, traceback):
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


def graph_task_group_begin(stream):
    """What the capturing `stream` stores from here on, until graph_task_group_end, may be replaced by other tasks."""
    from mindtorch._npu.graph import begin_group
    begin_group(stream)


def graph_task_group_end(stream):
    """The tasks since graph_task_group_begin, for graph_task_update_begin."""
    from mindtorch._npu.graph import end_group
    return end_group(stream)


def graph_task_update_begin(stream, handle):
    """What `stream`, which does not capture, is given from here on replaces the tasks of the group `handle`.

    The operators must be those of the group, in its order; only their arguments may differ. They must be kept alive.
    """
    from mindtorch._npu.graph import begin_update
    begin_update(stream, handle)


def graph_task_update_end(stream):
    """Replaces the tasks when `stream` comes to it. RuntimeError where they are not those of the group."""
    from mindtorch._npu.graph import end_update
    end_update(stream)
