"""Operator, the run-time form of a row; what operators do with operands and results; rules that rows name."""
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from mindtorch._core.autograd.node cimport NodeType
from mindtorch._core.tensor.dtype cimport Scalar, ScalarType
from mindtorch._core.tensor.tensor cimport BACKEND_TYPES, Shape, TensorBase


# --- arguments -------------------------------------------------------------------------------------------------------
# The arguments of an operator travel in an array of unions, in the order of the schema, with the results behind them.

cdef enum:
    MAX_ARGUMENTS = 24          # of one operator, with its results
    MAX_RESULTS = 4
    MAX_OPERANDS = 10           # of one rule

# One argument of a call. The type in the operator's schema says which member holds it; references are borrowed.
cdef union Argument:
    PyObject *object             # Tensor, Tensor[], Scalar[], str, Generator; None where an optional one is absent
    const Scalar *scalar         # Scalar; Scalar?: NULL where absent
    const Shape *ints            # int[]; bool[] as 0 and 1; int?: at most one; int[]?: none
    int64_t integer              # int, bool, ScalarType
    double real                  # float
    const double *optional_real  # float?: NULL where absent

cdef enum ArgumentType:         # as schemas name them
    TENSOR, OPTIONAL_TENSOR, TENSOR_LIST, OPTIONAL_TENSOR_LIST, SCALAR, OPTIONAL_SCALAR, SCALAR_LIST, INT, OPTIONAL_INT
    INT_LIST, BOOL, BOOL_LIST, FLOAT, OPTIONAL_FLOAT, DTYPE, STRING, GENERATOR

# --- kernels ---------------------------------------------------------------------------------------------------------

# A device's kernel of an operator. `arguments` are those of the schema, then the results: tensors of the right shape
# and dtype on the device. The kernel computes in `dtype`. With `inplace`, the result is the argument `self`.
# The kernel does not change `arguments`.
cdef struct Kernel:
    int (*call)(const Kernel *kernel, Argument *arguments, ScalarType dtype, bint inplace) except -1
    void *data                  # the backend's own; `call` is NULL where the device has no kernel

# --- rules -----------------------------------------------------------------------------------------------------------
# A row names C functions for shapes, dtypes and checks, and says where their arguments come from.

# A shape rule fills `shape`, a dtype rule returns the ScalarType, a check returns or raises.
ctypedef int (*RuleFunction)(Argument *values, Shape *shape) except? -1

cdef enum OperandKind:
    ARGUMENT, DTYPE_OF, RESULT_DTYPE, HAS_VALUE, CONSTANT, RULE

cdef struct Operand:            # where an argument of a rule comes from
    OperandKind kind
    int index                   # of an argument of the operator, or of a result
    Argument constant
    Rule *rule

cdef struct Rule:
    RuleFunction function       # NULL: the dtype of the first operand that is not None
    int count
    int first_argument          # the operands are this argument and the next ones of the operator; -1: they are not
    Operand operands[MAX_OPERANDS]
    # Where the function need not be called:
    bint returns_common_shape     # of a shape: where all tensors have one shape, the result has it
    unsigned int common_dtypes    # of a dtype, as bits: where all tensors have one of these dtypes, the result has it,
    int promoting_scalar          # unless the number in this argument has a higher kind; -1: there is none
    bint reads_one_dtype          # a check that reads one dtype alone
    unsigned int accepted_dtypes  # the dtypes, as bits, that this check has accepted so far,
    int scalar_argument           # with ONE, its default, in this argument; -1: it has no number

cdef struct Rules:
    int count
    Rule **rules

# --- operators -------------------------------------------------------------------------------------------------------
# An operator at run time: what its row says, and its kernels by device. run_operator.pyx runs it.

cdef struct Output:
    Rule *shape
    Rule *dtype
    Rule *strides               # the rule of the result's strides, which returns none for contiguous ones; or NULL
    int operands[3]             # the arguments that decide the strides of the result; -1: none
    bint elementwise
    unsigned int no_cast        # which of these operands no kernel casts, as bits
    bint keeps_strides          # the result keeps the operands' order of dimensions
    bint keeps_memory_format    # the result is channels_last where one of the operands is
    int mask                    # the argument that says whether the caller needs the result, or -1
    int mask_index              # the element of that list of bools; -1: the argument is one bool
    bint dynamic_shape          # the kernel reports the shape

cdef enum ForeachArgumentKind:
    SAME_ARGUMENT, TENSOR_OF_LIST, SCALAR_OF_LIST, DEFAULT_VALUE

cdef struct ForeachArgument:  # where an operator on lists takes an argument of its operator on one tensor from
    ForeachArgumentKind kind
    int index
    Argument value              # of DEFAULT_VALUE

cdef class Operator:
    cdef readonly str key                               # "add.Tensor": torch's name and overload
    cdef readonly str name                              # "add"
    cdef bint loaded                                    # whether load_operator has read the row
    cdef bint is_plain                                  # it is loaded, gives one tensor, and autocast does not list it
    cdef Kernel kernels[BACKEND_TYPES]
    cdef unsigned int foreach_dtypes[BACKEND_TYPES]  # dtypes that the kernel of an operator on lists takes, as bits
    cdef int argument_count, result_count
    cdef ArgumentType argument_types[MAX_ARGUMENTS]
    cdef bint inplace_only                               # the operator has the in-place form alone, as fill_
    cdef bint is_foreach                                  # _foreach_* and the fused optimizers
    cdef int tensor_arguments[MAX_ARGUMENTS]  # the arguments that are tensors; those that may be None last
    cdef int tensor_count
    cdef int tensor_list_argument                                 # the first argument that is a list of tensors, or -1
    cdef int dim_argument, dtype_argument, generator_argument  # the argument of that name or type, or -1
    cdef Output outputs[MAX_RESULTS]
    cdef Rule *inplace_dtype                            # NULL: that of the first output
    cdef Rule *compute_dtype                                  # the dtype to compute in; NULL: that of the first result
    cdef Rules checks, inplace_checks, out_checks, kernel_checks, cpu_checks
    cdef Rules fused_if                                 # when the kernel for lists may run
    cdef int inout                                       # the argument that is copied to the result first, or -1
    cdef bint autocasts                                     # autocast's lists have the operator
    cdef int cpu_policy, npu_policy
    cdef int differentiable[MAX_ARGUMENTS]              # the arguments with a derivative
    cdef int differentiable_count
    cdef bint saves_self                                # the in-place form saves a copy of self for backward
    cdef bint records_inplace_only                    # the plain form gives bool, which has no gradient
    cdef NodeType node                                  # None before a call is recorded
    # Of operators on lists:
    cdef Operator single                                  # the operator on one tensor
    cdef Operator scalar_variant                          # the operator for a list of numbers that are all equal
    cdef ForeachArgument single_arguments[MAX_ARGUMENTS]  # where the arguments of `single` come from
    cdef int single_argument_count
    cdef bint single_is_method                            # `single` is a method in Python
    cdef bint single_has_inplace
    cdef int scalars_argument                             # the argument with a number for each tensor, or -1
    cdef int written_lists[MAX_ARGUMENTS]                 # the lists that an operator without `single` writes
    cdef int written_list_count

cdef Operator find_operator(str key)                    # makes it at the first call
cdef int register_rules(dict indices, RuleFunction *functions) except -1
cdef RuleFunction find_rule(str name) except NULL

cdef inline int run_kernel(Operator op, int device_type, Argument *arguments, ScalarType dtype,
                           bint inplace=False) except -1:
    cdef Kernel *kernel = &op.kernels[device_type]
    return kernel.call(kernel, arguments, dtype, inplace)

# NotImplementedError where the device has no kernel.
cdef inline int require_kernel(Operator op, int device_type, ScalarType dtype) except -1:
    if op.kernels[device_type].call == NULL:
        raise_no_kernel(op, device_type, dtype)
    return 0

# Sets the argument to a row's default. The caller keeps alive what this returns: the argument may point to it.
cdef object set_default_argument(Argument *argument, ArgumentType type, object value)
cdef int raise_no_kernel(Operator op, int device_type, ScalarType dtype) except -1  # always raises NotImplementedError


# --- operands and results --------------------------------------------------------------------------------------------

cdef Scalar ONE
cdef Shape NO_DIMS

# The device of an operator's operands and results. 0-d CPU tensors go with any device.
cdef struct CommonDevice:
    int type                # DeviceType
    int index
    bint only_cpu_scalars   # so far all operands were 0-d CPU tensors

cdef inline int init_common_device(CommonDevice *common, TensorBase tensor) except -1:
    common.type = tensor.device_type
    common.index = tensor.device_index
    common.only_cpu_scalars = tensor.ndim == 0 and tensor.device_type == 0
    return 0

# Takes in an operand on another device than those before. RuntimeError unless one side is 0-d and on the CPU.
cdef int update_common_device(CommonDevice *common, TensorBase tensor) except -1
cdef int common_device_of_list(CommonDevice *common, list tensors) except -1

# What an operator with out= returns: `out`, after the temporary that the kernel may have written is copied to it.
cdef TensorBase write_back_out(TensorBase result, TensorBase out)

# Copies `elements`, broadcast, to the result of an operator whose kernel works in place.
cdef int initialize_inout(TensorBase result, TensorBase elements) except -1

# A view of an expanded tensor that has each element once. To fill that view fills the tensor.
cdef TensorBase unexpanded_view(TensorBase tensor)

cdef const Scalar *optional_scalar(object value, Scalar *scalar, const char *function, const char *argument,
                                   int position) except? NULL                    # None: NULL
# out=(values, indices), or `count` times None. `position` is that of the parameter, counted from 0.
cdef tuple require_outs(object out, int count, const char *function, int position)
cdef object make_return_type(type kind, tuple results)              # an instance of `kind`, a class of return_types
# A number as a 0-d tensor on the device of `like`, in the dtype to which the two promote.
cdef TensorBase promoted_scalar_tensor(const Scalar *number, TensorBase like)  # RuntimeError where it overflows
cdef TensorBase promoted_scalar_tensor_on_host(const Scalar *number, TensorBase like)            # the same on the CPU
cdef TensorBase wrapped_scalar_tensor(const Scalar *number, TensorBase like)            # integers wrap around
cdef bint gives_floats(Operator op) noexcept
cdef object wrap_number(object value, object other)  # wrapped_scalar_tensor of a number like `other`; else `value`
cdef TensorBase inferred_scalar_tensor(const Scalar *number, TensorBase like)  # in the dtype that torch.full infers

# --- the rules that rows name (docs/rules.md says what they do); others: _core/rules ---------------------------------

# Shapes.
cdef int dot(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int mv(Shape *shape, TensorBase a, TensorBase b) except -1
cdef int addmm(Shape *shape, TensorBase self, TensorBase mat1, TensorBase mat2) except -1
cdef int reduce_dim(Shape *shape, TensorBase a, int64_t dim, bint keepdim) except -1
cdef int broadcast_optional(Shape *shape, TensorBase a, TensorBase b, TensorBase c) except -1
cdef int scalar_shape(Shape *shape) except -1
cdef int embedding(Shape *shape, TensorBase weight, TensorBase indices) except -1
cdef int embedding_weight(Shape *shape, TensorBase grad_output, int64_t num_weights) except -1

# Dtypes.
cdef ScalarType promote_dtypes(TensorBase a, TensorBase b, TensorBase c) except *
cdef ScalarType promote_optional(TensorBase a, TensorBase b, TensorBase c) except *
cdef ScalarType promote_clamp(TensorBase a, const Scalar *low, const Scalar *high) except *
cdef ScalarType real_dtype(ScalarType dtype) except *
cdef ScalarType to_complex_dtype(ScalarType dtype) except *
cdef ScalarType integer_power_dtype(ScalarType dtype) except *
cdef ScalarType all_any_dtype(ScalarType dtype) except *
cdef ScalarType opmath(ScalarType dtype) noexcept

cdef str cpp_type_name(ScalarType dtype)                               # the C++ type, for messages

# Checks: each raises torch's error or returns 0.
cdef int check_alpha(ScalarType result_dtype, const Scalar *alpha) except -1
cdef int check_addr(ScalarType result_dtype, const Scalar *beta, const Scalar *alpha) except -1
cdef int check_subtract(TensorBase self, TensorBase other) except -1
cdef int check_subtract_scalar(TensorBase self, const Scalar *other) except -1
cdef int check_negative(ScalarType dtype) except -1
cdef int check_mean_dtype(TensorBase self, ScalarType dtype) except -1
cdef int check_relu(ScalarType dtype) except -1
cdef int check_kernel_not_bool(ScalarType dtype, str op) except -1
cdef int check_kernel_not_complex(ScalarType dtype, str op) except -1
cdef int check_kernel_not_integral(ScalarType dtype, str op) except -1
cdef int check_kernel_real(ScalarType dtype, str op) except -1
cdef int check_zero_numel_dims(TensorBase self, const Shape *dim, str op) except -1
cdef int check_zero_numel_dim(TensorBase self, int64_t dim, str op) except -1
cdef int check_where_condition(ScalarType dtype) except -1
cdef int check_clamp_bounds(ScalarType dtype, bint low, bint high) except -1
cdef int check_addmm_kernel(TensorBase self) except -1
cdef int check_addmm_numbers(TensorBase a, TensorBase b, const Scalar *beta, const Scalar *alpha) except -1
cdef int check_addmv_numbers(TensorBase a, TensorBase b, const Scalar *beta, const Scalar *alpha) except -1
cdef int check_not_complex(ScalarType dtype, str words) except -1
cdef int check_dtype_not_complex(ScalarType dtype, str words) except -1
cdef int raise_not_implemented(str kernel, ScalarType dtype) except -1      # torch's error of a kernel without it
cdef int check_kernel_float_or_complex(ScalarType dtype, str op) except -1
cdef int check_floating_point(ScalarType dtype, str words) except -1
cdef int check_kernel_float_or_double(ScalarType dtype, str op) except -1
cdef int check_same_dtype(TensorBase a, TensorBase b, str words) except -1
cdef int check_polygamma_order(int64_t n) except -1
cdef int check_real_imag(TensorBase real, TensorBase imag) except -1
cdef int check_addcdiv(TensorBase tensor1, TensorBase tensor2) except -1
cdef int check_out_dtype(TensorBase out, ScalarType dtype) except -1
cdef int check_out_dtype_message(TensorBase out, ScalarType dtype, str words) except -1
cdef int check_out_dtype_cpp_message(TensorBase out, ScalarType dtype, str words) except -1
cdef int check_lerp_weight(TensorBase self, TensorBase weight) except -1
cdef int check_out_lerp(TensorBase out, ScalarType dtype, TensorBase weight) except -1
cdef int check_out_sum(TensorBase out, TensorBase self, ScalarType dtype) except -1
cdef int check_out_abs(TensorBase out, TensorBase self) except -1
cdef int check_out_all_any(TensorBase out, str op) except -1
cdef int check_out_cat(TensorBase out, ScalarType dtype) except -1
cdef int check_arg_extremum(ScalarType dtype, str op) except -1
cdef int check_abs(ScalarType dtype) except -1
cdef int check_abs_in_place(ScalarType dtype) except -1
cdef int check_addmm_self(TensorBase self, TensorBase mat2) except -1
cdef int check_optional_scalar_overflow(ScalarType dtype, const Scalar *number) except -1
cdef int check_filled(TensorBase self, const Scalar *number) except -1
cdef int check_scattered(TensorBase self, TensorBase index, const Scalar *number) except -1
cdef int check_addmm_factors(TensorBase a, TensorBase b) except -1
cdef int check_mm_dtypes(TensorBase a, TensorBase b) except -1
cdef int check_pow(TensorBase self, const Scalar *exponent) except -1
cdef int check_rounding_mode(object rounding_mode) except -1
cdef int check_kernel_integral(ScalarType dtype, str op) except -1
cdef int check_fill_value(TensorBase self, TensorBase value) except -1
cdef int check_zero_numel(TensorBase self, str op) except -1
cdef int check_kernel_float(ScalarType dtype, str op) except -1
cdef int check_embedding(TensorBase weight, TensorBase indices) except -1
cdef int check_kernel_float_or_long(ScalarType dtype, str op) except -1
cdef int check_approximate(object approximate) except -1
cdef int check_hardtanh(TensorBase self, const Scalar *min_val, const Scalar *max_val) except -1
cdef int check_softshrink(TensorBase self, const Scalar *lambd) except -1

# Lists of tensors (foreach.pxi): conditions of `fused_if`, helpers of run_foreach, and checks.
# RuntimeError unless the list has elements; unless both have equally many; unless there is a number for each tensor.
cdef Py_ssize_t checked_length(list tensors) except -1
cdef int check_same_length(list tensors, list others) except -1
cdef int check_scalar_count(list tensors, tuple numbers) except -1
# Whether a kernel may take the list at once: one dtype (a bit of `dtypes`), one device, contiguous, nothing recorded.
cdef bint is_fast_route_list(list tensors, unsigned int dtypes) noexcept
# The same of a second list, each tensor of which must also have the shape of the first list's.
cdef bint matches_fast_route_list(list tensors, list others) noexcept
cdef list empty_like_list(list tensors)  # new tensors of the same shapes and dtypes
cdef int bump_versions(list tensors) except -1
# copies `result` to `self`, for an operator without an in-place form
cdef int write_inplace_result(TensorBase self, TensorBase result) except -1
cdef int highest_kind_scalar(tuple numbers, Scalar *number) except -1  # the number of the highest kind
cdef bint all_equal(tuple numbers) except -1  # all the same, in type as well
cdef tuple unpack_scalars(TensorBase scalars, list tensors)  # the elements of a 1-d CPU tensor, one for each tensor
cdef double single_double(TensorBase tensor) except? -1.0  # the element of a tensor that stands for a number
cpdef TensorBase common_base(list tensors)  # the 1-d tensor of which the tensors are all elements, in order, or None
cdef int check_not_empty_list(list tensors, str op) except -1  # NotImplementedError for an empty list
cdef int check_matching_list(list tensors, list others, str name) except -1
cdef int check_matching_list_if(bint wanted, list tensors, list others, str name) except -1
cdef int check_momentum(double momentum, list tensors, list others, str name) except -1
cdef int check_list_length(list tensors, list others, str name) except -1
cdef int check_all_float(list tensors, str op) except -1
cdef int check_one_float(TensorBase tensor, str name) except -1
cdef int check_one_int(TensorBase tensor, str name) except -1
cdef int check_on_device(list tensors, TensorBase other) except -1
cdef int check_scalar_tensor(TensorBase other) except -1
cdef int check_no_empty_tensor(list tensors) except -1
cdef bint may_use_device_scalar(list tensors, TensorBase other) noexcept
cdef bint may_norm(const Scalar *ord) noexcept
cdef bint may_step(list grads, TensorBase grad_scale, TensorBase found_inf) except -1
