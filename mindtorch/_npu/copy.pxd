"""Backend.copy and Backend.read of the NPU."""
from mindtorch._core.tensor cimport TensorBase

cdef int copy(TensorBase dst, TensorBase src, bint non_blocking) except -1
cdef int read(TensorBase src, char *elements) except -1
