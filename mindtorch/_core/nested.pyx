"""torch.tensor's reading of Python data: numbers, nested sequences of them, arrays."""
from cpython.bool cimport PyBool_Check
from cpython.complex cimport PyComplex_Check
from cpython.float cimport PyFloat_Check
from cpython.long cimport PyLong_Check
from cpython.sequence cimport PySequence_Check, PySequence_Fast

import numpy

from libc.stdint cimport int64_t

from mindtorch._core.arguments cimport as_int, require_bool, require_device, require_dtype
from mindtorch._core.device cimport CPU, require_host
from mindtorch._core.dtype cimport (
    DTYPES, ITEMSIZE, KIND, default_complex, default_dtype, numpy_code, promote_types)
from mindtorch._core.moves cimport convert
from mindtorch._core.scalar cimport (
    COMPLEX_KIND, FLOAT_KIND, Bool, Long, Scalar, ScalarType, UInt64, Undefined, scalar_from)
from mindtorch._core.tensor cimport MAX_DIMS, Shape, TensorBase, empty_tensor
from mindtorch._core.values cimport cast_on_host, from_array, read_scalar, store, stored_as


cdef type NUMPY_SCALAR = numpy.generic
cdef type NUMPY_ARRAY = numpy.ndarray


cdef inline bint is_number(object value):
    return (PyFloat_Check(value) or PyLong_Check(value) or PyComplex_Check(value) or isinstance(value, NUMPY_SCALAR)
            or (isinstance(value, TensorBase) and (<TensorBase>value).ndim == 0))


cdef inline bint is_text(object value):
    return isinstance(value, (str, bytes))


cdef int measure(object data, Shape *shape) except -1:
    """The shape, as the first elements tell it; `fill` checks the others."""
    shape.ndim = 0
    while not is_number(data) and PySequence_Check(data) and not is_text(data):
        if shape.ndim == MAX_DIMS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        shape.sizes[shape.ndim] = len(data)
        shape.ndim += 1
        if shape.sizes[shape.ndim - 1] == 0:
            break
        data = data[0]
    if is_text(data):
        if shape.ndim == 0 or not isinstance(data, str):
            raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
        raise ValueError(f"too many dimensions '{type(data).__name__}'")
    return 0


cdef ScalarType dtype_of_number(object number) except *:
    if PyFloat_Check(number) and not isinstance(number, NUMPY_SCALAR):
        return default_dtype()
    if PyBool_Check(number):
        return Bool
    if PyLong_Check(number):
        return Long
    if PyComplex_Check(number) and not isinstance(number, NUMPY_SCALAR):
        return default_complex()
    if isinstance(number, TensorBase):
        return (<TensorBase>number).dtype
    return numpy_code(number.dtype)


cdef ScalarType infer_dtype(object data) except *:
    cdef ScalarType found = Undefined, other
    if is_number(data):
        return dtype_of_number(data)
    if isinstance(data, NUMPY_ARRAY):
        return numpy_code(data.dtype)
    if isinstance(data, TensorBase):
        return (<TensorBase>data).dtype
    if is_text(data):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not PySequence_Check(data):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    for element in data:
        other = infer_dtype(element)
        found = other if found == Undefined else promote_types(found, other)
    return default_dtype() if found == Undefined else found


cdef int number_of(object element, ScalarType dtype, Scalar *out) except -1:
    if isinstance(element, TensorBase):
        return read_scalar(<TensorBase>element, out)
    if not is_number(element):
        wanted = "a real number" if KIND[<int>dtype] >= FLOAT_KIND else "an integer"
        raise TypeError(f"'{type(element).__name__}' object cannot be interpreted as {wanted}")
    if dtype == UInt64:
        return uint64_of(element, out)
    if PyLong_Check(element) and not PyBool_Check(element):
        if dtype == Bool:
            element = element != 0
        elif KIND[<int>dtype] >= FLOAT_KIND:
            element = float(element)
        else:
            as_int(element)            # refuses what 64 bits with a sign do not hold; scalar_from would wrap it
    scalar_from(element, out)
    if out.kind == COMPLEX_KIND and KIND[<int>dtype] != COMPLEX_KIND and dtype != Bool:
        raise TypeError("must be real number, not complex" if KIND[<int>dtype] == FLOAT_KIND else
                        "'complex' object cannot be interpreted as an integer")
    return 0


cdef int uint64_of(object element, Scalar *out) except -1:
    if isinstance(element, (float, complex)) or isinstance(element, NUMPY_SCALAR):
        raise TypeError("an integer is required")
    if element < 0:
        raise OverflowError("can't convert negative int to unsigned")
    return scalar_from(element, out)


cdef int fill(object data, TensorBase target, char **address, int dim) except -1:
    """Write `data`, whose place is dimension `dim`, from `address` on; elements lie one after the other."""
    cdef Scalar number
    cdef int64_t length
    if dim == target.ndim:
        number_of(data, target.dtype, &number)
        try:
            store(address[0], target.dtype, &number)
        except RuntimeError:          # torch.tensor calls the dtype by another name than a[i] = value does
            name = DTYPES[<int>target.dtype].name
            raise RuntimeError(f"value cannot be converted to type {name} without overflow") from None
        address[0] += ITEMSIZE[<int>target.dtype]
        return 0
    if is_number(data) or is_text(data) or not PySequence_Check(data):
        raise TypeError("not a sequence")
    length = len(data)
    if length != target.sizes[dim]:
        raise ValueError(f"expected sequence of length {target.sizes[dim]} at dim {dim} (got {length})")
    for element in PySequence_Fast(data, "not a sequence"):
        fill(element, target, address, dim + 1)
    return 0


cdef bint is_storage(object data):
    from mindtorch._core.attributes import StorageBase
    return isinstance(data, StorageBase)


cdef TensorBase from_data(object data, ScalarType dtype):
    """A new CPU tensor, never sharing memory; dtype Undefined: inferred as torch does."""
    cdef Shape shape
    cdef TensorBase result
    cdef char *address
    if not isinstance(data, (list, tuple)) and not is_number(data) and is_storage(data):
        return data.elements(DTYPES[<int>(Long if dtype == Undefined else dtype)]).clone()
    if isinstance(data, NUMPY_SCALAR):
        data = numpy.asarray(data)
    if isinstance(data, NUMPY_ARRAY):
        result = from_array(data)
        return convert(result, result.dtype if dtype == Undefined else dtype, CPU, 0, False, True)
    if hasattr(data, "__array__") and not isinstance(data, TensorBase):
        return from_data(data.__array__(), dtype)
    measure(data, &shape)
    if dtype == Undefined:
        dtype = infer_dtype(data)
    elif not is_number(data) and not PySequence_Check(data):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    result = empty_tensor(&shape, stored_as(dtype), CPU, 0)
    address = result.data_ptr()
    fill(data, result, &address, 0)
    return cast_on_host(result, dtype)


def tensor_from(data, dtype, device, pin_memory, str function):
    """torch.tensor without its warning: a new tensor from `data`, on `device`."""
    cdef bytes name = function.encode()
    cdef int device_type, device_index
    cdef ScalarType code = require_dtype(dtype, Undefined, name, b"dtype")
    cdef TensorBase made
    if isinstance(data, TensorBase):
        made = <TensorBase>data
        if device is None:
            device_type, device_index = made.device_type, made.device_index
        else:
            require_device(device, &device_type, &device_index, name)
        return convert(made, made.dtype if code == Undefined else code, device_type, device_index, False, True)
    require_device(device, &device_type, &device_index, name)
    made = from_data(data, code)
    if pin_memory is not None and require_bool(pin_memory, name, b"pin_memory"):
        require_host(device_type)
        return made.pin_memory()
    return convert(made, made.dtype, device_type, device_index, False, False)
