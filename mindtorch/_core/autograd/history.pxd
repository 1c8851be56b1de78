"""History of tensors: which operators are recorded, edges, saved values. See docs/design.md, "Autograd"."""
from libc.stdint cimport int64_t

from mindtorch._core.autograd.node cimport AutogradMeta, Node
from mindtorch._core.operators.operator cimport Argument, Operator
from mindtorch._core.tensor.dtype cimport Scalar, ScalarType
from mindtorch._core.tensor.tensor cimport Shape, TensorBase


cdef class AsStridedBackward(Node):
    """The node of as_strided, and of any view after an in-place write to its base."""
    cdef tuple base_geometry           # sizes, strides, offset, whether complex, bits
    cdef tuple geometry


cdef class CopySlices(Node):
    """The history of a base after an in-place operator on a view of it."""
    cdef Node inner                    # the operator's node
    cdef tuple base_geometry, geometry


# Whether to record an operator with operands that require a gradient. RuntimeError where `out` is a tensor.
cdef bint should_record(TensorBase out, str op) except -1
# The same for an operator that writes to `self`. RuntimeError for leaves and other tensors that it must not overwrite.
cdef bint should_record_inplace(TensorBase self, bint wanted) except -1
# Whether to record views of a tensor.
cdef bint should_record_view(TensorBase self) except -1
# After a function has made several views: in-place operators that are recorded must not write to them.
cdef int mark_multiple_views(list views) except -1
# The clone of `self` that an in-place operator saves where its derivative needs the old elements. It is recorded, for
# double backward. copy_cast.pyx sets the function.
ctypedef TensorBase (*CloneTensor)(TensorBase self)
cdef CloneTensor clone_before_write

cdef Node current_grad_fn(TensorBase tensor)                                 # None for a leaf
cdef Node gradient_edge(TensorBase tensor, int *input_nr)                    # None where it needs no gradient
cdef bint set_next_edge(Node node, int index, TensorBase operand) except -1  # whether the operand needs a gradient
cdef object save_operand(TensorBase operand)                                 # None of None
cdef object save_result(TensorBase result, int output_nr)
cdef tuple ints_of(const Shape *ints)

# Makes the history of the results in `arguments`, or with `inplace` of the tensor that the operator overwrote.
# `saved_self`: the clone of clone_before_write, or the tensor itself; None for the plain form.
cdef int record_operator(Operator op, Argument *arguments, TensorBase saved_self, bint inplace) except -1
cdef int adopt_history(TensorBase self, TensorBase view) except -1            # squeeze_, t_: self becomes that view
cdef int record_as_strided(TensorBase view, TensorBase source) except -1
cdef int set_history(TensorBase result, Node node, int output_nr) except -1
cdef int rebase_history(TensorBase self, Node node, int output_nr) except -1  # after `node` overwrote self
cdef int set_retains_grad(AutogradMeta meta) except -1

# record_view, record_clone, ...: record_operator with C arguments, for the operators that are Cython.
include "../_gen/history_functions.pxi"
