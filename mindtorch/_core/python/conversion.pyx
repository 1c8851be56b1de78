"""Conversions between Python objects and C values: elements of tensors, NumPy arrays, DLPack, arguments of
functions.
"""
import numpy as np
import warnings

from cpython.bool cimport PyBool_Check
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.list cimport PyList_Check, PyList_CheckExact, PyList_GET_SIZE, PyList_GetSlice
from cpython.long cimport PyLong_AsDouble, PyLong_AsLongLongAndOverflow, PyLong_Check, PyLong_CheckExact
from cpython.number cimport PyIndex_Check
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_Check
cimport cython
from libc.float cimport FLT_MAX
from libc.math cimport INFINITY, fabs, isfinite, isinf
from libc.stdint cimport int16_t, int32_t, int64_t, int8_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy
cimport numpy as cnp

from mindtorch._core.autograd.node cimport grad_enabled, requires_grad
from mindtorch._core.tensor.dtype cimport (
    COMPLEX_KIND, DTYPES, FLOAT_KIND, INT_KIND, ITEMSIZE, KIND, NUM_SCALAR_TYPES, BFloat16, Bool, Byte, Char,
    ComplexDouble, ComplexFloat, Double, Float, Float8_e4m3fn, Float8_e4m3fnuz, Float8_e5m2, Float8_e5m2fnuz,
    Float8_e8m0fnu, Half, Int, Long, Short, UInt16, UInt32, UInt64, dtype, dtype_name, is_float8, is_scalar,
    numpy_to_scalar_type, scalar_from_python, scalar_to_python, to_scalar_type,
)
from mindtorch._core.tensor.tensor cimport (
    BACKENDS, CONJUGATED, CPU, MAX_DIMS, SIZE_CLASS, Shape, Storage, copy_data, device, device_of, empty_like_tensor,
    empty_tensor, make_tensor, require_backend, resolve_device, shape_list,
)
cimport mindtorch._core.tensor.torch_dispatch as torch_dispatch


cnp.import_array()

cdef double FLOAT8_VALUES[8][256]          # [dtype - Float8_e5m2][byte]


cdef int fill_float8_values() except -1:
    cdef int code, bits
    for code in (Float8_e5m2, Float8_e4m3fn, Float8_e5m2fnuz, Float8_e4m3fnuz, Float8_e8m0fnu):
        values = np.arange(256, dtype=np.uint8).view((<dtype>DTYPES[code]).numpy_dtype).astype(np.float64)
        for bits in range(256):
            FLOAT8_VALUES[code - <int>Float8_e5m2][bits] = values[bits]
    return 0


fill_float8_values()


cdef extern from "Python.h":
    double PyFloat_Unpack2(const char *address, int little_endian) except? -1.0

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(PyTypeObject *cls, cnp.dtype description, int ndim, cnp.npy_intp *sizes,
                                cnp.npy_intp *strides, void *data, int flags, PyObject *like)

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define MINDTORCH_LITTLE_ENDIAN 0
    #else
    #define MINDTORCH_LITTLE_ENDIAN 1
    #endif
    """
    const int MINDTORCH_LITTLE_ENDIAN


# --- one element -----------------------------------------------------------------------------------------------------

cdef inline double load_bfloat16(const char *address) noexcept:
    cdef uint16_t half
    cdef uint32_t bits
    cdef float value
    memcpy(&half, address, 2)
    bits = <uint32_t>half << 16
    memcpy(&value, &bits, 4)
    return value


cdef inline int64_t load_integer(const char *address, ScalarType dtype) noexcept:
    if dtype == Long:
        return (<const int64_t *>address)[0]
    if dtype == Int:
        return (<const int32_t *>address)[0]
    if dtype == Short:
        return (<const int16_t *>address)[0]
    if dtype == Char:
        return (<const int8_t *>address)[0]
    if dtype == UInt16:
        return (<const uint16_t *>address)[0]
    if dtype == UInt32:
        return (<const uint32_t *>address)[0]
    if dtype == UInt64:
        return <int64_t>(<const uint64_t *>address)[0]
    return (<const uint8_t *>address)[0]


cdef inline double load_real(const char *address, ScalarType dtype) noexcept:
    if dtype == Float or dtype == ComplexFloat:
        return (<const float *>address)[0]
    if dtype == Double or dtype == ComplexDouble:
        return (<const double *>address)[0]
    if dtype == Half:
        return PyFloat_Unpack2(address, MINDTORCH_LITTLE_ENDIAN)
    if is_float8(dtype):
        return FLOAT8_VALUES[<int>dtype - <int>Float8_e5m2][(<const uint8_t *>address)[0]]
    return load_bfloat16(address)


cdef void load_element(const char *address, ScalarType dtype, Scalar *out) noexcept:
    out.kind = KIND[<int>dtype]
    out.imag = 0.0
    if out.kind <= INT_KIND:
        out.integer = load_integer(address, dtype)
        out.real = <double><uint64_t>out.integer if dtype == UInt64 else <double>out.integer
        return
    out.integer = 0
    out.real = load_real(address, dtype)
    if out.kind == COMPLEX_KIND:
        out.imag = load_real(address + ITEMSIZE[<int>dtype] // 2, dtype)


# The greatest value of unsigned integers and of the floats of 8 bits; 0 for other dtypes.
cdef double MAX_VALUES[NUM_SCALAR_TYPES]
MAX_VALUES[<int>Byte], MAX_VALUES[<int>UInt16], MAX_VALUES[<int>UInt32] = 255.0, 65535.0, 4294967295.0
MAX_VALUES[<int>UInt64] = 18446744073709549568.0         # the last double before 2**64
MAX_VALUES[<int>Float8_e4m3fn], MAX_VALUES[<int>Float8_e5m2], MAX_VALUES[<int>Float8_e4m3fnuz] = 448.0, 57344.0, 240.0
MAX_VALUES[<int>Float8_e5m2fnuz], MAX_VALUES[<int>Float8_e8m0fnu] = 57344.0, 2.0 ** 127


cdef int raise_overflow(ScalarType dtype) except -1:
    name = {Byte: "uint8_t", Char: "int8_t", Short: "int16_t", Int: "int", Long: "int64_t", Float: "float",
            Half: "c10::Half", BFloat16: "c10::BFloat16", ComplexFloat: "c10::complex<float>", UInt16: "uint16_t",
            UInt32: "uint32_t", UInt64: "uint64_t"}.get(<int>dtype, "double")
    if is_float8(dtype):
        name = f"c10::{dtype_name(dtype)}"
    raise RuntimeError(f"value cannot be converted to type {name} without overflow")


cdef inline int64_t scalar_to_int64(const Scalar *value, ScalarType dtype) except? -1:
    if value.kind <= INT_KIND:
        return value.integer
    if value.imag != 0.0 and value.kind == COMPLEX_KIND:
        raise_overflow(dtype)
    # The comparison is False for nan, too. 2**63 is out of range.
    if not (-9223372036854775808.0 <= value.real < 9223372036854775808.0):
        raise_overflow(dtype)
    return <int64_t>value.real


cdef int store_integer(char *address, ScalarType dtype, const Scalar *value) except -1:
    cdef int64_t integer = scalar_to_int64(value, dtype)
    if dtype >= UInt16 and value.kind == FLOAT_KIND and value.real < 0.0:
        raise_overflow(dtype)
    if dtype == Long:
        (<int64_t *>address)[0] = integer
    elif dtype == Int:
        if integer != <int32_t>integer:
            raise_overflow(dtype)
        (<int32_t *>address)[0] = <int32_t>integer
    elif dtype == Short:
        if integer != <int16_t>integer:
            raise_overflow(dtype)
        (<int16_t *>address)[0] = <int16_t>integer
    elif dtype == Char:
        if integer != <int8_t>integer:
            raise_overflow(dtype)
        (<int8_t *>address)[0] = <int8_t>integer
    else:
        store_unsigned(address, dtype, integer)
    return 0


cdef int store_unsigned(char *address, ScalarType dtype, int64_t integer) except -1:
    if not -<int64_t>MAX_VALUES[<int>dtype] <= integer <= <int64_t>MAX_VALUES[<int>dtype]:    # negative ones wrap
        raise_overflow(dtype)
    if dtype == UInt16:
        (<uint16_t *>address)[0] = <uint16_t>integer
    elif dtype == UInt32:
        (<uint32_t *>address)[0] = <uint32_t>integer
    else:
        (<uint8_t *>address)[0] = <uint8_t>integer
    return 0


cdef int store_uint64(char *address, const Scalar *value) except -1:
    if value.kind <= INT_KIND:
        (<int64_t *>address)[0] = value.integer
    elif value.kind == COMPLEX_KIND and value.imag != 0.0 or not 0.0 <= value.real <= MAX_VALUES[<int>UInt64]:
        raise_overflow(UInt64)
    else:
        (<uint64_t *>address)[0] = <uint64_t>value.real
    return 0


cdef int store_element(char *address, ScalarType dtype, const Scalar *value) except -1:
    if dtype == Bool:
        (<uint8_t *>address)[0] = value.real != 0.0 or (value.kind == COMPLEX_KIND and value.imag != 0.0)
        return 0
    if dtype == UInt64:
        return store_uint64(address, value)
    if KIND[<int>dtype] == INT_KIND:
        return store_integer(address, dtype, value)
    if value.kind == COMPLEX_KIND and value.imag != 0.0 and KIND[<int>dtype] != COMPLEX_KIND:
        raise_overflow(dtype)
    if dtype == Float or dtype == ComplexFloat:
        (<float *>address)[0] = <float>value.real
        if dtype == ComplexFloat:
            (<float *>address)[1] = <float>value.imag if value.kind == COMPLEX_KIND else 0.0
    elif dtype == Double or dtype == ComplexDouble:
        (<double *>address)[0] = value.real
        if dtype == ComplexDouble:
            (<double *>address)[1] = value.imag if value.kind == COMPLEX_KIND else 0.0
    else:
        raise RuntimeError(f"numbers are not stored as {dtype_name(dtype)} directly")
    return 0


cdef inline double max_finite(ScalarType dtype) noexcept:
    if dtype == Half:
        return 65504.0
    if dtype == BFloat16:
        return 3.3895313892515355e38
    if dtype == Float or dtype == ComplexFloat:
        return FLT_MAX
    return MAX_VALUES[<int>dtype] if is_float8(dtype) else INFINITY


cdef bint fits_float8(double value, ScalarType dtype) noexcept:
    """Only Float8_e5m2 has infinities. Float8_e8m0fnu has no zero and no negative numbers."""
    if isinf(value):
        return dtype == Float8_e5m2
    return dtype != Float8_e8m0fnu or not value < 1.0 / MAX_VALUES[<int>Float8_e8m0fnu]


cdef int check_scalar_overflow(const Scalar *value, ScalarType dtype) except -1:
    cdef double room[2]
    cdef bint integral = KIND[<int>dtype] == INT_KIND
    if value.kind == INT_KIND and 0 <= value.integer <= 100:                # it fits every dtype
        return 0
    if isfinite(value.real) and fabs(value.real) > max_finite(dtype):
        raise_overflow(dtype)
    if value.kind == COMPLEX_KIND and isfinite(value.imag) and fabs(value.imag) > max_finite(dtype):
        raise_overflow(dtype)
    if is_float8(dtype) and value.kind == FLOAT_KIND and not fits_float8(value.real, dtype):
        raise_overflow(dtype)
    if integral and dtype != UInt64 and value.kind == INT_KIND and value.integer < 0 < value.real:   # beyond int64
        raise_overflow(dtype)
    if (MAX_VALUES[<int>dtype] and integral and value.kind == FLOAT_KIND
            and not 0.0 <= value.real <= MAX_VALUES[<int>dtype]):
        raise_overflow(dtype)
    return store_element(<char *>room, storable_dtype(dtype), value)


cdef ScalarType storable_dtype(ScalarType dtype) noexcept:
    return Float if dtype == Half or dtype == BFloat16 or is_float8(dtype) else dtype


cdef TensorBase cast_on_host(TensorBase tensor, ScalarType dtype):
    cdef TensorBase result
    if tensor.dtype == dtype:
        return tensor
    result = empty_like_tensor(tensor, dtype, CPU, 0)
    copy_data(result, tensor, False)
    return result


cdef TensorBase scalar_tensor(const Scalar *value, ScalarType dtype):
    cdef Shape shape
    shape.ndim = 0
    cdef TensorBase result = empty_tensor(&shape, storable_dtype(dtype), CPU, 0)
    store_element(result.data_ptr(), result.dtype, value)
    return cast_on_host(result, dtype)


cdef TensorBase to_host(TensorBase tensor):
    cdef TensorBase result
    if tensor.device_type == CPU and not tensor.bits:
        return tensor
    result = empty_like_tensor(tensor, tensor.dtype, CPU, 0)
    copy_data(result, tensor, False)
    return result


cdef int read_scalar(TensorBase tensor, Scalar *out) except -1:
    if tensor.numel != 1:
        raise RuntimeError(f"a Tensor with {tensor.numel} elements cannot be converted to Scalar")
    cdef char element[16]
    cdef const char *address = element
    if torch_dispatch.active and torch_dispatch.dispatches(tensor):
        return scalar_from_python(torch_dispatch.call("_local_scalar_dense", (tensor,), None), out)
    if tensor.bits:
        tensor = to_host(tensor)
    if tensor.device_type == CPU:
        address = tensor.data_ptr()
    else:
        BACKENDS[tensor.device_type].read(tensor, element)
    load_element(address, tensor.dtype, out)
    return 0


def item(TensorBase self):
    """The value of a tensor of one element as a Python number. Waits for the device."""
    cdef Scalar value
    read_scalar(self, &value)
    return scalar_to_python(&value)


cdef object nested_list(TensorBase host, const char *address, int dim):
    cdef Scalar value
    cdef int64_t step
    if dim == host.ndim:
        load_element(address, host.dtype, &value)
        return scalar_to_python(&value)
    step = host.strides[dim] * ITEMSIZE[<int>host.dtype]
    return [nested_list(host, address + i * step, dim + 1) for i in range(host.sizes[dim])]


def tolist(TensorBase self):
    """The elements as nested lists of Python numbers; a number for a 0-d tensor."""
    cdef TensorBase host = to_host(self)
    return nested_list(host, host.data_ptr(), 0)


# --- NumPy -----------------------------------------------------------------------------------------------------------

@cython.no_gc
cdef class ArrayStorage(Storage):
    """The memory of a NumPy array, which it keeps alive."""
    cdef object array

    def resizable(self):
        return False


cdef object as_array(TensorBase tensor):
    cdef cnp.npy_intp sizes[MAX_DIMS]
    cdef cnp.npy_intp strides[MAX_DIMS]
    cdef cnp.dtype description = (<dtype>DTYPES[<int>tensor.dtype]).numpy_dtype
    cdef object array
    cdef int i
    for i in range(tensor.ndim):
        sizes[i] = tensor.sizes[i]
        strides[i] = tensor.strides[i] * ITEMSIZE[<int>tensor.dtype]
    Py_INCREF(description)                 # PyArray_NewFromDescr steals a reference
    array = PyArray_NewFromDescr(<PyTypeObject *>cnp.ndarray, description, tensor.ndim, sizes, strides,
                                 tensor.data_ptr(), cnp.NPY_ARRAY_WRITEABLE, NULL)
    # The array keeps the storage alive, not the tensor: `tensor.data = other` must not free the array's memory.
    cnp.set_array_base(array, tensor.storage)
    cnp.PyArray_UpdateFlags(array, cnp.NPY_ARRAY_UPDATE_ALL)
    return array


def numpy(TensorBase self, *, bint force=False):
    """The tensor as a NumPy array that shares its memory. With `force`, tensors elsewhere are copied to the host."""
    if self.dtype == BFloat16 or is_float8(self.dtype):
        raise TypeError(f"Got unsupported ScalarType {dtype_name(self.dtype)}")
    if self.device_type != CPU and not force:
        raise TypeError(f"can't convert {device_of(self)} device type tensor to numpy. Use Tensor.cpu() to copy the "
                        "tensor to host memory first.")
    if grad_enabled() and requires_grad(self) and not force:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if self.bits and not force:
        what, resolve = ("conjugate", "conj") if self.bits & CONJUGATED else ("negative", "neg")
        raise RuntimeError(f"Can't call numpy() on Tensor that has {what} bit set. Use "
                           f"tensor.resolve_{resolve}().numpy() instead.")
    cdef TensorBase host = to_host(self)
    host.storage.lent = True
    return as_array(host)


cdef int check_array_layout(cnp.ndarray array, int itemsize) except -1:
    cdef int i
    if array.ndim > MAX_DIMS:
        raise ValueError(f"arrays of more than {MAX_DIMS} dimensions are not supported")
    for i in range(array.ndim):
        if array.strides[i] < 0:
            raise ValueError(
                "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                "currently supported. (You can probably work around this by making a copy of your array  with "
                "array.copy().) ")
        if array.strides[i] % itemsize:
            raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array "
                             "to reallocate the memory.")
    if not array.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between "
                         "byte orders is currently not supported.")
    return 0


cdef TensorBase from_array(object value):
    cdef cnp.ndarray array = value
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int64_t reach = 1
    cdef int i
    cdef bint empty = False
    # check_array_layout refuses foreign byte orders with a message of its own.
    cdef ScalarType code = numpy_to_scalar_type(array.dtype.newbyteorder("="))
    cdef int itemsize = ITEMSIZE[<int>code]
    check_array_layout(array, itemsize)
    for i in range(array.ndim):
        sizes[i] = array.shape[i]
        strides[i] = array.strides[i] // itemsize
        empty = empty or sizes[i] == 0
        reach += (sizes[i] - 1) * strides[i]
    require_backend(CPU)                # this may be the first tensor of the process on the CPU
    cdef ArrayStorage storage = ArrayStorage.__new__(ArrayStorage)
    storage.array = array
    storage.data = cnp.PyArray_BYTES(array)
    storage.nbytes = 0 if empty else <size_t>(reach * itemsize)
    storage.device_type = CPU
    return make_tensor(storage, code, array.ndim, sizes, strides, 0)


def from_numpy(ndarray, /):
    """A tensor that shares the memory of a NumPy array. Writing to one shows in the other.

    Arguments:
        ndarray: the array, whose memory the tensor shares

    Example:
        >>> import numpy
        >>> array = numpy.zeros(3)
        >>> x = torch.from_numpy(array)
        >>> array[0] = 5
        >>> x
        tensor([5., 0., 0.], dtype=torch.float64)
    """
    if not isinstance(ndarray, cnp.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if not ndarray.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
            "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
            "data or make it writable before converting it to a tensor.", UserWarning, stacklevel=2)
    made = from_array(ndarray)
    return torch_dispatch.call("lift_fresh", (made,), None) if torch_dispatch.has_modes() else made


# --- DLPack ----------------------------------------------------------------------------------------------------------

include "dlpack.pxi"


# --- arguments -------------------------------------------------------------------------------------------------------
# Checks and conversions of Python arguments, with torch's TypeErrors. The first comparison of each is its fast path.

cdef str type_name(object value):
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


cdef int raise_wrong_type(object value, const char *function, const char *argument, int position, str wanted) except -1:
    where = f" (position {position})" if position else ""
    raise TypeError(f"{function.decode()}(): argument '{argument.decode()}'{where} must be {wanted}, "
                    f"not {type_name(value)}")


cdef tuple strip_defaults(tuple values, tuple defaults):
    count = len(values)
    cdef Py_ssize_t least = count - len(defaults)
    while count > least and values[count - 1] is defaults[count - 1 - least]:
        count -= 1
    return values[:count]


cdef int raise_no_overload(const char *function, tuple args, dict kwargs, str expected) except -1:
    got = [type_name(value) for value in args]
    got += [f"{name}={type_name(value)}" for name, value in (kwargs or {}).items() if value is not None]
    end = "" if args or not got else ", "       # torch ends keywords so where nothing is given by position
    raise TypeError(f"{function.decode()}() received an invalid combination of arguments - got "
                    f"({', '.join(got)}{end}), but expected one of:\n{expected}")


# --- ints ------------------------------------------------------------------------------------------------------------

cdef bint is_int(object value) except -1:
    """Whether the value is an int, or what Python takes for an index: a NumPy int, an array of one without dimensions;
    or an integer tensor of one element. Not bool, as in torch.
    """
    cdef TensorBase tensor
    if PyLong_CheckExact(value):
        return True
    if PyLong_Check(value):
        return not PyBool_Check(value)
    if isinstance(value, TensorBase):
        tensor = <TensorBase>value
        return tensor.numel == 1 and KIND[<int>tensor.dtype] == INT_KIND
    if not PyIndex_Check(value):
        return False
    try:
        value.__index__()
    except TypeError:                  # of an array with dimensions, or of other dtypes
        return False
    return True


cdef int64_t as_int(object value) except? -1:
    cdef int overflow = 0
    cdef int64_t result = PyLong_AsLongLongAndOverflow(value if PyLong_Check(value) else value.__index__(), &overflow)
    if overflow:
        raise ValueError("Overflow when unpacking long long")
    return result


cdef int64_t require_int(object value, const char *function, const char *argument, int position=0) except? -1:
    if not is_int(value):
        raise_wrong_type(value, function, argument, position, "int")
    return as_int(value)


cdef int parse_ints(object value, Shape *out, const char *function, const char *argument, int position=0) except -1:
    if PyTuple_Check(value) or PyList_CheckExact(value) or isinstance(value, list):
        return parse_sequence(value, out, function, argument, position)
    if not is_int(value):
        raise_wrong_type(value, function, argument, position, "tuple of ints")
    out.ndim = 1
    out.sizes[0] = as_int(value)
    return 0


cdef int parse_list(object value, Shape *out, const char *function, const char *argument, int position=0) except -1:
    """As parse_ints, but one number stands for no list: int[] in schemas, where int[1] takes one."""
    if not isinstance(value, (list, tuple)):
        raise_wrong_type(value, function, argument, position, "tuple of ints")
    return parse_sequence(value, out, function, argument, position)


def parse_int_list(value, str function, str argument, int position):
    """The ints of a list or tuple, for functions in Python; TypeError as the parser raises it."""
    cdef Shape shape
    parse_list(value, &shape, function.encode(), argument.encode(), position)
    return shape_list(&shape)


cdef int parse_optional_ints(object value, bint takes_int, Shape *out, const char *function, const char *argument,
                             int position=0) except -1:
    if value is None:
        out.ndim = 0
        return 0
    if takes_int:
        return parse_ints(value, out, function, argument, position)
    return parse_list(value, out, function, argument, position)


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
    if not kwargs:
        if not args:
            raise TypeError(f'{function}() missing 1 required positional arguments: "{name}"')
        return args
    if args or len(kwargs) > 1 or name not in kwargs:
        unknown = [key for key in kwargs if key != name] or [name]
        raise TypeError(f"{function}() got an unexpected keyword argument '{unknown[0]}'")
    if not isinstance(kwargs[name], (list, tuple)):
        raise_wrong_type(kwargs[name], function.encode(), name.encode(), 0, "tuple of ints")
    return (kwargs[name],)


cdef int parse_bools(object value, Shape *out, const char *function, const char *argument, int position=0) except -1:
    cdef int i
    if not isinstance(value, (list, tuple)):
        raise_wrong_type(value, function, argument, position, "tuple of bools")
    out.ndim = min(len(value), MAX_DIMS)
    for i in range(len(value)):
        if not PyBool_Check(value[i]):
            raise_wrong_type(value, function, argument, position, "tuple of bools")
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
            raise_wrong_item(item, i, function, argument, position)
        i += 1
    out.ndim = i
    return 0


cdef int raise_wrong_item(object item, int at, const char *function, const char *argument, int position) except -1:
    # torch tests the first item to choose the overload, and the others when it unpacks the sequence.
    if at == 0:
        where = f" (position {position})" if position else ""
        raise TypeError(f"{function.decode()}(): argument '{argument.decode()}'{where} must be tuple of ints, "
                        f"but found element of type {type_name(item)} at pos 0")
    raise TypeError(f"{function.decode()}(): argument '{argument.decode()}' failed to unpack the object at pos "
                    f'{at + 1} with error "type must be tuple of ints,but got {type_name(item)}"')


# --- numbers, flags, dtypes, devices ---------------------------------------------------------------------------------

cdef double require_float(object value, const char *function, const char *argument, int position=0) except? -1.0:
    cdef Scalar scalar
    if PyFloat_CheckExact(value):
        return PyFloat_AS_DOUBLE(value)
    if PyLong_CheckExact(value):
        return PyLong_AsDouble(value)
    if not is_scalar(value) and not is_scalar_tensor(value):
        raise_wrong_type(value, function, argument, position, "float")
    require_scalar(value, &scalar, function, argument, position)
    if scalar.kind > FLOAT_KIND:
        raise_wrong_type(value, function, argument, position, "float")
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
    return raise_wrong_type(value, function, argument, position, "bool")


cdef int require_scalar(object value, Scalar *out, const char *function, const char *argument,
                        int position=0) except -1:
    if is_scalar(value):
        return scalar_from_python(value, out)
    if is_scalar_tensor(value):
        return read_scalar(<TensorBase>value, out)
    return raise_wrong_type(value, function, argument, position, "Number")


cdef bint is_scalar_tensor(object value):
    """Whether a tensor may be given for a number. As in torch, not one that would lose its gradient."""
    return isinstance(value, TensorBase) and (<TensorBase>value).ndim == 0 and not requires_grad(<TensorBase>value)


cdef bint is_scalar_list(object value) except -1:
    if not isinstance(value, (list, tuple)):
        return False
    for item in value:
        if not is_scalar(item):
            return False
    return True


cdef tuple require_scalars(object value, const char *function, const char *argument, int position=0):
    if not is_scalar_list(value):
        raise_wrong_type(value, function, argument, position, "tuple of Scalars")
    return tuple(value)


cdef ScalarType require_dtype(object value, ScalarType otherwise, const char *function, const char *argument,
                              int position=0) except *:
    if value is None:
        return otherwise
    if isinstance(value, dtype):
        return (<dtype>value).code
    if value not in (float, int, bool, complex):
        raise_wrong_type(value, function, argument, position, "torch.dtype")
    return to_scalar_type(value, otherwise)


cdef int require_device(object value, int *type_code, int *index, const char *function) except -1:
    if value is not None and not isinstance(value, (device, str, int)) or PyBool_Check(value):
        raise_wrong_type(value, function, b"device", 0, "torch.device")
    return resolve_device(value, type_code, index)


# --- tensors ---------------------------------------------------------------------------------------------------------

cdef TensorBase require_tensor(object value, const char *function, const char *argument, int position=0):
    if not isinstance(value, TensorBase):
        raise_wrong_type(value, function, argument, position, "Tensor")
    return <TensorBase>value


cdef TensorBase optional_tensor(object value, const char *function, const char *argument, int position=0):
    if value is not None and not isinstance(value, TensorBase):
        raise_wrong_type(value, function, argument, position, "Tensor")
    return <TensorBase>value


cdef list require_tensors(object value, const char *function, const char *argument, int position=0):
    cdef list tensors
    cdef int i
    if not isinstance(value, (list, tuple)):
        raise_wrong_type(value, function, argument, position, "tuple of Tensors")
    # A copy: another thread may change the list while a launch has released the GIL.
    tensors = PyList_GetSlice(value, 0, PyList_GET_SIZE(value)) if PyList_Check(value) else list(value)
    for i in range(len(tensors)):
        if not isinstance(tensors[i], TensorBase):
            raise TypeError(f"expected Tensor as element {i} in argument {position - 1 if position else 0}, "
                            f"but got {type_name(tensors[i])}")
    return tensors
