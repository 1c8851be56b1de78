"""Shapes, dtypes and checks of the rows that normalise; rows name them as they do those of infer.pxd."""
from libc.stdint cimport int64_t

from mindtorch._core.scalar cimport Scalar, ScalarType
from mindtorch._core.tensor cimport Shape, TensorBase


# shapes
cdef int statistics_of(Shape *shape, TensorBase input, const Shape *normalized_shape) except -1     # 1 in its place
cdef int group_statistics(Shape *shape, int64_t samples, int64_t groups) except -1
cdef int vector_of(Shape *shape, int64_t size) except -1
cdef int channels_of(Shape *shape, TensorBase input, bint wanted) except -1     # as many numbers, or none

# dtypes
# That of the first parameter there is, else the input's; parameters may be None.
cdef ScalarType parameter_dtype(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running) noexcept

# checks
# `text` is what stands before the shape where the message tells the input's: "[*, " or "[*".
cdef int check_normalized(TensorBase input, const Shape *normalized_shape, TensorBase weight, TensorBase bias,
                          str text) except -1
# The first parameter there is has the input's dtype, and the others have it too; or all are float32, of a 16-bit input.
cdef int check_parameters(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running_mean,
                          TensorBase running_var) except -1
cdef int check_groups(TensorBase input, TensorBase weight, TensorBase bias, int64_t N, int64_t C, int64_t HxW,
                      int64_t group) except -1
cdef int check_channels(TensorBase input, TensorBase weight, TensorBase bias, TensorBase running_mean,
                        TensorBase running_var, bint training) except -1
cdef int check_constant(TensorBase tensor, str op, str name) except -1           # may not require a gradient
cdef int check_renorm(TensorBase self, const Scalar *p, int64_t dim, const Scalar *maxnorm) except -1
