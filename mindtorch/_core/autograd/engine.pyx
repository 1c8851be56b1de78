"""backward: follows the graph from its roots; and the nodes of autograd.Function."""
import threading

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport malloc

from mindtorch._core.autograd.node import restore_thread_modes, thread_modes
from mindtorch._core.operators.autocast import (
    autocast_nesting, close_regions, get_state as get_autocast_state, set_state as set_autocast_state,
)
from mindtorch._core.tensor.factories import ones_like

from mindtorch._core.autograd.node cimport (
    AccumulateGrad, AutogradMeta, Metadata, Node, accumulate, anomaly_mode, describe, describe_nothing, differentiable,
    grad_enabled, note_stream, requires_grad, set_grad_enabled, unpack, zeros_for,
)
from mindtorch._core.autograd.recording cimport (
    connect, gradient_edge, rebase, recording_inplace, refuse_writes, save, save_result, set_history,
)
from mindtorch._core.operators.composites cimport sum_to
from mindtorch._core.python cimport torch_function
from mindtorch._core.python.profiling cimport (
    BACKWARD_FUNCTION, FUNCTION, Range, begin, end, note_shapes, recording_thread,
)
from mindtorch._core.tensor.dtype cimport COMPLEX_KIND, DTYPES, FLOAT_KIND, KIND
from mindtorch._core.tensor.tensor cimport (
    BACKENDS, NPU, TensorBase, copy_data, count_version, empty_like_tensor, is_dense, make_device, make_view,
    shape_text,
)


# --- the engine ------------------------------------------------------------------------------------------------------
# backward: follows the graph from its roots, later nodes first, and adds up gradients on the way.
#
# Sequence numbers make the order: edges lead from a node to nodes that were made before it, so the one with the highest
# number among those reached has all its gradients. A leaf's node is as old as its first use.


cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject *object)

# Adding to .grad is a read and a write, between which another thread's backward must not come.
cdef object ACCUMULATION = threading.Lock()
RUNNING = threading.local()             # .task: the innermost backward of the thread
cdef int64_t tasks_begun = 0


cdef class GraphTask:
    """One call of backward or grad."""
    cdef list ready                # a heap of nodes, the latest first
    cdef dict buffers              # node -> gradients of its outputs so far
    cdef dict captures             # node -> [(output number, position in `captured`)]
    cdef list captured
    cdef set needed                # the inputs asked for, and what leads to them; None: all are needed
    cdef set ends                  # inputs asked for that lead to no other: they do not run
    cdef bint keep_graph
    cdef list callbacks            # run when the graph is done
    cdef object streams            # StreamOrder; None where all work is on default streams
    cdef int64_t number


# --- the heap --------------------------------------------------------------------------------------------------------

cdef inline bint later(list heap, Py_ssize_t a, Py_ssize_t b) noexcept:
    return (<Node>heap[a]).sequence_nr > (<Node>heap[b]).sequence_nr


cdef int push(list heap, Node node) except -1:
    cdef Py_ssize_t at = len(heap), parent
    heap.append(node)
    while at > 0:
        parent = (at - 1) // 2
        if not later(heap, at, parent):
            break
        heap[at], heap[parent] = heap[parent], heap[at]
        at = parent
    return 0


cdef Node pop(list heap):
    cdef Py_ssize_t at = 0, child, count = len(heap) - 1
    cdef Node first = <Node>heap[0]
    last = heap.pop()
    if count == 0:
        return first
    heap[0] = last
    while True:
        child = 2 * at + 1
        if child >= count:
            return first
        if child + 1 < count and later(heap, child + 1, child):
            child += 1
        if not later(heap, child, at):
            return first
        heap[at], heap[child] = heap[child], heap[at]
        at = child


# --- what a gradient must look like ----------------------------------------------------------------------------------

cdef inline bint fits(TensorBase grad, const Metadata *wanted) noexcept:
    cdef int i
    if grad.ndim != wanted.ndim or grad.dtype != wanted.dtype or grad.device_type != wanted.device_type:
        return False
    if grad.device_index != wanted.device_index:
        return False
    for i in range(grad.ndim):
        if grad.sizes[i] != wanted.sizes[i]:
            return False
    return True


cdef bint expandable(TensorBase grad, const Metadata *wanted) noexcept:
    """Whether `wanted` broadcasts to the shape of the gradient."""
    cdef int i, leading = grad.ndim - wanted.ndim
    if leading < 0:
        return False
    for i in range(wanted.ndim):
        if wanted.sizes[i] != 1 and wanted.sizes[i] != grad.sizes[leading + i]:
            return False
    return True


cdef TensorBase fitted(object value, const Metadata *wanted, Node giver, Py_ssize_t index):
    """The gradient summed to the shape of what it is the gradient of, in its dtype and on its device."""
    cdef TensorBase grad
    if not isinstance(value, TensorBase):
        raise TypeError(f"{giver.name()} returned a {type(value).__name__} at index {index}, expected a Tensor or None")
    grad = <TensorBase>value
    if fits(grad, wanted):
        return grad
    if not expandable(grad, wanted):
        raise RuntimeError(
            f"Function {giver.name()} returned an invalid gradient at index {index} - got "
            f"{shape_text(grad.ndim, grad.sizes)} but expected shape compatible with "
            f"{shape_text(wanted.ndim, wanted.sizes)}")
    value = sum_to(grad, wanted.ndim, wanted.sizes)
    if KIND[<int>grad.dtype] == COMPLEX_KIND and KIND[<int>wanted.dtype] != COMPLEX_KIND:
        value = value.real
    if grad.device_type != wanted.device_type or grad.device_index != wanted.device_index:
        place = make_device(wanted.device_type, wanted.device_index)
        if wanted.ndim:
            raise RuntimeError(f"Function {giver.name()} returned an invalid gradient at index {index} - expected "
                               f"device {place} but got {value.device}")
        value = value.to(place)
    return <TensorBase>(value if grad.dtype == wanted.dtype else value.to(DTYPES[<int>wanted.dtype]))


# --- hooks -----------------------------------------------------------------------------------------------------------

cdef int run_tensor_hooks(Node node, list grads) except -1:
    cdef TensorBase grad
    if node.tensor_hooks is not None:
        for output_nr, hooks in node.tensor_hooks.items():
            for hook in list(hooks.values()):
                if grads[output_nr] is not None:
                    replaced = hook(grads[output_nr])
                    if replaced is not None:
                        grads[output_nr] = checked_replacement(hook, replaced, grads[output_nr])
    if node.retained is not None:
        for output_nr, meta in node.retained.items():
            grad = grads[output_nr]
            if grad is not None:
                keep_gradient(<AutogradMeta>meta, grad)
    return 0


cdef int keep_gradient(AutogradMeta meta, TensorBase grad) except -1:
    """retain_grad: memory of its own, as every .grad has."""
    if meta.grad is not None:
        meta.grad = <TensorBase>(meta.grad + grad)
    else:
        meta.grad = <TensorBase>(grad.clone() if grad.contiguous else (<object>grad).contiguous())
    return 0


cdef object checked_replacement(object hook, object value, object before):
    if not isinstance(value, TensorBase):
        raise TypeError(f"expected Variable, but hook returned '{type(value).__name__}'")
    if value.shape != before.shape:
        raise RuntimeError(f"hook '{name_of(hook)}' has changed the size of value")
    if value.dtype is not before.dtype:
        raise RuntimeError(f"hook '{name_of(hook)}' has changed the type of value (was {before.type()} got "
                           f"{value.type()})")
    return value


cdef str name_of(object hook):
    return getattr(hook, "__name__", "<unknown>")


cdef list checked_replacements(object hook, object values, list before):
    cdef list found = list(values) if isinstance(values, (tuple, list)) else [values]
    if len(found) != len(before):
        raise RuntimeError(f"hook '{name_of(hook)}' has returned an incorrect number of values (got {len(found)}, but "
                           f"expected {len(before)})")
    return found


cdef list run_prehooks(Node node, list grads):
    for hook in list(node.prehooks.values()):
        replaced = hook(tuple(grads))
        if replaced is not None:
            grads = checked_replacements(hook, replaced, grads)
    return grads


cdef list run_posthooks(Node node, list results, list grads):
    for hook in list(node.posthooks.values()):
        replaced = hook(tuple(results), tuple(grads))
        if replaced is not None:
            results = checked_replacements(hook, replaced, results)
    return results


# --- leaves ----------------------------------------------------------------------------------------------------------

cdef bint owned(TensorBase grad) noexcept:
    """Whether nobody but backward holds the gradient or its memory, so that it may become a .grad as it is."""
    # Held by: the list of gradients, and AccumulateGrad; its storage by the gradient, and by a base of its own.
    cdef Py_ssize_t storages = Py_REFCNT(<PyObject *>grad.storage)
    if Py_REFCNT(<PyObject *>grad) > 2 or grad.autograd is not None:
        return False
    return storages == 1 or (storages == 2 and grad.base is not None and Py_REFCNT(<PyObject *>grad.base) == 1)


cdef bint laid_out_like(TensorBase grad, TensorBase leaf) noexcept:
    """Whether the gradient lies in memory as the leaf does; beside a leaf with gaps it is to be contiguous."""
    cdef const int64_t *strides = leaf.strides
    cdef int i
    if not is_dense(leaf):
        return grad.contiguous
    for i in range(leaf.ndim):
        if leaf.sizes[i] != 1 and grad.strides[i] != strides[i]:
            return False
    return True


cdef int warn_of_layout(TensorBase grad, TensorBase leaf) except -1:
    import warnings
    warnings.warn(
        "grad and param do not obey the gradient layout contract. This is not an error, but may impair performance.\n"
        f"grad.sizes() = {shape_text(grad.ndim, grad.sizes)}, strides() = {shape_text(grad.ndim, grad.strides)}\n"
        f"param.sizes() = {shape_text(leaf.ndim, leaf.sizes)}, strides() = {shape_text(leaf.ndim, leaf.strides)}",
        UserWarning, stacklevel=2)
    return 0


cdef int accumulate_into(TensorBase leaf, TensorBase grad) except -1:
    cdef AutogradMeta meta = <AutogradMeta>leaf.autograd
    cdef TensorBase kept
    with ACCUMULATION:
        if meta.grad is not None and not laid_out_like(meta.grad, leaf):
            warn_of_layout(meta.grad, leaf)
        if meta.grad is not None and not grad_enabled():
            meta.grad.__iadd__(grad)
        elif meta.grad is not None:
            meta.grad = <TensorBase>(meta.grad + grad)
        elif grad_enabled():
            meta.grad = <TensorBase>grad.clone()
        elif owned(grad) and laid_out_like(grad, leaf):
            grad.base = None
            meta.grad = grad
        else:
            like = leaf if is_dense(leaf) else (<object>grad).contiguous()
            kept = empty_like_tensor(like, grad.dtype, grad.device_type, grad.device_index)
            copy_data(kept, grad, False)
            meta.grad = kept
    if meta.accumulated_hooks is not None:
        for hook in list(meta.accumulated_hooks.values()):
            hook(leaf)
    return 0


accumulate = accumulate_into


# --- one node --------------------------------------------------------------------------------------------------------

cdef int evaluate(GraphTask task, Node node, list grads, bint profiled) except -1:
    cdef list results
    run_tensor_hooks(node, grads)
    if task.captures is not None and node in task.captures:
        for output_nr, position in task.captures[node]:
            task.captured[position] = grads[output_nr]
    if task.ends is not None and node in task.ends:
        return 0
    if node.prehooks is not None:
        grads = run_prehooks(node, grads)
    if profiled:
        results = applied_in_range(node, grads, task.needed)
    elif anomaly_mode:
        results = applied_with_traceback(node, grads, task.needed)
    else:
        results = node.apply(grads, task.needed)
    if not task.keep_graph:
        node.release()
    if node.posthooks is not None:
        results = run_posthooks(node, results, grads)
    return hand_on(task, node, results)


cdef int evaluate_in_range(GraphTask task, Node node, list grads) except -1:
    cdef Range opened = begin(f"autograd::engine::evaluate_function: {node.name()}", FUNCTION, "cpu_op")
    if opened is not None:
        opened.sequence_nr = node.sequence_nr
    try:
        return evaluate(task, node, grads, True)
    finally:
        end(opened)


cdef list applied_in_range(Node node, list grads, set needed):
    cdef Range opened = begin(node.name(), BACKWARD_FUNCTION, "cpu_op")
    if opened is not None:
        opened.sequence_nr = node.sequence_nr
    note_shapes(opened, grads)
    try:
        return applied_with_traceback(node, grads, needed) if anomaly_mode else node.apply(grads, needed)
    finally:
        end(opened)


cdef list applied_with_traceback(Node node, list grads, set needed):
    """Anomaly mode: a failure, or a NaN, comes with the place in the forward that the node is from."""
    import warnings
    try:
        results = node.apply(grads, needed)
        if anomaly_mode == 2:
            for index, result in enumerate(results):
                if result is not None and bool((result != result).any().item()):
                    raise RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.")
    except Exception:
        forward = "".join((node.info or {}).get("traceback_", ()))
        warnings.warn(
            f"Error detected in {node.name()}. " + (
                f"Traceback of forward call that caused the error:\n{forward}" if forward else
                "No forward pass information available. Enable detect anomaly during forward pass for more "
                "information."), UserWarning, stacklevel=1)
        raise
    return results


cdef int hand_on(GraphTask task, Node node, list results) except -1:
    cdef Py_ssize_t i, count = len(node.edges)
    cdef Node target
    cdef object grad
    if len(results) != count:
        if len(results) < count or any(result is not None for result in results[count:]):
            raise RuntimeError(f"Function {node.name()} returned an incorrect number of gradients (expected {count}, "
                               f"got {len(results)})")
    for i in range(count):
        if node.edges[i] is None:
            continue
        target = <Node>node.edges[i]
        if task.needed is not None and target not in task.needed:
            continue
        if target not in task.buffers:
            task.buffers[target] = [None] * target.outputs
            push(task.ready, target)
        grad = results[i]
        if grad is not None:
            results[i] = None                # the buffer alone holds it now
            add_gradient(task, target, node.input_nrs[i], grad, node, i)
            grad = None
    return 0


cdef int add_gradient(GraphTask task, Node target, int output_nr, object grad, Node giver, Py_ssize_t index) except -1:
    cdef list buffer = <list>task.buffers[target]
    cdef TensorBase shaped = fitted(grad, &target.metadata[output_nr], giver, index)
    if task.streams is not None:
        task.streams.hand_over(shaped, stream_of(giver), stream_of(target))
    if buffer[output_nr] is None:
        buffer[output_nr] = shaped
        return 0
    if task.streams is not None:
        task.streams.enter(stream_of(target))
    buffer[output_nr] = buffer[output_nr] + shaped
    if task.streams is not None:
        task.streams.enter(stream_of(giver))
    return 0


cdef object stream_of(Node node):
    """On which the node's forward ran; None for one on the CPU."""
    from mindtorch._core import hooks
    if node.stream is None and node.outputs and node.metadata[0].device_type == NPU:
        return hooks.default_stream(node.metadata[0].device_index)
    return node.stream


# --- the roots -------------------------------------------------------------------------------------------------------

def root_grads(tuple outputs, tuple given):
    """The gradient of each output; 1 for those of one element that were given none."""
    cdef list grads = [None] * len(outputs) if given is None else list(given)
    cdef Py_ssize_t i
    if len(outputs) != len(grads):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    for i in range(len(grads)):
        if not isinstance(outputs[i], TensorBase):
            raise TypeError(f"all outputs have to be Tensors, but element {i} is a {type(outputs[i]).__name__}")
        if grads[i] is not None:
            check_root_grad(i, <TensorBase>outputs[i], grads[i])
        if not requires_grad(<TensorBase>outputs[i]):
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if grads[i] is None:
            grads[i] = implicit_grad(<TensorBase>outputs[i])
    return grads


cdef object implicit_grad(TensorBase out):
    if out.numel != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if KIND[<int>out.dtype] != FLOAT_KIND:
        raise RuntimeError("grad can be implicitly created only for real scalar outputs but got "
                           f"{DTYPES[<int>out.dtype]}")
    return ones_like(out)


cdef int check_root_grad(Py_ssize_t index, TensorBase out, object value) except -1:
    if not isinstance(value, TensorBase):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(value).__name__}")
    if out.shape != value.shape:
        raise RuntimeError(f"Mismatch in shape: grad_output[{index}] has a shape of {value.shape} and output[{index}] "
                           f"has a shape of {out.shape}.")
    if (KIND[<int>out.dtype] == COMPLEX_KIND) != (KIND[<int>(<TensorBase>value).dtype] == COMPLEX_KIND):
        raise RuntimeError("For complex Tensors, both grad_output and output are required to have the same dtype. "
                           f"Mismatch in dtype: grad_output[{index}] has a dtype of {value.dtype} and output[{index}] "
                           f"has a dtype of {DTYPES[<int>out.dtype]}.")
    return 0


# --- the whole graph -------------------------------------------------------------------------------------------------

cdef set nodes_that_lead_to(list roots, set goals):
    """The nodes below `roots` from which a goal can be reached."""
    cdef set found = set(), seen = set()
    cdef list stack = [(root, False) for root in roots]
    cdef Node node
    while stack:
        node, done = stack.pop()
        if done:
            if any(edge is not None and (edge in goals or edge in found) for edge in node.edges):
                found.add(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend([(edge, False) for edge in node.edges if edge is not None and edge not in seen])
    return found


cdef int run(GraphTask task) except -1:
    cdef Node node
    cdef bint profiled = recording_thread()
    while task.ready:
        node = pop(task.ready)
        if task.streams is not None:
            task.streams.enter(stream_of(node))
        if profiled:
            evaluate_in_range(task, node, task.buffers.pop(node))
        else:
            evaluate(task, node, task.buffers.pop(node), False)
    if task.callbacks is not None:
        for callback in task.callbacks:
            callback()
    return 0


cdef int add_root(GraphTask task, TensorBase tensor, object grad, list roots) except -1:
    cdef int output_nr
    cdef Node node = gradient_edge(tensor, &output_nr)
    if node is None:
        return 0
    buffer = task.buffers.get(node)
    if buffer is None:
        buffer = task.buffers[node] = [None] * node.outputs
        roots.append(node)
    if task.streams is not None:
        task.streams.hand_over(grad, None, stream_of(node))
    buffer[output_nr] = grad if buffer[output_nr] is None else buffer[output_nr] + grad
    return 0


cdef int ask_for(GraphTask task, list inputs, bint accumulates) except -1:
    """Captures for `grad`, and what has to run for them."""
    cdef int output_nr, position
    cdef Node node
    cdef set goals = set(), leaves = set(), found
    task.captures = {}
    task.captured = [None] * len(inputs)
    for position in range(len(inputs)):
        target = inputs[position]
        if isinstance(target, TensorBase):
            node = gradient_edge(<TensorBase>target, &output_nr)
        else:                                       # a GradientEdge
            node, output_nr = target
        if node is None:
            continue
        goals.add(node)
        if accumulates:
            if isinstance(node, AccumulateGrad):
                leaves.add(node)
            else:
                inputs[position].retain_grad()
        else:
            task.captures.setdefault(node, []).append((output_nr, position))
    found = nodes_that_lead_to(list(task.buffers), goals)
    task.needed = found | goals
    task.ends = goals - found - leaves
    return 0


def run_backward(list tensors, list grads, bint keep_graph, bint create_graph, list inputs, bint accumulates):
    """Differentiate `tensors`, whose gradients are `grads`; leaves get theirs, or those of `inputs` are returned.

    inputs None: everything the graph leads to. accumulates: into .grad, also of the inputs.
    """
    global tasks_begun
    cdef GraphTask task = GraphTask.__new__(GraphTask)
    cdef list roots = []
    cdef Py_ssize_t i
    task.number = tasks_begun
    tasks_begun += 1
    task.ready = []
    task.buffers = {}
    task.keep_graph = keep_graph
    if BACKENDS[<int>NPU].streams:
        from mindtorch._core.backward_streams import StreamOrder
        task.streams = StreamOrder()
    for i in range(len(tensors)):
        add_root(task, <TensorBase>tensors[i], grads[i], roots)
    if inputs is not None:
        ask_for(task, inputs, accumulates)
    for root in roots:
        push(task.ready, <Node>root)
    modes = thread_modes()
    autocast, nesting = get_autocast_state(), autocast_nesting()
    set_grad_enabled(create_graph)
    unasked = torch_function.hush()
    outer = getattr(RUNNING, "task", None)
    RUNNING.task = task
    try:
        run(task)
    finally:
        RUNNING.task = outer
        torch_function.restore(unasked)
        restore_thread_modes(modes)         # hooks and backward functions may have entered contexts and never left
        set_autocast_state(autocast)
        close_regions(nesting)
        if task.streams is not None:
            task.streams.leave()
    return task.captured


def gradient_edge_of(TensorBase tensor):
    """(node, number of its output) through which the gradient of `tensor` comes."""
    cdef int output_nr
    node = gradient_edge(tensor, &output_nr)
    return node, output_nr


def queue_callback(callback):
    """Call `callback()` when the backward that is running in this thread is done."""
    cdef GraphTask task = getattr(RUNNING, "task", None)
    if task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    if task.callbacks is None:
        task.callbacks = []
    task.callbacks.append(callback)


def runs_whole_graph():
    """Whether this thread is in a backward that was not asked for the gradients of certain inputs alone."""
    cdef GraphTask task = getattr(RUNNING, "task", None)
    return task is None or task.needed is None


def current_graph_task_id():
    """The number of the backward that this thread is in, -1 outside any."""
    cdef GraphTask task = getattr(RUNNING, "task", None)
    return -1 if task is None else task.number


def in_backward():
    """Whether this thread is in a backward."""
    return getattr(RUNNING, "task", None) is not None


# --- autograd.Function -----------------------------------------------------------------------------------------------
# Nodes of autograd.Function: what the user's forward and backward share, and how a call is recorded.


VIEW_OF_FUNCTION = (
    "Output {output} of {node} is a view and {write} modified inplace. This view was created inside a custom Function "
    "(or because an input was returned as-is) and the autograd logic to handle view+inplace would override the custom "
    "backward associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You can "
    "fix this by cloning the output of the custom Function.")


cdef class FunctionNode(Node):
    """The node of one call of a Function, which is `ctx` to its forward and backward."""
    cdef public object to_save, dirty_tensors, non_differentiable, saved_for_forward
    cdef public object materialize_grads
    cdef public object needs_input_grad
    cdef list tensor_outputs           # per output: whether it is a tensor

    def __cinit__(self, *args, **kwargs):
        self.edges = []
        self.to_save = self.dirty_tensors = self.non_differentiable = ()
        self.materialize_grads = True

    cdef list apply(self, list grads, set needed):
        cdef int i, count = len(self.edges)
        if self.materialize_grads:
            grads = [zeros_for(&self.metadata[i]) if grads[i] is None and self.tensor_outputs[i] else grads[i]
                     for i in range(len(grads))]
        function = type(self)._forward_cls
        compute = function.backward if overrides(function, "backward") else function.vjp
        unasked = torch_function.wake()
        try:
            results = compute(self, *grads)
        finally:
            torch_function.restore(unasked)
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        if len(results) < count or any([extra is not None for extra in results[count:]]):
            raise RuntimeError(f"function {self.name()} returned an incorrect number of gradients (expected {count}, "
                               f"got {len(results)})")
        for i in range(count):
            if results[i] is not None and not isinstance(results[i], TensorBase):
                raise RuntimeError(f"expected Variable or None (got {type(results[i]).__name__})")
        return results[:count]

    @property
    def saved_tensors(self):
        """The tensors given to save_for_backward."""
        return tuple([unpack(self, value) for value in self.saved or ()])


cdef bint overrides(object function, str name) except -1:
    from mindtorch._core import hooks
    return getattr(function, name) is not getattr(hooks.Function, name)


def apply_function(function, FunctionNode node, tuple args, dict kwargs, bint takes_ctx):
    """Call `function.forward` without recording it, and make `node` the history of its results."""
    cdef Range opened
    if not recording_thread():
        return applied(function, node, args, kwargs, takes_ctx)
    opened = begin(function.__name__, FUNCTION, "cpu_op")
    note_shapes(opened, list(args))
    try:
        return applied(function, node, args, kwargs, takes_ctx)
    finally:
        end(opened)


cdef object applied(object function, FunctionNode node, tuple args, dict kwargs, bint takes_ctx):
    cdef bint record = False, before
    cdef int i
    node.needs_input_grad = tuple([isinstance(a, TensorBase) and requires_grad(<TensorBase>a) for a in args])
    if grad_enabled() and any(node.needs_input_grad):
        record = True
        node.set_edges(len(args))
        for i in range(len(args)):
            if node.needs_input_grad[i]:
                connect(node, i, <TensorBase>args[i])
    before = set_grad_enabled(False)
    try:
        if takes_ctx:
            results = function.forward(node, *args, **kwargs)
        else:
            results = function.forward(*args, **kwargs)
            function.setup_context(node, args, results)
    finally:
        set_grad_enabled(before)
    outputs = results if isinstance(results, tuple) else (results,)
    for tensor in node.dirty_tensors:
        count_version(<TensorBase?>tensor)
    if record:
        outputs = recorded_outputs(node, args, outputs)
    node.to_save = node.dirty_tensors = node.non_differentiable = ()
    return outputs if isinstance(results, tuple) else outputs[0]


cdef bint among(object tensor, object tensors) noexcept:
    for other in tensors:
        if other is tensor:
            return True
    return False


cdef tuple recorded_outputs(FunctionNode node, tuple args, tuple outputs):
    cdef int i
    cdef list found = []
    for tensor in node.dirty_tensors:
        if not among(tensor, outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function.")
    make_room(node, outputs)
    for i in range(len(outputs)):
        found.append(recorded_output(node, args, outputs[i], i) if node.tensor_outputs[i] else outputs[i])
    node.saved = [saved_value(outputs, found, tensor, i) for i, tensor in enumerate(node.to_save)]
    return tuple(found)


cdef int make_room(FunctionNode node, tuple outputs) except -1:
    cdef int i
    node.tensor_outputs = [isinstance(out, TensorBase) for out in outputs]
    node.metadata = <Metadata *>malloc(max(len(outputs), 1) * sizeof(Metadata))
    if node.metadata == NULL:
        node.metadata = &node.inline_metadata
        raise MemoryError()
    for i in range(len(outputs)):
        if node.tensor_outputs[i]:
            describe(&node.metadata[i], <TensorBase>outputs[i])
            note_stream(node, <TensorBase>outputs[i])
        else:
            describe_nothing(&node.metadata[i])
        node.outputs += 1
    return 0


cdef TensorBase recorded_output(FunctionNode node, tuple args, TensorBase out, int output_nr):
    cdef bint is_input = among(out, args)
    if among(out, node.non_differentiable) or not differentiable(out.dtype):
        return make_view(out, out.ndim, out.sizes, out.strides, out.offset) if is_input else out
    if among(out, node.dirty_tensors):
        refuse_leaf(out)
        recording_inplace(out, True)
        rebase(out, node, output_nr)
        return out
    if is_input:
        out = make_view(out, out.ndim, out.sizes, out.strides, out.offset)
    set_history(out, node, output_nr)
    if out.base is not None:
        refuse_writes(out, VIEW_OF_FUNCTION)
    return out


cdef int refuse_leaf(TensorBase out) except -1:
    """What was overwritten already."""
    cdef AutogradMeta meta = <AutogradMeta>out.autograd
    if out.base is None and meta is not None and meta.requires_grad:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    return 0


cdef object saved_value(tuple outputs, list found, object tensor, int index):
    cdef int i
    if tensor is None:
        return None
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"save_for_backward can only save variables, but argument {index} is of type "
                        f"{type(tensor).__name__}")
    for i in range(len(outputs)):
        if outputs[i] is tensor:
            return save_result(<TensorBase>found[i], i)
    return save(<TensorBase>tensor)
