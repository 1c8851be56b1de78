"""The CPU as a backend: memory, memory shared between processes, copies, and how a kernel of NumPy is called."""
from mindtorch._core.operators.operator cimport opmath
from mindtorch._core.rules.array cimport not_implemented
from mindtorch._core.tensor.dtype cimport Scalar, ScalarType, Undefined
from mindtorch._core.tensor.tensor cimport Shape, TensorBase


# --- arrays ----------------------------------------------------------------------------------------------------------
# Arguments of kernels in NumPy's terms, beside as_array of _core/python/conversion.pxd.


# What a kernel computes in; NotImplementedError, by the name of torch's kernel, for rare dtypes that are not `taken`.
cdef inline ScalarType computing(ScalarType dtype, unsigned int taken, str kernel) except? Undefined:
    if dtype > Undefined and not (taken >> <int>dtype) & 1:
        not_implemented(kernel, dtype)
    return opmath(dtype)

cdef TensorBase widened(TensorBase tensor)                               # as float32, where it is a float of 8 bits
cdef int narrow(TensorBase target, TensorBase wide) except -1            # its elements, from there
cdef object operand(TensorBase tensor, ScalarType dtype)                 # as_array, cast where the dtype is another
cdef object promoted(TensorBase tensor, ScalarType element, ScalarType dtype)  # rounded to `element` before
cdef list operands(list tensors, ScalarType dtype)
cdef list arrays(list tensors)                                           # in their own dtypes; None stays None
# A NumPy scalar, as an element of the dtype `element` holds it: integers wrap around.
cdef object number(const Scalar *scalar, ScalarType element, ScalarType dtype)
cdef object ints_or_none(const Shape *values)                            # a tuple; None where it is empty
cdef object numpy_dtype(ScalarType dtype)
cdef int store_shaped(list outputs, object values) except -1    # results as large as their values are
