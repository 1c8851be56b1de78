"""The graph of autograd: modes, the autograd data of a tensor, nodes, what they save and what they compute.

history.pyx makes nodes, engine.pyx runs them.
"""
from collections import namedtuple
from importlib import import_module
import threading
import traceback

from cpython.object cimport PyObject, PyTypeObject
cimport cython
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from mindtorch._core.tensor.dtype cimport DTYPES, FLOAT_KIND, KIND
cimport mindtorch._core.tensor.tensor as tensor_module
from mindtorch._core.tensor.tensor cimport (
    BACKENDS, DEFAULT, INFERENCE_MODE, NO_GRAD_MODE, CreationMeta, make_device, make_size, shape_text,
    reported_device_index, reported_device_type, version_of,
)
from mindtorch._core.tensor.torch_dispatch cimport alias_of


cdef extern from "Python.h":
    PyObject **PySequence_Fast_ITEMS(object values)
    object PyObject_Vectorcall(object function, PyObject **arguments, size_t count, PyObject *names)

cdef uint64_t last_sequence_nr = 0
cdef tuple NO_ARGUMENTS = ()


# --- modes -----------------------------------------------------------------------------------------------------------
# grad mode and inference mode belong to the thread; anomaly mode belongs to the process, as in torch.

cdef extern from *:
    """
    static _Thread_local int mindtorch_grad_disabled;
    static _Thread_local int mindtorch_saves_inference;
    """
    int mindtorch_grad_disabled
    int mindtorch_saves_inference


saved_hooks_active = 0
anomaly_mode = 0
THREAD = threading.local()                 # .saved_hooks: the stack of (pack, unpack)


cdef enum:                                 # reasons not to record, as bits of mindtorch_grad_disabled
    NO_GRAD = 1
    BELOW_AUTOGRAD = 2
    INFERENCE = 4                          # in which enable_grad has no effect


cdef bint grad_enabled() noexcept:
    return not mindtorch_grad_disabled


cdef bint is_below_autograd() noexcept:
    return mindtorch_grad_disabled & BELOW_AUTOGRAD


cdef int set_grad_enabled(bint enabled) noexcept:
    cdef int before = not mindtorch_grad_disabled & NO_GRAD
    global mindtorch_grad_disabled
    mindtorch_grad_disabled = mindtorch_grad_disabled & ~NO_GRAD | (0 if enabled else NO_GRAD)
    return before


def set_below_autograd(bint below):
    """Set whether this thread runs a handler of __torch_dispatch__, in which nothing is recorded; returns the state."""
    global mindtorch_grad_disabled
    before = bool(is_below_autograd())
    mindtorch_grad_disabled = mindtorch_grad_disabled & ~BELOW_AUTOGRAD | (BELOW_AUTOGRAD if below else 0)
    return before


def below_autograd():
    """Whether this thread runs a handler of __torch_dispatch__."""
    return bool(is_below_autograd())


cdef bint inference_enabled() noexcept:
    return mindtorch_grad_disabled & INFERENCE


cdef CreationMeta creation_meta_of_mode() noexcept:
    # Most views are made in grad mode. A handler of __torch_dispatch__ makes tensors of which autograd knows nothing.
    if not mindtorch_grad_disabled or mindtorch_grad_disabled & BELOW_AUTOGRAD:
        return DEFAULT
    return INFERENCE_MODE if mindtorch_grad_disabled & INFERENCE else NO_GRAD_MODE


tensor_module.creation_meta_of_mode = creation_meta_of_mode


cdef bint saves_inference() noexcept:
    return mindtorch_saves_inference


def set_saves_inference(bint enabled):
    """Set whether nodes of this thread save tensors of inference mode, as in torch.func; returns the mode before."""
    global mindtorch_saves_inference
    before = bool(mindtorch_saves_inference)
    mindtorch_saves_inference = enabled
    return before


cdef int check_inference_write(TensorBase written) except -1:
    """RuntimeError for a tensor of inference mode that is to be written to outside it."""
    cdef AutogradMeta meta = <AutogradMeta>written.autograd
    if meta is not None and meta.is_inference and not inference_enabled():
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a "
                           "clone to get a normal tensor before doing inplace update.See "
                           "https://github.com/pytorch/rfcs/pull/17 for more details.")
    return 0


def is_grad_enabled():
    """Whether operators are recorded, in this thread.

    Example:
        >>> with torch.no_grad():
        ...     print(torch.is_grad_enabled())
        False
    """
    return not mindtorch_grad_disabled & NO_GRAD


def _set_grad_enabled(bint enabled):
    """Set grad mode of this thread; returns the mode before."""
    return bool(set_grad_enabled(enabled))


def is_inference_mode_enabled():
    """Whether this thread is in inference_mode.

    Example:
        >>> with torch.inference_mode():
        ...     print(torch.is_inference_mode_enabled())
        True
    """
    return bool(inference_enabled())


def _set_inference_mode(bint enabled):
    """Set inference mode of this thread; returns the mode before."""
    global mindtorch_grad_disabled
    before = bool(inference_enabled())
    if enabled != before:
        tensor_module.inference_threads += 1 if enabled else -1
    mindtorch_grad_disabled = mindtorch_grad_disabled & ~INFERENCE | (INFERENCE if enabled else 0)
    return before


def is_anomaly_enabled():
    """Whether nodes keep the traceback of their forward.

    Example:
        >>> with torch.autograd.detect_anomaly(check_nan=False):
        ...     print(torch.is_anomaly_enabled())
        True
    """
    return anomaly_mode > 0


def is_anomaly_check_nan_enabled():
    """Whether backward checks the gradients of every node for NaN.

    Example:
        >>> torch.is_anomaly_check_nan_enabled()
        False
    """
    return anomaly_mode == 2


def set_anomaly_enabled(bint enabled, bint check_nan=True):
    """Switch anomaly detection for the process; `autograd.set_detect_anomaly` is the context manager.

    Arguments:
        enabled: whether it is on
        check_nan: whether NaN in a gradient raises an error

    Example:
        >>> torch.set_anomaly_enabled(True)
        >>> torch.is_anomaly_enabled()
        True
        >>> torch.set_anomaly_enabled(False)
    """
    global anomaly_mode
    anomaly_mode = (2 if check_nan else 1) if enabled else 0


def push_saved_tensors_hooks(pack, unpack_value):
    """Have this thread save pack(tensor) in place of tensors; backward calls unpack with it."""
    global saved_hooks_active
    if not hasattr(THREAD, "saved_hooks"):
        THREAD.saved_hooks = []
    THREAD.saved_hooks.append((pack, unpack_value))
    saved_hooks_active += 1


cdef tuple saved_hooks():
    stack = getattr(THREAD, "saved_hooks", None)
    return stack[len(stack) - 1] if stack else None


def thread_modes():
    """The modes and saved_tensors_hooks of this thread, for restore_thread_modes."""
    return is_grad_enabled(), is_inference_mode_enabled(), tuple(getattr(THREAD, "saved_hooks", ()))


def restore_thread_modes(tuple modes):
    """Restore what thread_modes() returned."""
    global saved_hooks_active
    grad, inference, hooks = modes
    set_grad_enabled(grad)
    _set_inference_mode(inference)
    stack = THREAD.__dict__.setdefault("saved_hooks", [])
    saved_hooks_active += len(hooks) - len(stack)
    stack[:] = hooks


def pop_saved_tensors_hooks():
    """Undo the last push_saved_tensors_hooks of this thread."""
    global saved_hooks_active
    THREAD.saved_hooks.pop()
    saved_hooks_active -= 1


# --- the autograd data of tensors ------------------------------------------------------------------------------------

@cython.final
@cython.freelist(64)
cdef class AutogradMeta:
    pass


cdef AutogradMeta materialize_autograd_meta(TensorBase tensor):
    if tensor.autograd is None:
        tensor.autograd = AutogradMeta.__new__(AutogradMeta)
    return <AutogradMeta>tensor.autograd


cdef bint any_may_require_grad(list tensors) noexcept:
    for tensor in tensors:
        if may_require_grad(<TensorBase>tensor):
            return True
    return False


cdef bint requires_grad(TensorBase tensor) except -1:
    cdef AutogradMeta meta
    if tensor is None:
        return False
    if tensor.autograd is not None:
        meta = <AutogradMeta>tensor.autograd
        if meta.requires_grad or meta.grad_fn is not None:
            return True
        if meta.is_inference:               # its views have no history
            return False
    # A view requires a gradient if an in-place operator made its base require one.
    return tensor.base is not None and is_differentiable_dtype(tensor.dtype) and requires_grad(tensor.base)


cdef bint any_requires_grad(list tensors) except -1:
    for tensor in tensors:
        if requires_grad(<TensorBase>tensor):
            return True
    return False


cdef bint is_differentiable_dtype(ScalarType dtype) noexcept:
    return KIND[<int>dtype] >= FLOAT_KIND


cdef object mark_inference(TensorBase tensor, TensorBase base):
    if inference_enabled() if base is None else (<AutogradMeta>base.autograd).is_inference:
        materialize_autograd_meta(tensor).is_inference = True


tensor_module.mark_inference = mark_inference


# --- nodes -----------------------------------------------------------------------------------------------------------

@cython.final
cdef class NodeType:
    pass


cdef NodeType node_type(str name):
    cdef NodeType kind = NodeType.__new__(NodeType)
    kind.name = name
    kind.saved_names = ()
    return kind


cdef type python_class_of(NodeType kind):
    if kind.python_class is None:
        kind.python_class = type(kind.name, (Node,), {"__slots__": (), "__module__": "mindtorch.autograd"})
    return kind.python_class


cdef Node new_node(NodeType kind, int edges):
    # The constructor of Node makes the subclass: a call of the class would look up __new__ and __init__.
    cdef Node node = <Node>(<PyTypeObject *>Node).tp_new(python_class_of(kind), <PyObject *>NO_ARGUMENTS, NULL)
    node.kind = kind
    node.set_edges(edges)
    return node


cdef uint64_t next_sequence_nr() noexcept:
    global last_sequence_nr
    last_sequence_nr += 1
    return last_sequence_nr


cdef class Node:
    """A call of an operator. `next_functions` are the nodes that made its operands.

    Example:
        >>> y = torch.ones(1, requires_grad=True).exp()
        >>> y.grad_fn.name(), isinstance(y.grad_fn, torch.autograd.graph.Node)
        ('ExpBackward0', True)
    """

    def __cinit__(self, *args, **kwargs):
        self.input_nrs = self.inline_input_nrs
        self.sequence_nr = next_sequence_nr()
        if anomaly_mode:
            self.user_metadata = {"traceback_": traceback.format_stack()}

    def __dealloc__(self):
        cdef int i
        if self.input_nrs != self.inline_input_nrs:
            free(self.input_nrs)
        for i in range(self.output_count):
            free_metadata(&self.metadata[i])
        if self.metadata != &self.inline_metadata:
            free(self.metadata)

    cdef int set_edges(self, int count) except -1:
        if count > 4:
            self.input_nrs = <int *>malloc(count * sizeof(int))
            if self.input_nrs == NULL:
                self.input_nrs = self.inline_input_nrs
                raise MemoryError()
        self.edges = [None] * count
        return 0

    cdef list apply(self, list grads, set needed):
        return call_backward_function(self, grads, needed)

    cdef int release(self) except -1:
        cdef Py_ssize_t i
        if self.saved is not None:
            for i in range(len(self.saved)):
                self.saved[i] = without_saved_tensors(self.saved[i])
        return 0

    # The interface of torch.autograd.graph.Node.

    def name(self):
        """The name of the node's class, "AddBackward0"."""
        return type(self).__name__

    @property
    def next_functions(self):
        """(node, number of its output) for each operand; (None, 0) where it needs no gradient."""
        return tuple([(edge, self.input_nrs[i] if edge is not None else 0) for i, edge in enumerate(self.edges or ())])

    @property
    def metadata(self):
        """A dictionary for users' notes; anomaly mode keeps the traceback of the forward in it."""
        if self.user_metadata is None:
            self.user_metadata = {}
        return self.user_metadata

    def _sequence_nr(self):
        return self.sequence_nr

    def _set_sequence_nr(self, uint64_t number):
        self.sequence_nr = number

    @property
    def _input_metadata(self):
        """Shape, dtype and device of each result: of the gradients that the node takes."""
        return [OutputMetadata(make_size(self.metadata[i].ndim, self.metadata[i].sizes),
                               None if <int>self.metadata[i].dtype < 0 else DTYPES[<int>self.metadata[i].dtype],
                               make_device(self.metadata[i].device_type, self.metadata[i].device_index))
                for i in range(self.output_count)]

    def __call__(self, *grads):
        """The gradients of the operands for the gradients of the results."""
        if len(grads) != self.output_count:
            raise TypeError(f"expected {self.output_count} arguments, got {len(grads)} instead")
        results = self.apply(list(grads), None)
        return results[0] if len(results) == 1 else tuple(results)

    def register_hook(self, hook):
        """Call hook(grad_inputs, grad_outputs) after the node ran; the hook may return other grad_inputs."""
        if self.posthooks is None:
            self.posthooks = {}
        return removable_handle(self.posthooks, hook)

    def register_prehook(self, hook):
        """Call hook(grad_outputs) before the node runs; the hook may return other grad_outputs."""
        if self.prehooks is None:
            self.prehooks = {}
        return removable_handle(self.prehooks, hook)

    def __getattr__(self, str attribute):
        marker, _, name = attribute.partition("saved_")
        if marker in ("_", "_raw_") and self.kind is not None and name in self.kind.saved_names:
            value = self.saved[self.kind.saved_names.index(name)]
            return unpack_value(self, value) if marker == "_" else raw_value(value)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute}'")


class OutputMetadata(namedtuple("OutputMetadata", ("shape", "dtype", "device"))):
    """Shape, dtype and device of one of a node's results."""

    __slots__ = ()
    is_nested_tensor = is_cpp_nested_tensor = False


ALWAYS_COMPUTED = new_node(node_type("AlwaysComputed"), 0)


cdef object without_saved_tensors(object value):
    if type(value) is SavedTensor:
        return FREED
    if type(value) is list:
        return [without_saved_tensors(item) for item in <list>value]
    return value


cdef object removable_handle(dict hooks, object hook):
    from mindtorch._core.removable_handle import RemovableHandle
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


cdef void free_metadata(InputMetadata *metadata) noexcept:
    if metadata.sizes != metadata.inline_sizes:
        free(metadata.sizes)


cdef int set_metadata(InputMetadata *metadata, TensorBase tensor) except -1:
    metadata.dtype = tensor.dtype
    metadata.device_type = reported_device_type(tensor)
    metadata.device_index = reported_device_index(tensor)
    metadata.ndim = tensor.ndim
    metadata.sizes = metadata.inline_sizes
    if tensor.ndim > INLINE_DIMS:
        metadata.sizes = <int64_t *>malloc(tensor.ndim * sizeof(int64_t))
        if metadata.sizes == NULL:
            metadata.sizes = metadata.inline_sizes
            metadata.ndim = 0
            raise MemoryError()
    memcpy(metadata.sizes, tensor.sizes, tensor.ndim * sizeof(int64_t))
    return 0


cdef int set_undefined_metadata(InputMetadata *metadata) noexcept:
    """The metadata of a result that is no tensor."""
    metadata.ndim = 0
    metadata.sizes = metadata.inline_sizes
    return 0


cdef int set_output_metadata(Node node, TensorBase result) except -1:
    node.metadata = &node.inline_metadata
    set_metadata(node.metadata, result)
    node.output_count = 1
    return record_forward_stream(node, result)


cdef int set_outputs_metadata(Node node, list results) except -1:
    cdef int i, last = 0
    node.metadata = <InputMetadata *>malloc(max(len(results), 1) * sizeof(InputMetadata))
    if node.metadata == NULL:
        node.metadata = &node.inline_metadata
        raise MemoryError()
    for i in range(len(results)):
        if results[i] is None:               # the caller does not need the result, or it has no history
            set_undefined_metadata(&node.metadata[i])
        else:
            set_metadata(&node.metadata[i], <TensorBase>results[i])
            last = i
        node.output_count += 1
    for i in range(len(results)):            # those without metadata get the device of the others
        if results[i] is None:
            node.metadata[i].device_type = node.metadata[last].device_type
            node.metadata[i].device_index = node.metadata[last].device_index
    return record_forward_stream(node, <TensorBase>results[last])


cdef int record_forward_stream(Node node, TensorBase tensor) except -1:
    if BACKENDS[tensor.device_type].streams:
        from mindtorch._core import hooks
        node.stream = hooks.current_stream(tensor.device_index)
    return 0


# --- leaves ----------------------------------------------------------------------------------------------------------

@cython.final
@cython.no_gc_clear
cdef class AccumulateGrad(Node):
    """The node of a leaf: adds to `variable.grad`."""

    def __dealloc__(self):
        if self.variable is not None and self.variable.autograd is not None:
            meta = <AutogradMeta>self.variable.autograd
            if meta.grad_accumulator == <void *>self:
                meta.grad_accumulator = NULL

    cdef list apply(self, list grads, set needed):
        cdef TensorBase grad = <TensorBase>grads[0]
        if grad is not None:
            accumulate_grad(self.variable, grad)
        return []

    def name(self):
        return "torch::autograd::AccumulateGrad"


cdef NodeType ACCUMULATE_GRAD = node_type("AccumulateGrad")
cdef Node make_grad_accumulator(TensorBase leaf, AutogradMeta meta):
    cdef AccumulateGrad node = AccumulateGrad.__new__(AccumulateGrad)
    node.kind = ACCUMULATE_GRAD
    node.edges = []
    node.variable = leaf
    set_output_metadata(node, leaf)
    if meta.grad_dtype is not None:
        node.metadata.dtype = <ScalarType><int>meta.grad_dtype
    if meta.hooks is not None:
        node.tensor_hooks = {0: meta.hooks}
    meta.grad_accumulator = <void *>node
    return node


# --- saved tensors ---------------------------------------------------------------------------------------------------

@cython.final
@cython.freelist(64)
cdef class SavedTensor:
    def __init__(self):
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden. Nodes make them.")

    def register_hooks(self, *hooks):
        """register_hooks(pack_hook, unpack_hook): keep pack_hook(tensor); unpack_hook of it gives the tensor."""
        if self is FREED:
            raise RuntimeError("Calling register_hooks on a saved tensor after it has been freed. The graph frees its "
                               "tensors when backward() or autograd.grad() has used them, unless retain_graph=True.")
        if len(hooks) != 2 or not callable(hooks[0]) or not callable(hooks[1]):
            raise TypeError("register_hooks(): incompatible function arguments. The following argument types are "
                            "supported: (pack_hook: function, unpack_hook: function)")
        if self.unpack is not None:
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. A second "
                               "pair of hooks is not supported.")
        if self.tensor is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        pack_tensor(self, self.tensor, hooks[0], hooks[1])


FREED = SavedTensor.__new__(SavedTensor)


cdef object raw_value(object value):
    """The saved value before it is unpacked: a SavedTensor, for None as well."""
    if type(value) in (list, tuple):
        return tuple([raw_value(one) for one in value])
    return SavedTensor.__new__(SavedTensor) if value is None else value


cdef object unpack_value(Node node, object value):
    """The value that a node saved."""
    if type(value) is SavedTensor:
        return unpack_saved(node, <SavedTensor>value)
    if type(value) is list:
        return [unpack_value(node, one) for one in <list>value]
    return value


cdef TensorBase unpack_saved(Node node, SavedTensor saved):
    cdef TensorBase tensor
    if saved is FREED:
        raise RuntimeError(
            "Trying to backward through the graph a second time (or directly access saved tensors after they have "
            "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
            "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
            "you need to access saved tensors after calling backward.")
    if saved.unpack is not None:
        packed, origin, origin_nr = saved.packed
        tensor = unpack_tensor(saved.unpack, packed)
        if origin is not None:              # the tensor of the hook gets the history that the operand had
            tensor = alias_of(tensor)
            set_saved_history(tensor, <Node>origin, origin_nr)
    else:
        tensor = saved.tensor
        if version_of(tensor) != saved.version:
            raise_version_mismatch(node, saved, tensor)
        if saved.has_grad_fn and (<AutogradMeta>tensor.autograd).grad_fn is None:
            raise RuntimeError(
                "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not "
                "supported: use an out-of-place detach() instead")
    if saved.output_nr >= 0:
        tensor = alias_of(tensor)
        set_saved_history(tensor, node, saved.output_nr)
    return tensor


cdef TensorBase unpack_tensor(object unpack, object packed):
    tensor = unpack(packed)
    if not isinstance(tensor, TensorBase):
        raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                        f"{type(tensor).__name__}")
    return <TensorBase>tensor


cdef int set_saved_history(TensorBase tensor, Node node, int output_nr) except -1:
    """Give an unpacked tensor the history of the saved one, for double backward."""
    cdef AutogradMeta meta = materialize_autograd_meta(tensor)
    meta.grad_fn = node
    meta.output_nr = output_nr
    return 0


cdef int raise_version_mismatch(Node node, SavedTensor saved, TensorBase tensor) except -1:
    origin = (f"which is output {saved.output_nr} of {short_name(node)}," if saved.output_nr >= 0 else
              origin_text(tensor))
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{(<object>tensor).type()} {shape_text(tensor.ndim, tensor.sizes)}]"
        f"{', ' if origin else ''}{origin} is at version {version_of(tensor)}; expected version {saved.version} "
        "instead. Hint: " + (
            "the backtrace further above shows the operation that failed to compute its gradient. The variable in "
            "question was changed in there or anywhere later. Good luck!" if anomaly_mode else
            "enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True, check_nan=False)."))


cdef str origin_text(TensorBase tensor):
    cdef AutogradMeta meta = <AutogradMeta>tensor.autograd
    if meta is None or meta.grad_fn is None:
        return ""
    return f"which is output {meta.output_nr} of {short_name(meta.grad_fn)},"


cdef str short_name(Node node):
    name = node.name().rstrip("0123456789")
    return name.removesuffix("Backward")


# --- the functions of nodes ------------------------------------------------------------------------------------------

cdef list call_backward_function(Node node, list grads, set needed):
    """Call the generated function of the row's derivatives, where there is a gradient and an edge that needs one."""
    cdef NodeType kind = node.kind
    cdef Py_ssize_t i, count = len(node.edges), fixed = kind.edge_count - kind.has_list_edge
    cdef list mask = [False] * kind.edge_count
    cdef list arguments = [mask], found
    cdef bint anything = False
    for i in range(count):
        if should_compute_edge(node, i, needed):
            mask[i if i < fixed else fixed] = anything = True
    if not anything or not append_output_grads(arguments, node, grads):
        return [None] * count
    if node.saved is not None:
        for value in node.saved:
            arguments.append(unpack_value(node, value))
    if kind.function is None:
        kind.function = getattr(import_module(f"mindtorch._core._gen.backward.{kind.family}"), kind.function_name)
    found = <list>PyObject_Vectorcall(kind.function, PySequence_Fast_ITEMS(arguments), len(arguments), NULL)
    if kind.has_list_edge:
        list_grads = found.pop()
        found += [None] * (count - fixed) if list_grads is None else list_grads
    return found


cdef bint append_output_grads(list arguments, Node node, list grads) except -1:
    """Append the gradients of the results that the function takes; whether any result has a gradient."""
    cdef NodeType kind = node.kind
    cdef int i
    if kind.returns_views:
        arguments.append([grad_or_zeros(node, grads, i) for i in range(len(grads))])
        return True
    if kind.result_count == 1:
        arguments.append(grads[0])
        return grads[0] is not None
    for i in range(kind.result_count):
        if grads[i] is not None and (kind.results_with_history >> i) & 1:
            break
    else:
        return False
    if kind.takes_all_grads:
        arguments.append(grads)
    for i in kind.grad_arguments:
        arguments.append(grad_or_zeros(node, grads, i))
    return True


cdef object grad_or_zeros(Node node, list grads, int output_nr):
    return zeros_like_metadata(&node.metadata[output_nr]) if grads[output_nr] is None else grads[output_nr]


cdef object zeros_like_metadata(InputMetadata *metadata):
    return derivative_functions().ops.zeros(
        tuple([metadata.sizes[i] for i in range(metadata.ndim)]), dtype=DTYPES[<int>metadata.dtype],
        device=make_device(metadata.device_type, metadata.device_index))


cdef object DERIVATIVE_FUNCTIONS = None


cdef object derivative_functions():
    global DERIVATIVE_FUNCTIONS
    if DERIVATIVE_FUNCTIONS is None:
        from mindtorch._ops.derivatives import view as module
        DERIVATIVE_FUNCTIONS = module
    return DERIVATIVE_FUNCTIONS
