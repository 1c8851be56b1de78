"""How operators come into the graph: which are recorded, edges to their operands, what is saved, views and writes."""
from mindtorch._core.autograd cimport (
    AutogradMeta, Node, NodeType, SavedTensor, WANTED, accumulator_for, describe_output, describe_outputs,
    differentiable, formulas, meta_of, next_sequence_nr, node_type, requires_grad, short_name, tracked)
from mindtorch._core.modes cimport grad_enabled, inference_enabled, saved_hooks, saved_hooks_active, set_grad_enabled
from mindtorch._core.scalar cimport scalar_to
from mindtorch._core.tensor cimport make_alias, make_size, version_of
cimport cython


# --- which operators are recorded ------------------------------------------------------------------------------------

# Why a view must not be overwritten, nor its base before the view is used again: {write} says which of the two.
NO_GRAD_VIEW = (
    "A view was created in no_grad mode and {write} modified inplace with grad mode enabled. Given that this use case "
    "is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace "
    "either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want "
    "the inplace to be tracked).")
MANY_VIEWS = (
    "Output {output} of {node} is a view and {write} modified inplace. This view is the output of a function that "
    "returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace "
    "the inplace operation by an out-of-place one.")


cdef int refuse(AutogradMeta meta, str write) except -1:
    node = "" if meta.grad_fn is None else short_name(meta.grad_fn)
    raise RuntimeError(meta.refusal.format(output=meta.output_nr, node=node, write=write))


cdef bint recording(TensorBase out, str op) except -1:
    if not grad_enabled():
        return False
    if out is not None:
        raise RuntimeError(f"{op}(): functions with out=... arguments don't support automatic differentiation, but one "
                           "of the arguments requires grad.")
    return True


LEAF = "a leaf Variable that requires grad is being used in an in-place operation."


OTHER_DTYPE = ("a gradient through a view of another dtype (real, imag, view_as_real, view_as_complex) is not known "
               "when it or its base is modified in-place. Clone it first.")


cdef bint recording_inplace(TensorBase self, bint wanted) except -1:
    cdef AutogradMeta meta = <AutogradMeta>self.autograd
    cdef AutogradMeta of_base
    if meta is not None and meta.is_inference and not inference_enabled():
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a "
                           "clone to get a normal tensor before doing inplace update.See "
                           "https://github.com/pytorch/rfcs/pull/17 for more details.")
    if not grad_enabled() or not wanted:
        return False
    if self.base is not None:
        if meta is not None and meta.refusal is not None:
            refuse(meta, "is being")
        if self.dtype != self.base.dtype:
            raise RuntimeError(OTHER_DTYPE)
        of_base = <AutogradMeta>self.base.autograd
        if of_base is not None and of_base.requires_grad and of_base.grad_fn is None:
            raise RuntimeError(f"a view of {LEAF}")
    if meta is not None and meta.requires_grad and meta.grad_fn is None:
        raise RuntimeError(LEAF)
    return True


cdef bint recording_view(TensorBase self, object views) except -1:
    """Whether views of a tracked tensor are to be recorded.

    In-place operators are refused on those that are not, and on views of what refuses them.
    """
    cdef bint record = grad_enabled()
    cdef AutogradMeta meta = <AutogradMeta>self.autograd
    if not requires_grad(self):
        return False
    if not record or (meta is not None and meta.refusal is not None):
        for view in views:
            refuse_writes(<TensorBase>view, NO_GRAD_VIEW if not record else meta.refusal)
    return record


cdef int refuse_writes(TensorBase view, str refusal) except -1:
    cdef AutogradMeta meta = meta_of(view)
    meta.refusal = refusal
    meta.seen_version = version_of(view)
    return 0


# --- edges -----------------------------------------------------------------------------------------------------------

cdef Node current_grad_fn(TensorBase tensor):
    """The node that made the tensor. A view's is made anew after an in-place write to its base."""
    cdef AutogradMeta meta = <AutogradMeta>tensor.autograd
    cdef AutogradMeta of_base
    if tensor.base is not None and tensor.base.autograd is not None:
        of_base = <AutogradMeta>tensor.base.autograd
        if of_base.grad_fn is not None and differentiable(tensor.dtype):
            if meta is None or meta.grad_fn is None or meta.seen_version != version_of(tensor):
                return regenerate(tensor)
    return None if meta is None else meta.grad_fn


cdef Node regenerate(TensorBase view):
    cdef AutogradMeta meta = meta_of(view)
    cdef ViewNode node
    if meta.refusal is not None:
        if meta.seen_version != version_of(view):
            refuse(meta, "its base or another view of its base has been")
        return meta.grad_fn
    if view.dtype != view.base.dtype:
        raise RuntimeError(OTHER_DTYPE)
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


cdef bint connect(Node node, int index, TensorBase operand) except -1:
    cdef Node edge = gradient_edge(operand, &node.input_nrs[index])
    if edge is None:
        return False
    if edge.sequence_nr > node.sequence_nr:         # a leaf's first use, or a view whose history was made anew
        node.sequence_nr = next_sequence_nr()
    node.edges[index] = edge
    return True


cdef bint connect_list(Node node, int first, list operands) except -1:
    cdef bint any_wanted = False
    cdef int i
    for i in range(len(operands)):
        if connect(node, first + i, <TensorBase>operands[i]):
            any_wanted = True
    return any_wanted


# --- what is saved ---------------------------------------------------------------------------------------------------

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
    cdef int origin_nr = 0
    kept.version = version_of(tensor)
    kept.output_nr = output_nr
    hooks = saved_hooks() if saved_hooks_active else None
    if hooks is not None:
        pack, kept.unpack = hooks
        before = set_grad_enabled(False)
        try:
            origin = gradient_edge(tensor, &origin_nr) if output_nr < 0 else None
            kept.packed = pack(tensor), origin, origin_nr
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


# --- history ---------------------------------------------------------------------------------------------------------

cdef int set_history(TensorBase result, Node node, int output_nr) except -1:
    cdef AutogradMeta meta = meta_of(result)
    if output_nr == 0 and node.outputs == 0:
        describe_output(node, result)
    if meta.retains_grad:                   # the gradient of what the tensor becomes is kept, not of what it was
        meta.grad_fn.retained.pop(meta.output_nr, None)
    meta.grad_fn = node
    meta.output_nr = output_nr
    meta.requires_grad = False
    meta.seen_version = version_of(result)
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
    if not inplace:
        return set_history(result, node, 0)
    if node.saved is not None:
        for value in node.saved:
            if type(value) is SavedTensor:
                saved_before_write(<SavedTensor>value, result)
    return rebase(result, node, 0)


cdef int saved_before_write(SavedTensor kept, TensorBase overwritten) except -1:
    """An operand that the operator has overwritten, as `y` in y.mul_(y): backward must find that out."""
    cdef TensorBase tensor = kept.tensor
    if kept.output_nr < 0 and tensor is not None and tensor.numel and tensor.storage is overwritten.storage:
        kept.version -= 1
    return 0


cdef int attach_outputs(list results, Node node) except -1:
    cdef int i
    if not results:                         # no tensor will ever lead to the node
        return 0
    describe_outputs(node, results)
    for i in range(len(results)):
        if results[i] is not None and differentiable((<TensorBase>results[i]).dtype):
            set_history(<TensorBase>results[i], node, i)
    return 0


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

    def name(self):
        return "torch::autograd::CopySlices"

    def of_view(self, grad, needed):
        """The gradients of the operator's own operands, given that of the view."""
        return self.inner.apply([grad], needed)

    cdef int release(self) except -1:
        return self.inner.release()


cdef NodeType VIEW = node_type("AsStridedBackward0", NULL, ())
cdef NodeType COPY_SLICES = node_type("CopySlices", NULL, ())


cdef ViewNode view_node(TensorBase view):
    cdef ViewNode node = ViewNode.__new__(ViewNode)
    node.kind = VIEW
    node.set_edges(1)
    node.base_geometry = geometry_of(view.base)
    node.geometry = geometry_of(view)
    return node


cdef int attach_views(list views, Node node) except -1:
    """The history of several views that one operator made."""
    cdef int i
    attach_outputs(views, node)
    for i in range(len(views)):
        refuse_writes(<TensorBase>views[i], MANY_VIEWS)
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


cdef TensorBase before_write(TensorBase self):
    # Recorded, so that what is computed from the copy can be differentiated once more.
    from mindtorch._core.moves import clone
    return clone(self)


cdef int rebase(TensorBase self, Node node, int output_nr) except -1:
    """`node` overwrote self: that is self's history now, and for a view that of the base."""
    cdef CopySlices slices
    cdef int i
    if self.base is None:
        return set_history(self, node, output_nr)
    if node.outputs == 0:
        describe_output(node, self)
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
