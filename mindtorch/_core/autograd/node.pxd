"""The graph that backward follows: modes, nodes, what they saved, and what tensors know of it."""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from mindtorch._core.tensor.dtype cimport ScalarType
from mindtorch._core.tensor.tensor cimport INLINE_DIMS, TensorBase


# --- modes -----------------------------------------------------------------------------------------------------------
# The modes of autograd.


cdef bint grad_enabled() noexcept
cdef int set_grad_enabled(bint enabled) noexcept      # gives the mode that was set before
cdef bint inference_enabled() noexcept

cdef int anomaly_mode                                 # 0 off, 1 tracebacks, 2 and a look for NaN
cdef int saved_hooks_active                           # how many saved_tensors_hooks are in force, in any thread
cdef tuple saved_hooks()                              # (pack, unpack) of this thread, or None


# --- nodes -----------------------------------------------------------------------------------------------------------
# The graph that backward follows: nodes, what they saved, and what tensors know of it.
#
# An operator asks `tracked` of its operands, which costs two loads where there is no graph. Only then does it go on to
# `recording`, and after its kernel to `record_operator`, which makes the node that its row describes (_gen/nodes.py).


cdef struct Metadata:                  # what a gradient must look like
    ScalarType dtype
    int device_type
    int device_index
    int ndim
    int64_t *sizes                     # inline_sizes, or a heap block
    int64_t inline_sizes[INLINE_DIMS]


cdef class AutogradMeta:
    """What autograd knows of one tensor."""
    cdef bint requires_grad            # of a leaf
    cdef bint retains_grad
    cdef int output_nr                 # which output of grad_fn the tensor is
    cdef uint32_t seen_version         # of a view: the storage's version when grad_fn was made
    cdef Node grad_fn                  # None for a leaf
    cdef TensorBase grad
    cdef void *accumulator             # borrowed: the leaf's AccumulateGrad, while a graph holds it
    cdef dict hooks                    # key -> function of the gradient; None until one is registered
    cdef dict accumulated_hooks        # key -> function of the tensor, after its gradient was accumulated
    cdef str refusal                   # of a view: why in-place operators refuse it
    cdef bint is_inference             # made in inference_mode


cdef enum:
    MAX_EDGES = 16                     # of one kind of node, where a list of tensors counts as one
    MAX_SAVED = 32

cdef enum SavedKind:                   # how a node keeps an argument or a result of its operator
    SAVED_SELF                         # a tensor, of which the in-place form keeps a copy
    SAVED_TENSOR, SAVED_TENSORS, SAVED_RESULT
    SAVED_CONSTANT                     # a result without a history
    SAVED_SHAPE, SAVED_SHAPES, SAVED_STRIDE, SAVED_NDIM, SAVED_DTYPE_OF, SAVED_DEVICE               # those of a tensor
    SAVED_SCALAR, SAVED_INT, SAVED_BOOL, SAVED_FLOAT, SAVED_OPTIONAL_FLOAT, SAVED_INTS, SAVED_DTYPE, SAVED_OBJECT

cdef struct SavedValue:
    SavedKind kind
    int place                          # among the operator's arguments and results
    unsigned int edges                 # whose gradients use it, as bits


cdef class NodeType:
    """One kind of node: what it keeps of a call of its operator, and the function that computes gradients."""
    cdef str name                      # "AddBackward0", as torch names it
    cdef type python_class             # the subclass of Node of that name, made when first needed
    cdef int edges[MAX_EDGES]          # the arguments that have a derivative
    cdef int edge_count
    cdef bint list_edge                # the last of them is a list of tensors
    cdef SavedValue saved[MAX_SAVED]
    cdef tuple saved_names
    cdef int result, results           # the place of the first result, and how many there are
    cdef bint views                    # the result is a list of views
    cdef unsigned int histories        # the results that have one, as bits
    cdef tuple grads                   # of several results: those whose gradients the function takes one by one
    cdef bint all_grads                # and whether it takes them all, in a list, before
    cdef str family, function_name     # the function stands in the family's module in mindtorch/_core/_gen/backward
    cdef object function               # None before the first backward


cdef class Node:
    """An operator that took place, with edges to the nodes its operands came from."""
    cdef NodeType kind
    cdef uint64_t sequence_nr          # later nodes have higher numbers; edges lead to lower ones
    cdef list edges                    # per operand: a Node, or None where no gradient is wanted
    cdef int *input_nrs                # per operand: which output of that node it was
    cdef int inline_input_nrs[4]
    cdef list saved                    # SavedTensors and plain values, in the order of kind.saved_names
    cdef int outputs
    cdef Metadata *metadata            # per output; inline_metadata where there is one
    cdef Metadata inline_metadata
    cdef dict tensor_hooks             # output number -> hooks of the tensor: key -> function
    cdef dict retained                 # output number -> AutogradMeta that keeps the gradient
    cdef dict prehooks, posthooks
    cdef dict info                     # node.metadata, for users; the traceback of anomaly mode
    cdef object stream                 # on which the forward ran, where the device has streams
    cdef object __weakref__

    cdef list apply(self, list grads, set needed)     # one gradient an edge; None where there is none
    cdef int release(self) except -1                  # forget what was saved
    cdef int set_edges(self, int count) except -1


cdef class AccumulateGrad(Node):
    """Where a graph ends: adds to the .grad of a leaf."""
    cdef readonly TensorBase variable


cdef class SavedTensor:
    """A tensor kept for backward, with the version it had."""
    cdef TensorBase tensor             # of an output of the node itself: an alias without history, which makes no cycle
    cdef uint32_t version
    cdef int output_nr                 # -1 for an operand
    cdef object packed, unpack         # where saved_tensors_hooks took it


cdef inline bint tracked(TensorBase tensor) noexcept:
    """Whether the tensor may require a gradient."""
    return tensor.autograd is not None or (tensor.base is not None and tensor.base.autograd is not None)

cdef inline bint tracked_optional(TensorBase tensor) noexcept:
    return tensor is not None and tracked(tensor)

cdef bint tracked_list(list tensors) noexcept
cdef bint requires_grad(TensorBase tensor) except -1
cdef bint operands_require_grad(list tensors) except -1
cdef bint differentiable(ScalarType dtype) noexcept
cdef AutogradMeta meta_of(TensorBase tensor)                              # made when there is none

# --- nodes -----------------------------------------------------------------------------------------------------------

cdef NodeType node_type(str name)
cdef Node new_node(NodeType kind, int edges)
cdef uint64_t next_sequence_nr() noexcept
cdef Node accumulator_for(TensorBase leaf, AutogradMeta meta)
cdef int describe(Metadata *metadata, TensorBase tensor) except -1
cdef int describe_nothing(Metadata *metadata) noexcept
cdef int describe_output(Node node, TensorBase result) except -1
cdef int describe_outputs(Node node, list results) except -1
cdef int note_stream(Node node, TensorBase tensor) except -1              # that the forward runs on
cdef str short_name(Node node)                                            # "Add", as messages have it
cdef object removable_handle(dict hooks, object hook)
ctypedef int (*Accumulate)(TensorBase leaf, TensorBase grad) except -1
cdef Accumulate accumulate                                                # set by engine.pyx, which knows operators

# --- backward --------------------------------------------------------------------------------------------------------

cdef Node WANTED                       # stands for an edge whose gradient is wanted, whoever asks
cdef inline bint wanted(Node node, int index, set needed):
    """Whether backward needs the gradient of operand `index`."""
    cdef object target = node.edges[index]
    return target is not None and (needed is None or target is WANTED or target in needed)

cdef object unpack(Node node, object value)                               # RuntimeError once freed or overwritten
cdef object zeros_for(Metadata *metadata)
cdef object formulas()                                                    # mindtorch._ops.derivatives
