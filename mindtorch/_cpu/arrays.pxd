"""Arguments of kernels in NumPy's terms, beside as_array of _core/values.pxd."""
from mindtorch._core.scalar cimport Scalar, ScalarType
from mindtorch._core.tensor cimport Shape, TensorBase


cdef object operand(TensorBase tensor, ScalarType dtype)                 # as_array, cast where the dtype is another
cdef list operands(list tensors, ScalarType dtype)
cdef list arrays(list tensors)                                           # in their own dtypes; None stays None
cdef object number(const Scalar *scalar, ScalarType dtype)               # a NumPy scalar; integers wrap around
cdef object ints_or_none(const Shape *values)                            # a tuple; None where it is empty
cdef object numpy_dtype(ScalarType dtype)
cdef int store_shaped(list outputs, object values) except -1    # results as large as their values are
cdef int store_some(tuple targets, object values) except -1     # the results that a mask has left in: not None
