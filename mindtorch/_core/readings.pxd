"""What decides the size of a result, or the way to it: numbers that the host reads from the device, and waits for."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor cimport TensorBase

cdef bint are_few(TensorBase x) noexcept                                            # so that all are read
# Of tensors that are not empty.
cdef int64_t read_sum(TensorBase x) except? -1
cdef double read_largest(TensorBase x) except? -1                                   # NaN where there is one
cdef int read_range(TensorBase x, double *least, double *most) except -1            # both NaN, then
cdef int read_extremes(TensorBase x, int64_t *least, int64_t *most) except -1       # both by one reading
