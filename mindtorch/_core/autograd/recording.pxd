"""How operators come into the graph; docs/design.md, "Autograd"."""
from mindtorch._core.autograd.node cimport AutogradMeta, Node
from mindtorch._core.operators.operator cimport Argument, Operator
from mindtorch._core.tensor.tensor cimport Shape, TensorBase


cdef class ViewNode(Node):
    """as_strided, and what stands for any view whose base was overwritten."""
    cdef tuple base_geometry           # sizes, strides, offset
    cdef tuple geometry


cdef class CopySlices(Node):
    """An in-place operator on a view, seen from the base."""
    cdef Node inner                    # the operator
    cdef tuple base_geometry, geometry


# Whether an op with tracked operands is to be recorded. RuntimeError where `out` was given.
cdef bint recording(TensorBase out, str op) except -1
# The same for an op that writes to `self`; RuntimeError for leaves and other tensors that must not be overwritten.
cdef bint recording_inplace(TensorBase self, bint wanted) except -1
# Whether views of a tracked tensor are to be recorded.
cdef bint recording_view(TensorBase self, object views) except -1
# What an in-place op saves of `self`, whose old elements its derivative needs.
cdef TensorBase before_write(TensorBase self)

cdef Node current_grad_fn(TensorBase tensor)                              # None for a leaf
cdef Node gradient_edge(TensorBase tensor, int *input_nr)                 # None where no gradient is wanted
cdef bint connect(Node node, int index, TensorBase operand) except -1     # whether its gradient is wanted
cdef object save(TensorBase operand)                                      # None stays None
cdef object save_result(TensorBase result, int output_nr)
cdef tuple ints_of(const Shape *ints)

# The history of results that are new, or (in place) of a tensor that was overwritten, once they are in `arguments`.
# `kept_self`: a copy of what was overwritten, where the derivatives need one; else None.
cdef int record_operator(Operator op, Argument *arguments, TensorBase kept_self, bint inplace) except -1
cdef int adopt_history(TensorBase self, TensorBase view) except -1        # of a view in place: squeeze_, t_
cdef int record_strided(TensorBase view, TensorBase source) except -1
cdef int set_history(TensorBase result, Node node, int output_nr) except -1
cdef int refuse_writes(TensorBase view, str refusal) except -1           # `refusal`: see recording.pyx
cdef int rebase(TensorBase self, Node node, int output_nr) except -1
cdef int retain(AutogradMeta meta) except -1
