"""The CPU as a backend: memory, copies, NumPy kernels, and memory that processes share."""
from mindtorch._core.operators.operator cimport opmath
from mindtorch._core.rules.array cimport not_implemented
from mindtorch._core.tensor.dtype cimport Scalar, ScalarType, Undefined
from mindtorch._core.tensor.tensor cimport Shape, TensorBase


# --- arrays ----------------------------------------------------------------------------------------------------------
# The arguments of kernels as NumPy arrays; see also as_array of _core/python/conversion.pxd.


# The dtype that a kernel computes in. NotImplementedError, with torch's name of the kernel, for a rare dtype that is
# not in `taken`.
cdef inline ScalarType computing(ScalarType dtype, unsigned int taken, str kernel) except? Undefined:
    if dtype > Undefined and not (taken >> <int>dtype) & 1:
        not_implemented(kernel, dtype)
    return opmath(dtype)

cdef TensorBase widened(TensorBase tensor)                               # an 8-bit float tensor as float32
cdef int narrow(TensorBase target, TensorBase wide) except -1            # copy the elements of `wide` to `target`
cdef object operand(TensorBase tensor, ScalarType dtype)                 # as_array, cast to `dtype`
cdef object promoted(TensorBase tensor, ScalarType element, ScalarType dtype)  # rounded to `element` first
cdef list operands(list tensors, ScalarType dtype)
cdef list arrays(list tensors)                                           # in their own dtypes; None stays None
# A NumPy scalar of `dtype`, converted to the dtype `element` first: integers wrap around.
cdef object number(const Scalar *scalar, ScalarType element, ScalarType dtype)
cdef object ints_or_none(const Shape *values)                            # a tuple; None if it is empty
cdef object numpy_dtype(ScalarType dtype)
cdef int store_shaped(list outputs, object values) except -1             # give the outputs the shapes of the values
