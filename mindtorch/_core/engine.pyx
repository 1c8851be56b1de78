"""backward: follows the graph from its roots, later nodes first, and adds up gradients on the way.

Sequence numbers make the order: edges lead from a node to nodes that were made before it, so the one with the highest
number among those reached has all its gradients. A leaf's node is as old as its first use.
"""
import threading

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from mindtorch._core.autograd cimport (
    AccumulateGrad, AutogradMeta, Metadata, Node, accumulate, current_grad_fn, differentiable,
    grad_enabled, gradient_edge, meta_of, removable_handle, requires_grad, retain, set_grad_enabled)
from mindtorch._core.autograd import is_anomaly_check_nan_enabled, is_anomaly_enabled
from mindtorch._core.dtype cimport DTYPES, KIND, code_name
from mindtorch._core.scalar cimport COMPLEX_KIND
from mindtorch._core.tensor cimport TensorBase, dense_strides, empty_like_tensor, make_size, shape_text
from mindtorch._core.device cimport copy_data, make_device

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject *object)

# Adding to .grad is a read and a write, between which another thread's backward must not come.
cdef object ACCUMULATION = threading.Lock()
RUNNING = threading.local()             # .task: the innermost backward of the thread


cdef class GraphTask:
    """One call of backward or grad."""
    cdef list ready                # a heap of nodes, the latest first
    cdef dict buffers              # node -> gradients of its outputs so far
    cdef dict captures             # node -> {output number: position in `captured`}
    cdef list captured
    cdef set needed                # the inputs asked for, and what leads to them; None: all are needed
    cdef set ends                  # inputs asked for that lead to no other: they do not run
    cdef bint keep_graph
    cdef list callbacks            # run when the graph is done


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
    value = value.sum_to_size(make_size(wanted.ndim, wanted.sizes))
    if KIND[<int>grad.dtype] == COMPLEX_KIND and KIND[<int>wanted.dtype] != COMPLEX_KIND:
        value = value.real
    if grad.device_type != wanted.device_type or grad.device_index != wanted.device_index:
        place = make_device(wanted.device_type, wanted.device_index if wanted.device_type else -1)
        if wanted.ndim:
            raise RuntimeError(f"Function {giver.name()} returned an invalid gradient at index {index} - expected "
                               f"device {place} but got {value.device}")
        value = value.to(place)
    return <TensorBase>value.to(DTYPES[<int>wanted.dtype])


# --- hooks -----------------------------------------------------------------------------------------------------------

cdef int run_tensor_hooks(Node node, list grads) except -1:
    cdef TensorBase grad
    if node.tensor_hooks is not None:
        for output_nr, hooks in node.tensor_hooks.items():
            for hook in list(hooks.values()):
                if grads[output_nr] is not None:
                    replaced = hook(grads[output_nr])
                    if replaced is not None:
                        grads[output_nr] = checked_replacement(replaced, grads[output_nr])
    if node.retained is not None:
        for output_nr, meta in node.retained.items():
            grad = grads[output_nr]
            if grad is not None:
                (<AutogradMeta>meta).grad = grad
    return 0


cdef object checked_replacement(object value, object before):
    if not isinstance(value, TensorBase):
        raise TypeError(f"hook must return a Tensor or None, not {type(value).__name__}")
    if value.shape != before.shape:
        raise RuntimeError("hook 'hook' has changed the size of value")
    if value.dtype is not before.dtype:
        raise RuntimeError("hook 'hook' has changed the type of value (was "
                           f"{before.type()} got {value.type()})")
    return value


cdef list run_prehooks(Node node, list grads):
    for hook in list(node.prehooks.values()):
        replaced = hook(tuple(grads))
        if replaced is not None:
            grads = list(replaced) if isinstance(replaced, (tuple, list)) else [replaced]
    return grads


cdef list run_posthooks(Node node, list results, list grads):
    for hook in list(node.posthooks.values()):
        replaced = hook(tuple(results), tuple(grads))
        if replaced is not None:
            results = list(replaced) if isinstance(replaced, (tuple, list)) else [replaced]
    return results


# --- leaves ----------------------------------------------------------------------------------------------------------

cdef bint owned(TensorBase grad) noexcept:
    """Whether nobody but backward holds the gradient or its memory, so that it may become a .grad as it is."""
    # Held by: the list of gradients, `accumulate`'s argument; its storage by the gradient, and by a base of its own.
    cdef Py_ssize_t storages = Py_REFCNT(<PyObject *>grad.storage)
    if Py_REFCNT(<PyObject *>grad) > 1 or grad.autograd is not None:
        return False
    return storages == 1 or (storages == 2 and grad.base is not None and Py_REFCNT(<PyObject *>grad.base) == 1)


cdef bint laid_out_like(TensorBase grad, TensorBase leaf) noexcept:
    cdef int64_t strides[64]
    cdef int i
    dense_strides(leaf, strides)
    for i in range(leaf.ndim):
        if leaf.sizes[i] != 1 and grad.strides[i] != strides[i]:
            return False
    return True


cdef int accumulate_into(TensorBase leaf, TensorBase grad) except -1:
    cdef AutogradMeta meta = <AutogradMeta>leaf.autograd
    cdef TensorBase kept
    with ACCUMULATION:
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
            kept = empty_like_tensor(leaf, grad.dtype, grad.device_type, grad.device_index)
            copy_data(kept, grad, False)
            meta.grad = kept
    if meta.accumulated_hooks is not None:
        for hook in list(meta.accumulated_hooks.values()):
            hook(leaf)
    return 0


accumulate = accumulate_into


# --- one node --------------------------------------------------------------------------------------------------------

cdef int evaluate(GraphTask task, Node node, list grads) except -1:
    cdef list results
    run_tensor_hooks(node, grads)
    if task.captures is not None and node in task.captures:
        for output_nr, position in (<dict>task.captures[node]).items():
            task.captured[position] = grads[output_nr]
    if task.ends is not None and node in task.ends:
        return 0
    if node.prehooks is not None:
        grads = run_prehooks(node, grads)
    if is_anomaly_enabled():
        results = applied_with_traceback(node, grads, task.needed)
    else:
        results = node.apply(grads, task.needed)
    if not task.keep_graph:
        node.release()
    if node.posthooks is not None:
        results = run_posthooks(node, results, grads)
    return hand_on(task, node, results)


cdef list applied_with_traceback(Node node, list grads, set needed):
    """Anomaly mode: a failure, or a NaN, comes with the place in the forward that the node is from."""
    import warnings
    try:
        results = node.apply(grads, needed)
        if is_anomaly_check_nan_enabled():
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
    cdef list buffer
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
        buffer = task.buffers.get(target)
        if buffer is None:
            buffer = [None] * target.outputs
            task.buffers[target] = buffer
            push(task.ready, target)
        grad = results[i]
        if grad is not None:
            results[i] = None                # the buffer alone holds it now
            add_gradient(buffer, target, node.input_nrs[i], grad, node, i)
            grad = None
    return 0


cdef int add_gradient(list buffer, Node target, int output_nr, object grad, Node giver, Py_ssize_t index) except -1:
    cdef TensorBase shaped = fitted(grad, &target.metadata[output_nr], giver, index)
    if buffer[output_nr] is None:
        buffer[output_nr] = shaped
    else:
        buffer[output_nr] = buffer[output_nr] + shaped
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
    while task.ready:
        node = pop(task.ready)
        evaluate(task, node, task.buffers.pop(node))
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
        node = gradient_edge(<TensorBase>inputs[position], &output_nr)
        if node is None:
            continue
        goals.add(node)
        if accumulates:
            if isinstance(node, AccumulateGrad):
                leaves.add(node)
            else:
                inputs[position].retain_grad()
        else:
            task.captures.setdefault(node, {})[output_nr] = position
    found = nodes_that_lead_to(list(task.buffers), goals)
    task.needed = found | goals
    task.ends = goals - found - leaves
    return 0


def run_backward(list tensors, list grads, bint keep_graph, bint create_graph, list inputs, bint accumulates):
    """Differentiate `tensors`, whose gradients are `grads`; leaves get theirs, or those of `inputs` are returned.

    inputs None: everything the graph leads to. accumulates: into .grad, also of the inputs.
    """
    cdef GraphTask task = GraphTask.__new__(GraphTask)
    cdef list roots = []
    cdef Py_ssize_t i
    task.ready = []
    task.buffers = {}
    task.keep_graph = keep_graph
    for i in range(len(tensors)):
        add_root(task, <TensorBase>tensors[i], grads[i], roots)
    if inputs is not None:
        ask_for(task, inputs, accumulates)
    for root in roots:
        push(task.ready, <Node>root)
    before = set_grad_enabled(create_graph)
    outer = getattr(RUNNING, "task", None)
    RUNNING.task = task
    try:
        run(task)
    finally:
        RUNNING.task = outer
        set_grad_enabled(before)
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


def in_backward():
    """Whether this thread is in a backward."""
    return getattr(RUNNING, "task", None) is not None


# --- attributes of tensors -------------------------------------------------------------------------------------------

def get_requires_grad(TensorBase self):
    """Whether gradients are computed for the tensor."""
    return bool(requires_grad(self))


def set_requires_grad(TensorBase self, value):
    """Make a leaf take part in differentiation, or no longer."""
    cdef AutogradMeta meta
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    if value and not differentiable(self.dtype):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if not value and self.autograd is None:
        return
    if current_grad_fn(self) is not None:
        if not value:
            raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a "
                               "computed variable in a subgraph that doesn't require differentiation use "
                               "var_no_grad = var.detach().")
        return
    meta = meta_of(self)
    if value and meta.is_inference:
        from mindtorch._core.autograd import is_inference_mode_enabled
        if not is_inference_mode_enabled():
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    meta.requires_grad = value


def requires_grad_(TensorBase self, requires_grad=True):
    """Set `requires_grad` in place; gives the tensor."""
    set_requires_grad(self, requires_grad)
    return self


def is_leaf(TensorBase self):
    """Whether the tensor was made by the user, not by an operator that was recorded."""
    return self.autograd is None and self.base is None or current_grad_fn(self) is None


def grad_fn(TensorBase self):
    """The node of the operator that made the tensor; None for a leaf."""
    return current_grad_fn(self)


def output_nr(TensorBase self):
    """Which output of grad_fn the tensor is."""
    return 0 if current_grad_fn(self) is None else (<AutogradMeta>self.autograd).output_nr


def get_grad(TensorBase self):
    """The gradient that backward added up here, or None."""
    cdef AutogradMeta meta = <AutogradMeta>self.autograd
    if meta is None:
        return None
    if meta.grad is None and meta.grad_fn is not None and not meta.retains_grad:
        import warnings
        warnings.warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
            "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
            "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make "
            "sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more "
            "informations.", UserWarning, stacklevel=2)
    return meta.grad


def set_grad(TensorBase self, value):
    """Replace the gradient; it must fit the tensor."""
    cdef TensorBase grad
    if value is None:
        if self.autograd is not None:
            (<AutogradMeta>self.autograd).grad = None
        return
    if not isinstance(value, TensorBase):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    grad = <TensorBase>value
    if grad is self:
        raise RuntimeError("can't assign Variable as its own grad")
    if grad.dtype != self.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{code_name(grad.dtype)}' to a tensor with grad_dtype "
            f"'{code_name(self.dtype)}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
            "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. "
            "Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
            "systems that assume they match.")
    if grad.device_type != self.device_type or grad.device_index != self.device_index:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{value.device.type}' to a tensor with device type "
            f"'{('cpu', 'npu')[self.device_type]}'. Please ensure that the gradient and the tensor are on the same "
            "device")
    if value.shape != make_size(self.ndim, self.sizes):
        raise RuntimeError(
            f"attempting to assign a gradient of size '{shape_text(grad.ndim, grad.sizes)}' to a tensor of size "
            f"'{shape_text(self.ndim, self.sizes)}'. Please ensure that the gradient and the tensor are the same size")
    meta_of(self).grad = grad


def retain_grad(TensorBase self):
    """Keep the gradient of a tensor that is no leaf in its `.grad`."""
    if not requires_grad(self):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if current_grad_fn(self) is not None:
        retain(<AutogradMeta>self.autograd)


def retains_grad(TensorBase self):
    """Whether retain_grad was called on a tensor that is no leaf."""
    return self.autograd is not None and bool((<AutogradMeta>self.autograd).retains_grad)


def register_hook(TensorBase self, hook):
    """Call hook(grad) when the tensor's gradient is known; it may give another. The handle's remove() ends that."""
    cdef AutogradMeta meta
    cdef Node node
    cdef int output_nr
    if not requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    node = gradient_edge(self, &output_nr)
    meta = meta_of(self)
    if meta.hooks is None:
        meta.hooks = {}
    if node.tensor_hooks is None:
        node.tensor_hooks = {}
    node.tensor_hooks[output_nr] = meta.hooks
    return removable_handle(meta.hooks, hook)


def register_post_accumulate_grad_hook(TensorBase self, hook):
    """Call hook(tensor) after a gradient was added to the leaf's .grad."""
    cdef AutogradMeta meta
    if not requires_grad(self):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if current_grad_fn(self) is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    meta = meta_of(self)
    if meta.accumulated_hooks is None:
        meta.accumulated_hooks = {}
    return removable_handle(meta.accumulated_hooks, hook)


def get_base(TensorBase self):
    """What the tensor is a view of, or None."""
    return self.base


def is_view(TensorBase self):
    """Whether the tensor is a view of another that differentiation knows."""
    return self.base is not None


def is_inference(TensorBase self):
    """Whether the tensor was made in inference_mode."""
    return self.autograd is not None and bool((<AutogradMeta>self.autograd).is_inference)


PROPERTIES = {
    "requires_grad": (get_requires_grad, set_requires_grad), "grad": (get_grad, set_grad), "is_leaf": (is_leaf, None),
    "grad_fn": (grad_fn, None), "output_nr": (output_nr, None), "retains_grad": (retains_grad, None),
    "_base": (get_base, None)}

METHODS = {f.__name__: f for f in (
    requires_grad_, retain_grad, register_hook, register_post_accumulate_grad_hook, is_inference)}
METHODS["_is_view"] = is_view
