"""The CPU as a backend: memory, copies, kernels, and memory that processes share."""
from mindtorch._core.operators.operator cimport opmath, raise_not_implemented
from mindtorch._core.tensor.dtype cimport Scalar, ScalarType, Undefined
from mindtorch._core.tensor.tensor cimport Shape, TensorBase


# --- arrays ----------------------------------------------------------------------------------------------------------
# The arguments of kernels as NumPy arrays; see also as_array of _core/python/conversion.pxd.


# The dtype that a kernel computes in. NotImplementedError, with torch's name of the kernel, for a rare dtype that is
# not in `taken`.
cdef inline ScalarType compute_dtype(ScalarType dtype, unsigned int taken, str kernel) except? Undefined:
    if dtype > Undefined and not (taken >> <int>dtype) & 1:
        raise_not_implemented(kernel, dtype)
    return opmath(dtype)

cdef TensorBase float8_to_float(TensorBase tensor)                               # an 8-bit float tensor as float32
cdef int float_to_float8(TensorBase target, TensorBase wide) except -1  # copy the elements of `wide` to `target`
cdef object as_operand(TensorBase tensor, ScalarType dtype)                 # as_array, cast to `dtype`
cdef object as_promoted(TensorBase tensor, ScalarType element, ScalarType dtype)  # rounded to `element` first
cdef list as_operands(list tensors, ScalarType dtype)
cdef list as_arrays(list tensors)                                           # in their own dtypes; None stays None
# A NumPy scalar of `dtype`, converted to the dtype `element` first: integers wrap around.
cdef object numpy_scalar(const Scalar *scalar, ScalarType element, ScalarType dtype)
cdef object ints_or_none(const Shape *values)                            # a tuple; None if it is empty
cdef object numpy_dtype(ScalarType dtype)
cdef int store_resized(list outputs, object values) except -1             # give the outputs the shapes of the values
