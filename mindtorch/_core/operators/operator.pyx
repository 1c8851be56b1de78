"""Operators and their rules by name; what operators do with operands and results; rules that rows name."""
from cpython.object cimport PyObject, PyTypeObject
from libc.stdlib cimport calloc

from mindtorch._core.python.conversion cimport (
    check_scalar_overflow, raise_wrong_type, require_scalar, require_tensors, scalar_tensor,
)
from mindtorch._core.rules.infer cimport (
    broadcast3, check_no_internal_overlap, common_device_list, mm, promote, promote_list, promote_scalar,
    raise_device_mismatch, same_shape, scalar_dtype, wrap_dim, write_back,
)
from mindtorch._core.tensor.dtype cimport (
    BOOL_KIND, COMPLEX_KIND, FLOAT_KIND, INT_KIND, KIND, BFloat16, Bool, Byte, Char, ComplexDouble, ComplexFloat,
    Double, Float, Half, Int, Long, Short, UInt16, UInt32, UInt64, Undefined, can_cast, default_complex_dtype,
    dtype_name, is_float8, is_scalar, promote_types, scalar_from_python,
)
from mindtorch._core.tensor.tensor cimport (
    CPU, META, SPARSE, bump_version, copy_data, device_of, empty_tensor, has_internal_overlap, make_device, make_view,
    raise_no_sparse_kernel, require_backend, shape_text, reported_device_index, reported_device_type,
)


# --- operators -------------------------------------------------------------------------------------------------------

cdef dict OPERATORS_BY_KEY = {}
cdef dict RULE_INDICES = {}
cdef RuleFunction *RULE_FUNCTIONS = NULL


cdef class Operator:
    def __init__(self, str key):
        self.key = key      # a device has no kernel until its backend registers one
        self.kernels[<int>META].call = compute_nothing
        self.name = key.partition(".")[0]

    def __repr__(self):
        return f"<operator {self.key}>"


cdef Operator find_operator(str key):
    found = OPERATORS_BY_KEY.get(key)
    if found is None:
        found = OPERATORS_BY_KEY.setdefault(key, Operator(key))
    return <Operator>found


cdef int register_rules(dict indices, RuleFunction *functions) except -1:
    global RULE_FUNCTIONS
    RULE_INDICES.update(indices)
    RULE_FUNCTIONS = functions
    return 0


cdef RuleFunction find_rule(str name) except NULL:
    return RULE_FUNCTIONS[<int>RULE_INDICES[name]]


cdef int compute_nothing(const Kernel *kernel, Argument *arguments, ScalarType dtype, bint inplace) except -1:
    """The kernel of the meta device: the rules of the row have made the results, which have no elements."""
    return 0


cdef int raise_no_kernel(Operator op, int device_type, ScalarType dtype) except -1:
    if device_type == META:
        raise NotImplementedError(
            f"aten::{op.key}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta "
            "kernel registered: the shape of its result depends on the elements")
    if device_type >= SPARSE:
        raise_no_sparse_kernel(op.key, device_type)
    raise NotImplementedError(
        f"Could not run '{op.key}' on {make_device(device_type, -1)} (dtype {dtype_name(dtype)}): "
        "there is no kernel for it on that device")


cdef object set_default_argument(Argument *argument, ArgumentType type, object value):
    cdef Scalar *number
    if type == SCALAR and isinstance(value, int) and not isinstance(value, bool) and value == 1:
        argument.scalar = &ONE
    elif type == SCALAR or (type == OPTIONAL_SCALAR and value is not None):
        number = <Scalar *>calloc(1, sizeof(Scalar))        # lives as long as the process
        if number == NULL:
            raise MemoryError()
        scalar_from_python(value, number)
        argument.scalar = number
    elif type == OPTIONAL_SCALAR:
        argument.scalar = NULL
    elif type == OPTIONAL_FLOAT:
        argument.optional_real = NULL
    elif type in (INT_LIST, OPTIONAL_INT, BOOL_LIST):
        argument.ints = &NO_DIMS
    elif type == DTYPE:
        argument.integer = Undefined
    elif type in (INT, BOOL):
        argument.integer = value
    elif type == FLOAT:
        argument.real = value
    else:
        argument.object = <PyObject *>value
    return value


# --- the device of the operands --------------------------------------------------------------------------------------

cdef int update_common_device(CommonDevice *common, TensorBase tensor) except -1:
    if tensor.ndim == 0 and tensor.device_type == CPU:
        return 0
    if not common.only_cpu_scalars:
        raise_device_mismatch(make_device(common.type, common.index), device_of(tensor))
    return init_common_device(common, tensor)


cdef int common_device_of_list(CommonDevice *common, list tensors) except -1:
    common.only_cpu_scalars = False
    if not tensors:          # the shape rule raises torch's error
        require_backend(CPU)
        common.type, common.index = CPU, 0
        return 0
    common.type = common_device_list(tensors, &common.index)
    return 0


# --- results ---------------------------------------------------------------------------------------------------------

cdef TensorBase write_back_out(TensorBase result, TensorBase out):
    if out is None:
        return result
    bump_version(out)
    return out if result is out else write_back(result, out)


cdef int initialize_inout(TensorBase result, TensorBase elements) except -1:
    if result is not elements:
        copy_data(result, elements, False)
    return 0


cdef TensorBase unexpanded_view(TensorBase tensor):
    cdef Shape shape
    cdef int i
    if tensor.contiguous or not has_internal_overlap(tensor):
        return tensor
    same_shape(&shape, tensor)
    for i in range(tensor.ndim):
        if tensor.strides[i] == 0:
            shape.sizes[i] = 1
    return make_view(tensor, shape.ndim, shape.sizes, tensor.strides, tensor.offset)


# --- arguments -------------------------------------------------------------------------------------------------------

scalar_from_python(1, &ONE)
NO_DIMS.ndim = 0
cdef Operator FILL = find_operator("fill_.Scalar")


cdef const Scalar *optional_scalar(object value, Scalar *scalar, const char *function, const char *argument,
                                   int position) except? NULL:
    if value is None:
        return NULL
    require_scalar(value, scalar, function, argument, position)
    return scalar


cdef tuple require_outs(object out, int count, const char *function, int position):
    if out is None:
        return (None,) * count
    if not isinstance(out, (tuple, list)):
        raise_wrong_type(out, function, b"out", 0, "tuple of Tensors")
    if len(out) != count:
        raise TypeError(f"expected tuple of {count} elements but got {len(out)}")
    return tuple(require_tensors(out, function, b"out", position + 1))


cdef object make_return_type(type kind, tuple results):
    # The constructor of tuple is faster than that of the class, which takes any sequence and counts its members.
    cdef tuple arguments = (results,)
    return (<PyTypeObject *>tuple).tp_new(kind, <PyObject *>arguments, NULL)


cdef TensorBase device_scalar_tensor(const Scalar *number, ScalarType dtype, TensorBase like):
    cdef Shape shape
    cdef TensorBase made
    cdef Argument arguments[2]
    shape.ndim = 0
    made = empty_tensor(&shape, dtype, reported_device_type(like), reported_device_index(like))
    arguments[0].object = <PyObject *>made
    arguments[1].scalar = number
    run_kernel(FILL, made.device_type, arguments, dtype)
    return made


cdef TensorBase promoted_scalar_tensor(const Scalar *number, TensorBase like):
    cdef ScalarType dtype = promote_scalar(like, number)
    check_scalar_overflow(number, dtype)
    return device_scalar_tensor(number, dtype, like)


cdef TensorBase promoted_scalar_tensor_on_host(const Scalar *number, TensorBase like):
    cdef ScalarType dtype = promote_scalar(like, number)
    check_scalar_overflow(number, dtype)
    return scalar_tensor(number, dtype)


cdef TensorBase wrapped_scalar_tensor(const Scalar *number, TensorBase like):
    # A bool stays bool: it promotes to any dtype, and `sub` refuses it.
    return device_scalar_tensor(number, Bool if number.kind == BOOL_KIND else promote_scalar(like, number), like)


cdef bint gives_floats(Operator op) noexcept:
    """Whether the operator makes fractions of integers, as div does: then -1 with uint8 is not 255."""
    cdef unsigned int common = op.outputs[0].dtype.common_dtypes if op.result_count else 0
    return common != 0 and not (common >> <int>Long) & 1


cdef object wrap_number(object value, object other):
    cdef Scalar number
    if not is_scalar(value):
        return value
    scalar_from_python(value, &number)
    if isinstance(other, TensorBase):
        return wrapped_scalar_tensor(&number, <TensorBase>other)
    return scalar_tensor(&number, scalar_dtype(&number))


cdef TensorBase inferred_scalar_tensor(const Scalar *number, TensorBase like):
    return device_scalar_tensor(number, scalar_dtype(number), like)


# --- shapes ----------------------------------------------------------------------------------------------------------

cdef int dot(Shape *shape, TensorBase a, TensorBase b) except -1:
    """() of two vectors of one length."""
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.numel != b.numel:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{a.numel}] and src [{b.numel}] to have the "
                           f"same number of elements, but got {a.numel} and {b.numel} elements respectively")
    return scalar_shape(shape)


cdef int mv(Shape *shape, TensorBase a, TensorBase b) except -1:
    """(n,) of (n, m) and (m,)."""
    if a.ndim != 2 or b.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {a.ndim}, {b.ndim}")
    if a.sizes[1] != b.sizes[0]:
        raise RuntimeError(
            f"size mismatch, got input ({a.sizes[0]}), mat ({a.sizes[0]}x{a.sizes[1]}), vec ({b.sizes[0]})")
    shape.ndim = 1
    shape.sizes[0] = a.sizes[0]
    return 0


cdef int addmm(Shape *shape, TensorBase self, TensorBase mat1, TensorBase mat2) except -1:
    """(n, p) of the product of (n, m) and (m, p); `self` must expand to it."""
    cdef int i, j
    if mat1.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError(f"mat{1 if mat1.ndim != 2 else 2} must be a matrix, got "
                           f"{mat1.ndim if mat1.ndim != 2 else mat2.ndim}-D tensor")
    mm(shape, mat1, mat2)
    if self.ndim > 2:
        raise RuntimeError("expand: the number of sizes provided (2) must be greater or equal to the number of "
                           f"dimensions in the tensor ({self.ndim})")
    for i in range(self.ndim):
        j = 2 - self.ndim + i
        if self.sizes[i] != 1 and self.sizes[i] != shape.sizes[j]:
            raise RuntimeError(f"The expanded size of the tensor ({shape.sizes[j]}) must match the existing size "
                               f"({self.sizes[i]}) at non-singleton dimension {j}.  Target sizes: "
                               f"{shape_text(2, shape.sizes)}.  Tensor sizes: {shape_text(self.ndim, self.sizes)}")
    return 0


cdef int reduce_dim(Shape *shape, TensorBase a, int64_t dim, bint keepdim) except -1:
    """The sizes without `dim`, or with 1 in its place where `keepdim`."""
    cdef int i
    same_shape(shape, a)
    if a.ndim == 0:
        return 0
    if keepdim:
        shape.sizes[dim] = 1
        return 0
    for i in range(<int>dim, a.ndim - 1):
        shape.sizes[i] = shape.sizes[i + 1]
    shape.ndim -= 1
    return 0


cdef int broadcast_optional(Shape *shape, TensorBase a, TensorBase b, TensorBase c) except -1:
    """The three shapes, broadcast; b and c may be None."""
    return broadcast3(shape, a, a if b is None else b, a if c is None else c)


cdef int scalar_shape(Shape *shape) except -1:
    """No dimensions."""
    shape.ndim = 0
    return 0


# --- dtypes --------------------------------------------------------------------------------------------------------

cdef ScalarType promote_dtypes(TensorBase a, TensorBase b, TensorBase c) except *:
    """The dtype to which those of all three promote, whatever their dimensions."""
    return promote_types(promote_types(a.dtype, b.dtype), c.dtype)


cdef ScalarType promote_optional(TensorBase a, TensorBase b, TensorBase c) except *:
    """The dtype that torch.result_type gives for those that are not None."""
    if b is not None and c is not None:
        return promote_list([a, b, c])
    return promote(a, a if b is None and c is None else c if b is None else b)


cdef ScalarType promote_clamp(TensorBase a, const Scalar *low, const Scalar *high) except *:
    """The dtype that torch.result_type gives for the tensor and the bounds that are given."""
    cdef ScalarType result = a.dtype if low == NULL else promote_scalar(a, low)
    return result if high == NULL else promote_types(result, promote_scalar(a, high))


cdef ScalarType real_dtype(ScalarType dtype) except *:
    """float32 of complex64, float64 of complex128; others as they are."""
    if dtype == ComplexFloat:
        return Float
    return Double if dtype == ComplexDouble else dtype


cdef ScalarType to_complex_dtype(ScalarType dtype) except *:
    """complex64 of float32, complex128 of float64, the default complex dtype of bool and integers."""
    if KIND[<int>dtype] == COMPLEX_KIND:
        return dtype
    if KIND[<int>dtype] < FLOAT_KIND:
        return default_complex_dtype()
    return ComplexDouble if dtype == Double else ComplexFloat


cdef ScalarType integer_power_dtype(ScalarType dtype) except *:
    """int64 for bool; others as they are."""
    return Long if dtype == Bool else dtype


cdef ScalarType all_any_dtype(ScalarType dtype) except *:
    """Of all and any: uint8 of uint8, else bool."""
    return Byte if dtype == Byte else Bool


cdef ScalarType opmath(ScalarType dtype) noexcept:
    """float32 of floats with fewer bits; others as they are."""
    return Float if dtype == Half or dtype == BFloat16 or is_float8(dtype) else dtype


# --- checks ----------------------------------------------------------------------------------------------------------

cdef int raise_not_implemented(str kernel, ScalarType dtype) except -1:
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype_name(dtype)}'")


cdef int check_alpha(ScalarType result_dtype, const Scalar *alpha) except -1:
    """Refuses an alpha whose kind is higher than the result's, and one that overflows its dtype."""
    if alpha.kind == BOOL_KIND and result_dtype != Bool:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if alpha.kind == FLOAT_KIND and KIND[<int>result_dtype] < FLOAT_KIND:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if alpha.kind == COMPLEX_KIND and KIND[<int>result_dtype] < COMPLEX_KIND:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return check_scalar_overflow(alpha, result_dtype)


cdef int check_addr(ScalarType result_dtype, const Scalar *beta, const Scalar *alpha) except -1:
    """Refuses numbers whose kind is higher than the result's, and numbers that overflow its dtype."""
    check_addr_kind(result_dtype, beta, "beta")
    check_addr_kind(result_dtype, alpha, "alpha")
    check_scalar_overflow(beta, result_dtype)
    return check_scalar_overflow(alpha, result_dtype)


cdef int check_addr_kind(ScalarType result_dtype, const Scalar *number, str name) except -1:
    if number.kind == BOOL_KIND and result_dtype != Bool:
        raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    if number.kind >= FLOAT_KIND and KIND[<int>result_dtype] < FLOAT_KIND:
        raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    return 0


cdef int check_subtract(TensorBase self, TensorBase other) except -1:
    """Refuses bool."""
    if self.dtype == Bool and other.dtype == Bool:
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. "
                           "Use the `^` or `logical_xor()` operator instead.")
    if self.dtype == Bool or other.dtype == Bool:
        raise_bool_subtract()
    return 0


cdef int raise_bool_subtract() except -1:
    raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
                       "invert a mask, use the `~` or `logical_not()` operator instead.")


cdef int check_subtract_scalar(TensorBase self, const Scalar *other) except -1:
    """Refuses a bool tensor, and True and False."""
    if self.dtype == Bool or other.kind == BOOL_KIND:
        raise_bool_subtract()
    return 0


cdef int check_negative(ScalarType dtype) except -1:
    """Refuses bool."""
    if dtype == Bool:
        raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert "
                           "a mask, use the `~` or `logical_not()` operator instead.")
    return 0


cdef int check_mean_dtype(TensorBase self, ScalarType dtype) except -1:
    """Refuses the mean of bool and integers, unless a dtype is given, and a given one of bool or integers."""
    cdef ScalarType added = self.dtype if dtype == Undefined else dtype
    if KIND[<int>added] < FLOAT_KIND:
        what = "Input" if added == self.dtype else "Optional"
        raise RuntimeError(f"mean(): could not infer output dtype. {what} dtype must be either a floating point or "
                           f"complex dtype. Got: {dtype_name(added)}")
    return 0


cdef int check_kernel_not_bool(ScalarType dtype, str op) except -1:
    """Refuses bool."""
    if dtype == Bool:
        raise_not_implemented(op, dtype)
    return 0


cdef int check_relu(ScalarType dtype) except -1:
    """Refuses bool."""
    if dtype == Bool:
        raise RuntimeError("Boolean inputs not supported for relu")
    return 0


cdef int check_kernel_not_complex(ScalarType dtype, str op) except -1:
    """Refuses complex numbers."""
    if KIND[<int>dtype] == COMPLEX_KIND:
        raise_not_implemented(op, dtype)
    return 0


cdef int check_kernel_not_integral(ScalarType dtype, str op) except -1:
    """Refuses integers."""
    if KIND[<int>dtype] == INT_KIND:
        raise_not_implemented(op, dtype)
    return 0


cdef int check_kernel_real(ScalarType dtype, str op) except -1:
    """Refuses bool and complex numbers."""
    if dtype == Bool or KIND[<int>dtype] > FLOAT_KIND:
        raise_not_implemented(op, dtype)
    return 0


cdef int check_not_complex(ScalarType dtype, str words) except -1:
    """NotImplementedError for complex numbers; `words` is the message."""
    if KIND[<int>dtype] == COMPLEX_KIND:
        raise NotImplementedError(words)
    return 0


cdef int check_dtype_not_complex(ScalarType dtype, str words) except -1:
    """RuntimeError for complex numbers; `words` is the message."""
    if KIND[<int>dtype] == COMPLEX_KIND:
        raise RuntimeError(words)
    return 0


cdef int check_kernel_float_or_complex(ScalarType dtype, str op) except -1:
    """Refuses bool and integers."""
    if KIND[<int>dtype] < FLOAT_KIND:
        raise_not_implemented(op, dtype)
    return 0


cdef int check_floating_point(ScalarType dtype, str words) except -1:
    """RuntimeError unless the dtype is a float; `words` is the message."""
    if KIND[<int>dtype] != FLOAT_KIND:
        raise RuntimeError(words)
    return 0


cdef int check_kernel_float_or_double(ScalarType dtype, str op) except -1:
    """Refuses all but float32 and float64."""
    if dtype != Float and dtype != Double:
        raise_not_implemented(op, dtype)
    return 0


cdef int check_same_dtype(TensorBase a, TensorBase b, str words) except -1:
    """Both tensors must have one dtype; `words` is the message."""
    if a.dtype != b.dtype:
        raise RuntimeError(words.format(cpp_type_name(a.dtype), cpp_type_name(b.dtype)))
    return 0


cdef int check_polygamma_order(int64_t n) except -1:
    """`n` must not be negative."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return 0


cdef int check_real_imag(TensorBase real, TensorBase imag) except -1:
    """Both parts must be float16, float32 or float64, and of one dtype."""
    for part in (real, imag):
        if part.dtype != Half and part.dtype != Float and part.dtype != Double:
            raise RuntimeError("Expected both inputs to be Half, Float or Double tensors but got "
                               f"{dtype_name(real.dtype)} and {dtype_name(imag.dtype)}")
    if real.dtype != imag.dtype:
        raise RuntimeError(f"Expected object of scalar type {dtype_name(real.dtype)} but got scalar type "
                           f"{dtype_name(imag.dtype)} for second argument")
    return 0


cdef int check_addcdiv(TensorBase tensor1, TensorBase tensor2) except -1:
    """Refuses two integer tensors."""
    if KIND[<int>tensor1.dtype] < FLOAT_KIND and KIND[<int>tensor2.dtype] < FLOAT_KIND:
        raise RuntimeError("Integer division with addcdiv is no longer supported: divide with true_divide, or with "
                           "div and rounding_mode='trunc'.")
    return 0


cdef int check_zero_numel_dims(TensorBase self, const Shape *dim, str op) except -1:
    """Refuses empty dimensions, and an empty tensor where no dimension is given."""
    cdef int i
    cdef int64_t axis
    if self.numel:
        return 0
    if dim.ndim == 0:
        what = f"{op}(): Expected reduction dim to be specified for input.numel() == 0."
        if op.startswith("arg"):
            raise IndexError(what)
        raise RuntimeError(f"{what} Specify the reduction dim with the 'dim' argument.")
    for i in range(dim.ndim):
        axis = wrap_dim(dim.sizes[i], self.ndim)
        if self.sizes[axis] == 0:
            raise IndexError(f"{op}(): Expected reduction dim {axis} to have non-zero size.")
    return 0


cdef int check_zero_numel_dim(TensorBase self, int64_t dim, str op) except -1:
    """Refuses an empty dimension."""
    dim = wrap_dim(dim, self.ndim)
    if self.ndim and self.sizes[dim] == 0:
        raise IndexError(f"{op}(): Expected reduction dim {dim} to have non-zero size.")
    return 0


cdef int check_where_condition(ScalarType dtype) except -1:
    """The condition must be bool or uint8."""
    if dtype != Bool and dtype != Byte:
        raise RuntimeError("where expected condition to be a boolean tensor, but got a tensor with dtype "
                           f"{dtype_name(dtype)}")
    return 0


cdef int check_addmm_kernel(TensorBase self) except -1:
    """Refuses bool, unless there are no elements."""
    return check_kernel_not_bool(self.dtype, "addmm") if self.numel else 0


cdef int check_addmm_numbers(TensorBase a, TensorBase b, const Scalar *beta, const Scalar *alpha) except -1:
    """Refuses bool, and numbers that do not fit the precision of the sum; without factors only a complex beta."""
    return check_numbers_of_sum(a, b, opmath(a.dtype), beta, alpha)


cdef int check_addmv_numbers(TensorBase a, TensorBase b, const Scalar *beta, const Scalar *alpha) except -1:
    """As check_addmm_numbers; the numbers must fit the dtype."""
    return check_numbers_of_sum(a, b, a.dtype, beta, alpha)


cdef int check_numbers_of_sum(TensorBase a, TensorBase b, ScalarType dtype, const Scalar *beta,
                              const Scalar *alpha) except -1:
    check_addmm_kernel(a)
    if a.device_type == META:
        return 0
    if a.numel and b.numel:
        check_scalar_overflow(beta, dtype)
        return check_scalar_overflow(alpha, dtype)
    if beta.kind == COMPLEX_KIND and KIND[<int>dtype] < COMPLEX_KIND:
        raise RuntimeError(f"result type {'ComplexDouble' if dtype == Double else 'ComplexFloat'} can't be cast to the "
                           f"desired output type {dtype_name(a.dtype)}")
    return 0


cdef int check_out_dtype(TensorBase out, ScalarType dtype) except -1:
    """out= must have this dtype."""
    if out.dtype != dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {cpp_type_name(dtype)}, but got "
                           f"{cpp_type_name(out.dtype)} instead")
    return 0


cdef int check_out_dtype_message(TensorBase out, ScalarType dtype, str words) except -1:
    """out= must have this dtype; `words` is the message."""
    if out.dtype != dtype:
        raise RuntimeError(words.format(got=dtype_name(out.dtype), expected=dtype_name(dtype)))
    return 0


cdef int check_out_dtype_cpp_message(TensorBase out, ScalarType dtype, str words) except -1:
    """out= must have this dtype; `words` is the message, with the names of C++ types."""
    if out.dtype != dtype:
        raise RuntimeError(words.format(got=cpp_type_name(out.dtype), expected=cpp_type_name(dtype)))
    return 0


cdef int check_lerp_weight(TensorBase self, TensorBase weight) except -1:
    """The weight must have self's dtype, unless it is 0-d: it is a number then, which promotes as one."""
    if weight.ndim:
        check_same_dtype(self, weight, "expected dtype {0} for `weight` but got dtype {1}")
    return 0


cdef int check_out_lerp(TensorBase out, ScalarType dtype, TensorBase weight) except -1:
    """out= must have this dtype, unless the weight is 0-d."""
    # torch treats a 0-d weight as a number, and that overload takes any out=.
    return check_out_dtype_message(out, dtype, "Found dtype {got} but expected {expected}") if weight.ndim else 0


cdef int check_out_sum(TensorBase out, TensorBase self, ScalarType dtype) except -1:
    """out= must have this dtype, where one is given; else sums are computed in its own, which must hold fractions."""
    if dtype != Undefined:
        return check_out_dtype(out, dtype)
    if KIND[<int>self.dtype] >= FLOAT_KIND and KIND[<int>out.dtype] < FLOAT_KIND:
        raise RuntimeError(f"result type {dtype_name(self.dtype)} can't be cast to the desired output type "
                           f"{dtype_name(out.dtype)}")
    return 0


cdef int check_out_abs(TensorBase out, TensorBase self) except -1:
    """out= must have self's dtype, unless that is complex."""
    if KIND[<int>self.dtype] == COMPLEX_KIND:
        return 0
    return check_out_dtype_message(out, self.dtype, "Found dtype {got} but expected {expected}")


cdef int check_out_all_any(TensorBase out, str op) except -1:
    """out= must be bool or uint8."""
    if out.dtype != Bool and out.dtype != Byte:
        raise RuntimeError(f"{op} only supports bool tensor for result, got: {dtype_name(out.dtype)}")
    return 0


cdef int check_out_cat(TensorBase out, ScalarType dtype) except -1:
    """out= must have a dtype to which that of the result can be cast."""
    if not can_cast(dtype, out.dtype):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {dtype_name(out.dtype)}")
    return 0


cdef int check_arg_extremum(ScalarType dtype, str op) except -1:
    """Refuses bool and complex numbers (argmax, argmin)."""
    if dtype == Bool:
        raise RuntimeError(f"{op}(): does not support bool input")
    if KIND[<int>dtype] == COMPLEX_KIND:
        raise RuntimeError(f"{op}(): does not support complex input")
    return 0


cdef int check_abs(ScalarType dtype) except -1:
    """Refuses bool."""
    return check_kernel_not_bool(dtype, "abs")


cdef int check_abs_in_place(ScalarType dtype) except -1:
    """Refuses complex numbers."""
    if KIND[<int>dtype] == COMPLEX_KIND:
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return 0


cdef int check_optional_scalar_overflow(ScalarType dtype, const Scalar *number) except -1:
    """The number, where it is given, must fit the dtype."""
    return 0 if number == NULL else check_scalar_overflow(number, dtype)


cdef int check_filled(TensorBase self, const Scalar *number) except -1:
    """The number must fit the dtype; on the meta device nothing is written."""
    return 0 if self.device_type == META else check_scalar_overflow(number, self.dtype)


cdef int check_scattered(TensorBase self, TensorBase index, const Scalar *number) except -1:
    """As check_filled where there are indices."""
    return check_filled(self, number) if index.numel else 0


cdef int check_clamp_bounds(ScalarType dtype, bint low, bint high) except -1:
    """One bound must be given; refuses bool where both are."""
    if not low and not high:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return check_kernel_not_bool(dtype, "clamp_scalar_cpu") if low and high else 0


cdef int check_mm_dtypes(TensorBase a, TensorBase b) except -1:
    """The two operands of a product must have one dtype."""
    if a.dtype != b.dtype:
        raise RuntimeError("expected m1 and m2 to have the same dtype, but got: "
                           f"{cpp_type_name(a.dtype)} != {cpp_type_name(b.dtype)}")
    return 0


cdef int check_addmm_factors(TensorBase a, TensorBase b) except -1:
    """The two matrices must have one dtype."""
    if a.dtype != b.dtype:
        raise RuntimeError("mat1 and mat2 must have the same dtype, but got "
                           f"{dtype_name(a.dtype)} and {dtype_name(b.dtype)}")
    return 0


cdef int check_addmm_self(TensorBase self, TensorBase mat2) except -1:
    """`self` and the second matrix must have one dtype."""
    if self.dtype != mat2.dtype:
        raise RuntimeError("self and mat2 must have the same dtype, but got "
                           f"{dtype_name(self.dtype)} and {dtype_name(mat2.dtype)}")
    return 0


cdef str cpp_type_name(ScalarType dtype):
    return {Float: "float", Double: "double", Half: "c10::Half", BFloat16: "c10::BFloat16", Bool: "bool",
            Byte: "unsigned char", Char: "signed char", Short: "short int", Int: "int", Long: "long int",
            ComplexFloat: "c10::complex<float>", ComplexDouble: "c10::complex<double>", UInt16: "unsigned short",
            UInt32: "unsigned int", UInt64: "unsigned long"}.get(<int>dtype, f"c10::{dtype_name(dtype)}")


cdef int check_pow(TensorBase self, const Scalar *exponent) except -1:
    """Refuses integers to a negative integer power."""
    if KIND[<int>self.dtype] <= INT_KIND and exponent.kind == INT_KIND and exponent.integer < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return 0


cdef int check_rounding_mode(object rounding_mode) except -1:
    """The mode must be "trunc" or "floor"."""
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                           f"'{rounding_mode}'")
    return 0


cdef int check_kernel_integral(ScalarType dtype, str op) except -1:
    """Refuses all but bool and integers."""
    if KIND[<int>dtype] > INT_KIND:
        raise_not_implemented(op, dtype)
    return 0


cdef int check_fill_value(TensorBase self, TensorBase value) except -1:
    """The value must be 0-d; refuses memory that overlaps itself."""
    check_no_internal_overlap(self)
    if value.ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return 0


cdef int check_zero_numel(TensorBase self, str op) except -1:
    """Refuses an empty tensor."""
    if self.numel == 0:
        raise RuntimeError(f"{op}(): Expected reduction dim to be specified for input.numel() == 0. "
                           "Specify the reduction dim with the 'dim' argument.")
    return 0


cdef int check_kernel_float(ScalarType dtype, str op) except -1:
    """Refuses all but floats."""
    if KIND[<int>dtype] != FLOAT_KIND:
        raise_not_implemented(op, dtype)
    return 0


cdef int check_kernel_float_or_long(ScalarType dtype, str op) except -1:
    """Refuses all but floats and int64."""
    return 0 if dtype == Long else check_kernel_float(dtype, op)


cdef int check_approximate(object approximate) except -1:
    """`approximate` must be "none" or "tanh"."""
    if approximate != "none" and approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return 0


cdef int check_hardtanh(TensorBase self, const Scalar *min_val, const Scalar *max_val) except -1:
    """Refuses bool, and negative limits for uint8."""
    if self.dtype == Bool:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if self.dtype == Byte and (min_val.real <= -1 or max_val.real <= -1):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return 0


cdef int check_softshrink(TensorBase self, const Scalar *lambd) except -1:
    """`lambd` must not be negative, NaN or complex."""
    check_scalar_overflow(lambd, Double)
    if not lambd.real >= 0:
        largest = {Half: 65504.0, BFloat16: 3.3895313892515355e38, Float: 3.4028234663852886e38}
        raise RuntimeError(f"lambda must be in range [0, {largest.get(self.dtype, 1.7976931348623157e308):g}] for "
                           f"input dtype {dtype_name(self.dtype)}, but found {lambd.real:g}")
    return 0


cdef int check_embedding(TensorBase weight, TensorBase indices) except -1:
    """The weight must be a matrix, the indices int32 or int64."""
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype != Long and indices.dtype != Int:
        name = dtype_name(indices.dtype)
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{name}Tensor instead (while checking arguments for embedding)")
    return 0


cdef int embedding(Shape *shape, TensorBase weight, TensorBase indices) except -1:
    """The shape of the indices, then the width of the weight, of which they must point to a row."""
    cdef int i
    if weight.sizes[0] == 0 and indices.numel and weight.device_type != META:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    for i in range(indices.ndim):
        shape.sizes[i] = indices.sizes[i]
    shape.sizes[indices.ndim] = weight.sizes[1]
    shape.ndim = indices.ndim + 1
    return 0


cdef int embedding_weight(Shape *shape, TensorBase grad_output, int64_t num_weights) except -1:
    """(num_weights, width), of the gradient of an embedding."""
    shape.ndim = 2
    shape.sizes[0] = num_weights
    shape.sizes[1] = grad_output.sizes[grad_output.ndim - 1]
    return 0


# --- lists of tensors ------------------------------------------------------------------------------------------------

include "foreach.pxi"
