"""An operator at run time: what its row says, and its kernels by device. run_operator.pyx runs it."""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from mindtorch._core.autograd cimport NodeType
from mindtorch._core.device cimport DEVICE_TYPES
from mindtorch._core.scalar cimport Scalar, ScalarType
from mindtorch._core.tensor cimport Shape


cdef enum:
    MAX_ARGUMENTS = 24          # of one operator, with its results
    MAX_RESULTS = 4
    MAX_OPERANDS = 10           # of one rule

# One argument of a call. The type in the operator's schema says which member holds it; references are borrowed.
cdef union Argument:
    PyObject *object            # Tensor, Tensor[], Scalar[], str, Generator; None where an optional one is absent
    const Scalar *scalar        # Scalar; Scalar?: NULL where absent
    const Shape *ints           # int[]; bool[] as 0 and 1; int?: at most one; int[]?: none
    int64_t integer             # int, bool, ScalarType
    double real                 # float
    const double *optional_real  # float?: NULL where absent

cdef enum ArgumentType:         # as schemas name them
    TENSOR, OPTIONAL_TENSOR, TENSOR_LIST, OPTIONAL_TENSOR_LIST, SCALAR, OPTIONAL_SCALAR, SCALAR_LIST, INT, OPTIONAL_INT
    INT_LIST, BOOL, BOOL_LIST, FLOAT, OPTIONAL_FLOAT, DTYPE, STRING, GENERATOR

# --- kernels ---------------------------------------------------------------------------------------------------------

# A device's kernel of an operator. `arguments` are those of the schema, then the results: tensors of the right shape
# and dtype on the device. `dtype` is what the elements are computed in. `inplace`: the result is the argument `self`.
# The kernel leaves `arguments` as they are.
cdef struct Kernel:
    int (*call)(const Kernel *kernel, Argument *arguments, ScalarType dtype, bint inplace) except -1
    void *data                  # the backend's own; `call` is NULL where the device has no kernel

# --- rules -----------------------------------------------------------------------------------------------------------

# A rule about shapes fills `shape`, one about dtypes returns the ScalarType, a check returns or raises.
ctypedef int (*RuleFunction)(Argument *values, Shape *shape) except? -1

cdef enum OperandKind:
    ARGUMENT, DTYPE_OF, RESULT_DTYPE, IS_GIVEN, CONSTANT, RULE

cdef struct Operand:            # where a rule finds one of its arguments
    OperandKind kind
    int index                   # of the operator's argument, or of its result
    Argument constant
    Rule *rule

cdef struct Rule:
    RuleFunction function       # NULL: the dtype of the first operand that was given
    int count
    Operand operands[MAX_OPERANDS]

cdef struct Rules:
    int count
    Rule **rules

# --- operators -------------------------------------------------------------------------------------------------------

cdef struct Output:
    Rule *shape
    Rule *dtype
    int operands[3]             # the arguments that an elementwise result is like, or whose format it keeps; -1: none
    bint elementwise
    bint keeps_format           # channels_last where one of the operands is
    int mask                    # the argument that says whether the result is wanted, or -1
    int mask_place              # its element; -1: the argument is one truth value
    bint reported               # the kernel finds out the shape

cdef enum SourceKind:
    SAME, ELEMENT_OF_LIST, NUMBER_OF_LIST, DEFAULT

cdef struct Source:             # of an argument of the operator on one tensor, in a call of the operator on lists
    SourceKind kind
    int place
    Argument value              # of DEFAULT

cdef class Operator:
    cdef readonly str key                               # "add.Tensor", as torch names it
    cdef readonly str name                              # "add"
    cdef bint loaded                                    # whether what follows has been read from the row
    cdef Kernel kernels[DEVICE_TYPES]
    cdef unsigned int list_dtypes[DEVICE_TYPES]         # of operators on lists: dtypes that the kernel takes, as bits
    cdef int count, results                             # arguments of the schema; results, which follow them
    cdef ArgumentType types[MAX_ARGUMENTS]
    cdef bint writes_self, of_lists, has_kernel
    cdef int tensors[MAX_ARGUMENTS]                     # the arguments that are tensors, one that cannot be None first
    cdef int tensor_count
    cdef int first_list                                 # the first argument that is a list of tensors, or -1
    cdef int dim, dtype, generator                      # the arguments of these names, or -1
    cdef Output outputs[MAX_RESULTS]
    cdef Rule *inplace_dtype                            # NULL: that of the first output
    cdef Rule *compute                                  # the dtype that is computed in; NULL: that of the first result
    # Elementwise, so that operands of one dtype, shape and device, contiguous and without history, give a result like
    # them: whether, and whether its dtype is theirs, too (run_operator.run_uniform).
    cdef bint is_pointwise, keeps_dtype, computes_in_dtype
    cdef Rules check, inplace_check, out_check, cpu_check, together
    cdef int onto                                       # the argument that the result holds before the kernel, or -1
    cdef bint casts                                     # autocast knows the operator
    cdef int cpu_policy, npu_policy
    cdef int differentiable[MAX_ARGUMENTS]
    cdef int differentiable_count
    cdef bint keeps_self
    cdef bint recorded_in_place_only            # results that are bool by their rule have no gradient
    cdef NodeType node                                  # None before a call is recorded
    # Of operators on lists (foreach.pyx):
    cdef Operator each, uniform                         # the operator on one tensor; the one for numbers all equal
    cdef Source each_arguments[MAX_ARGUMENTS]           # where an argument of `each` comes from
    cdef int each_argument_count
    cdef bint each_is_method, each_has_inplace          # `each` is written in Python; has an in-place form
    cdef int numbers                                    # the argument that has a number for each tensor, or -1
    cdef int written[MAX_ARGUMENTS]                     # the lists that are written, of an operator without `each`
    cdef int written_count

cdef Operator find_operator(str key)                    # made at its first mention
cdef int register_rules(dict places, RuleFunction *functions) except -1
cdef RuleFunction find_rule(str name) except NULL

cdef inline int run_kernel(Operator op, int device_type, Argument *arguments, ScalarType dtype,
                           bint inplace=False) except -1:
    cdef Kernel *kernel = &op.kernels[device_type]
    return kernel.call(kernel, arguments, dtype, inplace)

# The same where the device may lack the kernel: NotImplementedError then.
cdef inline int require_kernel(Operator op, int device_type, ScalarType dtype) except -1:
    if op.kernels[device_type].call == NULL:
        no_kernel(op, device_type, dtype)
    return 0

cdef int no_kernel(Operator op, int device_type, ScalarType dtype) except -1      # always raises NotImplementedError
