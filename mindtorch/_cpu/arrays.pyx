import numpy as np

from mindtorch._core.dtype cimport DTYPES, KIND, dtype as torch_dtype
from mindtorch._core.scalar cimport FLOAT_KIND, INT_KIND, scalar_to
from mindtorch._core.values cimport as_array


cdef object numpy_dtype(ScalarType dtype):
    return (<torch_dtype>DTYPES[<int>dtype]).numpy_dtype


cdef object operand(TensorBase tensor, ScalarType dtype):
    array = as_array(tensor)
    return array if tensor.dtype == dtype else array.astype(numpy_dtype(dtype))


cdef list operands(list tensors, ScalarType dtype):
    cdef TensorBase tensor
    return [operand(tensor, dtype) for tensor in tensors]


cdef object number(const Scalar *scalar, ScalarType dtype):
    kind = numpy_dtype(dtype)
    if scalar.kind <= INT_KIND and KIND[<int>dtype] < FLOAT_KIND:
        return np.int64(scalar.integer).astype(kind)
    return np.asarray(scalar_to(scalar)).astype(kind)[()]


cdef object ints_or_none(const Shape *values):
    cdef int i
    return tuple([values.sizes[i] for i in range(values.ndim)]) if values.ndim else None
