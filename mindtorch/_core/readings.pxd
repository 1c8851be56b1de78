"""What decides the size of a result, or the way to it: numbers that the host reads from the device, and waits for."""
from libc.stdint cimport int64_t

from mindtorch._core.tensor cimport TensorBase

# Of tensors that are not empty.
cdef int64_t read_sum(TensorBase x) except? -1
cdef int read_extremes(TensorBase x, int64_t *least, int64_t *most) except -1       # both by one reading
