"""Storage on the NPU."""
from mindtorch._core.tensor cimport Storage
from mindtorch._npu.records cimport Block


cdef class NpuStorage(Storage):
    cdef Block *block                # NULL when nbytes is 0

cdef Storage allocate(size_t nbytes, int index)
