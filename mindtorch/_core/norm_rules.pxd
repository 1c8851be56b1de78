"""Shapes, dtypes and checks of the rows that normalise; rows name them as they do those of infer.pxd."""
from libc.stdint cimport int64_t

from mindtorch._core.scalar cimport ScalarType
from mindtorch._core.tensor cimport Shape, TensorBase


# shapes
cdef int statistics_of(Shape *shape, TensorBase input, const Shape *normalized_shape) except -1     # 1 in its place

# dtypes
# That of the first parameter there is, else the input's; parameters may be None.
cdef ScalarType parameter_dtype(TensorBase input, TensorBase weight, TensorBase bias) noexcept

# checks
cdef int check_normalized(TensorBase input, const Shape *normalized_shape, TensorBase weight, TensorBase bias) except -1
# Parameters have the input's dtype; those of 16-bit inputs may be float32.
cdef int check_parameters(TensorBase input, TensorBase weight, TensorBase bias) except -1
