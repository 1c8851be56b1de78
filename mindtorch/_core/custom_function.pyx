"""Nodes of autograd.Function: what the user's forward and backward share, and how a call is recorded."""
from libc.stdlib cimport malloc

from mindtorch._core cimport torch_function
from mindtorch._core.autograd cimport (
    AutogradMeta, Metadata, Node, describe, describe_nothing, differentiable, note_stream, requires_grad, unpack,
    zeros_for)
from mindtorch._core.modes cimport grad_enabled, set_grad_enabled
from mindtorch._core.profiling cimport FUNCTION, Range, begin, end, note_shapes, recording_thread
from mindtorch._core.recording cimport connect, rebase, recording_inplace, refuse_writes, save, save_result, set_history
from mindtorch._core.tensor cimport TensorBase, count_version, make_view

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
