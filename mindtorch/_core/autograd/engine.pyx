# cython: always_allow_keywords=False
"""The engine of backward, and the nodes of autograd.Function.

The engine runs the nodes below the roots in the order of their sequence numbers, the highest first, and adds up
gradients on the way. Edges lead to nodes with lower numbers (set_next_edge in history.pyx sees to that), so the node
with the highest number among those reached has got all its gradients.
"""
import threading

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t
from libc.stdlib cimport malloc

from mindtorch._core.autograd.node import restore_thread_modes, thread_modes
from mindtorch._core.operators.autocast import (
    autocast_nesting, get_state as get_autocast_state, reset_nesting, set_state as set_autocast_state,
)
from mindtorch._core.tensor.factories import ones_like

from mindtorch._core.autograd.node cimport (
    ANY_DTYPE, AccumulateGrad, AutogradMeta, FREED, InputMetadata, Node, accumulate_grad, anomaly_mode, grad_enabled,
    is_differentiable_dtype, raw_value, record_forward_stream, requires_grad, set_grad_enabled, set_metadata,
    set_undefined_metadata, unpack_value, zeros_like_metadata,
)
from mindtorch._core.autograd.history cimport (
    gradient_edge, rebase_history, save_operand, save_result, set_history, set_next_edge,
    should_record_inplace,
)
from mindtorch._core.operators.composites cimport sum_to
cimport mindtorch._core.python.torch_function as torch_function
from mindtorch._core.python.profiling cimport (
    BACKWARD_FUNCTION, FUNCTION, Range, close_range, is_thread_profiled, open_range, set_shapes,
)
from mindtorch._core.tensor.dtype cimport COMPLEX_KIND, DTYPES, FLOAT_KIND, KIND, ScalarType
from mindtorch._core.tensor.tensor cimport (
    BACKENDS, IN_CUSTOM_FUNCTION, MULTI_OUTPUT_NODE, NPU, SPARSE, CreationMeta, SparseStorage, TensorBase, bump_version,
    copy_data, empty_like_tensor, has_same_shape, is_non_overlapping_and_dense, is_sparse, make_device, make_view,
    reported_device_index, reported_device_type, shape_text,
)
cimport mindtorch._core.tensor.torch_dispatch as torch_dispatch
from mindtorch._core.tensor.torch_dispatch cimport alias_of


cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject *object)

# The lock of additions to .grad: backward may run in several threads.
cdef object ACCUMULATE_LOCK = threading.Lock()
THREAD_STATE = threading.local()             # .task: the innermost backward of the thread
cdef int64_t next_task_id = 0


cdef class GraphTask:
    """One call of backward or grad."""
    cdef list ready_queue                # a heap of nodes, the highest sequence number first
    cdef dict input_buffers              # node -> the sums of the gradients of its outputs so far
    cdef dict captures             # node -> [(output number, position in `captured`)]
    cdef list captured             # the result of `grad`
    cdef set needed                # the nodes of `inputs`, and those that lead to them; None: all nodes
    cdef set not_run               # the nodes of `inputs` that lead to no other of them: they do not run
    cdef bint keep_graph
    cdef list final_callbacks            # of queue_callback
    cdef list roots                # the nodes it starts from
    cdef Node current              # the node that runs
    cdef bint returns_gradients    # the call is `grad`, which adds to no .grad
    cdef object streams            # BackwardStreams; None where all work is on default streams
    cdef int64_t id


# --- the heap of nodes -----------------------------------------------------------------------------------------------

cdef inline bint runs_before(list heap, Py_ssize_t a, Py_ssize_t b) noexcept:
    return (<Node>heap[a]).sequence_nr > (<Node>heap[b]).sequence_nr


cdef int push_ready(list heap, Node node) except -1:
    cdef Py_ssize_t at = len(heap), parent
    heap.append(node)
    while at > 0:
        parent = (at - 1) // 2
        if not runs_before(heap, at, parent):
            break
        heap[at], heap[parent] = heap[parent], heap[at]
        at = parent
    return 0


cdef Node pop_ready(list heap):
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
        if child + 1 < count and runs_before(heap, child + 1, child):
            child += 1
        if not runs_before(heap, child, at):
            return first
        heap[at], heap[child] = heap[child], heap[at]
        at = child


# --- shape, dtype and device of a gradient ---------------------------------------------------------------------------

cdef inline ScalarType wanted_dtype(TensorBase grad, const InputMetadata *wanted) noexcept:
    return grad.dtype if <int>wanted.dtype == ANY_DTYPE else wanted.dtype


cdef inline bint matches_metadata(TensorBase grad, const InputMetadata *wanted) noexcept:
    cdef int i
    if grad.ndim != wanted.ndim or grad.dtype != wanted_dtype(grad, wanted):
        return False
    if reported_device_type(grad) != wanted.device_type:
        return False
    if reported_device_index(grad) != wanted.device_index:
        return False
    for i in range(grad.ndim):
        if grad.sizes[i] != wanted.sizes[i]:
            return False
    return True


cdef bint is_expandable_to(TensorBase grad, const InputMetadata *wanted) noexcept:
    """Whether `wanted` broadcasts to the shape of the gradient."""
    cdef int i, leading = grad.ndim - wanted.ndim
    if leading < 0:
        return False
    for i in range(wanted.ndim):
        if wanted.sizes[i] != 1 and wanted.sizes[i] != grad.sizes[leading + i]:
            return False
    return True


cdef TensorBase validate_grad(object value, const InputMetadata *wanted, Node producer, Py_ssize_t index):
    """The gradient that `producer` returned at `index`, with the shape, dtype and device of `wanted`."""
    cdef TensorBase grad
    cdef ScalarType dtype
    if not isinstance(value, TensorBase):
        raise TypeError(f"{producer.name()} returned a {type(value).__name__} at index {index}, expected a Tensor or "
                        "None")
    grad = <TensorBase>value
    if matches_metadata(grad, wanted):
        return grad
    if not is_expandable_to(grad, wanted):
        raise RuntimeError(
            f"Function {producer.name()} returned an invalid gradient at index {index} - got "
            f"{shape_text(grad.ndim, grad.sizes)} but expected shape compatible with "
            f"{shape_text(wanted.ndim, wanted.sizes)}")
    dtype = wanted_dtype(grad, wanted)
    if is_sparse(grad) or wanted.device_type >= SPARSE:         # either may be sparse where the other is dense
        return grad if grad.dtype == dtype else <TensorBase>value.to(DTYPES[<int>dtype])
    value = sum_to(grad, wanted.ndim, wanted.sizes)
    if KIND[<int>grad.dtype] == COMPLEX_KIND and KIND[<int>dtype] != COMPLEX_KIND:
        value = value.real
    if reported_device_type(grad) != wanted.device_type or reported_device_index(grad) != wanted.device_index:
        device = make_device(wanted.device_type, wanted.device_index)
        if wanted.ndim:
            raise RuntimeError(f"Function {producer.name()} returned an invalid gradient at index {index} - expected "
                               f"device {device} but got {value.device}")
        value = value.to(device)
    return <TensorBase>(value if grad.dtype == dtype else value.to(DTYPES[<int>dtype]))


# --- hooks -----------------------------------------------------------------------------------------------------------

cdef int run_tensor_hooks(Node node, list grads) except -1:
    cdef TensorBase grad
    if node.tensor_hooks is not None:
        for output_nr, hooks in node.tensor_hooks.items():
            for hook in list(hooks.values()):
                replaced = hook(grads[output_nr])
                if replaced is not None:
                    grads[output_nr] = check_hook_result(hook, replaced, grads[output_nr])
    if node.retain_grad_metas is not None:
        for output_nr, meta in node.retain_grad_metas.items():
            grad = grads[output_nr]
            if grad is not None:
                retain_gradient(<AutogradMeta>meta, grad)
    return 0


cdef int retain_gradient(AutogradMeta meta, TensorBase grad) except -1:
    """Add to the .grad of a tensor that retains its gradient. A .grad shares no memory."""
    if meta.grad is not None:
        meta.grad = <TensorBase>(meta.grad + grad)
    else:
        meta.grad = <TensorBase>(grad.clone() if grad.contiguous else (<object>grad).contiguous())
    return 0


cdef object check_hook_result(object hook, object value, object before):
    if not isinstance(value, TensorBase):
        raise TypeError(f"expected Variable, but hook returned '{type(value).__name__}'")
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not has_same_shape(<TensorBase>value, <TensorBase>before):
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the size of value")
    if value.dtype is not before.dtype:
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the type of value (was {before.type()} got "
                           f"{value.type()})")
    return value


cdef str hook_name(object hook):
    return getattr(hook, "__name__", "<unknown>")


cdef list check_hook_results(object hook, object values, list before):
    cdef list found = list(values) if isinstance(values, (tuple, list)) else [values]
    if len(found) != len(before):
        raise RuntimeError(f"hook '{hook_name(hook)}' has returned an incorrect number of values (got {len(found)}, "
                           "but "
                           f"expected {len(before)})")
    return found


cdef list run_prehooks(Node node, list grads):
    for hook in list(node.prehooks.values()):
        replaced = hook(tuple(grads))
        if replaced is not None:
            grads = check_hook_results(hook, replaced, grads)
    return grads


cdef list run_posthooks(Node node, list results, list grads):
    for hook in list(node.posthooks.values()):
        replaced = hook(tuple(results), tuple(grads))
        if replaced is not None:
            results = check_hook_results(hook, replaced, results)
    return results


# --- the .grad of leaves ---------------------------------------------------------------------------------------------

cdef bint can_steal_gradient(TensorBase grad) noexcept:
    """Whether only backward refers to the gradient and its memory, so that it can become the .grad."""
    # Backward refers to it by the list of gradients and the caller's variable; to the storage refer grad and its base.
    cdef Py_ssize_t storages = Py_REFCNT(<PyObject *>grad.storage)
    if Py_REFCNT(<PyObject *>grad) > 2 or grad.autograd is not None:
        return False
    return storages == 1 or (storages == 2 and grad.base is not None and Py_REFCNT(<PyObject *>grad.base) == 1)


cdef bint obeys_layout_contract(TensorBase grad, TensorBase leaf) noexcept:
    """Whether the gradient has the strides of the leaf, or is contiguous where the leaf's memory has gaps.

    Their shapes differ where out= has resized the leaf since.
    """
    cdef int i
    if not is_non_overlapping_and_dense(leaf):
        return grad.contiguous
    for i in range(grad.ndim):
        if grad.sizes[i] != 1 and (i >= leaf.ndim or grad.strides[i] != leaf.strides[i]):
            return False
    return True


cdef int warn_layout_contract(TensorBase grad, TensorBase leaf) except -1:
    import warnings
    warnings.warn(
        "grad and param do not obey the gradient layout contract. This is not an error, but may impair performance.\n"
        f"grad.sizes() = {shape_text(grad.ndim, grad.sizes)}, strides() = {shape_text(grad.ndim, grad.strides)}\n"
        f"param.sizes() = {shape_text(leaf.ndim, leaf.sizes)}, strides() = {shape_text(leaf.ndim, leaf.strides)}",
        UserWarning, stacklevel=2)
    return 0


cdef int accumulate_leaf_grad(TensorBase leaf, TensorBase grad) except -1:
    cdef AutogradMeta meta = <AutogradMeta>leaf.autograd
    cdef TensorBase copy
    with ACCUMULATE_LOCK:
        if is_sparse(grad) or (meta.grad is not None and is_sparse(meta.grad)):
            accumulate_sparse_grad(meta, grad)
            return run_post_accumulate_hooks(meta, leaf)
        if meta.grad is not None and not obeys_layout_contract(meta.grad, leaf):
            warn_layout_contract(meta.grad, leaf)
        if meta.grad is not None and not grad_enabled():
            meta.grad.__iadd__(grad)
        elif meta.grad is not None:
            meta.grad = <TensorBase>(meta.grad + grad)
        elif grad_enabled():
            meta.grad = <TensorBase>grad.clone()
        elif not grad.bits and can_steal_gradient(grad) and obeys_layout_contract(grad, leaf):
            grad.base = None
            meta.grad = grad
        elif torch_dispatch.active and torch_dispatch.dispatches(grad):
            copy = <TensorBase>grad.clone()
            meta.grad = copy if obeys_layout_contract(copy, leaf) else <TensorBase>(<object>copy).contiguous()
        else:
            like = leaf if is_non_overlapping_and_dense(leaf) else (<object>grad).contiguous()
            copy = empty_like_tensor(like, grad.dtype, grad.device_type, grad.device_index)
            if has_same_shape(copy, grad):
                copy_data(copy, grad, False)
            else:
                (<object>copy).copy_(grad)      # out= has resized the leaf since: as in torch, broadcast or refused
            meta.grad = copy
    return run_post_accumulate_hooks(meta, leaf)


cdef int accumulate_sparse_grad(AutogradMeta meta, TensorBase grad) except -1:
    """`accumulate_leaf_grad` where the gradient or the .grad is sparse: two sparse ones stay sparse."""
    if meta.grad is None:
        shared = Py_REFCNT(<PyObject *>grad) > 2 or Py_REFCNT(<PyObject *>grad.storage) > 1 or (
            not (<SparseStorage>grad.storage).values.contiguous)
        meta.grad = <TensorBase>(grad.clone() if shared or grad_enabled() else grad)
    elif grad_enabled() or (is_sparse(meta.grad) and not is_sparse(grad)):
        meta.grad = <TensorBase>(grad + meta.grad)
    else:
        meta.grad = <TensorBase>meta.grad.__iadd__(grad)
    return 0


cdef int run_post_accumulate_hooks(AutogradMeta meta, TensorBase leaf) except -1:
    if meta.post_accumulate_hooks is not None:
        for hook in list(meta.post_accumulate_hooks.values()):
            result = hook(leaf)
            if result is None or result is leaf:            # as an in-place method returns it
                continue
            if not isinstance(result, TensorBase):
                raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    return 0


accumulate_grad = accumulate_leaf_grad


# --- running a node --------------------------------------------------------------------------------------------------

cdef int evaluate_function(GraphTask task, Node node, list grads, bint profiled) except -1:
    cdef list results
    task.current = node
    run_tensor_hooks(node, grads)
    if task.captures is not None and node in task.captures:
        for output_nr, position in task.captures[node]:
            task.captured[position] = grads[output_nr]
    if task.not_run is not None and node in task.not_run:
        return 0
    if node.prehooks is not None:
        grads = run_prehooks(node, grads)
    if profiled:
        results = call_function_profiled(node, grads, task.needed)
    elif anomaly_mode:
        results = call_function_anomaly(node, grads, task.needed)
    else:
        results = node.apply(grads, task.needed)
    if not task.keep_graph:
        node.release()
    if node.posthooks is not None:
        results = run_posthooks(node, results, grads)
    return queue_gradients(task, node, results)


cdef int evaluate_function_profiled(GraphTask task, Node node, list grads) except -1:
    cdef Range opened = open_range(f"autograd::engine::evaluate_function: {node.name()}", FUNCTION, "cpu_op")
    if opened is not None:
        opened.sequence_nr = node.sequence_nr
    try:
        return evaluate_function(task, node, grads, True)
    finally:
        close_range(opened)


cdef list call_function_profiled(Node node, list grads, set needed):
    cdef Range opened = open_range(node.name(), BACKWARD_FUNCTION, "cpu_op")
    if opened is not None:
        opened.sequence_nr = node.sequence_nr
    set_shapes(opened, grads)
    try:
        return call_function_anomaly(node, grads, needed) if anomaly_mode else node.apply(grads, needed)
    finally:
        close_range(opened)


cdef list call_function_anomaly(Node node, list grads, set needed):
    """Anomaly mode: warn of an error or a NaN with the traceback of the node's forward."""
    import warnings
    try:
        results = node.apply(grads, needed)
        if anomaly_mode == 2:
            for index, result in enumerate(results):
                if result is not None and result.isnan().any().item():
                    raise RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.")
    except Exception:
        forward = "".join((node.user_metadata or {}).get("traceback_", ()))
        warnings.warn(
            f"Error detected in {node.name()}. " + (
                f"Traceback of forward call that caused the error:\n{forward}" if forward else
                "No forward pass information available. Enable detect anomaly during forward pass for more "
                "information."), UserWarning, stacklevel=1)
        raise
    return results


cdef object sum_gradients(TensorBase a, TensorBase b):
    return b + a if is_sparse(a) and not is_sparse(b) else a + b


cdef int queue_gradients(GraphTask task, Node node, list results) except -1:
    cdef Py_ssize_t i, count = len(node.edges)
    cdef Node target
    cdef object grad
    if len(results) != count:
        if len(results) < count or any([result is not None for result in results[count:]]):
            raise RuntimeError(f"Function {node.name()} returned an incorrect number of gradients (expected {count}, "
                               f"got {len(results)})")
    for i in range(count):
        if node.edges[i] is None:
            continue
        target = <Node>node.edges[i]
        if task.needed is not None and target not in task.needed:
            continue
        if target not in task.input_buffers:
            task.input_buffers[target] = [None] * target.output_count
            push_ready(task.ready_queue, target)
        grad = results[i]
        if grad is not None:
            results[i] = None                # so that the buffer has the only reference
            accumulate_input_buffer(task, target, node.input_nrs[i], grad, node, i)
            grad = None
    return 0


cdef int accumulate_input_buffer(GraphTask task, Node target, int output_nr, object grad, Node producer,
                                 Py_ssize_t index) except -1:
    cdef list buffer = <list>task.input_buffers[target]
    cdef TensorBase valid = validate_grad(grad, &target.metadata[output_nr], producer, index)
    if task.streams is not None:
        task.streams.synchronize_gradient(valid, stream_of(producer), stream_of(target))
    if buffer[output_nr] is None:
        buffer[output_nr] = valid
        return 0
    if task.streams is not None:
        task.streams.enter(stream_of(target))
    buffer[output_nr] = sum_gradients(<TensorBase>buffer[output_nr], valid)
    if task.streams is not None:
        task.streams.enter(stream_of(producer))
    return 0


cdef object stream_of(Node node):
    """The stream of the node's forward; None on the CPU."""
    from mindtorch._core import hooks
    if node.stream is None and node.output_count and node.metadata[0].device_type == NPU:
        return hooks.default_stream(node.metadata[0].device_index)
    return node.stream


# --- gradients of the roots ------------------------------------------------------------------------------------------

def root_grads(tuple outputs, tuple given or None):
    """The gradient of each output; 1 for an output of one element that has none in `given`."""
    cdef list grads = [None] * len(outputs) if given is None else list(given)
    cdef TensorBase out
    cdef Node node
    cdef int output_nr
    cdef Py_ssize_t i
    if len(outputs) != len(grads):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    for i in range(len(grads)):
        if isinstance(outputs[i], TensorBase):
            out = outputs[i]
        elif isinstance(outputs[i], tuple):         # a GradientEdge
            node, output_nr = outputs[i]
            out = zeros_like_metadata(&node.metadata[output_nr])
        else:
            raise TypeError(f"all outputs have to be Tensors, but element {i} is a {type(outputs[i]).__name__}")
        if grads[i] is not None:
            grads[i] = checked_root_grad(i, out, grads[i])
        if out is outputs[i] and not requires_grad(out):
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if grads[i] is None:
            grads[i] = implicit_grad(out)
    return grads


cdef object implicit_grad(TensorBase out):
    if out.numel != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if KIND[<int>out.dtype] != FLOAT_KIND:
        raise RuntimeError("grad can be implicitly created only for real scalar outputs but got "
                           f"{DTYPES[<int>out.dtype]}")
    return ones_like(out)


cdef object checked_root_grad(Py_ssize_t index, TensorBase out, object value):
    """The gradient that was given, in the dtype of the output."""
    if not isinstance(value, TensorBase):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(value).__name__}")
    if not has_same_shape(out, <TensorBase>value):
        raise RuntimeError(f"Mismatch in shape: grad_output[{index}] has a shape of {value.shape} and output[{index}] "
                           f"has a shape of {out.shape}.")
    if (KIND[<int>out.dtype] == COMPLEX_KIND) != (KIND[<int>(<TensorBase>value).dtype] == COMPLEX_KIND):
        raise RuntimeError("For complex Tensors, both grad_output and output are required to have the same dtype. "
                           f"Mismatch in dtype: grad_output[{index}] has a dtype of {value.dtype} and output[{index}] "
                           f"has a dtype of {DTYPES[<int>out.dtype]}.")
    return value if (<TensorBase>value).dtype == out.dtype else value.to(DTYPES[<int>out.dtype])


# --- running a graph -------------------------------------------------------------------------------------------------

cdef set nodes_leading_to(list roots, set goals):
    """The nodes below `roots` from which a goal can be reached."""
    cdef set found = set(), seen = set()
    cdef list stack = [(root, False) for root in roots]
    cdef Node node
    while stack:
        node, done = stack.pop()
        if done:
            if any([edge is not None and (edge in goals or edge in found) for edge in node.edges]):
                found.add(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend([(edge, False) for edge in node.edges if edge is not None and edge not in seen])
    return found


cdef int execute_graph_task(GraphTask task) except -1:
    cdef Node node
    cdef bint profiled = is_thread_profiled()
    while task.ready_queue:
        node = pop_ready(task.ready_queue)
        if task.streams is not None:
            task.streams.enter(stream_of(node))
        if profiled:
            evaluate_function_profiled(task, node, task.input_buffers.pop(node))
        else:
            evaluate_function(task, node, task.input_buffers.pop(node), False)
    if task.final_callbacks is not None:
        for callback in task.final_callbacks:
            callback()
    return 0


cdef Node edge_of(object target, int *output_nr):
    """The node and the output number of a tensor, or of a GradientEdge."""
    if isinstance(target, TensorBase):
        return gradient_edge(<TensorBase>target, output_nr)
    node, output_nr[0] = target
    return <Node?>node


cdef int add_root(GraphTask task, object target, object grad, list roots) except -1:
    cdef int output_nr
    cdef Node node = edge_of(target, &output_nr)
    if node is None:
        return 0
    buffer = task.input_buffers.get(node)
    if buffer is None:
        buffer = task.input_buffers[node] = [None] * node.output_count
        roots.append(node)
    if task.streams is not None:
        task.streams.synchronize_gradient(grad, None, stream_of(node))
    buffer[output_nr] = grad if buffer[output_nr] is None else sum_gradients(buffer[output_nr], grad)
    return 0


cdef int init_exec_info(GraphTask task, list inputs, bint accumulates) except -1:
    """Set up the task for `inputs`: what to capture, and which nodes have to run."""
    cdef int output_nr, position
    cdef Node node
    cdef set goals = set(), leaves = set(), found
    task.captures = {}
    task.captured = [None] * len(inputs)
    for position in range(len(inputs)):
        node = edge_of(inputs[position], &output_nr)
        if node is None:
            continue
        goals.add(node)
        if accumulates:
            if isinstance(node, AccumulateGrad):
                leaves.add(node)
            elif isinstance(inputs[position], TensorBase):      # a GradientEdge has no .grad
                inputs[position].retain_grad()
        else:
            task.captures.setdefault(node, []).append((output_nr, position))
    task.returns_gradients = not accumulates
    found = nodes_leading_to(list(task.input_buffers), goals)
    task.needed = found | goals
    task.not_run = goals - found - leaves
    return 0


def run_backward(list tensors, list grads, bint keep_graph, bint create_graph, list inputs or None, bint accumulates):
    """Run backward from `tensors` with the gradients `grads`.

    inputs None: adds to the .grad of all leaves. Else with `accumulates`, adds to the .grad of `inputs`; without it,
    returns the gradients of `inputs`.
    """
    global next_task_id
    cdef GraphTask task = GraphTask.__new__(GraphTask)
    cdef list roots = []
    cdef Py_ssize_t i
    task.id = next_task_id
    next_task_id += 1
    task.ready_queue = []
    task.input_buffers = {}
    task.keep_graph = keep_graph
    if BACKENDS[<int>NPU].streams:
        from mindtorch._core.backward_streams import BackwardStreams
        task.streams = BackwardStreams()
    for i in range(len(tensors)):
        add_root(task, tensors[i], grads[i], roots)
    if inputs is not None:
        init_exec_info(task, inputs, accumulates)
    task.roots = roots
    for root in roots:
        if task.needed is None or root in task.needed:
            push_ready(task.ready_queue, <Node>root)
    modes = thread_modes()
    autocast, nesting = get_autocast_state(), autocast_nesting()
    set_grad_enabled(create_graph)
    state = torch_function.disable_all()
    outer = getattr(THREAD_STATE, "task", None)
    THREAD_STATE.task = task
    try:
        execute_graph_task(task)
    finally:
        THREAD_STATE.task = outer
        torch_function.restore_state(state)
        restore_thread_modes(modes)         # hooks and backward functions may have left contexts open
        set_autocast_state(autocast)
        reset_nesting(nesting)
        if task.streams is not None:
            task.streams.leave()
    return task.captured


def gradient_edge_of(TensorBase tensor):
    """torch's GradientEdge of a tensor: (node, number of its output)."""
    cdef int output_nr
    node = gradient_edge(tensor, &output_nr)
    return node, output_nr


def queue_callback(callback):
    """Call `callback()` at the end of the backward that runs in this thread."""
    cdef GraphTask task = getattr(THREAD_STATE, "task", None)
    if task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    if task.final_callbacks is None:
        task.final_callbacks = []
    task.final_callbacks.append(callback)


cdef GraphTask running_task(str function):
    cdef GraphTask task = getattr(THREAD_STATE, "task", None)
    if task is None:
        raise RuntimeError(f"{function} should only be called during the backward pass")
    return task


cdef set nodes_below_roots(GraphTask task):
    """The nodes that the task runs, or has run."""
    cdef set seen = set()
    cdef list stack = list(task.roots)
    cdef Node node
    while stack:
        node = stack.pop()
        if node not in seen and (task.needed is None or node in task.needed):
            seen.add(node)
            stack.extend([edge for edge in node.edges if edge is not None and edge not in seen])
    return seen


def count_nodes_run(list nodes):
    """How many of the nodes are run by the backward that runs in this thread."""
    seen = nodes_below_roots(running_task("count_nodes_run"))
    return sum([node in seen for node in nodes])


def will_execute_node(node):
    """Whether the backward that runs in this thread runs the node, or has run it."""
    cdef GraphTask task = running_task("_will_engine_execute_node")
    if not isinstance(node, Node):
        raise RuntimeError(f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}")
    if task.returns_gradients and isinstance(node, AccumulateGrad):
        raise RuntimeError("You are currently running autograd.grad() and _will_engine_execute_node was asked of a "
                           "leaf: grad() does not run the nodes of leaves. Pass a non-leaf, or use .backward().")
    return node in nodes_below_roots(task)


def execution_order():
    """The nodes of the backward that runs in this thread, in the order in which they run."""
    return sorted(nodes_below_roots(running_task("_current_graph_task_execution_order")),
                  key=lambda node: -(<Node>node).sequence_nr)


def current_node():
    """The node that runs in this thread; None outside of backward."""
    cdef GraphTask task = getattr(THREAD_STATE, "task", None)
    return None if task is None else task.current


def keeps_graph():
    """Whether the backward that runs in this thread keeps what its graph has saved; True where none runs."""
    cdef GraphTask task = getattr(THREAD_STATE, "task", None)
    return task is None or bool(task.keep_graph)


def runs_whole_graph():
    """Whether this thread is in no backward, or in one without `inputs`."""
    cdef GraphTask task = getattr(THREAD_STATE, "task", None)
    return task is None or task.needed is None


def current_graph_task_id():
    """The number of the backward that runs in this thread; -1 where none does."""
    cdef GraphTask task = getattr(THREAD_STATE, "task", None)
    return -1 if task is None else task.id


def in_backward():
    """Whether a backward runs in this thread."""
    return getattr(THREAD_STATE, "task", None) is not None


# --- autograd.Function -----------------------------------------------------------------------------------------------

cdef class FunctionNode(Node):
    """The node of one call of a Function; its forward and backward get it as `ctx`."""
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
            grads = [zeros_like_metadata(&self.metadata[i]) if grads[i] is None and self.tensor_outputs[i] else grads[i]
                     for i in range(len(grads))]
        function = type(self)._forward_cls
        if is_overridden(function, "backward") and is_overridden(function, "vjp"):
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                               "should only implement one of them.")
        compute = function.backward if is_overridden(function, "backward") else function.vjp
        state = torch_function.enable_all()
        try:
            results = compute(self, *grads)
        finally:
            torch_function.restore_state(state)
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
        """The tensors of save_for_backward, or of save_for_forward where there are some."""
        if self.saved_for_forward is not None:
            return tuple(self.saved_for_forward)
        return tuple([unpack_value(self, value) for value in self.saved or ()])

    @property
    def _raw_saved_tensors(self):
        """The tensors of save_for_backward as SavedTensors, not unpacked."""
        for value in self.saved or ():
            if value is FREED:
                unpack_value(self, value)           # raises
        return raw_value(self.saved or [])

    @property
    def saved_variables(self):
        """The old name of saved_tensors."""
        import warnings
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=1)
        return self.saved_tensors

cdef bint is_overridden(object function, str name) except -1:
    from mindtorch._core import hooks
    return getattr(function, name) is not getattr(hooks.Function, name)


def apply_custom_function(function, FunctionNode node, tuple args, dict kwargs, bint takes_ctx):
    """Call `function.forward` without recording it, and make `node` the history of its results."""
    cdef Range opened
    if not is_thread_profiled():
        return run_forward(function, node, args, kwargs, takes_ctx)
    opened = open_range(function.__name__, FUNCTION, "cpu_op")
    set_shapes(opened, list(args))
    try:
        return run_forward(function, node, args, kwargs, takes_ctx)
    finally:
        close_range(opened)


cdef object run_forward(object function, FunctionNode node, tuple args, dict kwargs, bint takes_ctx):
    cdef bint record = False, before
    cdef int i
    node.needs_input_grad = tuple([isinstance(a, TensorBase) and requires_grad(<TensorBase>a) for a in args])
    if grad_enabled() and any(node.needs_input_grad):
        record = True
        node.set_edges(len(args))
        for i in range(len(args)):
            if node.needs_input_grad[i]:
                set_next_edge(node, i, <TensorBase>args[i])
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
        bump_version(<TensorBase?>tensor)
    outputs = record_outputs(node, args, outputs, record)
    node.to_save = node.dirty_tensors = node.non_differentiable = ()
    return outputs if isinstance(results, tuple) else outputs[0]


cdef bint contains_identity(object tensor, object tensors) noexcept:
    for other in tensors:
        if other is tensor:
            return True
    return False


cdef tuple record_outputs(FunctionNode node, tuple args, tuple outputs, bint record):
    cdef int i
    cdef list found = []
    if not record:
        return tuple([without_history(node, args, <TensorBase>out) if isinstance(out, TensorBase) else out
                      for out in outputs])
    for tensor in node.dirty_tensors:
        if not contains_identity(tensor, outputs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function.")
    allocate_output_metadata(node, outputs)
    for i in range(len(outputs)):
        found.append(record_output(node, args, outputs[i], i) if node.tensor_outputs[i] else outputs[i])
    node.saved = [save_for_backward_value(outputs, found, tensor, i) for i, tensor in enumerate(node.to_save)]
    differentiable = [out for i, out in enumerate(found) if node.tensor_outputs[i] and has_history(node, outputs[i])]
    if len(differentiable) > 1:
        for out in differentiable:
            mark_output(out, MULTI_OUTPUT_NODE)
    return tuple(found)


cdef bint has_history(FunctionNode node, TensorBase out) except -1:
    return is_differentiable_dtype(out.dtype) and not contains_identity(out, node.non_differentiable)


cdef TensorBase mark_output(TensorBase out, CreationMeta creation_meta):
    if out.base is not None:
        out.creation_meta = creation_meta
    return out


cdef TensorBase without_history(FunctionNode node, tuple args, TensorBase out):
    """An output that gets no history: the function's own tensor, or another one over the memory of an input."""
    if not contains_identity(out, args):
        return mark_output(out, IN_CUSTOM_FUNCTION)
    if requires_grad(out):
        return alias_of(out)
    if contains_identity(out, node.dirty_tensors):
        return out
    return mark_output(view_of_input(out), IN_CUSTOM_FUNCTION)


cdef TensorBase view_of_input(TensorBase out):
    cdef bint before = set_grad_enabled(False)
    try:
        return <TensorBase>(<object>out).view_as(out)
    finally:
        set_grad_enabled(before)


cdef int allocate_output_metadata(FunctionNode node, tuple outputs) except -1:
    cdef int i
    node.tensor_outputs = [isinstance(out, TensorBase) for out in outputs]
    node.metadata = <InputMetadata *>malloc(max(len(outputs), 1) * sizeof(InputMetadata))
    if node.metadata == NULL:
        node.metadata = &node.inline_metadata
        raise MemoryError()
    for i in range(len(outputs)):
        if node.tensor_outputs[i]:
            set_metadata(&node.metadata[i], <TensorBase>outputs[i])
            record_forward_stream(node, <TensorBase>outputs[i])
        else:
            set_undefined_metadata(&node.metadata[i])
        node.output_count += 1
    return 0


cdef TensorBase record_output(FunctionNode node, tuple args, TensorBase out, int output_nr):
    cdef bint is_input = contains_identity(out, args)
    if not has_history(node, out):
        return without_history(node, args, out)
    if contains_identity(out, node.dirty_tensors):
        check_dirty_leaf(out)
        should_record_inplace(out, True)
        rebase_history(out, node, output_nr)
        return out
    if is_input:
        out = make_view(out, out.ndim, out.sizes, out.strides, out.offset)
    set_history(out, node, output_nr)
    return mark_output(out, IN_CUSTOM_FUNCTION)


cdef int check_dirty_leaf(TensorBase out) except -1:
    """RuntimeError for a leaf that requires a gradient and that the forward overwrote."""
    cdef AutogradMeta meta = <AutogradMeta>out.autograd
    if out.base is None and meta is not None and meta.requires_grad:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    return 0


cdef object save_for_backward_value(tuple outputs, list found, object tensor, int index):
    cdef int i
    if tensor is None:
        return None
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"save_for_backward can only save variables, but argument {index} is of type "
                        f"{type(tensor).__name__}")
    for i in range(len(outputs)):
        if outputs[i] is tensor:
            return save_result(<TensorBase>found[i], i)
    return save_operand(<TensorBase>tensor)
