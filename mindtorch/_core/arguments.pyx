"""Reading of Python arguments, with torch's TypeErrors; the fast path of each is its first comparison."""
from cpython.bool cimport PyBool_Check
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.list cimport PyList_Check, PyList_CheckExact, PyList_GET_SIZE, PyList_GetSlice
from cpython.long cimport PyLong_AsDouble, PyLong_AsLongLongAndOverflow, PyLong_Check, PyLong_CheckExact
from cpython.tuple cimport PyTuple_Check

from mindtorch._core.device cimport device, resolve
from mindtorch._core.dtype cimport KIND, dtype, dtype_code
from mindtorch._core.scalar cimport FLOAT_KIND, INT_KIND, is_scalar, scalar_from
from mindtorch._core.tensor cimport MAX_DIMS, SIZE_CLASS
from mindtorch._core.values cimport read_scalar


cdef str type_label(object value):
    if isinstance(value, dtype):
        return "torch.dtype"
    if isinstance(value, device):
        return "torch.device"
    if isinstance(value, SIZE_CLASS):
        return "torch.Size"
    cls = type(value)
    if cls.__module__.partition(".")[0] == "numpy":
        return f"{cls.__module__}.{cls.__name__}"
    return cls.__name__


cdef int wrong_type(object value, const char *function, const char *argument, int position, str wanted) except -1:
    where = f" (position {position})" if position else ""
    raise TypeError(f"{function.decode()}(): argument '{argument.decode()}'{where} must be {wanted}, "
                    f"not {type_label(value)}")


cdef tuple given(tuple values, tuple defaults):
    count = len(values)
    cdef Py_ssize_t least = count - len(defaults)
    while count > least and values[count - 1] is defaults[count - 1 - least]:
        count -= 1
    return values[:count]


cdef int no_combination(const char *function, tuple args, dict kwargs, str expected) except -1:
    got = [type_label(value) for value in args]
    got += [f"{name}={type_label(value)}" for name, value in (kwargs or {}).items() if value is not None]
    raise TypeError(f"{function.decode()}() received an invalid combination of arguments - got ({', '.join(got)}), "
                    f"but expected one of:\n{expected}")


# --- ints ------------------------------------------------------------------------------------------------------------

cdef bint is_int(object value) except -1:
    """Python ints, NumPy ints and 0-d integer tensors; not bool, as in torch."""
    cdef TensorBase tensor
    if PyLong_CheckExact(value):
        return True
    if PyLong_Check(value):
        return not PyBool_Check(value)
    if isinstance(value, TensorBase):
        tensor = <TensorBase>value
        return tensor.numel == 1 and KIND[<int>tensor.dtype] == INT_KIND
    return is_scalar(value) and hasattr(value, "__index__")


cdef int64_t as_int(object value) except? -1:
    cdef int overflow = 0
    cdef int64_t result = PyLong_AsLongLongAndOverflow(value if PyLong_Check(value) else value.__index__(), &overflow)
    if overflow:
        raise ValueError("Overflow when unpacking long long")
    return result


cdef int64_t require_int(object value, const char *function, const char *argument, int position=0) except? -1:
    if not is_int(value):
        wrong_type(value, function, argument, position, "int")
    return as_int(value)


cdef int parse_ints(object value, Shape *out, const char *function, const char *argument, int position=0) except -1:
    if PyTuple_Check(value) or PyList_CheckExact(value) or isinstance(value, list):
        return parse_sequence(value, out, function, argument, position)
    if not is_int(value):
        wrong_type(value, function, argument, position, "tuple of ints")
    out.ndim = 1
    out.sizes[0] = as_int(value)
    return 0


cdef int parse_optional_ints(object value, Shape *out, const char *function, const char *argument,
                             int position=0) except -1:
    if value is None:
        out.ndim = 0
        return 0
    return parse_ints(value, out, function, argument, position)


cdef int parse_optional_int(object value, Shape *out, const char *function, const char *argument,
                            int position=0) except -1:
    out.ndim = 0
    if value is not None:
        out.sizes[0] = require_int(value, function, argument, position)
        out.ndim = 1
    return 0


cdef int parse_varargs(tuple args, Shape *out, const char *function, const char *argument) except -1:
    if len(args) == 1:
        return parse_ints(args[0], out, function, argument, 1)
    return parse_sequence(args, out, function, argument, 1)


cdef tuple sizes_argument(tuple args, dict kwargs, str function, str name):
    """The sizes of `f(2, 3)`, `f((2, 3))` and `f(size=(2, 3))`, as a tuple that parse_varargs takes."""
    if not kwargs:
        if not args:
            raise TypeError(f'{function}() missing 1 required positional arguments: "{name}"')
        return args
    if args or len(kwargs) > 1 or name not in kwargs:
        unknown = next((key for key in kwargs if key != name), name)
        raise TypeError(f"{function}() got an unexpected keyword argument '{unknown}'")
    return (kwargs[name],)


cdef int parse_bools(object value, Shape *out, const char *function, const char *argument, int position=0) except -1:
    cdef int i
    if not isinstance(value, (list, tuple)):
        wrong_type(value, function, argument, position, "tuple of bools")
    out.ndim = min(len(value), MAX_DIMS)
    for i in range(len(value)):
        if not PyBool_Check(value[i]):
            wrong_type(value, function, argument, position, "tuple of bools")
        if i < MAX_DIMS:
            out.sizes[i] = value[i] is True
    return 0


cdef int parse_sequence(object items, Shape *out, const char *function, const char *argument,
                        int position) except -1:
    cdef int i = 0
    if len(items) > MAX_DIMS:
        raise RuntimeError(f"{function.decode()}(): argument '{argument.decode()}' has {len(items)} entries; "
                           f"at most {MAX_DIMS} are supported")
    for item in items:
        if is_int(item) or (i > 0 and PyBool_Check(item)):
            out.sizes[i] = as_int(item)
        else:
            wrong_item(item, i, function, argument, position)
        i += 1
    out.ndim = i
    return 0


cdef int wrong_item(object item, int at, const char *function, const char *argument, int position) except -1:
    # torch looks at the first item to choose the overload and at the others when it unpacks them.
    if at == 0:
        where = f" (position {position})" if position else ""
        raise TypeError(f"{function.decode()}(): argument '{argument.decode()}'{where} must be tuple of ints, "
                        f"but found element of type {type_label(item)} at pos 0")
    raise TypeError(f"{function.decode()}(): argument '{argument.decode()}' failed to unpack the object at pos "
                    f'{at + 1} with error "type must be tuple of ints,but got {type_label(item)}"')


# --- numbers, flags, dtypes, devices ---------------------------------------------------------------------------------

cdef double require_float(object value, const char *function, const char *argument, int position=0) except? -1.0:
    cdef Scalar scalar
    if PyFloat_CheckExact(value):
        return PyFloat_AS_DOUBLE(value)
    if PyLong_CheckExact(value):
        return PyLong_AsDouble(value)
    if not is_scalar(value) and not isinstance(value, TensorBase):
        wrong_type(value, function, argument, position, "float")
    require_scalar(value, &scalar, function, argument, position)
    if scalar.kind > FLOAT_KIND:
        wrong_type(value, function, argument, position, "float")
    return scalar.real


cdef const double *optional_float(object value, double *number, const char *function, const char *argument,
                                  int position=0) except? NULL:
    if value is None:
        return NULL
    number[0] = require_float(value, function, argument, position)
    return number


cdef int require_bool(object value, const char *function, const char *argument, int position=0) except -1:
    if value is True:
        return 1
    if value is False:
        return 0
    return wrong_type(value, function, argument, position, "bool")


cdef int require_scalar(object value, Scalar *out, const char *function, const char *argument,
                        int position=0) except -1:
    if is_scalar(value):
        return scalar_from(value, out)
    if isinstance(value, TensorBase) and (<TensorBase>value).ndim == 0:
        return read_scalar(<TensorBase>value, out)
    return wrong_type(value, function, argument, position, "Number")


cdef bint is_scalar_list(object value) except -1:
    if not isinstance(value, (list, tuple)):
        return False
    for item in value:
        if not is_scalar(item):
            return False
    return True


cdef tuple require_scalars(object value, const char *function, const char *argument, int position=0):
    if not is_scalar_list(value):
        wrong_type(value, function, argument, position, "tuple of Scalars")
    return tuple(value)


cdef ScalarType require_dtype(object value, ScalarType otherwise, const char *function, const char *argument,
                              int position=0) except *:
    if value is None:
        return otherwise
    if isinstance(value, dtype):
        return (<dtype>value).code
    if value not in (float, int, bool, complex):
        wrong_type(value, function, argument, position, "torch.dtype")
    return dtype_code(value, otherwise)


cdef int require_device(object value, int *type_code, int *index, const char *function) except -1:
    if value is not None and not isinstance(value, (device, str, int)) or PyBool_Check(value):
        wrong_type(value, function, b"device", 0, "torch.device")
    return resolve(value, type_code, index)


# --- tensors ---------------------------------------------------------------------------------------------------------

cdef TensorBase require_tensor(object value, const char *function, const char *argument, int position=0):
    if not isinstance(value, TensorBase):
        wrong_type(value, function, argument, position, "Tensor")
    return <TensorBase>value


cdef TensorBase optional_tensor(object value, const char *function, const char *argument, int position=0):
    if value is not None and not isinstance(value, TensorBase):
        wrong_type(value, function, argument, position, "Tensor")
    return <TensorBase>value


cdef list require_tensors(object value, const char *function, const char *argument, int position=0):
    cdef list tensors
    cdef int i
    if not isinstance(value, (list, tuple)):
        wrong_type(value, function, argument, position, "tuple of Tensors")
    # A copy, since another thread may change the list while a launch gives up the GIL.
    tensors = PyList_GetSlice(value, 0, PyList_GET_SIZE(value)) if PyList_Check(value) else list(value)
    for i in range(len(tensors)):
        if not isinstance(tensors[i], TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument {position - 1 if position else 0}, "
                            f"but got {type_label(tensors[i])}")
    return tensors
