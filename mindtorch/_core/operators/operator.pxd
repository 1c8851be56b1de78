"""Operator, the record of a row; and what all operators ask of their operands: device, dtype, overlap."""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from mindtorch._core.autograd.node cimport NodeType
from mindtorch._core.tensor.dtype cimport Scalar, ScalarType
from mindtorch._core.tensor.tensor cimport DEVICE_TYPES, Shape, TensorBase


# --- operators -------------------------------------------------------------------------------------------------------
# An operator at run time: what its row says, and its kernels by device. run_operator.pyx runs it.


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

# Sets the argument to a row's default; gives what the argument points to, which must be kept alive.
cdef object default_argument(Argument *argument, ArgumentType type, object value)
cdef int no_kernel(Operator op, int device_type, ScalarType dtype) except -1      # always raises NotImplementedError


# --- operands --------------------------------------------------------------------------------------------------------
# What the generated functions share: places, checks of arguments, outputs, errors. Device-neutral.
#
# `check_*` and the rules here are named by op rows, as those of infer.pxd are.


cdef Scalar ONE
cdef Shape NO_DIMS

# Device of an op's result. A 0-d CPU tensor joins any other device.
cdef struct Place:
    int type               # DeviceType
    int index
    bint loose             # only 0-d CPU tensors were seen so far

cdef inline int place_of(Place *place, TensorBase tensor) except -1:
    place.type = tensor.device_type
    place.index = tensor.device_index
    place.loose = tensor.ndim == 0 and tensor.device_type == 0
    return 0

cdef inline int join(Place *place, TensorBase tensor) except -1:
    if tensor is not None and (tensor.device_type != place.type or tensor.device_index != place.index):
        join_slowly(place, tensor)
    return 0

cdef int join_slowly(Place *place, TensorBase tensor) except -1      # RuntimeError where the devices differ
cdef int place_of_list(Place *place, list tensors) except -1

# What an op with out= returns: `out`, written back where a temporary stood in for it, its version counted.
cdef TensorBase finish(TensorBase result, TensorBase out)

# The output of an operator that writes over what is there: it holds `elements`, broadcast, before the kernel runs.
cdef int begin(TensorBase result, TensorBase elements) except -1

# The elements of an expanded tensor, each once: where all get the same value, that is the same.
cdef TensorBase distinct(TensorBase tensor)

# Arguments beside arguments.pxd's.
cdef const Scalar *optional_scalar(object value, Scalar *scalar, const char *function, const char *argument,
                                   int position) except? NULL                    # None: NULL
# out=(values, indices), or Nones; `position` of the parameter, from 0
cdef tuple several_outs(object out, int count, const char *function, int position)
cdef object named(type kind, tuple results)              # as a class of return_types, of as many members
# A number as a 0-d tensor on the device of `like`, typed as torch's wrapped numbers are beside that tensor.
cdef TensorBase number_like(const Scalar *number, TensorBase like)               # RuntimeError where it does not fit
cdef TensorBase number_to_read(const Scalar *number, TensorBase like)            # the same, on the host
cdef TensorBase wrapped_number(const Scalar *number, TensorBase beside)          # as an operand: integers wrap around
cdef object as_operand(object value, object beside)      # a number as a tensor beside the other operand; else `value`
cdef TensorBase number_beside(const Scalar *number, TensorBase like)             # typed as torch.full would

# Shape rules beside infer.pxd's.
cdef int dot(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int mv(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int addmm(Shape *shape, TensorBase self, TensorBase mat1, TensorBase mat2) except -1
cdef int reduce_dim(Shape *shape, TensorBase a, int64_t dim, bint keepdim) except -1
cdef int broadcast_optional(Shape *shape, TensorBase a, TensorBase b, TensorBase c) except -1    # b, c may be None
cdef int scalar_shape(Shape *shape) except -1
cdef int embedding(Shape *shape, TensorBase weight, TensorBase indices) except -1
cdef int embedding_table(Shape *shape, TensorBase grad_output, int64_t num_weights) except -1

# Dtype rules beside infer.pxd's.
cdef ScalarType promote_optional(TensorBase a, TensorBase b, TensorBase c) except *
cdef ScalarType promote_bounds(TensorBase a, const Scalar *low, const Scalar *high) except *      # NULL: no bound
cdef ScalarType number_dtype(const Scalar *a) except *          # what torch.full infers
cdef ScalarType real_dtype(ScalarType dtype) except *           # complex64 -> float32; others unchanged
cdef ScalarType complex_dtype(ScalarType dtype) except *        # float32 -> complex64
cdef ScalarType square_dtype(ScalarType dtype) except *         # bool counts: int64
cdef ScalarType truth_dtype(ScalarType dtype) except *          # all and any: bool, but uint8 stays
cdef ScalarType opmath(ScalarType dtype) noexcept               # floats of fewer bits compute in float32

cdef str c_name(ScalarType dtype)                               # the C++ type, as some messages have it

# Checks: each raises torch's error or returns 0.
cdef int check_alpha(ScalarType result_dtype, const Scalar *alpha) except -1
cdef int check_subtract(TensorBase self, TensorBase other) except -1
cdef int check_subtract_scalar(TensorBase self, const Scalar *other) except -1
cdef int check_negative(TensorBase self) except -1
cdef int check_floating(TensorBase self, ScalarType result_dtype) except -1      # mean
cdef int check_relu(TensorBase self) except -1
cdef int check_arithmetic(ScalarType dtype, str op) except -1                    # no bool
cdef int check_ordered(ScalarType dtype, str op) except -1                        # no complex
cdef int check_reducible(TensorBase self, const Shape *dim, str op) except -1    # empty input without a dim
cdef int check_reduced_dim(TensorBase self, int64_t dim, str op) except -1
cdef int check_condition(TensorBase condition) except -1
cdef int check_bounds(ScalarType dtype, bint low, bint high) except -1           # clamp
cdef int check_product(TensorBase self) except -1                                # matrix products
cdef int check_not_complex(TensorBase self, str words) except -1                 # NotImplementedError
cdef int check_real(ScalarType dtype, str words) except -1                       # the same as a RuntimeError
cdef int check_floats(ScalarType dtype, str op) except -1                        # no integers, no bool
cdef int check_floats_only(TensorBase self, str words) except -1                 # RuntimeError
cdef int check_full_floats(ScalarType dtype, str op) except -1                   # float32 and float64
cdef int check_same_types(TensorBase a, TensorBase b, str words) except -1       # RuntimeError
cdef int check_order(int64_t n) except -1                                        # polygamma
cdef int check_parts(TensorBase real, TensorBase imag) except -1                 # complex and polar
cdef int check_addcdiv(TensorBase tensor1, TensorBase tensor2) except -1
# An out= of another dtype than `dtype`, in the words that different functions of torch have for it.
cdef int check_out(TensorBase out, ScalarType dtype) except -1
cdef int check_out_in_words(TensorBase out, ScalarType dtype, str words) except -1
cdef int check_out_in_c(TensorBase out, ScalarType dtype, str words) except -1    # the same with C's type names
cdef int check_out_lerp(TensorBase out, ScalarType dtype, TensorBase weight) except -1
cdef int check_out_given(TensorBase out, ScalarType dtype) except -1              # only where `dtype` was given
cdef int check_out_abs(TensorBase out, TensorBase self) except -1
cdef int check_out_truth(TensorBase out, str op) except -1                       # all and any
cdef int check_out_cat(TensorBase out, ScalarType dtype) except -1
cdef int check_no_bool(TensorBase self, str op) except -1                        # argmax, argmin
cdef int check_abs(TensorBase self) except -1
cdef int check_abs_in_place(TensorBase self) except -1
cdef int check_addend(TensorBase self, TensorBase mat2) except -1                 # addmm
cdef int check_number_fits(ScalarType dtype, const Scalar *number) except -1      # NULL fits
cdef int check_factors(TensorBase a, TensorBase b) except -1                     # addmm
cdef int check_same_dtype(TensorBase a, TensorBase b) except -1                  # matrix products
cdef int check_pow(TensorBase self, const Scalar *exponent) except -1
cdef int check_rounding(object rounding_mode) except -1
cdef int check_integral(ScalarType dtype, str op) except -1                       # bitwise operators
cdef int check_fill_value(TensorBase self, TensorBase value) except -1
cdef int check_not_empty(TensorBase self, str op) except -1
cdef int check_float_kernel(ScalarType dtype, str op) except -1                   # only floats have that kernel
cdef int check_float_or_complex(ScalarType dtype, str op) except -1
cdef int check_embedding(TensorBase weight, TensorBase indices) except -1
cdef int check_approximate(object approximate) except -1                          # gelu
cdef int check_hardtanh(TensorBase self, const Scalar *min_val, const Scalar *max_val) except -1
cdef int check_softshrink(TensorBase self, const Scalar *lambd) except -1
