"""NPU graphs: the driver stores the tasks of a stream, and one call replays them.

1. While a stream captures, its memory comes from the graph's private pool. No other work uses that pool until the graph
   is reset; memory that is freed during the capture serves later requests of the same capture only.
2. Pinned blocks and workspaces of updated tasks, which the graph's tasks use as well, are held until the reset, too.
3. Random operators of a graph read the seed and the offset from tensors. A replay writes the generator's current seed
   and offset there and then advances the generator, so it draws the numbers that eager execution would draw.
4. During a capture no thread may wait for the device. So caches are not emptied, and the reset of a graph that is freed
   meanwhile is delayed until the end of the capture.
"""
import itertools
import weakref

from libc.stdint cimport int64_t, intptr_t
from libc.stdlib cimport calloc, free

from mindtorch._npu import runtime

from mindtorch._core._gen.calls cimport op_fill__Scalar
from mindtorch._core.tensor.dtype cimport INT_KIND, Long, Scalar
from mindtorch._core.tensor.generator cimport Generator, default_npu_generator
from mindtorch._core.tensor.tensor cimport NPU, Shape, TensorBase, empty_tensor
from mindtorch._npu.acl cimport api, check, require_function
from mindtorch._npu.allocator cimport NpuAllocator, allocator_of, free_block
from mindtorch._npu.cann cimport (
    ACL_MODEL_RI_CAPTURE_MODE_GLOBAL, ACL_MODEL_RI_CAPTURE_MODE_RELAXED, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL,
    ACL_MODEL_RI_CAPTURE_STATUS_NONE, aclmdlRI, aclmdlRICaptureMode, aclmdlRICaptureStatus, aclrtTaskGrp,
)
from mindtorch._npu.streams cimport (
    Stream, add_capture, captures_by_device, current_stream, default_stream, remove_capture, thread_state, use_device,
)
from mindtorch._npu.structs cimport Block, Capture, Deferred, StreamSlot


MODES = {"global": ACL_MODEL_RI_CAPTURE_MODE_GLOBAL, "thread_local": ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL,
         "relaxed": ACL_MODEL_RI_CAPTURE_MODE_RELAXED}
_pool_numbers = itertools.count(1)
_live = weakref.WeakSet()                # graphs that have a capture
_to_release = []  # graphs to be released when no capture is under way and the driver allows it


cdef class Graph:
    """The resources of one captured graph; `release` frees them."""
    cdef object __weakref__
    cdef Capture *capture
    cdef aclmdlRI handle                 # NULL before the end of the capture
    cdef StreamSlot *stream              # the stream that the capture began on
    cdef bint in_capture
    cdef readonly tuple pool
    cdef list rng_states                      # [(generator, its replacement in the graph)]

    cdef int begin_capture(self, StreamSlot *stream, tuple pool, aclmdlRICaptureMode mode, list generators) except -1:
        cdef NpuAllocator allocator = allocator_of(stream.device)
        cdef aclmdlRICaptureStatus status
        self.capture = <Capture *>calloc(1, sizeof(Capture))
        if self.capture == NULL:
            raise MemoryError()
        use_device(stream.device)
        self.capture.device = stream.device
        self.stream = stream
        self.pool = pool
        allocator.acquire_pool(pool)
        _live.add(self)
        try:
            allocator.begin_allocate_to_pool(pool, <intptr_t>self.capture)
            try:
                with nogil:
                    check(api.aclmdlRICaptureBegin(stream.handle, mode), b"aclmdlRICaptureBegin")
            except BaseException:
                allocator.end_allocate_to_pool(pool)
                raise
        except BaseException:
            self.release()
            raise
        add_capture(self.capture, stream)
        self.in_capture = True
        self.rng_states = []
        try:
            # join_capture finds the capture of a stream by this handle.
            check(api.aclmdlRICaptureGetInfo(stream.handle, &status, &self.capture.graph), b"aclmdlRICaptureGetInfo")
            for source in generators:
                self.rng_states.append((source, graph_generator(source, self.capture)))
        except BaseException:
            abort(self)
            raise
        return 0

    cdef int end_capture(self) except -1:
        """End the capture and make the graph. If the driver fails for good, the graph is released."""
        cdef StreamSlot *stream = self.stream
        use_device(stream.device)
        try:
            with nogil:
                check(api.aclmdlRICaptureEnd(stream.handle, &self.handle), b"aclmdlRICaptureEnd")
        except BaseException:
            self.handle = NULL
            if not is_still_capturing(stream):
                self.after_capture()
                self.release()
            raise
        self.after_capture()
        return 0

    cdef int after_capture(self) except -1:
        self.in_capture = False
        for source, _ in self.rng_states:
            (<Generator>source).end_capture(<intptr_t>self.capture)
        self.rng_states = [(source, numbers) for source, numbers in self.rng_states if (<Generator>numbers).offset > 0]
        remove_capture(self.capture)
        allocator_of(self.capture.device).end_allocate_to_pool(self.pool)
        return 0

    cdef int release(self) except -1:
        """Wait for replays, then free the graph and its memory. During a capture this is delayed."""
        cdef Capture *capture = self.capture
        cdef int device
        if capture == NULL:
            return 0
        if captures_by_device[capture.device]:
            _to_release.append(self)
            return 0
        if self.handle != NULL:
            use_device(capture.device)
            with nogil:
                check(api.aclrtSynchronizeDevice(), b"aclrtSynchronizeDevice")
                check(api.aclmdlRIDestroy(self.handle), b"aclmdlRIDestroy")
        self.handle = NULL
        self.capture = NULL
        self.rng_states = []
        _live.discard(self)
        release_captured(capture)
        device = capture.device
        free(capture)
        allocator_of(device).release_pool(self.pool)
        return 0

    cdef int replay(self) except -1:
        cdef int device = self.capture.device
        cdef StreamSlot *stream = current_stream(device)
        cdef int status
        for source, numbers in self.rng_states:
            fill_int64((<Generator>numbers).seed_tensor, <int64_t>(<Generator>source).seed_value)
            fill_int64((<Generator>numbers).offset_tensor, (<Generator>source).offset)
        use_device(device)
        stream.launches += 1
        with nogil:
            status = api.aclmdlRIExecuteAsync(self.handle, stream.handle)
        stream.launches -= 1
        check(status, b"aclmdlRIExecuteAsync")
        for source, numbers in self.rng_states:
            (<Generator>source).advance((<Generator>numbers).offset)
        return 0

    cdef bint is_captured(self) noexcept:
        return self.handle != NULL


cdef Generator graph_generator(Generator source, Capture *capture):
    """The generator that the graph's operators use, with a seed and an offset in tensors.

    It is made before the graph's first operator: otherwise the tensors could reuse memory that replayed tasks write to.
    """
    seed, offset = int64_tensor(capture.device), int64_tensor(capture.device)
    cdef Generator numbers = source.begin_capture(<intptr_t>capture)
    numbers.seed_tensor, numbers.offset_tensor = seed, offset
    return numbers


cdef TensorBase int64_tensor(int device):
    cdef Shape shape
    shape.ndim = 1
    shape.sizes[0] = 1
    return empty_tensor(&shape, Long, NPU, device)


cdef int fill_int64(TensorBase tensor, int64_t value) except -1:
    cdef Scalar number
    number.kind = INT_KIND
    number.integer = value
    number.real = <double>value
    number.imag = 0
    op_fill__Scalar(tensor, &number)
    return 0


cdef int abort(Graph graph) except -1:
    """End the capture and release the graph. If the driver fails, the next call of `release_unused` tries again."""
    _to_release.append(graph)
    release_unused()
    return 0


def release_unused():
    """Release the graphs of `_to_release`. Errors are not raised; the next call tries again."""
    cdef list dead = _to_release[:]
    _to_release.clear()
    for graph in dead:
        try:
            if (<Graph>graph).in_capture:
                (<Graph>graph).end_capture()
            (<Graph>graph).release()  # adds it to `_to_release` again while another capture is under way
        except RuntimeError:
            _to_release.append(graph)


cdef bint is_still_capturing(StreamSlot *stream) noexcept:
    cdef aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE
    cdef aclmdlRI graph
    return (api.aclmdlRICaptureGetInfo(stream.handle, &status, &graph) != 0
            or status != ACL_MODEL_RI_CAPTURE_STATUS_NONE)


cdef void release_captured(Capture *capture) noexcept:
    cdef Deferred *entry
    cdef Block *block
    while capture.held != NULL:
        entry = capture.held
        capture.held = entry.next
        entry.release(entry.argument)
        free(entry)
    while capture.workspaces != NULL:
        block = capture.workspaces
        capture.workspaces = block.left
        free_block(block)


def _close():
    """At exit, before the devices are closed."""
    _to_release.extend(_live)
    release_unused()


runtime.before_waits.append(release_unused)
runtime.before_close.append(_close)


cdef class GraphBase:
    """The base class of torch.npu.NPUGraph."""
    cdef Graph graph
    cdef list generators                 # registered ones; the device's default generator is always included

    def register_generator_state(self, Generator generator not None):
        """Let the graph draw from `generator`, of an NPU, beside the default one. To be called before the capture."""
        if generator.type_code != NPU:
            raise RuntimeError(f"the generator of a graph must be an NPU's, not one of {generator.device}")
        self.generators = [*(self.generators or ()), generator]

    def capture_begin(self, pool=None, capture_error_mode="global"):
        """Begin to capture the work of the current stream, and of streams that wait for it, instead of running it.

        `pool`: the pool of another graph, graph_pool_handle() or MemPool.id. `capture_error_mode`: for which threads
        calls that a capture forbids are errors: "global" (all), "thread_local" (this one), "relaxed" (none).
        """
        cdef int device = thread_state().device
        cdef StreamSlot *stream
        cdef NpuAllocator allocator
        cdef Graph graph
        if self.graph is not None:
            raise RuntimeError("This NPUGraph instance already owns a captured graph. To capture a new graph, create a "
                               "new instance.")
        if capture_error_mode not in MODES:
            raise RuntimeError("Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got "
                               f"{capture_error_mode}")
        require_function(<void *>api.aclmdlRICaptureBegin, "aclmdlRICaptureBegin")
        release_unused()
        stream = current_stream(device)
        if stream == default_stream(device):
            raise RuntimeError("NPU graphs must be captured on a non-default stream. (However, after capture, it's ok "
                               "to replay them on the default stream.)")
        allocator = allocator_of(device)
        if allocator.uncached or allocator.source is not None:
            raise RuntimeError("NPU graphs need the caching allocator: their memory must stay theirs")
        graph = Graph.__new__(Graph)
        graph.begin_capture(stream, (next(_pool_numbers), 0) if pool is None else parse_pool_id(pool),
                            <aclmdlRICaptureMode><int>MODES[capture_error_mode],
                            list(dict.fromkeys([default_npu_generator(device), *(self.generators or ())])))
        self.graph = graph

    def capture_end(self):
        """End the capture, on the stream that it began on. RuntimeError if a call in between has invalidated it."""
        if self.graph is None or not self.graph.in_capture:
            raise RuntimeError("capture_end() needs a capture_begin() before it")
        if current_stream(self.graph.capture.device) != self.graph.stream:
            raise RuntimeError("Capture must end on the same stream it began on.")
        try:
            self.graph.end_capture()
        except BaseException:
            if not self.graph.in_capture:
                self.graph = None
            raise
        finally:
            release_unused()

    def replay(self):
        """Run the captured work on the current stream."""
        if self.graph is None or not self.graph.is_captured():
            raise RuntimeError("Called NPUGraph::replay without a preceding successful capture.")
        self.graph.replay()

    def reset(self):
        """Free the graph and its memory. Then this object may capture another graph."""
        if self.graph is None:
            return
        if self.graph.in_capture:
            raise RuntimeError("a graph cannot be reset while it is being captured")
        self.graph.release()
        self.graph = None

    def pool(self):
        """The id of the graph's memory pool, which other graphs may share."""
        if self.graph is None or not self.graph.is_captured():
            raise RuntimeError("Called NPUGraph::pool() without a preceding successful capture.")
        return self.graph.pool

    def debug_dump(self, debug_path):
        """Write the graph's tasks to a file, as JSON."""
        cdef bytes path = str(debug_path).encode()
        if self.graph is None or not self.graph.is_captured():
            raise RuntimeError("Called NPUGraph::debug_dump without a preceding successful capture.")
        require_function(<void *>api.aclmdlRIDebugJsonPrint, "aclmdlRIDebugJsonPrint")
        use_device(self.graph.capture.device)
        check(api.aclmdlRIDebugJsonPrint(self.graph.handle, path, 0), b"aclmdlRIDebugJsonPrint")

    def _abort(self):
        """End the capture if there is one, and drop the graph."""
        if self.graph is not None and runtime.is_started():
            abort(self.graph)
            self.graph = None


cdef tuple parse_pool_id(object pool):
    try:
        first, second = pool
        return int(first), int(second)
    except (TypeError, ValueError):
        raise TypeError(f"pool must be a pair of ints, such as NPUGraph.pool() gives, not {pool!r}") from None


# Groups of tasks, which can be updated later

cdef class TaskGroup:
    """A group of tasks of a graph; graph_task_group_end returns it."""
    cdef Graph graph
    cdef aclrtTaskGrp handle


cdef Graph graph_of(StreamSlot *stream):
    for graph in _live:
        if stream.capture != NULL and (<Graph>graph).capture == stream.capture:
            return <Graph>graph
    raise RuntimeError("the stream is not capturing an NPUGraph")


def task_group_begin(Stream stream not None):
    """See torch.npu.graph_task_group_begin."""
    graph_of(stream.slot)
    use_device(stream.slot.device)
    require_function(<void *>api.aclmdlRICaptureTaskGrpBegin, "aclmdlRICaptureTaskGrpBegin")
    check(api.aclmdlRICaptureTaskGrpBegin(stream.slot.handle), b"aclmdlRICaptureTaskGrpBegin")


def task_group_end(Stream stream not None):
    """See torch.npu.graph_task_group_end."""
    cdef TaskGroup group = TaskGroup.__new__(TaskGroup)
    group.graph = graph_of(stream.slot)
    use_device(stream.slot.device)
    check(api.aclmdlRICaptureTaskGrpEnd(stream.slot.handle, &group.handle), b"aclmdlRICaptureTaskGrpEnd")
    return group


def task_update_begin(Stream stream not None, TaskGroup group not None):
    """See torch.npu.graph_task_update_begin."""
    cdef StreamSlot *slot = stream.slot
    if group.graph.handle == NULL:
        raise RuntimeError("the graph of these tasks is not captured, or was reset")
    if slot.capture != NULL:
        raise RuntimeError("a stream that captures cannot update the tasks of a graph")
    use_device(slot.device)
    allocator_of(slot.device).begin_allocate_to_pool(group.graph.pool, <intptr_t>group.graph.capture)
    try:
        with nogil:
            check(api.aclmdlRICaptureTaskUpdateBegin(slot.handle, group.handle), b"aclmdlRICaptureTaskUpdateBegin")
    except BaseException:
        allocator_of(slot.device).end_allocate_to_pool(group.graph.pool)
        raise
    slot.capture = group.graph.capture
    slot.updates = True


def task_update_end(Stream stream not None):
    """See torch.npu.graph_task_update_end."""
    cdef StreamSlot *slot = stream.slot
    cdef Graph graph = graph_of(slot)
    slot.capture = NULL
    slot.updates = False
    allocator_of(slot.device).end_allocate_to_pool(graph.pool)
    use_device(slot.device)
    with nogil:
        check(api.aclmdlRICaptureTaskUpdateEnd(slot.handle), b"aclmdlRICaptureTaskUpdateEnd")
