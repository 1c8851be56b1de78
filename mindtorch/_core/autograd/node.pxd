"""The graph of autograd: modes, the autograd data of a tensor, nodes and what they save."""
from libc.stdint cimport int64_t, uint32_t, uint64_t

from mindtorch._core.tensor.dtype cimport ScalarType
from mindtorch._core.tensor.tensor cimport INLINE_DIMS, TensorBase


# --- modes -----------------------------------------------------------------------------------------------------------

cdef bint grad_enabled() noexcept
cdef int set_grad_enabled(bint enabled) noexcept      # returns the mode before
cdef bint is_below_autograd() noexcept                # whether a handler of __torch_dispatch__ runs
cdef bint inference_enabled() noexcept
cdef bint saves_inference() noexcept                   # whether nodes may save tensors of inference mode
cdef int check_inference_write(TensorBase written) except -1

cdef int anomaly_mode                                 # 0 off, 1 keeps tracebacks, 2 checks for NaN too
cdef int saved_hooks_active                           # the number of active saved_tensors_hooks in all threads
cdef tuple saved_hooks()                              # (pack, unpack) of this thread, or None


# --- the data of tensors and nodes -----------------------------------------------------------------------------------
# An operator tests `may_require_grad` of its operands, which costs two loads where there is no graph. Where it is true,
# it calls `should_record`, and after its kernel `record_operator`, which makes the node that the row describes
# (_gen/nodes.py).

cdef enum:
    ANY_DTYPE = -1                     # in the place of a ScalarType: a gradient keeps its own


cdef struct InputMetadata:  # shape, dtype and device of an output of a node, which its gradient must have
    ScalarType dtype                   # or ANY_DTYPE
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
    cdef Node grad_fn                  # None for a leaf
    cdef TensorBase grad
    cdef void *grad_accumulator        # borrowed: the leaf's AccumulateGrad, while a graph holds it; else NULL
    cdef dict hooks                    # key -> function of the gradient; None before the first register_hook
    cdef dict post_accumulate_hooks    # those of register_post_accumulate_grad_hook: key -> function of the tensor
    cdef bint is_inference             # the tensor was made in inference_mode
    cdef object grad_dtype             # of a leaf: the dtype its gradients are cast to; None: the leaf's own; ANY_DTYPE


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
    int argument                          # the index among the operator's arguments and results
    unsigned int edges                    # the edges whose gradients need it, as bits


cdef class NodeType:
    """One kind of node: what it saves of a call of its operator, and the function that computes gradients."""
    cdef str name                           # "AddBackward0", as torch names it
    cdef type python_class                  # the subclass of Node of that name; None before the first node
    cdef int edges[MAX_EDGES]               # the operator's arguments that have a derivative
    cdef int edge_count
    cdef bint has_list_edge                 # the last of them is a list of tensors
    cdef SavedValue saved[MAX_SAVED]
    cdef tuple saved_names
    cdef int first_result, result_count     # the index of the first result, and the number of results
    cdef bint returns_views                 # the result is a list of views
    cdef unsigned int results_with_history  # the results that have a history, as bits
    cdef tuple grad_arguments               # of several results: those whose gradients are arguments of the function
    cdef bint takes_all_grads               # the function takes the list of all gradients before those
    cdef str family, function_name          # the function's module in mindtorch/_core/_gen/backward, and its name
    cdef object function                    # None before the first backward


cdef class Node:
    """A call of an operator, with edges to the nodes that made its operands."""
    cdef NodeType kind
    cdef uint64_t sequence_nr          # later nodes have higher numbers; edges lead to lower ones
    cdef list edges                    # per operand: a Node, or None where it needs no gradient
    cdef int *input_nrs                # per operand: which output of that node it is
    cdef int inline_input_nrs[4]
    cdef list saved                    # SavedTensors and other values, in the order of kind.saved_names
    cdef int output_count              # their number
    cdef InputMetadata *metadata       # per output; inline_metadata where there is one output
    cdef InputMetadata inline_metadata
    cdef dict tensor_hooks             # output number -> hooks of the tensor: key -> function
    cdef dict retain_grad_metas        # output number -> AutogradMeta of the tensor that retains its gradient
    cdef dict prehooks, posthooks
    cdef dict user_metadata            # node.metadata in Python: notes of users, the traceback of anomaly mode
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
    cdef bint has_grad_fn              # the tensor has a grad_fn, which a detach_ may take away
    cdef object packed, unpack         # of saved_tensors_hooks, or of register_hooks


cdef inline bint may_require_grad(TensorBase tensor) noexcept:
    """Whether the tensor may require a gradient."""
    return tensor.autograd is not None or (tensor.base is not None and tensor.base.autograd is not None)

cdef inline bint may_require_grad_optional(TensorBase tensor) noexcept:
    return tensor is not None and may_require_grad(tensor)

cdef bint any_may_require_grad(list tensors) noexcept
cdef bint requires_grad(TensorBase tensor) except -1
cdef bint any_requires_grad(list tensors) except -1
cdef bint is_differentiable_dtype(ScalarType dtype) noexcept
cdef AutogradMeta materialize_autograd_meta(TensorBase tensor)  # makes it where there is none

# --- functions of nodes ----------------------------------------------------------------------------------------------

cdef NodeType node_type(str name)
cdef Node new_node(NodeType kind, int edges)
cdef uint64_t next_sequence_nr() noexcept
cdef Node make_grad_accumulator(TensorBase leaf, AutogradMeta meta)
cdef int set_metadata(InputMetadata *metadata, TensorBase tensor) except -1
cdef int set_undefined_metadata(InputMetadata *metadata) noexcept
cdef int set_output_metadata(Node node, TensorBase result) except -1
cdef int set_outputs_metadata(Node node, list results) except -1
cdef int record_forward_stream(Node node, TensorBase tensor) except -1         # the stream of the forward
cdef str short_name(Node node)                                                 # "Add", for messages
cdef object removable_handle(dict hooks, object hook)
ctypedef int (*Accumulate)(TensorBase leaf, TensorBase grad) except -1
cdef Accumulate accumulate_grad                                                # engine.pyx sets it
ctypedef int (*PackTensor)(SavedTensor saved, TensorBase tensor, object pack, object unpack) except -1
cdef SavedTensor FREED                                                         # replaces a saved tensor that was freed
cdef PackTensor pack_tensor                                                    # history.pyx sets it

# --- backward --------------------------------------------------------------------------------------------------------

cdef Node ALWAYS_COMPUTED                       # an edge to this node always gets its gradient
cdef inline bint should_compute_edge(Node node, int index, set needed):
    """Whether backward needs the gradient of operand `index`."""
    cdef object target = node.edges[index]
    return target is not None and (needed is None or target is ALWAYS_COMPUTED or target in needed)

cdef object unpack_value(Node node, object value)                               # RuntimeError after a free or a write
cdef object raw_value(object value)                                             # without unpacking
cdef object zeros_like_metadata(InputMetadata *metadata)
cdef object derivative_functions()                                              # mindtorch._ops.derivatives
