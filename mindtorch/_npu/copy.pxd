"""Backend.copy of the NPU."""
from mindtorch._core.tensor cimport TensorBase

cdef int copy(TensorBase dst, TensorBase src, bint non_blocking) except -1
