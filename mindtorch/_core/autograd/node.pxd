"""The graph of autograd: modes, the autograd data of a tensor, nodes and what they save."""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from mindtorch._core.tensor.dtype cimport ScalarType
from mindtorch._core.tensor.tensor cimport INLINE_DIMS, TensorBase


# --- modes -----------------------------------------------------------------------------------------------------------

cdef bint grad_enabled() noexcept
cdef int set_grad_enabled(bint enabled) noexcept      # returns the mode before
cdef bint inference_enabled() noexcept

cdef int anomaly_mode                                 # 0 off, 1 keeps tracebacks, 2 checks for NaN too
cdef int saved_hooks_active                           # the number of active saved_tensors_hooks in all threads
cdef tuple saved_hooks()                              # (pack, unpack) of this thread, or None


# --- the data of tensors and nodes -----------------------------------------------------------------------------------
# An operator tests `tracked` of its operands, which costs two loads where there is no graph. Where it is true, it calls
# `recording`, and after its kernel `record_operator`, which makes the node that the row describes (_gen/nodes.py).

cdef struct Metadata:                  # shape, dtype and device of an output of a node, which its gradient must have
    ScalarType dtype
    int device_type
    int device_index
    int ndim
    int64_t *sizes                     # inline_sizes, or a heap block
    int64_t inline_sizes[INLINE_DIMS]


cdef class AutogradMeta:
    """The autograd data of one tensor."""
    cdef bint requires_grad            # of a leaf
    cdef bint retains_grad
    cdef int output_nr                 # which output of grad_fn the tensor is
    cdef uint32_t seen_version         # of a view: the tensor's version when grad_fn was made
    cdef Node grad_fn                  # None for a leaf
    cdef TensorBase grad
    cdef void *accumulator             # borrowed: the leaf's AccumulateGrad, while a graph holds it; else NULL
    cdef dict hooks                    # key -> function of the gradient; None before the first register_hook
    cdef dict accumulated_hooks        # those of register_post_accumulate_grad_hook: key -> function of the tensor
    cdef str refusal                   # of a view: the error of in-place operators on it; None where they may write
    cdef bint is_inference             # the tensor was made in inference_mode


cdef enum:
    MAX_EDGES = 16                     # of one kind of node; a list of tensors counts as one edge
    MAX_SAVED = 32

cdef enum SavedKind:                   # what a node saves of an argument or a result of its operator
    SAVED_SELF                         # the tensor; the in-place form saves a copy
    SAVED_TENSOR, SAVED_TENSORS, SAVED_RESULT
    SAVED_CONSTANT                     # a result without a history
    SAVED_SHAPE, SAVED_SHAPES, SAVED_STRIDE, SAVED_NDIM, SAVED_DTYPE_OF, SAVED_DEVICE               # of a tensor
    SAVED_SCALAR, SAVED_INT, SAVED_BOOL, SAVED_FLOAT, SAVED_OPTIONAL_FLOAT, SAVED_INTS, SAVED_DTYPE, SAVED_OBJECT

cdef struct SavedValue:
    SavedKind kind
    int place                          # the index among the operator's arguments and results
    unsigned int edges                 # the edges whose gradients need it, as bits


cdef class NodeType:
    """One kind of node: what it saves of a call of its operator, and the function that computes gradients."""
    cdef str name                      # "AddBackward0", as torch names it
    cdef type python_class             # the subclass of Node of that name; None before the first node
    cdef int edges[MAX_EDGES]          # the operator's arguments that have a derivative
    cdef int edge_count
    cdef bint list_edge                # the last of them is a list of tensors
    cdef SavedValue saved[MAX_SAVED]
    cdef tuple saved_names
    cdef int result, results           # the index of the first result, and the number of results
    cdef bint views                    # the result is a list of views
    cdef unsigned int histories        # the results that have a history, as bits
    cdef tuple grads                   # of several results: those whose gradients are arguments of the function
    cdef bint all_grads                # the function takes the list of all gradients before those
    cdef str family, function_name     # the function's module in mindtorch/_core/_gen/backward, and its name
    cdef object function               # None before the first backward


cdef class Node:
    """A call of an operator, with edges to the nodes that made its operands."""
    cdef NodeType kind
    cdef uint64_t sequence_nr          # later nodes have higher numbers; edges lead to lower ones
    cdef list edges                    # per operand: a Node, or None where it needs no gradient
    cdef int *input_nrs                # per operand: which output of that node it is
    cdef int inline_input_nrs[4]
    cdef list saved                    # SavedTensors and other values, in the order of kind.saved_names
    cdef int outputs                   # their number
    cdef Metadata *metadata            # per output; inline_metadata where there is one output
    cdef Metadata inline_metadata
    cdef dict tensor_hooks             # output number -> hooks of the tensor: key -> function
    cdef dict retained                 # output number -> AutogradMeta of the tensor that retains its gradient
    cdef dict prehooks, posthooks
    cdef dict info                     # node.metadata in Python: notes of users, the traceback of anomaly mode
    cdef object stream                 # on which the forward ran, where the device has streams
    cdef object __weakref__

    cdef list apply(self, list grads, set needed)     # the gradients of the edges; None where an edge has none
    cdef int release(self) except -1                  # frees what was saved
    cdef int set_edges(self, int count) except -1


cdef class AccumulateGrad(Node):
    """The node of a leaf: adds to its .grad."""
    cdef readonly TensorBase variable


cdef class SavedTensor:
    """A tensor saved for backward, and its version then."""
    cdef TensorBase tensor             # of an output of the node: an alias without history, so that there is no cycle
    cdef uint32_t version
    cdef int output_nr                 # -1 for an operand
    cdef object packed, unpack         # of saved_tensors_hooks


cdef inline bint tracked(TensorBase tensor) noexcept:
    """Whether the tensor may require a gradient."""
    return tensor.autograd is not None or (tensor.base is not None and tensor.base.autograd is not None)

cdef inline bint tracked_optional(TensorBase tensor) noexcept:
    return tensor is not None and tracked(tensor)

cdef bint tracked_list(list tensors) noexcept
cdef bint requires_grad(TensorBase tensor) except -1
cdef bint operands_require_grad(list tensors) except -1
cdef bint differentiable(ScalarType dtype) noexcept
cdef AutogradMeta meta_of(TensorBase tensor)                              # makes it where there is none

# --- functions of nodes ----------------------------------------------------------------------------------------------

cdef NodeType node_type(str name)
cdef Node new_node(NodeType kind, int edges)
cdef uint64_t next_sequence_nr() noexcept
cdef Node accumulator_for(TensorBase leaf, AutogradMeta meta)
cdef int describe(Metadata *metadata, TensorBase tensor) except -1
cdef int describe_nothing(Metadata *metadata) noexcept
cdef int describe_output(Node node, TensorBase result) except -1
cdef int describe_outputs(Node node, list results) except -1
cdef int note_stream(Node node, TensorBase tensor) except -1              # the stream of the forward
cdef str short_name(Node node)                                            # "Add", for messages
cdef object removable_handle(dict hooks, object hook)
ctypedef int (*Accumulate)(TensorBase leaf, TensorBase grad) except -1
cdef Accumulate accumulate                                                # engine.pyx sets it

# --- backward --------------------------------------------------------------------------------------------------------

cdef Node WANTED                       # an edge to this node always gets its gradient
cdef inline bint wanted(Node node, int index, set needed):
    """Whether backward needs the gradient of operand `index`."""
    cdef object target = node.edges[index]
    return target is not None and (needed is None or target is WANTED or target in needed)

cdef object unpack(Node node, object value)                               # RuntimeError after a free or a write
cdef object zeros_for(Metadata *metadata)
cdef object formulas()                                                    # mindtorch._ops.derivatives
