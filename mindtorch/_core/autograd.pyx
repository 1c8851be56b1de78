"""The graph that backward follows. The engine that follows it is engine.pyx."""
import threading
import traceback

cimport cython
from cpython.object cimport PyObject, PyTypeObject
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from mindtorch._core cimport tensor as tensor_module
from mindtorch._core.dtype cimport DTYPES, KIND
from mindtorch._core.scalar cimport FLOAT_KIND, scalar_to
from mindtorch._core.tensor cimport make_alias, make_size

cdef extern from *:
    """
    static _Thread_local int mindtorch_grad_disabled;
    static _Thread_local int mindtorch_inference;
    """
    int mindtorch_grad_disabled
    int mindtorch_inference


cdef uint64_t next_sequence_nr = 0
cdef tuple NO_ARGUMENTS = ()
cdef object FREED = object()               # stands where a saved tensor was
cdef int anomaly_mode = 0                  # of the process, as torch's
cdef int saved_hooks_active = 0            # threads that have saved_tensors_hooks
THREAD = threading.local()                 # .saved_hooks: a stack of (pack, unpack)


# --- modes -----------------------------------------------------------------------------------------------------------

cdef bint grad_enabled() noexcept:
    return not mindtorch_grad_disabled


cdef int set_grad_enabled(bint enabled) noexcept:
    cdef int before = not mindtorch_grad_disabled
    global mindtorch_grad_disabled
    mindtorch_grad_disabled = not enabled
    return before


def is_grad_enabled():
    """Whether operators are recorded, in this thread."""
    return bool(grad_enabled())


def _set_grad_enabled(bint enabled):
    """Set the mode of this thread; gives the mode before."""
    return bool(set_grad_enabled(enabled))


def is_inference_mode_enabled():
    """Whether this thread is in inference_mode."""
    return bool(mindtorch_inference)


def _set_inference_mode(bint enabled):
    """Set the mode of this thread; gives the mode before."""
    global mindtorch_inference
    before = bool(mindtorch_inference)
    if enabled != before:
        tensor_module.inference_threads += 1 if enabled else -1
    mindtorch_inference = enabled
    return before


cdef object mark_inference_tensor(TensorBase tensor):
    if mindtorch_inference:
        meta_of(tensor).is_inference = True


tensor_module.mark_inference = mark_inference_tensor


def is_anomaly_enabled():
    """Whether nodes remember where they were made."""
    return anomaly_mode > 0


def is_anomaly_check_nan_enabled():
    """Whether backward looks for NaN in what every node gives."""
    return anomaly_mode == 2


def set_anomaly_enabled(bint enabled, bint check_nan=True):
    """Switch anomaly detection for the process; `autograd.set_detect_anomaly` is the context manager."""
    global anomaly_mode
    anomaly_mode = (2 if check_nan else 1) if enabled else 0


def push_saved_tensors_hooks(pack, unpack):
    """What this thread saves from now on goes through `pack`, and through `unpack` when backward wants it."""
    global saved_hooks_active
    if not hasattr(THREAD, "saved_hooks"):
        THREAD.saved_hooks = []
    THREAD.saved_hooks.append((pack, unpack))
    saved_hooks_active += 1


def pop_saved_tensors_hooks():
    """Undo the last push of this thread."""
    global saved_hooks_active
    THREAD.saved_hooks.pop()
    saved_hooks_active -= 1


# --- what tensors know -----------------------------------------------------------------------------------------------

@cython.final
@cython.freelist(64)
cdef class AutogradMeta:
    pass


cdef AutogradMeta meta_of(TensorBase tensor):
    if tensor.autograd is None:
        tensor.autograd = AutogradMeta.__new__(AutogradMeta)
    return <AutogradMeta>tensor.autograd


cdef bint tracked_list(list tensors) noexcept:
    for tensor in tensors:
        if tracked(<TensorBase>tensor):
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
    # A view takes part when its base has come to.
    return tensor.base is not None and differentiable(tensor.dtype) and requires_grad(tensor.base)


cdef bint operands_require_grad(list tensors) except -1:
    for tensor in tensors:
        if requires_grad(<TensorBase>tensor):
            return True
    return False


cdef bint differentiable(ScalarType dtype) noexcept:
    return KIND[<int>dtype] >= FLOAT_KIND


cdef Node current_grad_fn(TensorBase tensor):
    """The node that made the tensor. A view's is made anew after an in-place write to its base."""
    cdef AutogradMeta meta = <AutogradMeta>tensor.autograd
    cdef AutogradMeta of_base
    if tensor.base is not None and tensor.base.autograd is not None:
        of_base = <AutogradMeta>tensor.base.autograd
        if of_base.grad_fn is not None and differentiable(tensor.dtype):
            if meta is None or meta.grad_fn is None or meta.seen_version != tensor.storage.version:
                return regenerate(tensor)
    return None if meta is None else meta.grad_fn


cdef Node regenerate(TensorBase view):
    cdef AutogradMeta meta = meta_of(view)
    cdef ViewNode node
    if meta.refusal is not None and meta.grad_fn is None:
        return None                     # made in no_grad mode: it has no history
    node = view_node(view)
    connect(node, 0, view.base)
    set_history(view, node, 0)
    return node


cdef Node gradient_edge(TensorBase tensor, int *input_nr):
    cdef AutogradMeta meta
    cdef Node node
    input_nr[0] = 0
    if tensor is None or not tracked(tensor):
        return None
    node = current_grad_fn(tensor)
    if node is not None:
        input_nr[0] = (<AutogradMeta>tensor.autograd).output_nr
        return node
    meta = <AutogradMeta>tensor.autograd
    if meta is None or not meta.requires_grad:
        return None
    if meta.accumulator != NULL:
        return <Node>meta.accumulator
    return accumulator_for(tensor, meta)


# --- nodes -----------------------------------------------------------------------------------------------------------

@cython.final
cdef class NodeType:
    pass


cdef NodeType node_type(str name, list (*apply)(Node, list, set), tuple saved_names):
    cdef NodeType kind = NodeType.__new__(NodeType)
    kind.name = name
    kind.apply = apply
    kind.saved_names = saved_names
    return kind


cdef type class_of(NodeType kind):
    if kind.python_class is None:
        kind.python_class = type(kind.name, (Node,), {"__slots__": (), "__module__": "mindtorch.autograd"})
    return kind.python_class


cdef Node new_node(NodeType kind, int edges):
    # The base's constructor for the subclass: calling the class would look up more.
    cdef Node node = <Node>(<PyTypeObject *>Node).tp_new(class_of(kind), <PyObject *>NO_ARGUMENTS, NULL)
    node.kind = kind
    node.set_edges(edges)
    return node


cdef class Node:
    """An operator that took place. `next_functions` are the nodes its operands came from."""

    def __cinit__(self, *args, **kwargs):
        global next_sequence_nr
        self.input_nrs = self.inline_input_nrs
        self.sequence_nr = next_sequence_nr
        next_sequence_nr += 1
        if anomaly_mode:
            self.info = {"traceback_": traceback.format_stack()}

    def __dealloc__(self):
        cdef int i
        if self.input_nrs != self.inline_input_nrs:
            free(self.input_nrs)
        for i in range(self.outputs):
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
        return self.kind.apply(self, grads, needed)

    cdef int release(self) except -1:
        cdef Py_ssize_t i
        if self.saved is not None:
            for i in range(len(self.saved)):
                self.saved[i] = freed(self.saved[i])
        return 0

    # What users see of a node.

    def name(self):
        """The name of the operator's derivative, "AddBackward0"."""
        return type(self).__name__

    @property
    def next_functions(self):
        """(node, number of its output) for each operand; (None, 0) where no gradient is wanted."""
        return tuple([(edge, self.input_nrs[i] if edge is not None else 0) for i, edge in enumerate(self.edges or ())])

    @property
    def metadata(self):
        """A dictionary for the user's notes; anomaly mode keeps the forward traceback in it."""
        if self.info is None:
            self.info = {}
        return self.info

    def _sequence_nr(self):
        return self.sequence_nr

    def _input_metadata_count(self):
        return self.outputs

    def __call__(self, *grads):
        """The gradients of the operands, given those of the results."""
        results = self.apply(list(grads), None)
        return results[0] if len(results) == 1 else tuple(results)

    def register_hook(self, hook):
        """Call hook(grad_inputs, grad_outputs) after the node ran; it may give other grad_inputs."""
        if self.posthooks is None:
            self.posthooks = {}
        return removable_handle(self.posthooks, hook)

    def register_prehook(self, hook):
        """Call hook(grad_outputs) before the node runs; it may give other grad_outputs."""
        if self.prehooks is None:
            self.prehooks = {}
        return removable_handle(self.prehooks, hook)

    def __getattr__(self, str attribute):
        if attribute.startswith("_saved_") and self.kind is not None:
            name = attribute[7:]
            if name in self.kind.saved_names:
                value = self.saved[self.kind.saved_names.index(name)]
                index = self.kind.saved_names.index(name)
                if value is FREED or isinstance(value, SavedTensor):
                    return unpack(self, index)
                return value
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute}'")


cdef object freed(object value):
    if type(value) is SavedTensor:
        return FREED
    if type(value) is list:
        return [freed(item) for item in <list>value]
    return value


cdef object removable_handle(dict hooks, object hook):
    from mindtorch.utils.hooks import RemovableHandle
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


cdef void free_metadata(Metadata *metadata) noexcept:
    if metadata.sizes != metadata.inline_sizes:
        free(metadata.sizes)


cdef int describe(Metadata *metadata, TensorBase tensor) except -1:
    metadata.dtype = tensor.dtype
    metadata.device_type = tensor.device_type
    metadata.device_index = tensor.device_index
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


cdef int describe_nothing(Metadata *metadata) noexcept:
    """Of a result that is no tensor."""
    metadata.ndim = 0
    metadata.sizes = metadata.inline_sizes
    return 0


cdef int describe_outputs(Node node, list results) except -1:
    cdef int i
    if len(results) == 1:
        node.metadata = &node.inline_metadata
    else:
        node.metadata = <Metadata *>malloc(max(len(results), 1) * sizeof(Metadata))
        if node.metadata == NULL:
            raise MemoryError()
    for i in range(len(results)):
        describe(&node.metadata[i], <TensorBase>results[i])
        node.outputs += 1
    return 0


# --- leaves ----------------------------------------------------------------------------------------------------------

@cython.final
@cython.no_gc_clear
cdef class AccumulateGrad(Node):
    """Where a graph ends: adds to `variable.grad`."""

    def __dealloc__(self):
        if self.variable is not None and self.variable.autograd is not None:
            meta = <AutogradMeta>self.variable.autograd
            if meta.accumulator == <void *>self:
                meta.accumulator = NULL

    cdef list apply(self, list grads, set needed):
        if grads[0] is not None:
            accumulate(self.variable, <TensorBase>grads[0])
        return []

    def name(self):
        return "torch::autograd::AccumulateGrad"


cdef NodeType ACCUMULATE = node_type("AccumulateGrad", NULL, ())
cdef Node accumulator_for(TensorBase leaf, AutogradMeta meta):
    cdef AccumulateGrad node = AccumulateGrad.__new__(AccumulateGrad)
    node.kind = ACCUMULATE
    node.edges = []
    node.variable = leaf
    node.metadata = &node.inline_metadata
    describe(node.metadata, leaf)
    node.outputs = 1
    if meta.hooks is not None:
        node.tensor_hooks = {0: meta.hooks}
    meta.accumulator = <void *>node
    return node


# --- views and in-place operators ------------------------------------------------------------------------------------

cdef tuple geometry_of(TensorBase tensor):
    return (tuple([tensor.sizes[i] for i in range(tensor.ndim)]),
            tuple([tensor.strides[i] for i in range(tensor.ndim)]), tensor.offset)


@cython.final
cdef class ViewNode(Node):
    cdef list apply(self, list grads, set needed):
        if grads[0] is None:
            return [None]
        return [formulas().as_strided_backward(grads[0], self.base_geometry, self.geometry)]

    def name(self):
        return "AsStridedBackward0"


@cython.final
cdef class CopySlices(Node):
    cdef list apply(self, list grads, set needed):
        if grads[0] is None:
            return [None] * len(self.edges)
        return formulas().copy_slices_backward(grads[0], self.base_geometry, self.geometry, self.of_view, needed)

    def of_view(self, grad, needed):
        """The gradients of the operator's own operands, given that of the view."""
        return self.inner.apply([grad], needed)

    cdef int release(self) except -1:
        return self.inner.release()


cdef NodeType VIEW = node_type("AsStridedBackward0", NULL, ())
cdef Node WANTED = new_node(VIEW, 0)       # stands for an edge whose gradient is wanted
cdef NodeType COPY_SLICES = node_type("CopySlices", NULL, ())


cdef ViewNode view_node(TensorBase view):
    cdef ViewNode node = ViewNode.__new__(ViewNode)
    node.kind = VIEW
    node.set_edges(1)
    node.base_geometry = geometry_of(view.base)
    node.geometry = geometry_of(view)
    return node


NO_GRAD_VIEW = (
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case "
    "is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace "
    "either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want "
    "the inplace to be tracked).")
MANY_VIEWS = (
    "Output {} of {} is a view and is being modified inplace. This view is the output of a function that returns "
    "multiple views. Such functions do not allow the output views to be modified inplace. You should replace the "
    "inplace operation by an out-of-place one.")


cdef bint recording_view(TensorBase self, object views) except -1:
    """Whether views of a tracked tensor are to be recorded; where not, in-place operators on them are refused."""
    if not mindtorch_grad_disabled:
        return requires_grad(self)
    if requires_grad(self):
        for view in views:
            meta_of(<TensorBase>view).refusal = NO_GRAD_VIEW
    return False


cdef int attach_views(list views, Node node) except -1:
    """The history of several views that one operator made."""
    cdef int i
    attach_outputs(views, node)
    for i in range(len(views)):
        meta_of(<TensorBase>views[i]).refusal = MANY_VIEWS.format(i, node.kind.name.removesuffix("Backward0"))
    return 0


cdef int adopt_history(TensorBase self, TensorBase view) except -1:
    cdef AutogradMeta of_view = <AutogradMeta>view.autograd
    if of_view is not None and of_view.grad_fn is not None:
        set_history(self, of_view.grad_fn, of_view.output_nr)
    return 0


cdef int record_strided(TensorBase view, TensorBase source) except -1:
    """as_strided sees the storage, so it is a view of the base itself."""
    cdef ViewNode node = ViewNode.__new__(ViewNode)
    node.kind = VIEW
    node.set_edges(1)
    node.base_geometry = geometry_of(source)
    node.geometry = geometry_of(view)
    connect(node, 0, source)
    return set_history(view, node, 0)


cdef bint recording(TensorBase out, str op) except -1:
    if mindtorch_grad_disabled:
        return False
    if out is not None:
        raise RuntimeError(f"{op}(): functions with out=... arguments don't support automatic differentiation, but one "
                           "of the arguments requires grad.")
    return True


LEAF = "a leaf Variable that requires grad is being used in an in-place operation."


cdef bint recording_inplace(TensorBase self, bint wanted) except -1:
    cdef AutogradMeta meta = <AutogradMeta>self.autograd
    cdef AutogradMeta of_base
    if meta is not None and meta.is_inference and not mindtorch_inference:
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a "
                           "clone to get a normal tensor before doing inplace update.See "
                           "https://github.com/pytorch/rfcs/pull/17 for more details.")
    if mindtorch_grad_disabled or not wanted:
        return False
    if self.base is not None:
        if meta is not None and meta.refusal is not None:
            raise RuntimeError(meta.refusal)
        of_base = <AutogradMeta>self.base.autograd
        if of_base is not None and of_base.requires_grad and of_base.grad_fn is None:
            raise RuntimeError(f"a view of {LEAF}")
    if meta is not None and meta.requires_grad and meta.grad_fn is None:
        raise RuntimeError(LEAF)
    return True


cdef TensorBase before_write(TensorBase self):
    from mindtorch._core.moves import clone
    before = set_grad_enabled(False)
    try:
        return clone(self)
    finally:
        set_grad_enabled(before)


cdef int rebase(TensorBase self, Node node, int output_nr) except -1:
    """`node` overwrote self: that is self's history now, and for a view that of the base."""
    cdef CopySlices slices
    cdef int i
    if self.base is None:
        return set_history(self, node, output_nr)
    if node.outputs == 0:
        describe_outputs(node, [self])
    slices = CopySlices.__new__(CopySlices)
    slices.kind = COPY_SLICES
    slices.set_edges(len(node.edges))
    slices.inner = node
    slices.base_geometry = geometry_of(self.base)
    slices.geometry = geometry_of(self)
    connect(slices, 0, self.base)
    for i in range(1, len(node.edges)):
        slices.edges[i] = node.edges[i]
        slices.input_nrs[i] = node.input_nrs[i]
    # The operator's own first operand, the view, is now reached through the base.
    node.edges[0] = None if slices.edges[0] is None else WANTED
    set_history(self.base, slices, 0)
    return regenerate(self) is None and 0


# --- recording -------------------------------------------------------------------------------------------------------

cdef bint connect(Node node, int index, TensorBase operand) except -1:
    cdef Node edge = gradient_edge(operand, &node.input_nrs[index])
    global next_sequence_nr
    if edge is None:
        return False
    if edge.sequence_nr > node.sequence_nr:         # a leaf's first use, or a view whose history was made anew
        node.sequence_nr = next_sequence_nr
        next_sequence_nr += 1
    node.edges[index] = edge
    return True


cdef bint connect_list(Node node, int first, list operands) except -1:
    cdef bint any_wanted = False
    cdef int i
    for i in range(len(operands)):
        if connect(node, first + i, <TensorBase>operands[i]):
            any_wanted = True
    return any_wanted


@cython.final
@cython.freelist(64)
cdef class SavedTensor:
    pass


cdef object save(TensorBase operand):
    if operand is None:
        return None
    if operand.autograd is not None and (<AutogradMeta>operand.autograd).is_inference:
        raise RuntimeError("Inference tensors cannot be saved for backward. Please do not use Tensors created in "
                           "inference mode in computation tracked by autograd. To work around this, you can make a "
                           "clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
                           "`torch.inference_mode()`.")
    return saved_tensor(operand, -1)


cdef object save_result(TensorBase result, int output_nr):
    return saved_tensor(make_alias(result), output_nr)


cdef SavedTensor saved_tensor(TensorBase tensor, int output_nr):
    cdef SavedTensor kept = SavedTensor.__new__(SavedTensor)
    kept.version = tensor.storage.version
    kept.output_nr = output_nr
    if saved_hooks_active and getattr(THREAD, "saved_hooks", None):
        stack = THREAD.saved_hooks
        pack, kept.unpack = stack[len(stack) - 1]
        if output_nr < 0:
            tensor = make_alias(tensor) if pack is None else tensor
        before = set_grad_enabled(False)
        try:
            kept.packed = pack(tensor)
        finally:
            set_grad_enabled(before)
    else:
        kept.tensor = tensor
    return kept


cdef list save_list(list operands):
    return [save(<TensorBase>operand) for operand in operands]


cdef object shape_of(TensorBase operand):
    return None if operand is None else make_size(operand.ndim, operand.sizes)


cdef tuple strides_of(TensorBase operand):
    return tuple([operand.strides[i] for i in range(operand.ndim)])


cdef list shapes_of(list operands):
    return [shape_of(<TensorBase>operand) for operand in operands]


cdef tuple ints_of(const Shape *ints):
    return tuple([ints.sizes[i] for i in range(ints.ndim)])


cdef object optional_number(const Scalar *number):
    return None if number == NULL else scalar_to(number)


cdef int set_history(TensorBase result, Node node, int output_nr) except -1:
    cdef AutogradMeta meta = meta_of(result)
    if output_nr == 0 and node.outputs == 0:
        describe_outputs(node, [result])
    meta.grad_fn = node
    meta.output_nr = output_nr
    meta.requires_grad = False
    meta.seen_version = result.storage.version
    if meta.hooks is not None:              # they belong to what the tensor was before
        meta.hooks = None
    if meta.retains_grad:
        retain(meta)
    return 0


cdef int retain(AutogradMeta meta) except -1:
    if meta.grad_fn.retained is None:
        meta.grad_fn.retained = {}
    meta.grad_fn.retained[meta.output_nr] = meta
    meta.retains_grad = True
    return 0


cdef int attach(TensorBase result, Node node, bint inplace) except -1:
    if not differentiable(result.dtype):
        return 0
    return rebase(result, node, 0) if inplace else set_history(result, node, 0)


cdef int attach_outputs(list results, Node node) except -1:
    cdef int i
    describe_outputs(node, results)
    for i in range(len(results)):
        if differentiable((<TensorBase>results[i]).dtype):
            set_history(<TensorBase>results[i], node, i)
    return 0


# --- reading nodes ---------------------------------------------------------------------------------------------------

cdef object unpack(Node node, int index):
    value = node.saved[index]
    return None if value is None else unpack_saved(node, value)


cdef list unpack_list(Node node, int index):
    return [None if value is None else unpack_saved(node, value) for value in node.saved[index]]


cdef TensorBase unpack_saved(Node node, object value):
    cdef SavedTensor kept
    cdef TensorBase tensor
    if value is FREED:
        raise RuntimeError(
            "Trying to backward through the graph a second time (or directly access saved tensors after they have "
            "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
            "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if "
            "you need to access saved tensors after calling backward.")
    kept = <SavedTensor>value
    tensor = kept.tensor if kept.unpack is None else kept.unpack(kept.packed)
    if kept.unpack is None and tensor.storage.version != kept.version:
        overwritten(node, kept, tensor)
    if kept.output_nr >= 0:
        tensor = make_alias(tensor)
        set_saved_history(tensor, node, kept.output_nr)
    return tensor


cdef int set_saved_history(TensorBase tensor, Node node, int output_nr) except -1:
    """An output that was saved: it has the node itself as its history, which keeps double backward right."""
    cdef AutogradMeta meta = meta_of(tensor)
    meta.grad_fn = node
    meta.output_nr = output_nr
    return 0


cdef int overwritten(Node node, SavedTensor kept, TensorBase tensor) except -1:
    origin = (f"which is output {kept.output_nr} of {node.name()}" if kept.output_nr >= 0 else
              described_origin(tensor))
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{type_text(tensor)} {list(shape_of(tensor))}]"
        f"{', ' if origin else ''}{origin}, is at version {tensor.storage.version}; expected version {kept.version} "
        "instead. Hint: " + (
            "the backtrace further above shows the operation that failed to compute its gradient. The variable in "
            "question was changed in there or anywhere later. Good luck!" if anomaly_mode else
            "enable anomaly detection to find the operation that failed to compute its gradient, with "
            "torch.autograd.set_detect_anomaly(True)."))


cdef str type_text(TensorBase tensor):
    from mindtorch._core.moves import type_string_of
    return type_string_of(tensor)


cdef str described_origin(TensorBase tensor):
    cdef AutogradMeta meta = <AutogradMeta>tensor.autograd
    if meta is None or meta.grad_fn is None:
        return ""
    return f"which is output {meta.output_nr} of {meta.grad_fn.name()}"


cdef bint wanted_any(Node node, int first, int count, set needed):
    cdef int i
    for i in range(first, first + count):
        if wanted(node, i, needed):
            return True
    return False


cdef list all_grads(Node node, list grads):
    cdef int i
    return [zeros_for(&node.metadata[i]) if grads[i] is None else grads[i] for i in range(len(grads))]


cdef object one_grad(Node node, list grads, int output_nr):
    return zeros_for(&node.metadata[output_nr]) if grads[output_nr] is None else grads[output_nr]


cdef object zeros_for(Metadata *metadata):
    from mindtorch._core.factories import zeros
    return zeros(tuple([metadata.sizes[i] for i in range(metadata.ndim)]), dtype=DTYPES[<int>metadata.dtype],
                 device=("cpu", f"npu:{metadata.device_index}")[metadata.device_type])


cdef object FORMULAS = None


cdef object formulas():
    global FORMULAS
    if FORMULAS is None:
        from mindtorch._ops import formulas as module
        FORMULAS = module
    return FORMULAS
