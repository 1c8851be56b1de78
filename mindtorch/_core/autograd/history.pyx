"""History of tensors: which operators are recorded, edges to their operands, what is saved, history of results and
views."""
cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t

cimport mindtorch._core.autograd.node as node_module
from mindtorch._core.autograd.node cimport (
    ALWAYS_COMPUTED, MAX_EDGES, MAX_SAVED, SAVED_BOOL, SAVED_CONSTANT, SAVED_DEVICE, SAVED_DTYPE, SAVED_DTYPE_OF,
    SAVED_FLOAT, SAVED_INT, SAVED_INTS, SAVED_NDIM, SAVED_OBJECT, SAVED_OPTIONAL_FLOAT, SAVED_RESULT, SAVED_SCALAR,
    SAVED_SELF, SAVED_SHAPE, SAVED_SHAPES, SAVED_STRIDE, SAVED_TENSOR, SAVED_TENSORS, AutogradMeta, Node, NodeType,
    SavedKind, SavedTensor, SavedValue, check_inference_write, derivative_functions, grad_enabled,
    is_differentiable_dtype, make_grad_accumulator, materialize_autograd_meta,
    may_require_grad, new_node, next_sequence_nr, node_type, requires_grad, saved_hooks, saved_hooks_active,
    saves_inference, set_grad_enabled, set_output_metadata, set_outputs_metadata, short_name,
)
from mindtorch._core.operators.operator cimport find_operator
from mindtorch._core.tensor.dtype cimport COMPLEX_KIND, DTYPES, KIND, scalar_to_python
from mindtorch._core.tensor.tensor cimport (
    DEFAULT, INFERENCE_MODE, IN_CUSTOM_FUNCTION, MULTI_OUTPUT_NODE, NO_GRAD_MODE, device_of, make_size, version_of,
)
from mindtorch._core.tensor.torch_dispatch cimport alias_of


# --- which operators are recorded ------------------------------------------------------------------------------------

cdef int raise_inplace_error(TensorBase view, str write) except -1:
    """The error of an in-place operator on a view, or on its base where the view is used afterwards; `write`: which."""
    cdef AutogradMeta meta = <AutogradMeta>view.autograd
    cdef bint has_node = meta is not None and meta.grad_fn is not None
    source = f"Output {meta.output_nr} of {short_name(meta.grad_fn)} is a view" if has_node else "A view"
    # Without a node a view was made without a record, or of a tensor that required no gradient.
    if view.creation_meta >= NO_GRAD_MODE or not has_node:
        source += " of a view which was created in" if has_node else " was created in"
        if view.creation_meta == INFERENCE_MODE:
            event = f"{source} inference mode and {write} modified inplace in normal mode."
        else:
            event = f"{source} no_grad mode and {write} modified inplace with grad mode enabled."
    else:
        event = f"{source} and {write} modified inplace."
    raise RuntimeError(f"{event} {INPLACE_REASONS[<int>view.creation_meta]}")


NO_GRAD_REASON = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or "
    "both outside (if you want the inplace to be tracked).")
INPLACE_REASONS = {
    <int>IN_CUSTOM_FUNCTION:
        "This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the custom backward associated with the custom Function, leading "
        "to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
        "Function.",
    <int>MULTI_OUTPUT_NODE:
        "This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    <int>NO_GRAD_MODE: NO_GRAD_REASON,
    <int>INFERENCE_MODE: NO_GRAD_REASON.replace("no_grad", "inference_mode")}


cdef bint should_record(TensorBase out, str op) except -1:
    if not grad_enabled():
        return False
    if out is not None:
        raise RuntimeError(f"{op}(): functions with out=... arguments don't support automatic differentiation, but one "
                           "of the arguments requires grad.")
    return True


LEAF_ERROR = "a leaf Variable that requires grad is being used in an in-place operation."


cdef bint should_record_inplace(TensorBase self, bint wanted) except -1:
    cdef AutogradMeta meta = <AutogradMeta>self.autograd
    cdef AutogradMeta base_meta
    check_inference_write(self)
    if not grad_enabled() or not wanted:
        return False
    if self.base is not None:
        if self.creation_meta != DEFAULT:
            raise_inplace_error(self, "is being")
        base_meta = <AutogradMeta>self.base.autograd
        if requires_grad(self) and (base_meta is None or base_meta.grad_fn is None):
            raise RuntimeError(f"a view of {LEAF_ERROR}")
    if meta is not None and meta.requires_grad and meta.grad_fn is None:
        raise RuntimeError(LEAF_ERROR)
    return True


cdef bint should_record_view(TensorBase self) except -1:
    cdef AutogradMeta meta
    if not grad_enabled() or not requires_grad(self):
        return False
    meta = <AutogradMeta>self.autograd
    return meta is None or not meta.is_inference


cdef int mark_multiple_views(list views) except -1:
    if grad_enabled():
        for view in views:
            if (<TensorBase>view).creation_meta != INFERENCE_MODE:
                (<TensorBase>view).creation_meta = MULTI_OUTPUT_NODE
    return 0


# --- edges -----------------------------------------------------------------------------------------------------------

cdef Node current_grad_fn(TensorBase tensor):
    """The node that made the tensor. A view gets a new one after an in-place write to its base."""
    cdef AutogradMeta meta = <AutogradMeta>tensor.autograd
    if tensor.base is None or not is_differentiable_dtype(tensor.dtype):
        return None if meta is None else meta.grad_fn
    if (meta is None or meta.grad_fn is None) and not requires_grad(tensor.base):
        return None
    if tensor.attr_version == version_of(tensor):
        return None if meta is None else meta.grad_fn
    return regenerate_grad_fn(tensor)


cdef Node regenerate_grad_fn(TensorBase view):
    cdef AsStridedBackward node
    if view.creation_meta != DEFAULT:
        raise_inplace_error(view, "its base or another view of its base has been")
    node = new_view_node(view)
    set_next_edge(node, 0, view.base)
    set_history(view, node, 0)
    return node


cdef Node gradient_edge(TensorBase tensor, int *input_nr):
    cdef AutogradMeta meta
    cdef Node node
    input_nr[0] = 0
    if tensor is None or not may_require_grad(tensor):
        return None
    node = current_grad_fn(tensor)
    if node is not None:
        input_nr[0] = (<AutogradMeta>tensor.autograd).output_nr
        return node
    meta = <AutogradMeta>tensor.autograd
    if meta is None or not meta.requires_grad:
        return None
    if meta.grad_accumulator != NULL:
        return <Node>meta.grad_accumulator
    return make_grad_accumulator(tensor, meta)


cdef bint set_next_edge(Node node, int index, TensorBase operand) except -1:
    cdef Node edge = gradient_edge(operand, &node.input_nrs[index])
    if edge is None:
        return False
    if edge.sequence_nr > node.sequence_nr:         # gradient_edge has made a node, of a leaf or of a view
        node.sequence_nr = next_sequence_nr()
    node.edges[index] = edge
    return True


cdef bint set_next_edges(Node node, int first, list operands) except -1:
    cdef bint any_wanted = False
    cdef int i
    for i in range(len(operands)):
        if set_next_edge(node, first + i, <TensorBase>operands[i]):
            any_wanted = True
    return any_wanted


# --- what is saved ---------------------------------------------------------------------------------------------------

cdef object save_operand(TensorBase operand):
    if operand is None:
        return None
    if operand.autograd is not None and (<AutogradMeta>operand.autograd).is_inference and not saves_inference():
        raise RuntimeError("Inference tensors cannot be saved for backward. Please do not use Tensors created in "
                           "inference mode in computation tracked by autograd. To work around this, you can make a "
                           "clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
                           "`torch.inference_mode()`.")
    return make_saved_tensor(operand, -1)


cdef object save_result(TensorBase result, int output_nr):
    return make_saved_tensor(alias_of(result), output_nr)


cdef SavedTensor make_saved_tensor(TensorBase tensor, int output_nr):
    cdef SavedTensor saved = SavedTensor.__new__(SavedTensor)
    saved.version = version_of(tensor)
    saved.output_nr = output_nr
    hooks = saved_hooks() if saved_hooks_active else None
    if hooks is not None:
        pack_with_hooks(saved, tensor, hooks[0], hooks[1])
    else:
        saved.tensor = tensor
        saved.has_grad_fn = tensor.autograd is not None and (<AutogradMeta>tensor.autograd).grad_fn is not None
    return saved


cdef int pack_with_hooks(SavedTensor saved, TensorBase tensor, object pack, object unpack) except -1:
    """Have a saved tensor hold what `pack` makes of the tensor, and the edge that the tensor had."""
    cdef int origin_nr = 0
    cdef uint32_t version = version_of(tensor)
    before = set_grad_enabled(False)
    try:
        origin = gradient_edge(tensor, &origin_nr) if saved.output_nr < 0 else None
        packed = pack(tensor)
    finally:
        set_grad_enabled(before)
    if version_of(tensor) != version:
        raise RuntimeError("A saved tensor pack hook is modifying its input in place. The graph, and perhaps others, "
                           "hold the tensor that the hook gets: clone it first.")
    saved.packed, saved.unpack, saved.tensor = (packed, origin, origin_nr), unpack, None
    return 0


node_module.pack_tensor = pack_with_hooks


cdef object shape_of(TensorBase operand):       # torch.Size; None of None
    return None if operand is None else make_size(operand.ndim, operand.sizes)


cdef tuple strides_of(TensorBase operand):
    return tuple([operand.strides[i] for i in range(operand.ndim)])


cdef tuple ints_of(const Shape *ints):
    return tuple([ints.sizes[i] for i in range(ints.ndim)])


# --- operators -------------------------------------------------------------------------------------------------------

cdef dict SAVED_KINDS = {
    "self": SAVED_SELF, "tensor": SAVED_TENSOR, "tensors": SAVED_TENSORS, "result": SAVED_RESULT,
    "constant": SAVED_CONSTANT, "shape": SAVED_SHAPE, "shapes": SAVED_SHAPES, "stride": SAVED_STRIDE,
    "ndim": SAVED_NDIM, "dtype_of": SAVED_DTYPE_OF, "device": SAVED_DEVICE, "scalar": SAVED_SCALAR, "int": SAVED_INT,
    "bool": SAVED_BOOL, "float": SAVED_FLOAT, "optional_float": SAVED_OPTIONAL_FLOAT, "ints": SAVED_INTS,
    "dtype": SAVED_DTYPE, "object": SAVED_OBJECT}


cdef int read_node_type(Operator op) except -1:
    """Read the operator's entry of the table that emit_grad.py writes."""
    cdef NodeType kind
    cdef int i
    from mindtorch._core._gen import nodes
    if op.node is not None:         # another thread has read it during the import
        return 0
    entry = nodes.NODES[op.key]
    saved = entry.get("saved", ())
    if len(entry["edges"]) > MAX_EDGES or len(saved) > MAX_SAVED:
        raise ValueError(f"the node of {op.key} has more than {MAX_EDGES} edges or {MAX_SAVED} saved values")
    kind = node_type(entry["name"])
    kind.family, _, kind.function_name = entry["backward"].partition(".")
    for i, argument in enumerate(entry["edges"]):
        kind.edges[i] = argument
    kind.edge_count, kind.has_list_edge = len(entry["edges"]), entry.get("has_list_edge", False)
    for i, value in enumerate(saved):
        kind.saved[i].kind = <SavedKind><int>SAVED_KINDS[value[1]]
        kind.saved[i].argument = value[2]
        kind.saved[i].edges = bit_mask(value[3]) if len(value) > 3 else ~0u
    kind.saved_names = tuple([value[0] for value in saved])
    kind.first_result, kind.result_count = entry["first_result"], entry.get("result_count", 1)
    kind.returns_views = entry.get("returns_views", False)
    kind.grad_arguments = tuple(entry.get("grad_arguments", ()))
    kind.takes_all_grads = entry.get("takes_all_grads", False)
    kind.results_with_history = ~0u if kind.takes_all_grads else bit_mask(kind.grad_arguments)
    op.node = kind
    return 0


cdef unsigned int bit_mask(object bits) except? 0:
    cdef unsigned int found = 0
    for bit in bits:
        found |= 1u << <int>bit
    return found


cdef int record_operator(Operator op, Argument *arguments, TensorBase saved_self, bint inplace) except -1:
    cdef NodeType kind
    cdef Node node
    cdef list operands = None, saved
    cdef unsigned int wants = 0
    cdef int i, fixed, count
    if op.node is None:
        read_node_type(op)
    kind = op.node
    fixed = count = kind.edge_count - kind.has_list_edge
    if kind.has_list_edge:
        operands = <list>arguments[kind.edges[fixed]].object
        count += len(operands)
    node = new_node(kind, count)
    for i in range(fixed):
        if set_next_edge(node, i, <TensorBase>arguments[kind.edges[i]].object):
            wants |= 1u << i
    if operands is not None and set_next_edges(node, fixed, operands):
        wants |= 1u << fixed
    if wants and kind.saved_names:          # a view made under no_grad may require a gradient, and has no edge
        saved = [None] * len(kind.saved_names)
        for i in range(len(saved)):
            if kind.saved[i].edges & wants:
                saved[i] = value_to_save(&kind.saved[i], kind, arguments, saved_self)
        node.saved = saved
    if kind.returns_views:
        return set_results_history(<list>arguments[kind.first_result].object, node)
    if kind.result_count == 1:
        return set_result_history(<TensorBase>arguments[kind.first_result].object, node, inplace)
    return set_results_history([<object>arguments[kind.first_result + i].object if (kind.results_with_history >> i) & 1
                                else None
                                for i in range(kind.result_count)], node)


cdef object value_to_save(const SavedValue *saved, NodeType kind, Argument *arguments, TensorBase saved_self):
    cdef Argument *argument = &arguments[saved.argument]
    if saved.kind == SAVED_SELF:
        return save_operand(<TensorBase>argument.object if saved_self is None else saved_self)
    if saved.kind == SAVED_TENSOR:
        return save_operand(<TensorBase>argument.object)
    if saved.kind == SAVED_TENSORS:
        return [save_operand(<TensorBase>operand) for operand in <list>argument.object]
    if saved.kind == SAVED_RESULT:
        return save_result(<TensorBase>argument.object, saved.argument - kind.first_result)
    if saved.kind == SAVED_CONSTANT:
        return save_result(<TensorBase>argument.object, -1)
    if saved.kind == SAVED_SHAPE:
        return shape_of(<TensorBase>argument.object)
    if saved.kind == SAVED_SHAPES:
        return [shape_of(<TensorBase>operand) for operand in <list>argument.object]
    if saved.kind == SAVED_STRIDE:
        return strides_of(<TensorBase>argument.object)
    if saved.kind == SAVED_NDIM:
        return (<TensorBase>argument.object).ndim
    if saved.kind == SAVED_DTYPE_OF:
        return DTYPES[<int>(<TensorBase>argument.object).dtype]
    if saved.kind == SAVED_DEVICE:
        return device_of(<TensorBase>argument.object)
    if saved.kind == SAVED_SCALAR:
        return None if argument.scalar == NULL else scalar_to_python(argument.scalar)
    if saved.kind == SAVED_INT:
        return argument.integer
    if saved.kind == SAVED_BOOL:
        return argument.integer != 0
    if saved.kind == SAVED_FLOAT:
        return argument.real
    if saved.kind == SAVED_OPTIONAL_FLOAT:
        return None if argument.optional_real == NULL else argument.optional_real[0]
    if saved.kind == SAVED_INTS:
        return ints_of(argument.ints)
    if saved.kind == SAVED_DTYPE:
        return DTYPES[<int>argument.integer]
    return <object>argument.object


# --- history ---------------------------------------------------------------------------------------------------------

cdef int set_history(TensorBase result, Node node, int output_nr) except -1:
    cdef AutogradMeta meta = materialize_autograd_meta(result)
    if output_nr == 0 and node.output_count == 0:
        set_output_metadata(node, result)
    if meta.retains_grad:                   # retain_grad means the new value of the tensor, not the old one
        meta.grad_fn.retain_grad_metas.pop(meta.output_nr, None)
    meta.grad_fn = node
    meta.output_nr = output_nr
    meta.requires_grad = False
    result.attr_version = version_of(result)
    if meta.hooks is not None:              # the hooks belong to the old value of the tensor
        meta.hooks = None
    if meta.retains_grad:
        set_retains_grad(meta)
    return 0


cdef int set_retains_grad(AutogradMeta meta) except -1:
    if meta.grad_fn.retain_grad_metas is None:
        meta.grad_fn.retain_grad_metas = {}
    meta.grad_fn.retain_grad_metas[meta.output_nr] = meta
    meta.retains_grad = True
    return 0


cdef int set_result_history(TensorBase result, Node node, bint inplace) except -1:
    if not is_differentiable_dtype(result.dtype):
        return 0
    if not inplace:
        return set_history(result, node, 0)
    if node.saved is not None:
        for value in node.saved:
            if type(value) is SavedTensor:
                mark_overwritten(<SavedTensor>value, result)
    return rebase_history(result, node, 0)


cdef int mark_overwritten(SavedTensor saved, TensorBase overwritten) except -1:
    """Have backward raise for an operand that the operator itself overwrote, as `y` in y.mul_(y)."""
    cdef TensorBase tensor = saved.tensor
    if saved.output_nr < 0 and tensor is not None and tensor.numel and tensor.storage is overwritten.storage:
        saved.version -= 1
    return 0


cdef int set_results_history(list results, Node node) except -1:
    cdef int i
    if not results:                         # no tensor leads to the node
        return 0
    set_outputs_metadata(node, results)
    for i in range(len(results)):
        if results[i] is not None and is_differentiable_dtype((<TensorBase>results[i]).dtype):
            set_history(<TensorBase>results[i], node, i)
    return 0


# --- views and in-place operators ------------------------------------------------------------------------------------

cdef tuple geometry_of(TensorBase tensor):
    return (tuple([tensor.sizes[i] for i in range(tensor.ndim)]),
            tuple([tensor.strides[i] for i in range(tensor.ndim)]), tensor.offset,
            KIND[<int>tensor.dtype] == COMPLEX_KIND, tensor.bits)


@cython.final
cdef class AsStridedBackward(Node):
    cdef list apply(self, list grads, set needed):
        if grads[0] is None:
            return [None]
        return [derivative_functions().as_strided_backward(grads[0], self.base_geometry, self.geometry)]

    def name(self):
        return "AsStridedBackward0"


@cython.final
cdef class CopySlices(Node):
    cdef list apply(self, list grads, set needed):
        if grads[0] is None:
            return [None] * len(self.edges)
        return derivative_functions().copy_slices_backward(grads[0], self.base_geometry, self.geometry,
                                                           self.inner_backward, needed)

    def name(self):
        return "torch::autograd::CopySlices"

    def inner_backward(self, grad, needed):
        """The gradients of the operator's operands for the gradient of the view."""
        return self.inner.apply([grad], needed)

    cdef int release(self) except -1:
        return self.inner.release()


cdef NodeType AS_STRIDED = node_type("AsStridedBackward0")
cdef NodeType COPY_SLICES = node_type("CopySlices")


cdef AsStridedBackward new_view_node(TensorBase view):
    cdef AsStridedBackward node = AsStridedBackward.__new__(AsStridedBackward)
    node.kind = AS_STRIDED
    node.set_edges(1)
    node.base_geometry = geometry_of(view.base)
    node.geometry = geometry_of(view)
    return node


cdef int adopt_history(TensorBase self, TensorBase view) except -1:
    cdef AutogradMeta view_meta = <AutogradMeta>view.autograd
    if view_meta is not None and view_meta.grad_fn is not None:
        set_history(self, view_meta.grad_fn, view_meta.output_nr)
    return 0


cdef int record_as_strided(TensorBase view, TensorBase source) except -1:
    """Record as_strided. Its strides refer to the storage, so the result is a view of the base."""
    cdef AsStridedBackward node = AsStridedBackward.__new__(AsStridedBackward)
    node.kind = AS_STRIDED
    node.set_edges(1)
    node.base_geometry = geometry_of(source)
    node.geometry = geometry_of(view)
    set_next_edge(node, 0, source)
    return set_history(view, node, 0)


cdef int rebase_history(TensorBase self, Node node, int output_nr) except -1:
    """Make `node`, which overwrote self, the history of self; for a view, that of its base."""
    cdef CopySlices slices
    cdef int i
    if self.base is None:
        return set_history(self, node, output_nr)
    if node.output_count == 0:
        set_output_metadata(node, self)
    slices = CopySlices.__new__(CopySlices)
    slices.kind = COPY_SLICES
    slices.set_edges(len(node.edges))
    slices.inner = node
    slices.base_geometry = geometry_of(self.base)
    slices.geometry = geometry_of(self)
    set_next_edge(slices, 0, self.base)
    for i in range(1, len(node.edges)):
        slices.edges[i] = node.edges[i]
        slices.input_nrs[i] = node.input_nrs[i]
    # CopySlices leads to the base, so the operator's node needs no edge to the view, but computes its gradient.
    node.edges[0] = None if slices.edges[0] is None else ALWAYS_COMPUTED
    set_history(self.base, slices, 0)
    return regenerate_grad_fn(self) is None and 0


# --- operators that are Cython ---------------------------------------------------------------------------------------

include "../_gen/record_history.pxi"
