import numpy as np

from libc.stdint cimport int64_t

from mindtorch._core.dtype cimport DTYPES, dtype as torch_dtype, is_float8
from mindtorch._core.device cimport BACKENDS, CPU
from mindtorch._core.scalar cimport Float, as_element, scalar_to
from mindtorch._core.tensor cimport MAX_DIMS, contiguous_strides, set_geometry
from mindtorch._core.values cimport as_array, cast_on_host, scalar_tensor


cdef int store_shaped(list outputs, object values) except -1:
    cdef TensorBase out
    cdef int64_t sizes[MAX_DIMS]
    cdef int64_t strides[MAX_DIMS]
    cdef int i
    for out, value in zip(outputs, values):
        for i in range(value.ndim):
            sizes[i] = value.shape[i]
        contiguous_strides(value.ndim, sizes, strides)
        set_geometry(out, value.ndim, sizes, strides, out.offset)
        as_array(out)[...] = value
    return 0


cdef TensorBase widened(TensorBase tensor):
    return cast_on_host(tensor, Float)


cdef int narrow(TensorBase target, TensorBase wide) except -1:
    return BACKENDS[<int>CPU].copy(target, wide, False)


cdef object numpy_dtype(ScalarType dtype):
    return (<torch_dtype>DTYPES[<int>dtype]).numpy_dtype


cdef object operand(TensorBase tensor, ScalarType dtype):
    array = as_array(tensor)
    return array if tensor.dtype == dtype else array.astype(numpy_dtype(dtype))


cdef object promoted(TensorBase tensor, ScalarType element, ScalarType dtype):
    return operand(cast_on_host(tensor, element), dtype)


cdef list operands(list tensors, ScalarType dtype):
    cdef TensorBase tensor
    return [operand(tensor, dtype) for tensor in tensors]


cdef list arrays(list tensors):
    return [None if tensor is None else as_array(<TensorBase>tensor) for tensor in tensors]


cdef object number(const Scalar *scalar, ScalarType element, ScalarType dtype):
    cdef Scalar value = as_element(scalar, element)
    if is_float8(element):
        return operand(scalar_tensor(&value, element), dtype)[()]
    return np.asarray(scalar_to(&value)).astype(numpy_dtype(dtype))[()]


cdef object ints_or_none(const Shape *values):
    cdef int i
    return tuple([values.sizes[i] for i in range(values.ndim)]) if values.ndim else None
